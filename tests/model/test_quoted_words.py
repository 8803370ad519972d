"""`split_quoted` returns what `shlex.split` returns, and refuses what it refuses."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.model.tools import split_quoted
from tests.support.examples import examples


def words_or_error(split, text):
    try:
        return split(text)
    except ValueError:
        return "refused"


@settings(max_examples=examples(500), deadline=None)
@given(st.text(alphabet="ab '\"\\\n\t\r#;$é\x0b", max_size=30))
def test_it_splits_as_shlex_does(text):
    assert words_or_error(split_quoted, text) == words_or_error(shlex.split, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("''", [""]),
        ("/bin/bash -lc 'git status'", ["/bin/bash", "-lc", "git status"]),
        (r"""a"b\"c"'d'\ e f""", ['ab"cd e', "f"]),
        (r'''"\a\\"''', [r"\a\ ".strip()]),
    ],
)
def test_quotes_and_backslashes(text, words):
    assert split_quoted(text) == words == shlex.split(text)


@pytest.mark.parametrize("text", ["a '", 'a "', "a \\", "'a' \"b' c"])
def test_an_unclosed_quote_is_refused(text):
    with pytest.raises(ValueError, match="not closed"):
        split_quoted(text)


def test_a_word_of_a_million_characters_is_one_word():
    assert split_quoted(f"bash -c '{'x y ' * 250_000}'")[2] == "x y " * 250_000
