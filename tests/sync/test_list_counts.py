"""`list` says of each conversation how many messages the remote lacks, and how many only it has."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.branch import branch, rewind
from scopes.conversation.list import find_cached_list, list_conversations
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import delete_branch, rename_title
from scopes.conversation.store import set_setting
from scopes.conversation.undo import undo
from scopes.store.refs import REMOTES, REMOTES_FILE
from scopes.sync.change_remotes import remove_remote
from tests.support.history import history, say
from tests.support.recalled import recalled
from tests.support.remotes import add, fetch_from, machine, make_bare, push_to
from tests.support.store import open_store, read_bytes, write_bytes


@pytest.fixture
@recalled
def theirs(ours, bare, tmp_path):
    """Another machine, which has what was pushed."""
    push_to(ours)
    other = machine(tmp_path / "theirs", bare, "dave")
    fetch_from(other)
    return other


def counts(repository, directory=None):
    """Return what the remote lacks and what only it has, by conversation."""
    rows = list_conversations(open_store(repository), directory).conversations
    return {row.id: (row.ahead, row.behind) for row in rows}


def test_without_a_remote_nothing_is_compared(repository):
    history(repository, "main: a")
    assert counts(repository) == {"conv-001": (None, None)}


def test_a_conversation_that_was_never_shared_is_not_compared(ours):
    push_to(ours)
    history(ours, "main: x")
    assert counts(ours) == {"conv-001": (0, 0), "conv-002": (None, None)}


def test_own_messages_are_ahead_until_they_are_pushed(theirs):
    say(theirs, "conv-001/main", "one")
    say(theirs, "conv-001/fix", "two")
    assert counts(theirs) == {"conv-001": (2, 0)}
    push_to(theirs)
    assert counts(theirs) == {"conv-001": (0, 0)}


def test_what_a_remote_has_more_after_a_fetch_is_behind(ours, theirs):
    say(theirs, "conv-001/main", "mine")
    say(ours, "conv-001/main", "one")
    say(ours, "conv-001/main", "two")
    push_to(ours)
    assert counts(theirs) == {"conv-001": (1, 0)}
    fetch_from(theirs)
    assert counts(theirs) == {"conv-001": (1, 2)}
    merge(theirs, "conv-001", "origin/main", target="main")
    assert counts(theirs) == {"conv-001": (2, 0)}


def test_a_rewound_branch_is_behind(theirs):
    rewind(theirs, "conv-001", branch="main", count=1)
    assert counts(theirs) == {"conv-001": (0, 1)}


def test_messages_of_several_branches_count_once(theirs):
    say(theirs, "conv-001/main", "one")
    branch(theirs, "conv-001", name="new", start="main")
    assert counts(theirs) == {"conv-001": (1, 0)}


def test_a_branch_of_nothing_new_and_a_deleted_one_leave_it_even(theirs):
    branch(theirs, "conv-001", name="new", start="main")
    assert counts(theirs) == {"conv-001": (0, 0)}
    delete_branch(theirs, "conv-001", "fix", force=True)
    assert counts(theirs) == {"conv-001": (0, 0)}


def test_a_title_is_no_message(theirs):
    rename_title(theirs, "conv-001", "Login")
    assert counts(theirs) == {"conv-001": (0, 0)}


def test_the_default_remote_is_compared(theirs, tmp_path):
    add(theirs, make_bare(tmp_path / "more.git"), "backup")
    push_to(theirs, remote="backup")
    say(theirs, "conv-001/main", "one")
    push_to(theirs, remote="backup")
    assert counts(theirs) == {"conv-001": (1, 0)}
    remove_remote(theirs, "origin")
    assert counts(theirs) == {"conv-001": (0, 0)}


def test_the_remote_that_the_setting_names_is_compared(theirs, index, tmp_path):
    add(theirs, make_bare(tmp_path / "team.git"), "team")
    push_to(theirs, remote="team")
    say(theirs, "conv-001/main", "one")
    push_to(theirs)
    assert counts(theirs, index) == {"conv-001": (0, 0)}
    set_setting(theirs, str(tmp_path), "scopes.defaultRemote", "team", level="store")
    assert counts(theirs, index) == {"conv-001": (1, 0)}


@pytest.mark.parametrize("damage", [b"", b"0" * 40, b"nonsense\n"])
def test_a_damaged_record_of_the_remote_hides_the_counts_only(theirs, damage):
    ref = next(iter(theirs.list_refs(REMOTES)))
    write_bytes(f"{theirs.path}/{ref}", damage)
    assert counts(theirs) == {"conv-001": (None, None)}


@pytest.fixture
def index(tmp_path):
    """The directory of the index."""
    return str(tmp_path / "index")


def cached(repository, index):
    """Return the counts that the index has without opening the store; None if it has to be opened."""
    found = find_cached_list(repository.path, index)
    return None if found is None else {row.id: (row.ahead, row.behind) for row in found.conversations}


def test_the_counts_come_from_the_index_until_something_changes(ours, theirs, index):
    assert counts(theirs, index) == cached(theirs, index) == {"conv-001": (0, 0)}
    say(ours, "conv-001/main", "one")
    push_to(ours)
    say(theirs, "conv-001/main", "mine")
    counts(theirs, index)
    fetch_from(theirs)  # only what is known about the remote changes
    assert cached(theirs, index) is None
    assert counts(theirs, index) == cached(theirs, index) == {"conv-001": (1, 1)}
    undo(theirs)
    assert counts(theirs, index) == {"conv-001": (1, 0)}


def test_another_default_remote_makes_the_cached_counts_invalid(theirs, index, tmp_path):
    add(theirs, make_bare(tmp_path / "more.git"), "backup")
    counts(theirs, index)
    addresses = json.loads(read_bytes(f"{theirs.path}/{REMOTES_FILE}"))
    addresses["remotes"]["other"] = addresses["remotes"].pop("origin")
    write_bytes(f"{theirs.path}/{REMOTES_FILE}", json.dumps(addresses).encode())
    assert cached(theirs, index) is None
    assert counts(theirs, index) == {"conv-001": (None, None)}


def test_only_changed_conversations_are_walked(theirs, monkeypatch):
    from scopes.conversation import show as remote_counts

    for number in range(5):
        history(theirs, f"main: other {number}")
    push_to(theirs)
    say(theirs, "conv-003/main", "one")
    walked = []
    original = remote_counts.list_new_commits
    monkeypatch.setattr(remote_counts, "list_new_commits", lambda *words: walked.append(words) or original(*words))
    assert counts(theirs)["conv-003"] == (1, 0)
    assert len(walked) == 2
