"""`list` from the index when there are many loose refs: their files are not opened if none was written."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time

import pytest

from scopes.conversation import list_cached
from scopes.conversation.list import list_conversations
from scopes.conversation.list_cached import COMPLETE, find_cached_list
from scopes.store import refs as names
from scopes.store.raw_refs import stamp_loose_refs
from tests.conversation.test_list_cached import CHANGES, directory, fill, sweep, two
from tests.support.store import git, make_store

__all__ = ["directory", "two"]  # fixtures
HEAD = "refs/heads/conv-001/main"
ACTIVE = "refs/scopes/active/conv-001"
HOUR = 3_600_000_000_000


@pytest.fixture(autouse=True)
def many_old_files(monkeypatch):
    """Take every number of files for many, and all that were written so far for old."""
    monkeypatch.setattr(list_cached, "_MANY_FILES", 1)
    monkeypatch.setattr(list_cached, "wall_nanoseconds", lambda: time.time_ns() + HOUR)


@pytest.fixture
def unread(monkeypatch):
    """Return a function after which reading a loose ref fails the test."""
    return lambda: monkeypatch.setattr(list_cached, "read_ref_files", lambda *_: pytest.fail("a ref was read"))


def compare(repository, directory):
    """Save which files prove both lists, and return the lists."""
    fill(repository, directory)
    return [find_cached_list(repository.path, directory, complete=complete) for complete in (False, True)]


def both(repository, directory):
    return [find_cached_list(repository.path, directory, complete=complete) for complete in (False, True)]


def saved(directory):
    """Return the names of the saved digests of files."""
    with contextlib.closing(sqlite3.connect(os.path.join(directory, "conversations.sqlite"))) as connection:
        return [key for (key,) in connection.execute("SELECT key FROM property WHERE key LIKE '%-files' ORDER BY key")]


def write(repository, name, text):
    """Write a ref file in place, as no program of git does, and give it the times that it had before."""
    path = os.path.join(repository.path, name)
    before = os.stat(path)
    with open(path, "r+", encoding="utf-8") as file:
        file.write(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def rewrite_packed(repository):
    """Exchange the tips of two branches in `packed-refs`, and give the file the times that it had before."""
    path = os.path.join(repository.path, "packed-refs")
    before = os.stat(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    first, second = (git(repository, "rev-parse", f"conv-001/{branch}").strip() for branch in ("fix", "main"))
    exchanged = text.replace(first, "?").replace(second, first).replace("?", second)
    assert exchanged != text
    with open(path, "w", encoding="utf-8") as file:
        file.write(exchanged)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_files_that_were_not_written_are_not_opened(two, directory, unread):
    """S4-53."""
    right = compare(two, directory)
    assert saved(directory) == ["brief-files", "complete-files"]
    unread()
    assert both(two, directory) == right == [list_conversations(two), list_conversations(two, complete=True)]


@pytest.mark.parametrize("change", CHANGES)
def test_after_every_change_the_list_equals_that_of_the_store(two, directory, change):
    compare(two, directory)
    CHANGES[change](two)
    for found, complete in zip(both(two, directory), (False, True), strict=True):
        assert found in (None, list_conversations(two, complete=complete))


OUTSIDE = {
    "git moves a ref": lambda repo: git(repo, "update-ref", HEAD, f"{HEAD}~1"),
    "git deletes a ref": lambda repo: git(repo, "update-ref", "-d", HEAD),
    "git adds a ref": lambda repo: git(repo, "update-ref", "refs/heads/conv-009/main", HEAD),
    "git packs a ref": lambda repo: git(repo, "pack-refs", "--all", "--prune"),
    "git moves a symbolic ref": lambda repo: git(repo, "symbolic-ref", ACTIVE, "refs/heads/conv-001/fix"),
    "a ref is written in place": lambda repo: write(repo, HEAD, git(repo, "rev-parse", f"{HEAD}~1")),
    "a symbolic ref is written in place": lambda repo: write(repo, ACTIVE, "ref: refs/heads/conv-001/fix\n "),
    "a ref is damaged": lambda repo: write(repo, HEAD, "?"),
    "a ref is a link": lambda repo: os.symlink(f"{repo.path}/{HEAD}", f"{repo.path}/refs/heads/conv-002/other"),
    "an operation is pending": lambda repo: git(repo, "update-ref", names.PENDING, HEAD),
    "the configuration is changed": lambda repo: git(repo, "config", "scopes.other", "1"),
}


@pytest.fixture
def switched(two):
    """Two conversations, one of which has an active branch: a symbolic ref."""
    git(two, "symbolic-ref", ACTIVE, HEAD)
    return make_store(two.path)


@pytest.mark.parametrize("change", OUTSIDE)
def test_a_change_by_another_program_is_seen(switched, directory, change):
    compare(switched, directory)
    OUTSIDE[change](switched)
    brief, complete = both(switched, directory)
    assert complete is None
    assert (brief is None) != ("symbolic" in change), "a brief list does not depend on symbolic refs"


def test_a_lock_file_is_no_ref(switched, directory):
    right = compare(switched, directory)
    with open(f"{switched.path}/{HEAD}.lock", "w", encoding="utf-8"):
        assert both(switched, directory) == right


def test_a_loose_ref_that_overrides_a_packed_one_is_seen(switched, directory):
    git(switched, "pack-refs", "--all")
    compare(switched, directory)
    git(switched, "update-ref", HEAD, f"{HEAD}~1")
    assert both(switched, directory) == [None, None]
    git(switched, "pack-refs", "--all", "--prune")
    assert both(switched, directory) == [None, None]


def test_packed_refs_rewritten_within_the_same_second_are_seen(switched, directory):
    git(switched, "pack-refs", "--all", "--prune")
    compare(switched, directory)
    assert saved(directory) == ["complete-files"], "no loose ref is left but the symbolic one"
    rewrite_packed(switched)
    assert both(switched, directory) == [None, None]


def test_files_that_were_written_a_moment_ago_prove_nothing(two, directory, monkeypatch):
    """Another write within the resolution of the file system's clock might leave the same stamp."""
    monkeypatch.setattr(list_cached, "wall_nanoseconds", time.time_ns)
    right = compare(two, directory)
    assert saved(directory) == []
    assert both(two, directory) == right


