"""Answers within a budget of tokens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("mcp")

from scopes.errors import BudgetExhausted
from scopes.render.json_line import json_line
from scopes.server.mcp.answers import fit
from scopes.tokens.estimate import EstimatingTokenizer
from tests.support.examples import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def tokens(document):
    return EstimatingTokenizer().count(json_line(document).rstrip("\n"))


def test_an_answer_that_fits_is_whole():
    assert fit({"rows": [1, 2]}, "rows", 100) == {"rows": [1, 2]}


def test_long_texts_are_cut_before_rows_are_left_out():
    found = fit({"rows": [{"text": "word " * 3_000}] * 3}, "rows", 2_000)
    assert len(found["rows"]) == 3
    assert all(row["text"].endswith("[truncated]") for row in found["rows"])


def test_rows_that_do_not_fit_are_counted():
    found = fit({"rows": [{"text": f"row {number}"} for number in range(1_000)]}, "rows", 500)
    assert len(found["rows"]) + found["left_out"] == 1_000
    assert found["rows"][0] == {"text": "row 0"}


def test_an_answer_without_rows_that_does_not_fit_is_refused():
    with pytest.raises(BudgetExhausted, match="does not fit"):
        fit({str(number): "x" for number in range(1_000)}, None, 100)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(VALUES, max_size=40), st.integers(100, 2_000))
def test_an_answer_never_exceeds_its_budget(rows, budget):
    try:
        found = fit({"kind": "x", "rows": rows}, "rows", budget)
    except BudgetExhausted:
        return
    assert tokens(found) <= budget
    assert len(found["rows"]) + found.get("left_out", 0) == len(rows)
