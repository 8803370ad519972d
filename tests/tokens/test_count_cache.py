"""Counts are cached between processes, so that an encoding is rarely loaded."""

from __future__ import annotations

import sqlite3

import pytest

from scopes.context import count_cache
from scopes.context.count_cache import COUNTS, CachingTokenizer, CountCache


class Counting:
    """Counts characters, and records its calls."""

    method = "exact"

    def __init__(self, name="characters"):
        self.name = name
        self.calls = 0

    def count(self, text):
        self.calls += 1
        return len(text)


def count(directory, *texts, name="characters"):
    """Count texts as one process does; return the counts, and how many texts were not found in the cache."""
    inner = Counting(name)
    with CountCache(str(directory)) as cache:
        tokenizer = CachingTokenizer(inner, cache)
        return [tokenizer.count(text) for text in texts], inner.calls


@pytest.fixture
def filled(tmp_path):
    """Return a directory with the cached counts of three texts."""
    count(tmp_path, "one", "three", "\ud800")
    return tmp_path


def test_a_text_is_counted_once_in_all_processes(filled):
    assert count(filled, "one", "three", "\ud800", "one") == ([3, 5, 1, 3], 0)


def test_every_tokenizer_has_its_own_counts(filled):
    assert count(filled, "one", name="characters*120") == ([3], 1)


def test_a_cache_that_cannot_be_written_is_ignored(tmp_path):
    (tmp_path / "file").write_text("a file")
    assert count(tmp_path / "file", "one") == ([3], 1)


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"no database" * 100, bytes(5000)])
def test_a_file_of_another_format_is_replaced(filled, content):
    (filled / COUNTS.file).write_bytes(content)
    assert [count(filled, "one")[1] for _ in range(2)] == [1, 0]


def test_a_locked_file_finds_nothing_and_is_not_replaced(filled, monkeypatch):
    monkeypatch.setattr(count_cache, "_COUNTS_BUSY_SECONDS", 0.0)
    other = sqlite3.connect(filled / COUNTS.file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert count(filled, "one") == ([3], 1)
    other.execute("ROLLBACK")
    other.close()
    assert count(filled, "one") == ([3], 0)


def test_a_file_that_is_too_large_is_emptied(filled, monkeypatch):
    monkeypatch.setattr(count_cache, "_MAX_COUNTS_BYTES", 100)
    count(filled, "seven")
    assert count(filled, "one", "seven", "three")[1] == 2
