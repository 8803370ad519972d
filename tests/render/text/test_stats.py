from __future__ import annotations

from dataclasses import replace

import pytest

from tests.render.results import SAMPLES
from tests.render.showing import piped, seen, seen_lines

STATS = SAMPLES["stats"]


def test_statistics_read_in_a_few_lines():
    assert seen_lines(STATS["stats"]) == [
        "Conversation: conv-001",
        "Messages: 1,200 on 3 branches",
        "Text: 45,678 characters",
        "Time: 2025-12-31T22:30:00Z to 2026-01-01T00:00:00Z (1.5h)",
        "Files: 12",
        "Tool calls: 1",
        "Authors:",
        "    carol 1,000, planner 200",
        "Kinds:",
        "    prompt 1,200",
        "Tools:",
        "    Bash 1",
    ]


def test_piped_statistics_are_a_name_and_a_number_each():
    rows = dict(row.split("\t") for row in piped(STATS["stats"]).splitlines())
    assert rows["messages"] == "1200"
    assert rows["authors.carol"] == "1000"
    assert rows["duration_seconds"] == "5400"


def test_what_is_unknown_is_left_out_of_statistics():
    assert "Time:" not in seen(STATS["nothing"])
    assert "Authors:" not in seen(STATS["nothing"])
    assert "first" not in piped(STATS["nothing"])
    assert "messages\t0\n" in piped(STATS["nothing"])


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "Z\n"),
        (59, " (59s)"),
        (90, " (1.5m)"),
        (7200, " (2h)"),
        (86_400 * 10, " (10d)"),
        (86_400 * 1200, " (1200d)"),
    ],
)
def test_a_duration_is_said_in_its_largest_unit(seconds, said):
    assert said in seen(replace(STATS["stats"], duration_seconds=seconds))
