"""Documents within a budget of tokens."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("mcp")

from scopes.errors import BudgetExhausted, Invalid
from scopes.secret_scan.clearance import without_store
from scopes.server.mcp.budget import MIN_TOKENS, Rows, count_document, count_tokens, document_text, fit, shorten
from scopes.server.mcp.clearing import answering
from scopes.tokens.count import EstimatingTokenizer
from tests.support.examples import examples

ROWS = Rows(name="rows")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(st.sampled_from(["kind", "id", "commit", "notes", "conflicts", "text"]), VALUES)


@pytest.fixture(autouse=True, scope="module")
def gate():
    with answering(without_store()):
        yield


def numbered(count, words=1):
    return [{"id": f"m{number}", "text": f"row {number} " + "word " * words} for number in range(count)]


def ids(document):
    return [row["id"] for row in document["rows"]]


def test_the_measure_is_the_estimate_of_the_text():
    document = {"rows": numbered(5)}
    assert count_document(document) == EstimatingTokenizer().count(document_text(document))
    assert count_tokens("one two three") == EstimatingTokenizer().count("one two three")


def test_an_answer_that_fits_is_whole():
    assert fit({"rows": [1, 2]}, ROWS, 100) == {"rows": [1, 2]}


def test_long_texts_are_cut_before_rows_are_left_out():
    found = fit({"rows": [{"text": "word " * 3_000}] * 3}, ROWS, 2_000)
    assert len(found["rows"]) == 3
    assert all(row["text"].endswith("[truncated]") for row in found["rows"])


def test_rows_that_do_not_fit_are_counted():
    found = fit({"rows": [{"text": f"row {number}"} for number in range(1_000)]}, ROWS, 500)
    assert len(found["rows"]) + found["left_out"] == 1_000
    assert found["rows"][0] == {"text": "row 0"}


def test_no_more_rows_are_left_out_than_needed():
    found = fit({"rows": numbered(1_000)}, ROWS, 500)
    kept = len(found["rows"])
    assert count_document(ROWS.cut({"rows": numbered(1_000)}, kept + 1)) > 500


def test_the_newest_rows_stay_if_the_newest_are_wanted():
    found = fit({"rows": numbered(100)}, Rows(name="rows", newest=True), 500)
    assert ids(found)[-1] == "m99"
    assert ids(found)[0] == f"m{found['left_out']}"


def test_rows_that_the_document_does_not_have_are_counted_too():
    found = fit({"rows": numbered(2)}, Rows(name="rows", hidden=40), 500)
    assert (len(found["rows"]), found["left_out"]) == (2, 40)


def test_a_page_names_the_row_after_which_the_next_one_begins():
    found = fit({"rows": numbered(100)}, Rows(name="rows", paged=True), 500)
    assert found["next"] == ids(found)[-1]
    assert "next" not in fit({"rows": numbered(2)}, Rows(name="rows", paged=True), 500)


def test_lists_inside_of_an_answer_are_cut_before_it_is_refused():
    found = fit({"branches": [{"name": f"branch-{number}"} for number in range(500)], "rows": numbered(1)}, ROWS, 400)
    assert ids(found) == ["m0"]
    assert len(found["branches"]) + found["branches_left_out"] == 500


def test_names_are_never_cut():
    """An id that is cut names nothing."""
    name = "conv-001/" + "x" * 180
    document = {"continuation_id": name, "rows": [{"id": name, "text": "word " * 2_000}]}
    found = fit(document, ROWS, 400)
    assert (found["continuation_id"], ids(found)) == (name, [name])
    assert found["rows"][0]["text"].endswith("[truncated]")


def test_keys_of_recorded_data_are_safe_and_cut_too():
    found = fit({"rows": [{"<system>": 1, "k" * 9_000: 2}]}, ROWS, 1_000)
    assert "<system>" not in document_text(found)
    assert len(document_text(found)) < 1_000


def test_an_answer_that_reads_and_has_no_room_for_a_row_is_refused():
    with pytest.raises(BudgetExhausted, match="does not fit"):
        fit({"rows": [{str(number): "x" for number in range(1_000)}]}, ROWS, 100)


@pytest.mark.parametrize("budget", [-1, 0, 99, 100_001])
def test_a_budget_outside_the_limits_is_refused(budget):
    with pytest.raises(Invalid, match="max_tokens must be from 100 to 100,000"):
        fit({}, None, budget)


def test_what_was_written_is_shortened_to_the_fields_that_matter():
    """The smallest budget still says what happened and where to go on."""
    document = {str(number): "x" for number in range(500)}
    document |= {"kind": "merge", "result": "conflict", "continuation_id": "conv-001/main", "commit": "0a" * 20}
    found = shorten(document, None, MIN_TOKENS)
    assert {name: found[name] for name in ("shortened", "kind", "result", "continuation_id", "commit")} == {
        "shortened": True,
        "kind": "merge",
        "result": "conflict",
        "continuation_id": "conv-001/main",
        "commit": "0a" * 20,
    }
    assert count_document(found) <= MIN_TOKENS


def test_of_many_conflicts_the_first_ones_stay():
    sides = {side: {"value": "a decision of some words " * 4} for side in ("left", "right")}
    document = {"merged_messages": ["a" * 26] * 2_000, "conflicts": [{"number": n, **sides} for n in range(1, 101)]}
    found = shorten(document, None, 4_000)
    assert found["conflicts"][:2] == document["conflicts"][:2]
    assert len(found["conflicts"]) + found["conflicts_left_out"] == 100
    assert len(found["merged_messages"]) + found["merged_messages_left_out"] == 2_000


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(VALUES, max_size=40), st.integers(100, 2_000), st.booleans(), st.integers(0, 3))
def test_an_answer_never_exceeds_its_budget(rows, budget, newest, hidden):
    try:
        found = fit({"kind": "x", "rows": rows}, Rows(name="rows", newest=newest, hidden=hidden), budget)
    except BudgetExhausted:
        return
    assert count_document(found) <= budget
    assert len(found["rows"]) + found.get("left_out", 0) == len(rows) + hidden


@settings(max_examples=examples(200), deadline=None)
@given(DOCUMENTS, st.integers(100, 400))
def test_what_was_written_is_never_refused_and_never_exceeds_its_budget(document, budget):
    found = shorten(document, None, budget)
    assert count_document(found) <= budget
    assert json.loads(document_text(found)) == found
