"""Two people push at once: who loses tries again, and is told what to do if that does not help."""

from __future__ import annotations

import os

import pytest

from scopes.history.revisions import find_root_commit
from scopes.sync import push as push_module
from tests.support.history import say
from tests.support.remotes import push_to
from tests.support.store import git

NAME = "conv-001"


@pytest.fixture
def lock(ours, bare):
    """The lock of the ref of a conversation on the remote, as a push that is under way holds it."""
    push_to(ours)
    say(ours, NAME, "news")
    root = find_root_commit(ours, NAME)
    ref = next(each for each in git(bare, "for-each-ref", "--format=%(refname)").split() if each.endswith(root))
    path = os.path.join(bare, f"{ref}.lock")
    os.close(os.open(path, os.O_CREAT, 0o600))
    return path


def test_a_push_that_meets_the_lock_of_another_one_tries_again(ours, lock, monkeypatch):
    receive = push_module.receive
    monkeypatch.setattr(push_module, "receive", lambda *words: (os.unlink(lock), receive(*words))[1])
    (row,) = push_to(ours, NAME).conversations
    assert (row.status, row.messages, row.reason) == ("updated", 1, None)


def test_who_loses_each_time_reads_the_command_and_why(ours, lock):
    pushed = push_to(ours, NAME)
    (row,) = pushed.conversations
    assert (row.status, pushed.exit_code) == ("refused", 1)
    assert "somebody else pushed at the same moment; push it again: scopes push conv-001 (" in row.reason
    assert "cannot lock ref" in row.reason
