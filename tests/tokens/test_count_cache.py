"""Counts are remembered, so that an encoding is rarely loaded."""

from __future__ import annotations

import sys
from contextlib import ExitStack

import pytest

from scopes.context.count import count_conversation
from scopes.conversation.new import new
from scopes.tokens.choose import TokenizerChoice
from scopes.tokens.count_cache import FILE, CachingTokenizer, CountCache
from tests.context.building import built, put, talk
from tests.support.history import say


class Counting:
    """Counts characters, and how often it was asked."""

    method = "exact"

    def __init__(self, name="characters"):
        self.name = name
        self.asked = 0
        self.prepared = []

    def prepare(self, texts):
        self.prepared += texts

    def count(self, text):
        self.asked += 1
        return len(text)


class Refusing:
    """A tokenizer whose encoding must not be loaded."""

    method = "exact"

    def __init__(self, name):
        self.name = name

    def prepare(self, texts):
        """What is announced need not be counted."""

    def count(self, text):
        raise AssertionError(f"{text!r} was counted again")


def forget_contexts(tmp_path):
    for entry in (tmp_path / "cache" / "contexts").iterdir():
        entry.unlink()


@pytest.fixture
def remembering():
    """Make caching tokenizers whose files are closed after the test."""
    with ExitStack() as stack:

        def make(directory, name="characters"):
            known = stack.enter_context(CountCache(str(directory)))
            inner = Counting(name)
            return CachingTokenizer(inner, known), known, inner

        yield make


@pytest.fixture
def filled(tmp_path, remembering):
    """A memory with the counts of three texts."""
    tokenizer, known, _ = remembering(tmp_path)
    for text in ("one", "three", "\ud800"):
        tokenizer.count(text)
    known.save()
    return tmp_path


def test_a_text_is_counted_once_in_all_processes(filled, remembering):
    tokenizer, known, inner = remembering(filled)
    assert [tokenizer.count(text) for text in ("one", "three", "\ud800", "one")] == [3, 5, 1, 3]
    known.save()
    assert inner.asked == 0


def test_what_was_counted_just_now_is_known_before_it_is_kept(tmp_path, remembering):
    tokenizer, _, inner = remembering(tmp_path)
    assert [tokenizer.count(text) for text in ("one", "one")] == [3, 3]
    assert inner.asked == 1


def test_every_way_to_count_has_counts_of_its_own(filled, remembering):
    tokenizer, _, inner = remembering(filled, "characters*120")
    tokenizer.count("one")
    assert inner.asked == 1


def test_only_what_is_not_known_is_prepared(filled, remembering):
    tokenizer, _, inner = remembering(filled)
    tokenizer.prepare(iter(["one", "seven", "three"]))
    assert inner.prepared == ["seven"]


def test_it_counts_as_the_other_one_does():
    tokenizer = CachingTokenizer(Counting(), CountCache("/nowhere"))
    assert (tokenizer.method, tokenizer.name) == ("exact", "characters")


def test_nothing_new_writes_nothing(tmp_path, remembering):
    remembering(tmp_path)[1].save()
    assert not (tmp_path / FILE).exists()


def test_where_nothing_was_kept_no_database_is_loaded(tmp_path, monkeypatch, remembering):
    monkeypatch.delitem(sys.modules, "scopes.index.token_counts", raising=False)
    remembering(tmp_path)[0].count("one")
    assert "scopes.index.token_counts" not in sys.modules


def test_a_place_that_cannot_be_written_is_no_failure(tmp_path, remembering):
    (tmp_path / "file").write_text("a file")
    tokenizer, known, _ = remembering(tmp_path / "file")
    assert tokenizer.count("one") == 3
    known.save()


@pytest.mark.parametrize("options", [{}, {"task": "session cookie", "explain": True}, {"max_tokens": 600}])
def test_a_history_that_did_not_change_is_counted_without_its_encoding(repository, exact, tmp_path, options):
    """S1-30: a context of the same messages costs no encoding, whatever became of the cache of contexts."""
    new(repository)
    talk(repository, 30)
    put(tmp_path, "auth.py", "import session\n")
    say(repository, "conv-001", "changed", files=[{"path": "auth.py", "op": "edit"}])
    first = built(repository, exact, tmp_path, **options)
    forget_contexts(tmp_path)
    again = built(repository, TokenizerChoice(Refusing(exact.tokenizer.name), ()), tmp_path, **options)
    assert (again.formatted_history, again.tokens_used) == (first.formatted_history, first.tokens_used)


def test_the_tokens_of_a_conversation_are_counted_without_its_encoding(repository, exact, tmp_path):
    new(repository)
    talk(repository, 5)
    first = count_conversation(repository, "conv-001", exact, str(tmp_path))
    refusing = TokenizerChoice(Refusing(exact.tokenizer.name), ())
    assert count_conversation(repository, "conv-001", refusing, str(tmp_path)) == first
