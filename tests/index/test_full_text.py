"""The index file: whatever its state, queries give the right results."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat

import pytest

from scopes.conversation.branch import rewind
from scopes.conversation.new_rename_delete import delete, delete_branch, new, rename_conversation
from scopes.conversation.undo import undo
from scopes.index.sqlite_files import delete_files
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.projects import index_directory
from tests.index.corpus import dump, file_in, matches, opened, status_and_notes
from tests.support.history import history, say
from tests.support.store import make_store, open_store


@pytest.fixture
def drawn(repository):
    """A conversation with two branches."""
    return history(repository, "main: alpha beta gamma", "fix@beta: delta")


def test_the_index_is_built_once_and_then_fresh(repository, directory, drawn):
    first, second = status_and_notes(repository, directory)[0], status_and_notes(repository, directory)[0]
    assert (first.state, first.read, second.state, second.read) == ("built", 5, "fresh", 0)
    assert (second.messages, second.branches, second.conversations) == (4, 2, 1)


def test_only_new_commits_are_read(repository, directory, drawn):
    status_and_notes(repository, directory)
    appended = say(repository, f"{drawn.conversation}/fix", "epsilon")
    seen = status_and_notes(repository, directory)[0]
    assert (seen.state, seen.read, seen.messages) == ("updated", 1, 5)
    assert matches(repository, directory, "epsilon") == [appended.id]


def test_only_the_owner_can_read_it(repository, directory, drawn):
    status_and_notes(repository, directory)
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
    assert {stat.S_IMODE(os.stat(os.path.join(directory, name)).st_mode) for name in os.listdir(directory)} == {0o600}


@pytest.mark.parametrize(
    "change",
    [
        lambda repo, conv: rewind(repo, conv, to=f"{conv}~2"),
        lambda repo, conv: delete_branch(repo, conv, "fix", force=True),
        delete,
        lambda repo, conv: rename_conversation(repo, conv, "login-bug"),
        lambda repo, conv: (rewind(repo, conv, to=f"{conv}~1"), undo(repo)),
    ],
    ids=["rewind", "delete-branch", "delete", "rename", "undo"],
)
def test_after_every_change_the_index_equals_a_new_one(repository, directory, drawn, change, tmp_path):
    history(repository, "main: zeta", conversation="other")
    status_and_notes(repository, directory)
    change(repository, drawn.conversation)
    assert dump(repository, directory) == dump(repository, tmp_path / "new")
    assert status_and_notes(repository, directory)[0].state == "fresh"


def test_messages_that_no_branch_reaches_are_not_found(repository, directory, drawn):
    status_and_notes(repository, directory)
    rewind(repository, drawn.conversation, to=f"{drawn.conversation}~1")
    assert matches(repository, directory, "gamma") == []
    undo(repository)
    assert matches(repository, directory, "gamma") == [drawn.ids["gamma"]]


def test_a_store_without_messages_has_an_index(repository, directory):
    new(repository)
    assert status_and_notes(repository, directory)[0].messages == 0


def test_an_index_of_another_store_is_rebuilt(repository, directory, drawn, tmp_path):
    """D-45."""
    other = make_store(tmp_path / "other.git")
    history(other, "main: alpha secret")
    status_and_notes(other, tmp_path / "theirs")
    directory.mkdir(parents=True)
    shutil.copy(file_in(tmp_path / "theirs"), file_in(directory))
    seen, notes = status_and_notes(repository, directory)
    assert (seen.state, len(notes)) == ("rebuilt", 1)
    assert "another store" in notes[0]
    assert matches(repository, directory, "secret") == []


@pytest.mark.parametrize(
    "changes", ["PRAGMA user_version = 999", "ALTER TABLE property RENAME TO standing; PRAGMA user_version = 2"]
)
def test_an_index_of_another_version_is_rebuilt(repository, directory, drawn, changes):
    """A newer layout, and layout 2, which had another name for a table."""
    status_and_notes(repository, directory)
    connection = sqlite3.connect(file_in(directory))
    connection.executescript(changes)
    connection.close()
    assert status_and_notes(repository, directory)[0].state == "rebuilt"
    assert status_and_notes(repository, directory)[0].state == "fresh"


@pytest.mark.parametrize("content", [b"no database at all " * 100, b"SQLite format 3\0" + b"\0" * 4080])
def test_a_file_that_is_not_an_index_is_replaced(repository, directory, drawn, content):
    directory.mkdir(parents=True)
    (directory / "index.sqlite").write_bytes(content)
    seen, notes = status_and_notes(repository, directory)
    assert (seen.state, seen.messages, len(notes)) == ("rebuilt", 4, 1)


def test_without_a_writable_directory_the_index_is_built_in_memory(repository, tmp_path, drawn):
    (tmp_path / "file").write_text("in the way")
    seen, notes = status_and_notes(repository, tmp_path / "file" / "scopes" / "index")
    assert (seen.state, seen.messages, len(notes)) == ("in-memory", 4, 1)


def test_a_link_is_not_followed(repository, directory, drawn, tmp_path):
    directory.mkdir(parents=True)
    (tmp_path / "victim").write_text("mine")
    os.symlink(tmp_path / "victim", file_in(directory))
    assert status_and_notes(repository, directory)[0].state == "in-memory"
    assert (tmp_path / "victim").read_text() == "mine"


def test_while_another_process_writes_the_index_is_built_in_memory(repository, directory, drawn, monkeypatch):
    monkeypatch.setattr("scopes.index.sqlite_files._BUSY_SECONDS", 0.01)
    status_and_notes(repository, directory)
    writer = sqlite3.connect(file_in(directory), isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    assert status_and_notes(repository, directory)[0].state == "fresh"
    say(repository, drawn.conversation, "epsilon")
    seen, notes = status_and_notes(repository, directory)
    writer.close()
    assert (seen.state, seen.messages) == ("in-memory", 5)
    assert "locked" in notes[0]


def test_two_stores_have_two_indexes(tmp_path):
    assert index_directory("/cache", "/a.git") != index_directory("/cache", "/b.git")
    assert index_directory("/cache", "/a.git").startswith("/cache/")


def test_a_query_sees_one_snapshot(repository, directory, drawn):
    """A reader that began before another writes goes on with what it saw."""
    with opened(repository, directory) as index:
        say(repository, drawn.conversation, "epsilon")
        status_and_notes(repository, directory)
        assert index.status.messages == 4


def test_delete_files_keeps_directories_and_follows_no_link(repository, directory, drawn, tmp_path):
    status_and_notes(repository, directory)
    (directory / "kept").mkdir()
    (tmp_path / "victim").write_text("mine")
    os.symlink(tmp_path / "victim", directory / "link")
    assert delete_files(str(directory)) == []
    assert sorted(os.listdir(directory)) == ["kept"]
    assert (tmp_path / "victim").read_text() == "mine"
    assert delete_files(str(tmp_path / "nowhere")) == delete_files(str(tmp_path / "victim")) == []
    assert status_and_notes(repository, directory)[0].state == "built"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may remove anything")
def test_files_that_cannot_be_deleted_are_reported(repository, directory, drawn):
    status_and_notes(repository, directory)
    os.chmod(directory, 0o500)
    assert "index.sqlite" in "".join(delete_files(str(directory)))
    os.chmod(directory, 0o700)


def test_a_store_that_a_backup_replaced_in_place_is_searched_as_it_is_now(repository, directory, drawn, tmp_path):
    """The messages have the ids that they had before they were purged."""
    backup = tmp_path / "backup"
    shutil.copytree(repository.path, backup, symlinks=True)
    purge(
        repository,
        PurgeRequest(conversation="conv-001", messages=(drawn.ids["beta"],)),
        Places(str(directory), (), None),
    )
    assert matches(repository, directory, "beta") == []
    for name in os.listdir(repository.path):  # the directory itself stays: the index is of the same store
        path = os.path.join(repository.path, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    shutil.copytree(backup, repository.path, symlinks=True, dirs_exist_ok=True)
    restored = open_store(repository.path)
    assert matches(restored, directory, "beta") == [drawn.ids["beta"]]
    assert sorted(matches(restored, directory, "alpha")) == [drawn.ids["alpha"]]
