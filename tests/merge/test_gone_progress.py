"""A merge in progress whose branches or commits are gone can be aborted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.branch import branch, switch
from scopes.conversation.merge import abort_merge, continue_merge, merge
from scopes.conversation.new_rename_delete import delete_branch
from scopes.errors import NotFound, ScopesError
from scopes.history.metadata import read_metadata
from scopes.history.names import read_active_branch
from scopes.history.transaction import Transaction
from scopes.merge.in_progress import list_in_progress
from scopes.model.message import Author
from scopes.store.transactions import exclusive_write
from tests.merge.test_recorded_conflicts import fork
from tests.support.replays import replay
from tests.support.store import assert_sound, git

ERIN = Author("erin", "human")
KEY = "waiting"


def stop(repository, verb):
    """Fork a conversation and stop on the conflict of its two branches."""
    fork(repository)
    if verb == "merge":
        merge(repository, "conv-001", "fix", target="main")
    else:
        replay(repository, verb)
    (found,) = list_in_progress(repository, "conv-001")
    return found


def receive(repository, found, document):
    """Write the record of what is in progress, as a fetched store has it."""
    entry = read_metadata(repository, "conv-001").branches[found.branch]
    with exclusive_write(repository):
        tx = Transaction(repository, found.conversation)
        tx.set_branch_entry(found.branch, replace(entry, extra={**entry.extra, KEY: document}))
        tx.commit("fetch", "received")


def record_of(repository, found):
    return read_metadata(repository, "conv-001").branches[found.branch].extra[KEY]


def attempt(act, *arguments, **options):
    """Run a command; return its result, or the error that it reported. Anything else is a crash."""
    try:
        return act(*arguments, **options)
    except ScopesError as error:
        return error


@pytest.mark.parametrize("gone", ["before and target", "before"])
def test_an_abort_never_activates_the_branch_that_it_deletes(repository, gone):
    """The branch before was the target, and somebody deleted it."""
    fork(repository)
    branch(repository, "conv-001", name="copy", start="main")
    switch(repository, "conv-001", "copy" if gone == "before and target" else "main")
    merge(repository, "conv-001", "fix", target="copy")
    delete_branch(repository, "conv-001", "copy")
    done = abort_merge(repository, "conv-001")
    assert done.active_branch == "main"
    assert read_active_branch(repository, "conv-001") == "main"
    assert git(repository, "symbolic-ref", "refs/scopes/active/conv-001").strip() == "refs/heads/conv-001/main"
    assert_sound(repository)


@pytest.mark.parametrize("field", ["target_tip", "source_tip", "stopped"])
@pytest.mark.parametrize("oid", ["0" * 40, "f" * 40])
def test_a_merge_whose_commits_are_not_in_the_store_can_be_aborted(repository, field, oid):
    """A store must not stay in a state that no command ends."""
    found = stop(repository, "merge")
    receive(repository, found, {**record_of(repository, found), field: oid})
    refused = attempt(continue_merge, repository, "conv-001")
    assert isinstance(refused, ScopesError)
    abort_merge(repository, "conv-001")
    assert list_in_progress(repository, "conv-001") == []
    with pytest.raises(NotFound):
        abort_merge(repository, "conv-001")
    assert_sound(repository)
