"""What is kept between two runs: nothing is read twice, and what is damaged is read again."""

from __future__ import annotations

import os
import sqlite3

import pytest

from scopes.conversation.new_rename_delete import delete, new
from scopes.store.repository import open_repository
from scopes.usage import usage as reading
from scopes.usage.usage import LAYOUT, read_usage
from tests.support.history import history
from tests.usage.answers import answer, count


@pytest.fixture
def cached(repository, tmp_path):
    """A store with two conversations of one answer each, and an index."""
    repository.caller = repository.caller._replace(index_directory=str(tmp_path / "index"))
    for number, name in enumerate(("conv-001", "conv-002")):
        history(repository, "main: a", conversation=name)
        answer(repository, name, "b", time=f"2026-01-0{number + 1}T10:00:00.5Z")
    return repository


@pytest.fixture
def walked(monkeypatch):
    """The number of conversations whose commits were walked, in order."""
    found = []
    walk = reading.walk_oldest_first

    def counting(repository, tips):
        found.append(len(tips))
        return walk(repository, tips)

    monkeypatch.setattr(reading, "walk_oldest_first", counting)
    return found


def test_a_second_run_walks_no_conversation(cached, walked):
    first = count(cached)
    assert (len(walked), first.total.answers) == (2, 2)
    assert (count(cached), len(walked)) == (first, 2)


def test_a_conversation_that_has_grown_is_read_again_and_no_other_one(cached, walked):
    count(cached)
    answer(cached, "conv-002", "c", time="2026-01-03T10:00:00.5Z")
    assert count(cached).total.answers == 3
    assert walked == [1, 1, 1]


def test_a_deleted_conversation_leaves_the_cache(cached, tmp_path):
    count(cached)
    delete(cached, "conv-001")
    assert count(cached).total.answers == 1
    with sqlite3.connect(tmp_path / "index" / LAYOUT.file) as connection:
        assert connection.execute("SELECT conversation FROM usage").fetchall() == [("conv-002",)]
    connection.close()


def test_an_earlier_state_of_the_store_is_read_without_the_cache(cached, walked, monkeypatch):
    first = count(cached)
    monkeypatch.setattr(type(cached), "is_past", True)
    assert (count(cached), len(walked)) == (first, 4)


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_a_file_that_is_no_database_is_made_again(cached, tmp_path, walked, content):
    first = count(cached)
    (tmp_path / "index" / LAYOUT.file).write_bytes(content)
    assert count(cached) == first
    assert (count(cached), count(cached)) == (first, first)
    assert len(walked) <= 6


def test_the_cache_of_another_store_is_not_used(cached, tmp_path, walked):
    count(cached)
    other = open_repository(cached.path)
    os.rename(cached.path, tmp_path / "moved.git")
    other = open_repository(str(tmp_path / "moved.git"))
    other.caller = other.caller._replace(index_directory=str(tmp_path / "index"))
    assert (count(other).total.answers, len(walked)) == (2, 4)


def test_a_locked_file_costs_time_only(cached, tmp_path, walked):
    first = count(cached)
    connection = sqlite3.connect(tmp_path / "index" / LAYOUT.file, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    assert (count(cached), len(walked)) == (first, 4)
    connection.close()


def test_a_conversation_that_cannot_be_read_is_named(cached):
    made = new(cached)
    answer(cached, made.id, "x", time="2026-01-05T10:00:00.5Z")
    broken = next(entry for entry in _loose_objects(cached) if _is_tip(cached, made.id, entry))
    os.chmod(broken, 0o600)
    with open(broken, "wb") as file:
        file.write(b"damaged")
    again = open_repository(cached.path)
    found = count(again)
    assert (found.damaged, found.exit_code, found.total.answers) == ((made.id,), 7, 2)
    assert "1 conversation could not be read" in found.notes[0].text


def _loose_objects(repository):
    for folder, _, files in os.walk(os.path.join(repository.path, "objects")):
        yield from (os.path.join(folder, name) for name in files if len(name) == 38)


def _is_tip(repository, conversation, path):
    tip = repository.list_refs(f"refs/heads/{conversation}/")[f"refs/heads/{conversation}/main"]
    return path.endswith(f"{tip[:2]}{os.sep}{tip[2:]}")


def test_progress_is_reported_for_each_conversation(cached):
    seen = []
    read_usage(cached, on_progress=seen.append)
    assert seen == [1, 1]
