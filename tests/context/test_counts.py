"""Counts are remembered, so that an encoding is rarely loaded, and damage never makes one wrong."""

from __future__ import annotations

import pytest

from scopes.context import counts
from scopes.context.counts import FileCounts, RememberingTokenizer


class Counting:
    """Counts characters, and how often it was asked."""

    method = "exact"
    name = "characters*120"

    def __init__(self):
        self.asked = 0

    def count(self, text):
        self.asked += 1
        return len(text)


def remembering(tmp_path):
    known = FileCounts(str(tmp_path), Counting.name)
    inner = Counting()
    return RememberingTokenizer(inner, known), known, inner


def stored(tmp_path):
    return tmp_path / "counts" / "characters-120"


@pytest.fixture
def filled(tmp_path):
    """A memory with the counts of three texts."""
    tokenizer, known, _ = remembering(tmp_path)
    for text in ("one", "three", "\ud800"):
        tokenizer.count(text)
    known.save()
    return tmp_path


def test_a_text_is_counted_once_in_all_processes(filled):
    tokenizer, known, inner = remembering(filled)
    assert [tokenizer.count(text) for text in ("one", "three", "\ud800", "one")] == [3, 5, 1, 3]
    known.save()
    assert (inner.asked, stored(filled).stat().st_size) == (0, 3 * 24)


def test_it_counts_as_the_other_one_does():
    tokenizer = RememberingTokenizer(Counting(), FileCounts("/nowhere", "x"))
    assert (tokenizer.method, tokenizer.name) == (Counting.method, Counting.name)


@pytest.mark.parametrize("position", range(0, 72, 5))
def test_a_flipped_byte_costs_one_count_and_changes_none(filled, position):
    data = bytearray(stored(filled).read_bytes())
    data[position] ^= 0x10
    stored(filled).write_bytes(data)
    tokenizer, _, inner = remembering(filled)
    assert [tokenizer.count(text) for text in ("one", "three", "\ud800")] == [3, 5, 1]
    assert inner.asked == 1


@pytest.mark.parametrize("length", [0, 1, 23, 24, 50])
def test_a_torn_end_is_as_if_it_were_not_there_and_what_follows_is_whole(filled, length):
    stored(filled).write_bytes(stored(filled).read_bytes()[:length])
    tokenizer, known, _ = remembering(filled)
    tokenizer.count("seven")
    known.save()
    tokenizer, _, inner = remembering(filled)
    assert (tokenizer.count("seven"), inner.asked) == (5, 0)


def test_a_memory_that_has_grown_too_large_begins_anew(filled, monkeypatch):
    monkeypatch.setattr(counts, "_LARGEST_BYTES", 70)
    tokenizer, known, _ = remembering(filled)
    tokenizer.count("seven")
    known.save()
    assert stored(filled).stat().st_size == 24


def test_nothing_new_writes_nothing(tmp_path):
    remembering(tmp_path)[1].save()
    assert not stored(tmp_path).exists()


def test_a_place_that_cannot_be_written_is_no_failure(tmp_path):
    (tmp_path / "counts").write_text("a file")
    tokenizer, known, _ = remembering(tmp_path)
    assert tokenizer.count("one") == 3
    known.save()
