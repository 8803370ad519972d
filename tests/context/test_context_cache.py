"""Contexts are kept: by all that they depend on, for a while, and never when they are damaged."""

from __future__ import annotations

import json
import os
import resource
import time
from dataclasses import replace
from hashlib import sha256

import pytest

from scopes.context import context as module
from scopes.context import context_cache
from scopes.conversation.new import new
from tests.context.building import built, put, talk
from tests.support.history import history, say


@pytest.fixture
def made(monkeypatch):
    """The number of times that a context was really put together."""
    calls = []
    original = module.assemble
    monkeypatch.setattr(module, "assemble", lambda *words: calls.append(1) or original(*words))
    return calls


def entries(tmp_path):
    return sorted((tmp_path / "cache" / "contexts").iterdir())


def test_the_second_time_it_is_taken_from_the_cache_and_equal(repository, exact, tmp_path, made):
    """S4-42."""
    new(repository)
    put(tmp_path, "a.py", "word")
    say(repository, "conv-001", "x", files=[{"path": "a.py", "op": "edit"}, {"path": "gone", "op": "read"}])
    options = {"task": "word", "explain": True}
    first, second = (built(repository, exact, tmp_path, **options) for _ in range(2))
    assert first == second
    assert made == [1]


@pytest.mark.parametrize("options", [{"max_tokens": 700}, {"task": "login"}, {"include_all": True}, {"mode": "files"}])
def test_another_budget_task_or_option_is_another_context(repository, exact, tmp_path, made, options):
    history(repository, "main: a")
    built(repository, exact, tmp_path)
    built(repository, exact, tmp_path, **options)
    assert made == [1, 1]


def test_another_way_to_count_is_another_context(repository, exact, estimate, tmp_path, made):
    history(repository, "main: a")
    methods = {built(repository, chosen, tmp_path).method for chosen in (exact, estimate)}
    assert methods == {"exact", "estimate"}


def test_a_new_message_and_a_changed_file_are_noticed(repository, exact, tmp_path, made):
    """S4-42."""
    new(repository)
    put(tmp_path, "a.py", "word")
    say(repository, "conv-001", "x", files=[{"path": "a.py", "op": "edit"}])
    built(repository, exact, tmp_path)
    put(tmp_path, "a.py", "another word")
    assert "another word" in built(repository, exact, tmp_path).formatted_history
    say(repository, "conv-001", "y")
    assert built(repository, exact, tmp_path).turns_included == 2
    assert made == [1, 1, 1]


@pytest.mark.parametrize("damage", [b"", b"x" * 100, "flip", "cut", "json"])
def test_a_damaged_entry_is_a_warning_and_a_miss(repository, exact, tmp_path, made, damage):
    """S4-44."""
    history(repository, "main: a")
    first = built(repository, exact, tmp_path)
    [entry] = entries(tmp_path)
    data = entry.read_bytes()
    broken = {
        "flip": data[:20] + b"\xff" + data[21:],
        "cut": data[:-9],
        "json": context_cache.zlib.compress(b'{"key": 1}'),
    }
    entry.write_bytes(damage if isinstance(damage, bytes) else broken[damage])
    again = built(repository, exact, tmp_path)
    assert [note.text for note in again.notes] == ["the cached context was damaged and was built again"]
    assert replace(again, notes=()) == first
    assert built(repository, exact, tmp_path) == first
    assert made == [1, 1]


@pytest.mark.parametrize("document", ['{"context": {}}', "[]", '{"context": []}', '{"context": {"notes": null}}'])
def test_a_whole_entry_of_another_version_is_a_warning_and_a_miss(repository, exact, tmp_path, document):
    """S4-44."""
    history(repository, "main: a")
    first = built(repository, exact, tmp_path)
    [entry] = entries(tmp_path)
    written = json.loads(context_cache.zlib.decompress(entry.read_bytes()[32:]))
    changed = json.loads(document)
    data = context_cache.zlib.compress(
        json.dumps({**written, **changed} if isinstance(changed, dict) else changed).encode()
    )
    entry.write_bytes(sha256(data).digest() + data)
    again = built(repository, exact, tmp_path)
    assert [note.text for note in again.notes] == ["the cached context was damaged and was built again"]
    assert replace(again, notes=()) == first


