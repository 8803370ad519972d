"""`list` from the index: the same as from the store, whatever has changed since; an index that cannot be used is none."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys

import pytest

from scopes.conversation.branch import abandon, rewind, switch
from scopes.conversation.list import ListFilter, find_cached_list, list_conversations
from scopes.conversation.new_rename_delete import delete, delete_branch, new, rename_conversation, rename_title
from scopes.conversation.store import gc
from scopes.conversation.undo import undo
from scopes.index.caches import list_values
from scopes.store import refs as names
from tests.support.history import history, say
from tests.support.store import git, make_store, remove_object

CHANGES = {
    "nothing": lambda repo: None,
    "append": lambda repo: say(repo, "conv-001/fix", "e", author="zoe"),
    "new": new,
    "title": lambda repo: rename_title(repo, "conv-001", "Login"),
    "rename": lambda repo: rename_conversation(repo, "conv-001", "login-bug"),
    "switch": lambda repo: switch(repo, "conv-001", "fix"),
    "abandon": lambda repo: abandon(repo, "conv-001", "fix"),
    "delete-branch": lambda repo: delete_branch(repo, "conv-001", "fix", force=True),
    "rewind": lambda repo: rewind(repo, "conv-001", to="conv-001~1"),
    "delete": lambda repo: delete(repo, "conv-001"),
    "undo": lambda repo: (new(repo), undo(repo)),
    "gc": gc,
    "plain git": lambda repo: git(repo, "pack-refs", "--all"),
}


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "cache" / "scopes" / "index")


@pytest.fixture
def two(repository):
    """Two conversations, one of them with a second branch."""
    history(repository, "main: a b", "fix@a: c")
    history(repository, "main: d")
    return repository


def test_an_up_to_date_list_is_read_from_the_index_alone(two, directory):
    """S4-53."""
    assert find_cached_list(two.path, directory) is None
    asked = list_conversations(two, directory)
    assert asked == list_conversations(two)
    assert find_cached_list(two.path, directory) == asked


@pytest.mark.parametrize("change", CHANGES)
def test_after_every_change_the_list_equals_that_of_the_store(two, directory, change):
    list_conversations(two, directory)
    CHANGES[change](two)
    right = list_conversations(two)
    assert find_cached_list(two.path, directory) in (None, right)
    assert list_conversations(two, directory) == right
    assert find_cached_list(two.path, directory) == right


def test_details_are_added_to_the_rows_that_are_listed(two, directory):
    list_conversations(two, directory, details=False)
    assert find_cached_list(two.path, directory) is None
    one = ListFilter(limit=1)
    assert list_conversations(two, directory, wanted=one) == list_conversations(two, wanted=one)
    assert find_cached_list(two.path, directory, wanted=one) == list_conversations(two, wanted=one)
    assert find_cached_list(two.path, directory) is None
    assert list_conversations(two, directory) == list_conversations(two)


def test_a_damaged_conversation_is_never_cached(two, directory):
    list_conversations(two, directory)
    say(two, "conv-002", "e")
    lost = two.list_refs(names.HEADS)["refs/heads/conv-002/main"]
    restore = remove_object(two, lost)
    assert list_conversations(make_store(two.path), directory).damaged == ("conv-002",)
    assert find_cached_list(two.path, directory) is None
    restore()
    assert list_conversations(make_store(two.path), directory) == list_conversations(two)


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(5000)])
def test_an_index_that_cannot_be_used_is_made_again(two, directory, content):
    right = list_conversations(two, directory)
    with open(os.path.join(directory, "conversations.sqlite"), "wb") as file:
        file.write(content)
    assert find_cached_list(two.path, directory) is None
    assert list_conversations(two, directory) == right
    assert list_conversations(two, directory) == right
    assert find_cached_list(two.path, directory) == right


def test_damaged_rows_are_not_listed(two, directory):
    right = list_conversations(two, directory)
    with sqlite3.connect(os.path.join(directory, "conversations.sqlite")) as connection:
        connection.execute("UPDATE list SET rows = substr(rows, 2)")
    assert find_cached_list(two.path, directory) is None
    assert list_conversations(two, directory) == right


def test_the_index_of_another_store_is_not_used(two, directory, tmp_path):
    list_conversations(two, directory)
    other = make_store(str(tmp_path / "other.git"))
    assert find_cached_list(other.path, directory) is None
    assert list_conversations(other, directory).conversations == ()


def test_values_for_completion_are_those_of_the_rows(two, directory):
    assert list_values(directory, "participants") == []
    say(two, "conv-002", "x", author="a/b")
    list_conversations(two, directory)
    assert "a/b" in list_values(directory, "participants")
    assert list_values(directory, "model") == []


def test_an_up_to_date_list_imports_no_pygit2(two, directory):
    list_conversations(two, directory)
    code = (
        "import sys; from scopes.conversation.list import find_cached_list;"
        f"assert len(find_cached_list({two.path!r}, {directory!r}).conversations) == 2;"
        "assert 'pygit2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
