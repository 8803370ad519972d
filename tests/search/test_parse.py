"""The query language: what is understood, and how refusals point at the place."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.search.ast import Both, Either, Field, Not, Words, wanted_words
from scopes.search.parse import MAX_TERMS, parse


def word(text, at=0, *, prefix=False):
    return Words(tuple(text.split()), prefix, at)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parser", word("parser")),
        ("  Parser  ", word("parser", 2)),
        ("pars*", word("pars", prefix=True)),
        ('"Stack overflow"', word("stack overflow")),
        ('"stack over"*', word("stack over", prefix=True)),
        ("src/login.py", word("src login py")),
        ("a b", Both((word("a"), word("b", 2)))),
        ("a AND b", Both((word("a"), word("b", 6)))),
        ("a OR b c", Either((word("a"), Both((word("b", 5), word("c", 7)))))),
        ("(a OR b) c", Both((Either((word("a", 1), word("b", 6))), word("c", 9)))),
        ("a -b", Both((word("a"), Not(word("b", 3))))),
        ("a NOT b", Both((word("a"), Not(word("b", 6))))),
        ("NOT NOT a", word("a", 8)),
        ("and or not", Both((word("and"), word("or", 4), word("not", 7)))),
        ("author:Carol", Field("author", "Carol", 0)),
        ('Author:"Carol Smith"', Field("author", "Carol Smith", 0)),
        ("-author:carol", Not(Field("author", "carol", 1))),
        ("http://example.org", word("http example org")),
        ("TODO: fix", Both((word("todo"), word("fix", 6)))),
        ("std:vector", word("std vector")),
        ("ANDroid", word("android")),
        ("well-known", word("well known")),
    ],
)
def test_a_query_is_understood(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("", 1, "nothing to search for"),
        ("  ", 1, "nothing to search for"),
        ("AND OR", 1, "nothing to search for"),
        ("-", 1, "no letter or digit"),
        ("a AND", 6, "something is missing"),
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
def test_a_refusal_points_at_the_place(text, at, message):
    with pytest.raises(Invalid, match=message) as refusal:
        parse(text)
    assert refusal.value.message.endswith(f"at character {at} of the query")
    if text.strip():
        shown, arrow, *_ = refusal.value.hint.split("\n")
        assert (shown, arrow) == (text, " " * (at - 1) + "^")


def test_there_are_bounds():
    with pytest.raises(Invalid, match="at most"):
        parse("a " * (MAX_TERMS + 1))
    with pytest.raises(Invalid, match="deeper than"):
        parse("(" * 100 + "a" + ")" * 100)
    assert parse("NOT " * 5001 + "a") == Not(word("a", 4 * 5001))


def test_what_is_negated_is_not_wanted():
    assert [term.words for term in wanted_words(parse("a -b (c OR -(d e)) author:f"))] == [("a",), ("c",)]


@given(st.text(alphabet='ab "()-:*\\ANDORTinre\u6771\n', max_size=30))
def test_any_text_is_understood_or_refused(text):
    with contextlib.suppress(Invalid):
        assert parse(text) is not None
