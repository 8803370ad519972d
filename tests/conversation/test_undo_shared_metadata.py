"""Undo of metadata that a remote knows: the old value comes back as a newer change, or the next fetch would undo it."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch, tag
from scopes.conversation.new_rename_delete import new, rename_branch, rename_title
from scopes.conversation.undo import redo, undo
from scopes.errors import Refused
from scopes.history import metadata as registers
from scopes.history.metadata import read_clocks, read_metadata
from scopes.history.names import find_root_commit, list_branch_tips
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.store import refs
from scopes.store.objects import read_commit
from scopes.store.transactions import exclusive_write
from scopes.sync.join import receive_metadata, shared_tree
from tests.support.store import git

CONV = "conv-001"


def metadata_of(repository, conversation=CONV):
    """Return the metadata commit of a conversation."""
    return Oid(repository.find_ref(refs.meta_ref(conversation)))


def clocks(repository):
    tree = read_commit(repository, metadata_of(repository)).tree
    return {register: clock.number for register, clock in read_clocks(repository, tree).items()}


def share(repository, conversation=CONV):
    """Let a remote know the conversation; return the metadata that it has."""
    root = find_root_commit(repository, conversation)
    git(repository, "update-ref", f"{refs.REMOTES}origin/{root}", root)
    return shared_tree(repository, metadata_of(repository, conversation))


def fetched(repository, tree):
    """Return the title after the metadata of the remote was joined."""
    branches = list_branch_tips(repository, CONV)
    joined = receive_metadata(repository, metadata_of(repository), tree, 0, branches).commit
    git(repository, "update-ref", refs.meta_ref(CONV), joined)
    return read_metadata(repository, CONV).title


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch):
    """Let the clock of the machine stand at 1970: then clocks count the changes."""
    monkeypatch.setattr(registers, "now_milliseconds", lambda: 0)


@pytest.fixture
def renamed(repository):
    """A conversation with the titles one, two and three, one after the other."""
    new(repository, title="one")
    rename_title(repository, CONV, "two")
    rename_title(repository, CONV, "three")
    return repository


def test_undo_of_what_nobody_else_knows_restores_the_very_commit(renamed):
    undo(renamed)
    before = metadata_of(renamed)
    redo(renamed)
    undo(renamed)
    assert (metadata_of(renamed), clocks(renamed)) == (before, {"title": 1})


def test_undo_of_a_shared_title_wins_over_the_shared_one(renamed):
    """P18."""
    remote = share(renamed)
    undo(renamed)
    assert clocks(renamed) == {"title": 3}
    assert fetched(renamed, remote) == "two"


def test_undo_that_moved_the_clock_back_would_lose(renamed):
    """The reason for all this: without a remote it is moved back, and a share by other means brings it again."""
    remote = shared_tree(renamed, metadata_of(renamed))
    undo(renamed)
    assert fetched(renamed, remote) == "three"


def test_several_steps_of_undo_and_redo_reach_every_value(renamed):
    share(renamed)
    seen = []
    for step in (undo, undo, redo, redo, undo):
        step(renamed)
        seen.append(read_metadata(renamed, CONV).title)
    assert seen == ["two", "one", "two", "three", "two"]


def test_redo_of_a_shared_title_wins_too(renamed):
    share(renamed)
    undo(renamed)
    remote = shared_tree(renamed, metadata_of(renamed))
    redo(renamed)
    assert fetched(renamed, remote) == "three"


def test_undo_of_a_shared_branch_removes_it_for_good(repository):
    new(repository)
    branch(repository, CONV, name="fix")
    remote = share(repository)
    undo(repository)
    fetched(repository, remote)
    assert list(read_metadata(repository, CONV).branches) == ["main"]


def test_undo_of_the_rename_of_a_shared_branch_renames_it_back(repository):
    new(repository)
    branch(repository, CONV, name="fix")
    rename_branch(repository, CONV, "fix", "better")
    remote = share(repository)
    undo(repository)
    fetched(repository, remote)
    assert list(read_metadata(repository, CONV).branches) == ["fix", "main"]
    assert set(list_branch_tips(repository, CONV)) == {"fix", "main"}


def test_undo_is_refused_if_the_value_was_changed_since(renamed):
    share(renamed)
    with pytest.raises(Refused):
        undo(renamed, next_id(renamed, back=1))


def next_id(repository, back):
    """Return the id of an operation, counted from the newest one."""
    log = git(repository, "log", "--format=%(trailers:key=Scopes-Operation,valueonly,separator=)", refs.OPERATIONS)
    return log.split()[back]


def test_a_dry_run_of_undo_writes_nothing(renamed):
    share(renamed)
    before = renamed.list_refs()
    assert undo(renamed, dry_run=True).summary
    assert renamed.list_refs() == before


def test_another_conversation_that_is_not_shared_is_restored_exactly(renamed):
    share(renamed)
    new(renamed, title="other")
    rename_title(renamed, "conv-002", "changed")
    before = metadata_of(renamed, "conv-002")
    undo(renamed)
    redo(renamed)
    assert metadata_of(renamed, "conv-002") == before


def test_undo_of_a_fetch_restores_the_very_commit(renamed):
    """The next fetch brings it again: to take it back is not to contradict."""
    share(renamed)
    before, root = metadata_of(renamed), find_root_commit(renamed, CONV)
    remote = f"{refs.REMOTES}origin/{root}"
    tree = shared_tree(renamed, before)
    tag(renamed, CONV, "v1")
    theirs = metadata_of(renamed)
    undo(renamed)
    start = metadata_of(renamed)
    with exclusive_write(renamed):
        tx = RefTransaction(renamed)
        tx.move_ref(refs.meta_ref(CONV), start, theirs)
        tx.move_ref(remote, root, theirs)
        tx.commit("fetch", "fetch from origin")
    undo(renamed)
    assert (metadata_of(renamed), renamed.find_ref(remote)) == (start, root)
    assert tree is not None
