"""Contexts are cached by everything that they depend on, for ten minutes; damaged entries are not used."""

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
from scopes.conversation.new_rename_delete import new
from tests.context.building import built, put, talk
from tests.support.history import history, say


@pytest.fixture
def builds(monkeypatch):
    """Return a list that grows with every context that is built and not taken from the cache."""
    calls = []
    original = module.assemble
    monkeypatch.setattr(module, "assemble", lambda *arguments: calls.append(1) or original(*arguments))
    return calls


def entries(tmp_path):
    return sorted((tmp_path / "cache" / "contexts").iterdir())


def test_a_second_request_is_answered_from_the_cache(repository, exact, tmp_path, builds):
    """S4-42."""
    new(repository)
    put(tmp_path, "a.py", "word")
    say(repository, "conv-001", "x", files=[{"path": "a.py", "op": "edit"}, {"path": "gone", "op": "read"}])
    options = {"task": "word", "explain": True}
    first, second = (built(repository, exact, tmp_path, **options) for _ in range(2))
    assert first == second
    assert builds == [1]


@pytest.mark.parametrize("options", [{"max_tokens": 700}, {"task": "login"}, {"include_all": True}, {"mode": "files"}])
def test_another_budget_task_or_option_is_another_entry(repository, exact, tmp_path, builds, options):
    history(repository, "main: a")
    built(repository, exact, tmp_path)
    built(repository, exact, tmp_path, **options)
    assert builds == [1, 1]


def test_another_tokenizer_is_another_entry(repository, exact, estimate, tmp_path, builds):
    history(repository, "main: a")
    methods = {built(repository, choice, tmp_path).method for choice in (exact, estimate)}
    assert methods == {"exact", "estimate"}


def test_a_new_message_or_a_changed_file_is_a_miss(repository, exact, tmp_path, builds):
    """S4-42."""
    new(repository)
    put(tmp_path, "a.py", "word")
    say(repository, "conv-001", "x", files=[{"path": "a.py", "op": "edit"}])
    built(repository, exact, tmp_path)
    put(tmp_path, "a.py", "another word")
    assert "another word" in built(repository, exact, tmp_path).formatted_history
    say(repository, "conv-001", "y")
    assert built(repository, exact, tmp_path).turns_included == 2
    assert builds == [1, 1, 1]


@pytest.mark.parametrize("damage", [b"", b"x" * 100, "flip", "cut", "json"])
def test_a_damaged_entry_is_a_miss_with_a_note(repository, exact, tmp_path, builds, damage):
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
    assert builds == [1, 1]


@pytest.mark.parametrize("document", ['{"context": {}}', "[]", '{"context": []}', '{"context": {"notes": null}}'])
def test_an_entry_of_another_version_is_a_miss_with_a_note(repository, exact, tmp_path, document):
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


def test_an_entry_with_a_wrong_hash_is_not_decompressed(repository, exact, tmp_path):
    history(repository, "main: a")
    first = built(repository, exact, tmp_path)
    [entry] = entries(tmp_path)
    entry.write_bytes(bytes(32) + context_cache.zlib.compress(bytes(200 << 20)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert replace(built(repository, exact, tmp_path), notes=()) == first
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


@pytest.mark.parametrize("seconds", [0, 5])
def test_the_cache_time_can_be_set(repository, exact, tmp_path, builds, seconds):
    """S4-42."""
    history(repository, "main: a")
    for _ in range(2):
        built(repository, exact, tmp_path, cache_seconds=seconds)
    assert len(builds) == (1 if seconds else 2)


@pytest.mark.parametrize(("minutes", "times"), [(9, 1), (11, 2)])
def test_an_entry_is_valid_for_ten_minutes(repository, exact, tmp_path, builds, minutes, times):
    """S4-42."""
    history(repository, "main: a")
    built(repository, exact, tmp_path)
    then = time.time() - minutes * 60
    os.utime(entries(tmp_path)[0], (then, then))
    built(repository, exact, tmp_path)
    assert len(builds) == times


def test_a_cached_larger_context_is_not_used_for_a_smaller_budget(repository, exact, tmp_path, builds):
    """S4-43."""
    new(repository)
    talk(repository, 20)
    assert built(repository, exact, tmp_path, max_tokens=5000).tokens_used > 600
    assert built(repository, exact, tmp_path, max_tokens=600).tokens_used <= 600
    assert builds == [1, 1]


def test_entries_are_compressed_and_can_be_deleted(repository, exact, tmp_path):
    """S4-44."""
    new(repository)
    talk(repository, 20, length=900)
    first = built(repository, exact, tmp_path)
    assert entries(tmp_path)[0].stat().st_size < len(first.formatted_history) / 4
    entries(tmp_path)[0].unlink()
    assert built(repository, exact, tmp_path) == first


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_a_pipe_directory_or_device_in_place_of_an_entry_is_ignored(repository, exact, tmp_path, make):
    history(repository, "main: a")
    first = built(repository, exact, tmp_path)
    [entry] = entries(tmp_path)
    entry.unlink()
    make(entry)
    assert replace(built(repository, exact, tmp_path), notes=()) == first


def test_an_entry_with_another_key_is_not_used(repository, exact, tmp_path):
    """An entry may have been renamed."""
    history(repository, "main: a")
    built(repository, exact, tmp_path, max_tokens=700)
    [other] = entries(tmp_path)
    built(repository, exact, tmp_path, max_tokens=800)
    [mine] = [entry for entry in entries(tmp_path) if entry != other]
    mine.write_bytes(other.read_bytes())
    assert built(repository, exact, tmp_path, max_tokens=800).max_tokens == 800


def test_an_entry_of_last_month_is_not_used(repository, exact, tmp_path, builds):
    history(repository, "main: a")
    built(repository, exact, tmp_path)
    old = time.time() - 31 * 86_400
    os.utime(entries(tmp_path)[0], (old, old))
    built(repository, exact, tmp_path)
    assert builds == [1, 1]


def test_the_oldest_entries_are_deleted_if_there_are_too_many(repository, exact, tmp_path, monkeypatch):
    history(repository, "main: a")
    for number in range(4):
        built(repository, exact, tmp_path, max_tokens=8000 + number)
        for age, entry in enumerate(entries(tmp_path)):
            os.utime(entry, (time.time() - age, time.time() - age))
    size = max(entry.stat().st_size for entry in entries(tmp_path))
    monkeypatch.setattr(context_cache, "_MAX_BYTES", 2 * size + 10)
    built(repository, exact, tmp_path, max_tokens=9000)
    assert len(entries(tmp_path)) == 2


def test_a_cache_that_cannot_be_written_is_ignored(repository, exact, tmp_path):
    history(repository, "main: a")
    (tmp_path / "cache").write_text("a file")
    assert built(repository, exact, tmp_path).turns_included == 1


def test_entries_are_readable_by_the_owner_only(repository, exact, tmp_path):
    history(repository, "main: a")
    built(repository, exact, tmp_path)
    assert entries(tmp_path)[0].stat().st_mode & 0o077 == 0
