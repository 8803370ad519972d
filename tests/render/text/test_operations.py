from __future__ import annotations

from dataclasses import replace

from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import CREATE, OPERATION, SAMPLES, UNDO

OPERATIONS = SAMPLES["operations"]


def test_a_piped_log_has_whole_ids_and_times():
    rows = [row.split("\t") for row in piped(OPERATIONS["list"]).splitlines()]
    assert rows[1] == [CREATE.id, CREATE.time.replace(".000", ""), "carol", "branch", CREATE.summary]


def test_a_template_reads_the_command():
    assert piped(OPERATIONS["list"], template="{kind}: {command}").splitlines()[0] == "undo: scopes undo"


def test_without_operations_a_sentence_is_printed_on_a_terminal():
    assert seen_lines(OPERATIONS["empty-list"]) == ["There are no operations yet."]
    assert piped(OPERATIONS["empty-list"]) == ""


def test_an_operation_prints_who_did_what_and_when():
    lines = seen_lines(OPERATIONS["show"])
    assert lines[:4] == [f"Operation: {CREATE.id}", "Kind: branch", "Actor: carol", "Time: 2025-12-31T22:58:00Z"]
    assert lines[7] == "    create conv-001/analysis/security-review"


def test_changed_refs_have_the_short_names_of_git():
    assert seen_lines(OPERATIONS["show"])[-3:] == [
        "conv-001/analysis/security-review: none → dc76e9f0",
        "meta/conv-001: cb030491 → 26c97cd2",
        "active/conv-001: conv-001/main → conv-001/analysis/security-review",
    ]


def test_a_pipe_gets_whole_commit_ids():
    assert piped(OPERATIONS["show"]).splitlines()[-3].endswith(f": none → {CREATE.changes[0].new}")


def test_an_operation_that_moved_nothing_ends_with_its_summary():
    assert piped(OPERATIONS["show-undo"]).splitlines()[-1] == f"    {UNDO.summary}"
    assert f"Undoes: {CREATE.id}" in piped(OPERATIONS["show-undo"])
    assert "Undoes: create22\n" in seen(OPERATIONS["show-undo"])


def test_an_unknown_command_is_left_out():
    quiet = replace(OPERATIONS["show"], operation=replace(CREATE, command=""))
    assert "Command" not in seen(quiet)


def test_undo_prints_what_it_undid_and_how_to_redo_it():
    assert seen_lines(OPERATIONS["undo"]) == [f"undone: {CREATE.summary}", "redo with: scopes redo"]
    assert seen_lines(OPERATIONS["redo"]) == [f"redone: {CREATE.summary}", "undo with: scopes undo"]
    assert seen_lines(OPERATIONS["redo"], hints=False) == [f"redone: {CREATE.summary}"]


def test_undo_says_in_words_what_it_took_back_in_a_pipe_too():
    """G1: it printed only the id of the operation."""
    assert piped(OPERATIONS["undo"]) == f"{OPERATION}\tundone: {CREATE.summary}\n"
    assert piped(OPERATIONS["redo"]) == f"{OPERATION}\tredone: {CREATE.summary}\n"
    words = "undone: append to conv-001/main by carol: 'I will look at the form first.' (1 message)"
    assert piped(OPERATIONS["undo-append"]) == f"{OPERATION}\t{words}\n"
    assert " ".join(seen_lines(OPERATIONS["undo-append"], 200)) == f"{words} redo with: scopes redo"


def test_a_dry_run_says_what_would_be_undone_and_whose_it_is():
    """Hints are for what was done."""
    assert piped(OPERATIONS["undo-dry-run"]) == f"{CREATE.id}\twould undo: {CREATE.summary} by carol\n"
    assert " ".join(seen_lines(OPERATIONS["undo-dry-run"])) == f"would undo: {CREATE.summary} by carol"
