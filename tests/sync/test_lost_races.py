"""Two people push at once: who loses tries again, and is told what to do if that does not help."""

from __future__ import annotations

import os

import pytest

from scopes.history.names import find_root_commit
from scopes.sync import member_push, source_push
from scopes.sync.edit_remotes import rename_remote
from tests.support.history import say
from tests.support.original_files import files_there, import_session
from tests.support.recalled import recalled
from tests.support.remotes import add, make_bare, push_to
from tests.support.store import git

NAME = "conv-001"


@pytest.fixture
@recalled
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
    receive = member_push.receive
    monkeypatch.setattr(
        member_push, "receive", lambda *words, **options: (os.unlink(lock), receive(*words, **options))[1]
    )
    (row,) = push_to(ours, NAME).conversations
    assert (row.status, row.messages, row.reason) == ("updated", 1, None)


@pytest.mark.slow
def test_who_loses_each_time_reads_the_command_and_why(ours, lock, monkeypatch):
    monkeypatch.setattr(member_push, "TRIES", 2)
    pushed = push_to(ours, NAME)
    (row,) = pushed.conversations
    assert (row.status, pushed.exit_code) == ("refused", 1)
    assert "somebody else pushed at the same moment; push it again: scopes push conv-001 (" in row.reason
    assert "cannot lock ref" in row.reason


@pytest.fixture
@recalled
def sources_lock(ours, bare, tmp_path):
    """The lock of the original files of a conversation on the remote, while there are newer ones here."""
    import_session(ours, tmp_path / "session.jsonl", "a b")
    push_to(ours, with_sources=True)
    import_session(ours, tmp_path / "session.jsonl", "a b c")
    path = os.path.join(bare, f"{files_there(bare)[0]}.lock")
    os.close(os.open(path, os.O_CREAT, 0o600))
    return path


@pytest.mark.slow
def test_original_files_that_meet_the_lock_of_another_push_are_sent_again(ours, sources_lock, monkeypatch):
    receive = source_push.receive
    monkeypatch.setattr(
        source_push, "receive", lambda *words, **options: (os.unlink(sources_lock), receive(*words, **options))[1]
    )
    (row,) = push_to(ours, with_sources=True).sources
    assert (row.status, row.reason) == ("updated", None)


@pytest.mark.slow
def test_who_cannot_send_original_files_reads_the_command_and_why(ours, sources_lock):
    pushed = push_to(ours, with_sources=True)
    (row,) = pushed.sources
    assert (row.status, pushed.exit_code) == ("refused", 1)
    again = f"push them again: scopes push {row.conversation} --originals ("
    assert f"5 times somebody else pushed at the same moment; {again}" in row.reason
    assert "cannot lock ref" in row.reason


@pytest.mark.slow
def test_the_command_names_a_remote_that_is_not_the_default(ours, sources_lock, bare, tmp_path, monkeypatch):
    monkeypatch.setattr(source_push, "TRIES", 1)
    rename_remote(ours, "origin", "hub")
    add(ours, make_bare(tmp_path / "other.git"))
    (row,) = push_to(ours, remote="hub", with_sources=True).sources
    assert f"scopes push hub {row.conversation} --originals (" in row.reason
