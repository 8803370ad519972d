"""A snippet is an excerpt of the text that shows the match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.index.full_text import tokenize
from scopes.search.query import parse, positive_phrases
from scopes.search.text import LENGTH, cut_snippet, phrase_finder


def marked(query, text):
    """Return the parts of a text that a query marks."""
    return [text[start:stop] for start, stop in phrase_finder(positive_phrases(parse(query)))(text)]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("stack", "A Stack, a stackful STACK.", ["Stack", "STACK"]),
        ("stack", "haystacks, a haystack, a stack", ["stack"]),
        ("pile stack", "haystacks and a pile", ["pile"]),
        ("stack*", "A stackful", ["stack"]),
        ('"stack overflow"', "stack, overflow; overflow stack", ["stack, overflow"]),
        ("user_id", "the user_id", ["user_id"]),
        ("京", "東京都", ["京"]),
        ("東京", "東 京", ["東 京"]),
        ("strasse", "die Straße hier", ["Straße"]),
        ("fine", "it is \ufb01ne now", ["\ufb01ne"]),
        ("xyzzy", "nothing", []),
    ],
)
def test_matches_are_marked(query, text, found):
    assert marked(query, text) == found


def test_a_snippet_is_cut_around_the_first_match():
    text = "before " * 100 + "match " + "after " * 100
    pieces = cut_snippet(text, phrase_finder(positive_phrases(parse("match")))(text))
    assert (pieces[0].text, pieces[-1].text) == ("…", "…")
    assert [piece.text for piece in pieces if piece.found] == ["match"]
    cut = "".join(piece.text for piece in pieces[1:-1])
    assert LENGTH - 2 * len("before ") < len(cut) <= LENGTH


def test_a_snippet_begins_and_ends_between_words():
    """They began with `…hable from the` and ended within words."""
    text = "reachable " * 60 + "match " + "afterwards " * 60
    cut = "".join(
        piece.text for piece in cut_snippet(text, phrase_finder(positive_phrases(parse("match")))(text))[1:-1]
    )
    assert set(cut.split()) == {"reachable", "match", "afterwards"}
    assert cut == cut.strip()


def test_a_word_longer_than_a_snippet_is_cut():
    text = "x" * 500 + " match " + "y" * 500
    cut = "".join(piece.text for piece in cut_snippet(text, phrase_finder(positive_phrases(parse("match")))(text)))
    assert "match" in cut
    assert "yyy" not in cut or cut.endswith("…")


def test_without_a_match_the_snippet_is_the_beginning():
    assert [piece.text for piece in cut_snippet("short", ())] == ["short"]
    assert phrase_finder(()) is None


@given(st.text(max_size=600), st.lists(st.tuples(st.integers(0, 600), st.integers(1, 50)), max_size=5))
def test_a_snippet_is_always_part_of_the_text(text, drawn):
    spans = sorted((start, min(start + length, len(text))) for start, length in drawn if start < len(text))
    shown = "".join(piece.text for piece in cut_snippet(text, spans))
    assert shown.removeprefix("…").removesuffix("…") in text or shown in text


@given(st.text(alphabet="ab \u00e9e\u0301\u00df\ufb01\u6771,", max_size=40))
def test_every_word_of_a_text_is_found_in_it(text):
    for word in tokenize(text):
        assert marked(f'"{word}"', text), (word, text)
