"""Counts are cached between processes, so that an encoding is rarely loaded."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import ExitStack

import pytest

from scopes.tokens import count as count_cache
from scopes.tokens.count import FILE, CachingTokenizer, CountCache


class Counting:
    """Counts characters, and records its calls."""

    method = "exact"

    def __init__(self, name="characters"):
        self.name = name
        self.calls = 0
        self.prepared = []

    def prepare(self, texts):
        self.prepared += texts

    def count(self, text):
        self.calls += 1
        return len(text)


@pytest.fixture
def make_tokenizer():
    """Make caching tokenizers whose files are closed after the test."""
    with ExitStack() as stack:

        def make(directory, name="characters"):
            cache = stack.enter_context(CountCache(str(directory)))
            inner = Counting(name)
            return CachingTokenizer(inner, cache), cache, inner

        yield make


@pytest.fixture
def filled(tmp_path, make_tokenizer):
    """Return a directory with the cached counts of three texts."""
    tokenizer, cache, _ = make_tokenizer(tmp_path)
    for text in ("one", "three", "\ud800"):
        tokenizer.count(text)
    cache.save()
    return tmp_path


def test_a_text_is_counted_once_in_all_processes(filled, make_tokenizer):
    tokenizer, cache, inner = make_tokenizer(filled)
    assert [tokenizer.count(text) for text in ("one", "three", "\ud800", "one")] == [3, 5, 1, 3]
    cache.save()
    assert inner.calls == 0


def test_a_count_is_found_before_it_is_saved(tmp_path, make_tokenizer):
    tokenizer, _, inner = make_tokenizer(tmp_path)
    assert [tokenizer.count(text) for text in ("one", "one")] == [3, 3]
    assert inner.calls == 1


def test_every_tokenizer_has_its_own_counts(filled, make_tokenizer):
    tokenizer, _, inner = make_tokenizer(filled, "characters*120")
    tokenizer.count("one")
    assert inner.calls == 1


def test_only_texts_without_a_cached_count_are_prepared(filled, make_tokenizer):
    tokenizer, _, inner = make_tokenizer(filled)
    tokenizer.prepare(iter(["one", "seven", "three"]))
    assert inner.prepared == ["seven"]


def test_a_caching_tokenizer_has_method_and_name_of_the_other():
    tokenizer = CachingTokenizer(Counting(), CountCache("/nowhere"))
    assert (tokenizer.method, tokenizer.name) == ("exact", "characters")


def test_saving_without_new_counts_writes_nothing(tmp_path, make_tokenizer):
    make_tokenizer(tmp_path)[1].save()
    assert not (tmp_path / FILE).exists()


def test_without_a_cache_file_sqlite_is_not_loaded(tmp_path, monkeypatch, make_tokenizer):
    monkeypatch.delitem(sys.modules, "scopes.index.database", raising=False)
    make_tokenizer(tmp_path)[0].count("one")
    assert "scopes.index.database" not in sys.modules


def test_a_cache_that_cannot_be_written_is_ignored(tmp_path, make_tokenizer):
    (tmp_path / "file").write_text("a file")
    tokenizer, cache, _ = make_tokenizer(tmp_path / "file")
    assert tokenizer.count("one") == 3
    cache.save()


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"no database" * 100, bytes(5000)])
def test_a_file_of_another_format_is_replaced(filled, make_tokenizer, content):
    (filled / FILE).write_bytes(content)
    for calls in (1, 0):
        tokenizer, cache, inner = make_tokenizer(filled)
        assert (tokenizer.count("one"), inner.calls) == (3, calls)
        cache.save()


def test_a_locked_file_finds_nothing_and_is_not_replaced(filled, make_tokenizer, monkeypatch):
    monkeypatch.setattr(count_cache, "_BUSY_SECONDS", 0.0)
    other = sqlite3.connect(filled / FILE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    tokenizer, cache, inner = make_tokenizer(filled)
    assert (tokenizer.count("one"), inner.calls) == (3, 1)
    cache.save()
    other.execute("ROLLBACK")
    other.close()
    tokenizer, _, inner = make_tokenizer(filled)
    assert (tokenizer.count("one"), inner.calls) == (3, 0)


def test_a_file_that_is_too_large_is_emptied(filled, make_tokenizer, monkeypatch):
    monkeypatch.setattr(count_cache, "_MAX_FILE_BYTES", 100)
    tokenizer, cache, _ = make_tokenizer(filled)
    tokenizer.count("seven")
    cache.save()
    tokenizer, _, inner = make_tokenizer(filled)
    tokenizer.prepare(iter(["one", "seven", "three"]))
    assert inner.prepared == ["one", "three"]
