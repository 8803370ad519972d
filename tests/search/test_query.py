"""The query parser: syntax trees, and errors that point at a character."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.search.query import MAX_TERMS, And, Field, Not, Or, parse, positive_phrases, without
from scopes.search.text import Phrase


def word(text, at=0, *, prefix=False):
    return Phrase(tuple(text.split()), prefix, at)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parser", word("parser")),
        ("  Parser  ", word("parser", 2)),
        ("pars*", word("pars", prefix=True)),
        ('"Stack overflow"', word("stack overflow")),
        ('"stack over"*', word("stack over", prefix=True)),
        ("src/login.py", word("src login py")),
        ("a b", And((word("a"), word("b", 2)))),
        ("a AND b", And((word("a"), word("b", 6)))),
        ("a OR b c", Or((word("a"), And((word("b", 5), word("c", 7)))))),
        ("(a OR b) c", And((Or((word("a", 1), word("b", 6))), word("c", 9)))),
        ("a -b", And((word("a"), Not(word("b", 3))))),
        ("a NOT b", And((word("a"), Not(word("b", 6))))),
        ("NOT NOT a", word("a", 8)),
        ("and or not", And((word("and"), word("or", 4), word("not", 7)))),
        ("author:Carol", Field("author", "Carol", 0)),
        ('Author:"Carol Smith"', Field("author", "Carol Smith", 0)),
        ("-author:carol", Not(Field("author", "carol", 1))),
        ("http://example.org", word("http example org")),
        ("TODO: fix", And((word("todo"), word("fix", 6)))),
        ("std:vector", word("std vector")),
        ("ANDroid", word("android")),
        ("well-known", word("well known")),
    ],
)
def test_a_query_is_parsed(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("", 1, "nothing to search for"),
        ("  ", 1, "nothing to search for"),
        ("AND OR", 1, "nothing to search for"),
        ("-", 1, "no letter or digit"),
        ("a AND", 6, "term is missing"),
        ("a OR OR b", 6, "needs something before it"),
        ("OR a", 1, "needs something before it"),
        ("(a", 1, "never closed"),
        ("a (b (c)", 3, "never closed"),
        ("a )", 3, "without its"),
        ("a ()", 4, "needs something before it"),
        ('say "no', 5, "quote is never closed"),
        ('author:"carol', 8, "quote is never closed"),
        ("a !!!", 3, "no letter or digit"),
        ("a author:", 3, "has no value"),
        ('a author:" "', 3, "has no value"),
        ("a autor:carol", 3, "did you mean author"),
    ],
)
def test_an_error_points_at_the_character(text, at, message):
    with pytest.raises(Invalid, match=message) as error:
        parse(text)
    assert error.value.message.endswith(f"at character {at} of the query")
    if text.strip():
        shown, arrow, *_ = error.value.hint.split("\n")
        assert (shown, arrow) == (text, " " * (at - 1) + "^")


def test_the_number_of_terms_and_the_depth_are_limited():
    with pytest.raises(Invalid, match="at most"):
        parse("a " * (MAX_TERMS + 1))
    with pytest.raises(Invalid, match="deeper than"):
        parse("(" * 100 + "a" + ")" * 100)
    assert parse("NOT " * 5001 + "a") == Not(word("a", 4 * 5001))


def test_negated_phrases_are_not_positive():
    assert [phrase.words for phrase in positive_phrases(parse("a -b (c OR -(d e)) author:f"))] == [("a",), ("c",)]


@given(st.text(alphabet='ab "()-:*\\ANDORTinre\u6771\n', max_size=30))
def test_any_text_is_parsed_or_raises_invalid(text):
    with contextlib.suppress(Invalid):
        assert parse(text) is not None


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("bug before:2026-01-01", "bug"),
        ("bug fix after:yesterday", "bug fix"),
        ("bug -after:yesterday", "bug"),
        ("bug (fix OR before:2026-01-01)", "bug fix"),
        ("(bug before:2026) OR (fix after:2026)", "bug OR fix"),
        ("-(bug before:2026-01-01)", "-bug"),
        ("bug kind:answer", "bug kind:answer"),
        ("before:2026-01-01", None),
        ("-(before:2026-01-01 OR after:2025-01-01)", None),
    ],
)
def test_the_times_of_a_query_can_be_left_out(query, same):
    """What is left are the other conditions, in the same structure."""
    assert _shape(without(parse(query), "before", "after")) == (None if same is None else _shape(parse(same)))


def _shape(node):
    """Return a query tree without the positions in its text."""
    if node is None or isinstance(node, Phrase | Field):
        return node if node is None else node._replace(at=0)
    if isinstance(node, Not):
        return Not(_shape(node.item))
    return type(node), tuple(_shape(item) for item in node.items)
