"""Splitting texts into words."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scopes.index import full_text as tokenize_module
from scopes.index.full_text import fold, is_single, searchable, tokenize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Parser, parser-ERROR: user_id=7", ["parser", "parser", "error", "user", "id", "7"]),
        ("src/login.py", ["src", "login", "py"]),
        ("Straße ﬁne \uff26\uff35\uff2c\uff2c", ["strasse", "fine", "full"]),
        ("e\u0301te\u0301", ["été"]),
        ("東京tower", ["東", "京", "tower"]),
        ("ภาษา", ["ภ", "า", "ษ", "า"]),
        ("done 🚀!", ["done", "🚀"]),
        ("", []),
        (" \0\ud800--", []),
    ],
)
def test_words_are_folded_runs_of_letters_and_digits(text, expected):
    assert tokenize(text) == expected


def test_in_scripts_without_spaces_each_character_is_a_word():
    assert [is_single(word) for word in ("東", "한", "🚀", "a", "tower")] == [True, True, True, False, False]


@given(st.text())
def test_folding_twice_changes_no_word(text):
    assert tokenize(fold(text)) == tokenize(text)


@given(st.text(max_size=40))
def test_sqlite_and_tokenize_find_the_same_words(text):
    """The tokenizer of SQLite and ours must agree on every text, or phrases would miss."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='ascii')")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
    connection.execute("INSERT INTO t VALUES (?)", (searchable(text),))
    seen = [word for (word,) in connection.execute('SELECT term FROM v ORDER BY "offset"')]
    connection.close()
    assert seen == tokenize(text)


@given(
    st.text(
        st.sampled_from(
            "aZ e\u0301\u0345\u00c5\u212b\ufb01\u1100\u1161\u11a8\uac00\u03a3\u03c3\u4e2d\U0001f600\u2460-=0\ud800\n"
            "\u2192\u0338"
        )
    )
    | st.text()
)
@example("E\u0301cole Z\u0301")
@example("\u1100A\u1161")
@example("1\u2192Zo\u00eb\u2192\u0338 2\u2192\u2192")
def test_folding_the_runs_beyond_ascii_gives_the_words_of_folding_the_whole_text(text):
    whole = tokenize_module._searchable_run(text)
    assert searchable(text).encode("utf-8", "surrogatepass").lower() == whole.encode("utf-8", "surrogatepass").lower()
