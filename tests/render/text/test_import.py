from __future__ import annotations

from dataclasses import replace

from scopes.importers.results import ConversationImported, Imported, Skipped
from tests.render.rendering import document, piped, seen, seen_lines
from tests.render.results import SAMPLES


def test_the_sample_prints_whether_it_existed():
    imported = SAMPLES["import_"]
    assert seen_lines(imported["sample"])[0] == "imported the sample as conv-001: 24 messages on 3 branches"
    assert seen_lines(imported["sample-again"]) == [
        "the sample is already imported: conv-001, 24 messages on 3 branches"
    ]
    assert piped(imported["sample"]) == piped(imported["sample-again"]) == "conv-001\n"


def test_a_report_prints_that_every_byte_is_accounted_for():
    report = SAMPLES["import_"]["sources-report"]
    assert "every byte of every file is accounted for" in seen_lines(report)
    short = report.replaced(sources=(replace(report.result.sources[1], state_bytes=150), report.result.sources[0]))
    assert "run.jsonl: 50 bytes are not accounted for" in seen_lines(short)
    assert "every byte of every file is accounted for" not in seen_lines(short)


def test_a_piped_report_has_the_sum_and_the_size():
    first = piped(SAMPLES["import_"]["sources-report"]).splitlines()[0].split("\t")
    assert first[1:] == ["claude-code", "80000", "10000", "100", "90100", "90100"]


def with_copy(noted):
    """Return a report of an import that passed a shorter copy over."""
    report = SAMPLES["import_"]["sources-report"]
    account = replace(report.result.sources[1], path="copy.jsonl")
    return report.replaced(skipped=(Skipped(path="copy.jsonl", reason="a copy of it", account=account, noted=noted),))


def test_a_report_accounts_for_copies_too():
    assert piped(with_copy(noted=True)).splitlines()[2].split("\t") == [
        "copy.jsonl",
        "codex",
        "700",
        "200",
        "0",
        "900",
        "900",
    ]
    (found,) = document(with_copy(noted=True))["skipped"]
    assert (found["path"], found["reason"], found["account"]["account_bytes"]["sum"]) == (
        "copy.jsonl",
        "a copy of it",
        900,
    )
    assert "account" not in document(with_copy(noted=True).result)["skipped"][0]


def test_the_reason_for_a_skipped_file_is_given_once():
    """Where a note says it, no line does."""
    assert "skipped copy.jsonl: a copy of it" in seen_lines(with_copy(noted=False))
    assert not [line for line in seen_lines(with_copy(noted=True)) if "skipped" in line]


def test_a_conversation_without_a_title_is_shown_by_its_first_prompt():
    row = ConversationImported(id="c", uuid="u", title=None, messages=1, new_messages=1, branches=1)
    source = Imported(sources=(), conversations=(replace(row, first_prompt="why?"),), operation="o" * 26)
    assert "why?" in seen(source)
    assert "why?" not in piped(replace(source, conversations=(row,)))


def test_a_wide_terminal_shows_more_of_the_first_prompt():
    """It was cut at 72 characters, as the subject of its commit."""
    prompt = "can you get yourself an overview of the changes in this branch and tell me whether anything is missing"
    row = ConversationImported(
        id="c", uuid="u", title=None, messages=1, new_messages=1, branches=1, first_prompt=prompt
    )
    result = Imported(sources=(), conversations=(row,), operation="o" * 26)
    assert prompt in seen(result, 200)
    assert f"\t{prompt[:72].rstrip()}…\t" in piped(result)


def test_an_import_that_only_took_what_acp_left_has_no_empty_table():
    nothing = Imported(sources=(), conversations=())
    assert (seen(nothing), piped(nothing)) == ("", "")
    assert seen(replace(nothing, older_sources=2)) != ""
