from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import SAMPLES

STATS = SAMPLES["stats"]


def test_statistics_read_in_a_few_lines():
    assert seen_lines(STATS["stats"]) == [
        "Conversation:  conv-001",
        "Messages:      1,200 on all 3 branches",
        "Text:          45,678 characters",
        "Time:          2025-12-31T22:30:00Z to 2026-01-01T00:00:00Z",
        "Duration:      1.5h",
        "Files:         12",
        "Tool calls:    1",
        "",
        "Authors  messages",
        "carol       1,000",
        "planner       200",
        "",
        "Kinds   messages",
        "prompt     1,200",
        "",
        "Tools  calls",
        "Bash       1",
    ]


def test_statistics_of_a_branch_name_it():
    """D7."""
    lines = seen_lines(replace(STATS["stats"], branch="main", branches=1))
    assert lines[:2] == ["Branch:        conv-001/main", "Messages:      1,200 on 1 branch"]


def test_statistics_with_long_and_wide_names_fit():
    lines = seen_lines(replace(STATS["stats"], authors={"x" * 200: 1, "作者" * 50: 2}), 80)
    assert all(cell_len(line) <= 80 for line in lines)


def test_piped_statistics_are_a_name_and_a_number_each():
    rows = dict(row.split("\t") for row in piped(STATS["stats"]).splitlines())
    assert rows["messages"] == "1200"
    assert rows["authors.carol"] == "1000"
    assert rows["duration_seconds"] == "5400"


def test_what_is_unknown_is_left_out_of_statistics():
    assert "Time:" not in seen(STATS["nothing"])
    assert "Authors" not in seen(STATS["nothing"])
    assert "first" not in piped(STATS["nothing"])
    assert "messages\t0\n" in piped(STATS["nothing"])


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "Z\n"),
        (59, "Duration:      59s\n"),
        (90, "Duration:      1.5m\n"),
        (7200, "Duration:      2h\n"),
        (86_400 * 10, "Duration:      10d\n"),
        (86_400 * 1200, "Duration:      1200d\n"),
    ],
)
def test_a_duration_has_its_largest_unit(seconds, expected):
    assert expected in seen(replace(STATS["stats"], duration_seconds=seconds))


def test_tokens_have_one_row_per_model_and_a_sum():
    rows = [line.split() for line in seen_lines(STATS["tokens"])]
    rows = rows[next(number for number, row in enumerate(rows) if row[:2] == ["Model", "Uncached"]) - 1 :]
    assert rows[1] == ["Model", "Uncached", "Cache", "read", "Cache", "write", "Output", "Reasoning"]
    assert rows[3] == ["gpt-5.4", "2,083,546", "36,680,704", "145,638", "37,397"]
    assert rows[4] == ["all", "2,097,364", "60,694,366", "1,618,146", "216,256", "37,397"]


def test_one_model_has_no_sum_and_only_the_columns_that_are_known():
    lines = seen_lines(STATS["one-model"])
    assert any(line.startswith("Model  Uncached  Output") for line in lines)
    assert not any(line.startswith("all ") for line in lines)


def test_failed_and_refused_calls_are_shown_with_their_tool():
    lines = seen_lines(STATS["tokens"])
    assert "Tool calls:    220, 12 failed, 3 refused" in lines
    start = lines.index("Tools  calls  failed  refused")
    assert lines[start + 1 : start + 3] == ["Bash     200      12        1", "Read      20                2"]


def test_the_active_time_follows_the_total_time():
    assert "Duration:      1.5h, 30m active\n" in seen(STATS["tokens"])


def test_piped_tokens_are_those_of_all_and_of_each_model():
    rows = dict(row.split("\t") for row in piped(STATS["tokens"]).splitlines())
    assert (rows["tokens.output"], rows["tokens.gpt-5.4.reasoning"]) == ("216256", "37397")
    assert "tokens.gpt-5.4.cache_write" not in rows


def test_statistics_of_the_store_name_no_conversation():
    assert seen_lines(STATS["store"])[0] == "Conversations: 40"
    assert piped(STATS["store"]).startswith("conversations\t40\n")