def test_few_loose_refs_are_read(two, directory, monkeypatch):
    """To write into the index takes longer than to open a few files."""
    monkeypatch.setattr(list_cached, "_MANY_FILES", 100)
    compare(two, directory)
    assert saved(directory) == []


def test_a_saved_digest_is_that_of_one_state_of_the_rows(two, directory):
    """After the rows were saved for another state, the files of the former one prove nothing."""
    compare(two, directory)
    files = stamp_loose_refs(two.path, COMPLETE)
    with contextlib.closing(sqlite3.connect(os.path.join(directory, "conversations.sqlite"))) as connection, connection:
        connection.execute("UPDATE property SET value = 'another state' WHERE key IN ('brief', 'complete')")
    assert stamp_loose_refs(two.path, COMPLETE) == files
    assert both(two, directory) == [None, None]


def test_the_index_of_another_store_at_the_same_path_is_not_used(two, directory, tmp_path):
    compare(two, directory)
    os.rename(two.path, tmp_path / "gone.git")
    shutil.copytree(tmp_path / "gone.git", two.path)
    assert both(two, directory) == [None, None]


def test_a_damaged_index_gives_no_error_and_no_wrong_row(two, directory):
    compare(two, directory)
    sweep(two, directory, 30)


def test_an_unwritable_index_is_read(two, directory, monkeypatch):
    fill(two, directory)
    monkeypatch.setattr("scopes.index.conversation_table._SET_PROPERTY", "not a statement")
    assert both(two, directory) == [list_conversations(two), list_conversations(two, complete=True)]


def test_a_stamp_covers_the_refs_of_the_prefixes_alone(switched):
    """A prefix may end inside a name."""
    before = stamp_loose_refs(switched.path, ("refs/heads/conv-002/ma",))
    git(switched, "update-ref", HEAD, f"{HEAD}~1")
    assert (before.files, stamp_loose_refs(switched.path, ("refs/heads/conv-002/ma",))) == (1, before)
    assert stamp_loose_refs(switched.path, ("refs/nothing/",)).files == 0
