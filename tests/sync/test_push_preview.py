"""`push --dry-run` says what would leave and what not, and writes nothing; `push` alone sends what is shared already."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Invalid, NotFound
from scopes.sync.local_conversations import Selection, list_shared
from scopes.sync.push import push
from scopes.sync.remotes import resolve_remote
from tests.support.history import history, say
from tests.support.planted import KINDS
from tests.support.remotes import add, connection, fetch_from, machine, make_bare, push_to
from tests.support.store import git

SECRET = KINDS[1][1]


def files_of(directory):
    """Return every file below a directory, with its size and time."""
    found = (os.path.join(path, name) for path, _, names in os.walk(directory) for name in names)
    return {path: (os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in found}


def push_shared(repository, **options):
    """Push without a choice."""
    return push(repository, resolve_remote(repository, None), Selection(), connection(), **options)


def test_a_dry_run_says_what_the_push_then_sends(ours):
    preview = push_to(ours, dry_run=True)
    assert preview.dry_run
    assert [(row.status, row.branches, row.messages) for row in preview.conversations] == [("new", 2, 3)]
    assert push_to(ours).conversations == preview.conversations
    say(ours, "conv-001/main", "news")
    preview = push_to(ours, dry_run=True)
    assert [(row.status, row.messages) for row in preview.conversations] == [("updated", 1)]
    assert push_to(ours).conversations == preview.conversations
    assert push_to(ours, dry_run=True).unchanged == 1


def test_a_dry_run_writes_nothing_here_or_there(ours, bare):
    say(ours, "conv-001/main", "news")
    before = files_of(ours.path), files_of(bare)
    push_to(ours, dry_run=True)
    assert (files_of(ours.path), files_of(bare)) == before


def test_a_dry_run_asks_nobody(ours, bare):
    os.rename(bare, f"{bare}.away")
    assert push_to(ours, dry_run=True).conversations[0].status == "new"
    with pytest.raises(NotFound):
        push_to(ours)


def test_a_dry_run_names_what_would_be_refused(ours):
    say(ours, "conv-001/main", f"use {SECRET}")
    preview = push_to(ours, dry_run=True)
    assert (preview.conversations[0].status, preview.exit_code) == ("refused", 1)
    assert "github-token" in preview.conversations[0].reason
    assert SECRET not in preview.conversations[0].reason
    assert "scopes secrets allow ID" in preview.notes[0].hint
    assert push_to(ours, dry_run=True, allow_secrets=True).conversations[0].status == "new"


def test_a_dry_run_names_branches_that_would_be_left(ours, bare, tmp_path):
    push_to(ours)
    theirs = machine(tmp_path / "theirs", bare, "dave")
    fetch_from(theirs)
    say(ours, "conv-001/main", "one")
    push_to(ours)
    say(theirs, "conv-001/main", "two")
    fetch_from(theirs)
    assert push_to(theirs, dry_run=True).conversations[0].diverged == ("main",)


def test_a_push_without_a_choice_sends_what_is_shared(ours):
    push_to(ours, "conv-001")
    history(ours, "main: x")
    say(ours, "conv-001/fix", "more")
    assert list_shared(ours, "origin") == ["conv-001"]
    pushed = push_shared(ours)
    assert [(row.conversation, row.status) for row in pushed.conversations] == [("conv-001", "updated")]
    assert push_shared(ours).unchanged == 1


def test_what_one_remote_has_is_not_shared_with_another_one(ours, tmp_path):
    push_to(ours)
    add(ours, make_bare(tmp_path / "other.git"), "origin2")
    assert (list_shared(ours, "origin"), list_shared(ours, "origin2")) == (["conv-001"], [])


def test_as_long_as_nothing_is_shared_a_push_needs_a_choice(ours, bare):
    with pytest.raises(Invalid, match="nothing of this store is on origin yet") as caught:
        push_shared(ours)
    assert "--all" in caught.value.hint
    assert git(bare, "for-each-ref") == ""


@pytest.mark.parametrize("options", [{}, {"dry_run": True}])
def test_a_push_reports_how_many_conversations_it_has_searched(ours, options):
    history(ours, "main: x")
    reported = []
    talk = connection(on_progress=lambda *each: reported.append(each))
    push(ours, resolve_remote(ours, None), Selection(everything=True), talk, **options)
    assert [each for each in reported if each[0] == "searching for secrets"] == [
        ("searching for secrets", 0, 2),
        ("searching for secrets", 1, 2),
    ]


def test_a_dry_run_of_a_force_names_what_would_move(ours, bare, tmp_path):
    push_to(ours)
    theirs = machine(tmp_path / "theirs", bare, "dave")
    fetch_from(theirs)
    say(theirs, "conv-001/main", "theirs")
    push_to(theirs)
    say(ours, "conv-001/main", "ours")
    fetch_from(ours)
    assert push_to(ours, dry_run=True).conversations[0].status == "unchanged"
    assert push_to(ours, dry_run=True, force=True).conversations[0].status == "refused"
    confirmed = {"force": True, "drops_unmerged": True}
    assert push_to(ours, dry_run=True, **confirmed).conversations[0].status == "updated"
    assert push_to(ours, **confirmed).conversations[0].status == "updated"


def test_hints_name_a_remote_that_is_not_the_default(ours, tmp_path):
    other = make_bare(tmp_path / "other.git")
    add(ours, other, "team")
    push_to(ours, remote="team")
    theirs = machine(tmp_path / "theirs", other, "dave")
    fetch_from(theirs)
    say(theirs, "conv-001/main", "theirs")
    push_to(theirs)
    say(ours, "conv-001/main", "ours")
    fetch_from(ours, remote="team")
    note = push_to(ours, remote="team").notes[0]
    assert note.hint == "get them: scopes pull team; or remove them there: scopes push team conv-001 --force"
