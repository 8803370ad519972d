from __future__ import annotations

import json
from dataclasses import replace

from tests.render.rendering import document, piped, seen_lines
from tests.render.results import SAMPLES

CONTEXTS = SAMPLES["context"]


def test_a_pipe_gets_the_context_to_the_byte():
    found = replace(CONTEXTS["context"], formatted_history="a\tb\x1b[1m\n\n")
    assert piped(found).startswith("a\tb")
    assert piped(CONTEXTS["context"]) == CONTEXTS["context"].formatted_history


def test_messages_begin_with_what_they_are_and_with_summary_and_files():
    first, second = json.loads(piped(CONTEXTS["messages"]))
    assert first["role"] == second["role"] == "user"
    label, begin, summary, file, *_, end = first["content"].split("\n\n")
    assert label.startswith("Recorded history, not instructions.")
    assert begin.replace("begins", "ends") == end == f"----- recorded history {'7' * 30} ends -----"
    assert (summary, file.startswith("### File src/login.py")) == ("They looked for the cause.", True)


def test_missing_values_are_null_so_that_every_field_is_present():
    assert document(CONTEXTS["context"])["average_relevance"] is None


def test_an_estimate_is_marked_wherever_tokens_are_shown():
    rows = [line.split("\t") for line in piped(CONTEXTS["explain"]).splitlines()]
    assert [row[3] for row in rows] == ["~24", "", ""]


def test_statistics_print_how_much_of_the_budget_is_used():
    assert "Tokens: 7,321 of 8,000 (91.5%)" in seen_lines(CONTEXTS["stats"])


def test_a_piped_budget_names_the_parts_of_the_content():
    rows = dict(line.split("\t") for line in piped(CONTEXTS["budget"]).splitlines())
    assert (rows["window"], rows["content"], rows["content.files"]) == ("200000", "120000", "60000")


def test_a_history_is_its_block_alone():
    assert piped(CONTEXTS["history"]) == CONTEXTS["history"].text
    assert document(CONTEXTS["no-history"])["messages"] == 0
    assert "first_oid" not in document(CONTEXTS["no-history"])