def test_an_entry_that_unpacks_to_gigabytes_is_not_unpacked(repository, exact, tmp_path):
    history(repository, "main: a")
    first = built(repository, exact, tmp_path)
    [entry] = entries(tmp_path)
    entry.write_bytes(bytes(32) + context_cache.zlib.compress(bytes(200 << 20)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert replace(built(repository, exact, tmp_path), notes=()) == first
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


@pytest.mark.parametrize("seconds", [0, 5])
def test_how_long_an_entry_is_kept_can_be_said(repository, exact, tmp_path, made, seconds):
    """S4-42."""
    history(repository, "main: a")
    for _ in range(2):
        built(repository, exact, tmp_path, cache_seconds=seconds)
    assert len(made) == (1 if seconds else 2)


@pytest.mark.parametrize(("minutes", "times"), [(9, 1), (11, 2)])
def test_an_entry_is_kept_for_ten_minutes(repository, exact, tmp_path, made, minutes, times):
    """S4-42."""
    history(repository, "main: a")
    built(repository, exact, tmp_path)
    then = time.time() - minutes * 60
    os.utime(entries(tmp_path)[0], (then, then))
    built(repository, exact, tmp_path)
    assert len(made) == times


def test_a_larger_context_that_was_kept_is_not_given_for_a_smaller_budget(repository, exact, tmp_path, made):
    """S4-43."""
    new(repository)
    talk(repository, 20)
    assert built(repository, exact, tmp_path, max_tokens=5000).tokens_used > 600
    assert built(repository, exact, tmp_path, max_tokens=600).tokens_used <= 600
    assert made == [1, 1]


def test_entries_are_compressed_and_deleting_them_loses_nothing(repository, exact, tmp_path):
    """S4-44."""
    new(repository)
    talk(repository, 20, length=900)
    first = built(repository, exact, tmp_path)
    assert entries(tmp_path)[0].stat().st_size < len(first.formatted_history) / 4
    entries(tmp_path)[0].unlink()
    assert built(repository, exact, tmp_path) == first


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_entry_is_neither_waited_for_nor_read(repository, exact, tmp_path, make):
    history(repository, "main: a")
    first = built(repository, exact, tmp_path)
    [entry] = entries(tmp_path)
    entry.unlink()
    make(entry)
    assert replace(built(repository, exact, tmp_path), notes=()) == first


def test_an_entry_of_another_key_is_not_taken(repository, exact, tmp_path):
    """Somebody may have renamed it."""
    history(repository, "main: a")
    built(repository, exact, tmp_path, max_tokens=700)
    [other] = entries(tmp_path)
    built(repository, exact, tmp_path, max_tokens=800)
    [mine] = [entry for entry in entries(tmp_path) if entry != other]
    mine.write_bytes(other.read_bytes())
    assert built(repository, exact, tmp_path, max_tokens=800).max_tokens == 800


def test_an_entry_of_last_month_is_too_old(repository, exact, tmp_path, made):
    history(repository, "main: a")
    built(repository, exact, tmp_path)
    old = time.time() - 31 * 86_400
    os.utime(entries(tmp_path)[0], (old, old))
    built(repository, exact, tmp_path)
    assert made == [1, 1]


def test_the_oldest_go_when_there_are_too_many(repository, exact, tmp_path, monkeypatch):
    history(repository, "main: a")
    for number in range(4):
        built(repository, exact, tmp_path, max_tokens=8000 + number)
        for age, entry in enumerate(entries(tmp_path)):
            os.utime(entry, (time.time() - age, time.time() - age))
    size = max(entry.stat().st_size for entry in entries(tmp_path))
    monkeypatch.setattr(context_cache, "_MAX_BYTES", 2 * size + 10)
    built(repository, exact, tmp_path, max_tokens=9000)
    assert len(entries(tmp_path)) == 2


def test_a_cache_that_cannot_be_written_is_no_failure(repository, exact, tmp_path):
    history(repository, "main: a")
    (tmp_path / "cache").write_text("a file")
    assert built(repository, exact, tmp_path).turns_included == 1


def test_only_the_owner_can_read_what_is_kept(repository, exact, tmp_path):
    history(repository, "main: a")
    built(repository, exact, tmp_path)
    assert entries(tmp_path)[0].stat().st_mode & 0o077 == 0
