"""Regular expressions: what they find, and which are refused."""

from __future__ import annotations

import re
import time

import pytest

from scopes.errors import Invalid
from scopes.search.run import HitReader, search
from scopes.search.text import compile_regex
from tests.support.history import history, say


@pytest.mark.parametrize(
    ("pattern", "text", "span"),
    [
        (r"TODO\(\w+\)", "see TODO(carol)!", (4, 15)),
        ("é+", "caféé", (3, 5)),
        ("(?i)STACK", "a stack", (2, 7)),
        ("stack", "STACK", None),
        ("x", "\ud800x", (1, 2)),
    ],
)
def test_a_pattern_is_found_at_its_span(pattern, text, span):
    assert compile_regex(pattern)(text) == span


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "a" * 20_000])
def test_an_invalid_pattern_is_refused(pattern):
    with pytest.raises(Invalid):
        compile_regex(pattern)


@pytest.mark.parametrize("pattern", ["(?<!b)a", "(?=a)", r"(a)\1"])
def test_what_re2_does_not_know_is_refused_with_the_reason(pattern):
    with pytest.raises(Invalid, match="is not a valid regular expression") as refused:
        compile_regex(pattern)
    assert "without lookaround" in refused.value.hint


def test_a_match_takes_linear_time():
    begin = time.perf_counter()
    assert compile_regex("(a+)+$")("a" * 50_000 + "b") is None
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize(
    "pattern", [r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"[\w]", r"[^\w]", r"[\d.]", r"[^\s]", r"[]\w]", r"\\w"]
)
def test_classes_know_all_scripts_as_in_python(pattern):
    for character in "aZé_7٣²Ⅷ東\n\r \t\x0b\x1c\x85\xa0\u2028.-[]µΣßẞ\u0301🚀\\":
        assert compile_regex(pattern)(character) == (found.span() if (found := re.search(pattern, character)) else None)


def test_regex_hits_are_newest_first_and_a_limit_ends_the_search(repository, directory):
    history(repository)
    ids = [say(repository, "conv-001", f"TODO({name})").id for name in ("a", "b", "c")]
    ask = lambda **options: search(repository, r"TODO\(\w\)", index_directory=str(directory), regex=True, **options)  # noqa: E731
    assert [hit.head.id for hit in ask().hits] == ids[::-1]
    assert (ask().coverage.hits, ask(limit=2).coverage.hits, len(ask(limit=2).hits)) == (3, None, 2)
    assert [piece.text for piece in ask().hits[0].snippet if piece.found] == ["TODO(c)"]


def test_a_query_can_combine_a_regex_with_words(repository, directory):
    history(repository, "main: parser1 parser22 lexer33")
    found = search(repository, r're:"[0-9]{2}" pars*', index_directory=str(directory))
    assert [hit.snippet[0].text for hit in found.hits] == ["parser"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('in:tool_result re:"pani[ck]"', ["ran"]),
        ('in:text re:"pani[ck]"', ["said"]),
        ('in:text,tool_result re:"pani[ck]"', ["ran", "said"]),
        ('-re:"pani[ck]"', ["calm"]),
        ('kind:answer NOT re:"pani[ck]"', []),
        ('re:"^all" OR in:tool_result panic', ["calm", "ran"]),
        ('(re:"^all" kind:answer) OR re:"pani[ck]" -author:carol', ["ran"]),
        ('NOT (re:"^all" OR in:tool_result panic)', ["said"]),
    ],
)
def test_a_regex_combines_with_fields_and_operators(repository, directory, query, found):
    history(repository)
    messages = {
        "said": say(repository, "conv-001", "do not panic", kind="answer"),
        "calm": say(repository, "conv-001", "all is well"),
        "ran": say(
            repository, "conv-001", "", author={"name": "bash", "kind": "tool"},
            parts=[{"type": "tool_result", "call_id": "1", "output": "kernel panic"}],
        ),
    }  # fmt: skip
    hits = search(repository, query, index_directory=str(directory)).hits
    assert sorted(name for hit in hits for name in messages if messages[name].id == hit.head.id) == found


def test_the_snippet_is_from_the_column_that_was_searched(repository, directory):
    history(repository)
    parts = [{"type": "text", "text": "panic"}, {"type": "tool_result", "call_id": "1", "output": "a panic"}]
    say(repository, "conv-001", "", parts=parts)
    for query in ('in:tool_result re:"pani[ck]"', "in:tool_result panic"):
        [hit] = search(repository, query, index_directory=str(directory)).hits
        assert (hit.part, [piece.text for piece in hit.snippet]) == ("tool_result", ["a ", "panic"])


def test_a_message_is_not_read_if_the_index_decides(repository, directory, monkeypatch):
    history(repository, "main: parser lexer login")
    read = []
    original = HitReader._stored_bytes
    monkeypatch.setattr(HitReader, "_stored_bytes", lambda self, number: read.append(number) or original(self, number))
    search(repository, 're:"x" OR parser OR lexer', index_directory=str(directory))
    assert len(read) == 1
