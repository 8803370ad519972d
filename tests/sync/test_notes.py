"""What push, fetch and undo tell of changes that a user would not expect."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch, rewind, tag
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import delete_branch, rename_title
from scopes.conversation.undo import redo, undo
from scopes.errors import Refused
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.merge.in_progress import list_in_progress
from scopes.store.operations import walk_operations
from scopes.store.refs import REMOTES
from scopes.sync.local_conversations import Selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.decisions import decide
from tests.support.history import say, texts
from tests.support.recalled import recalled
from tests.support.remotes import connection, fetch_from, machine, push_to
from tests.support.store import git


@pytest.fixture
@recalled
def theirs(ours, bare, tmp_path):
    """Another machine, which has what was pushed."""
    push_to(ours)
    other = machine(tmp_path / "theirs", bare, "dave")
    fetch_from(other)
    return other


def notes(result):
    return [note.text for note in result.notes]


def last_push(store):
    return next(record for _, record in walk_operations(store) if record.kind == "push")


def test_undo_skips_a_push_and_keeps_what_the_remote_has(ours):
    push_to(ours)
    rename_title(ours, "conv-001", "Login")
    push_to(ours)
    seen = ours.list_refs(REMOTES)
    assert "title" in undo(ours).summary
    assert read_metadata(ours, "conv-001").title is None
    assert ours.list_refs(REMOTES) == seen


def test_a_push_after_an_undo_does_not_keep_from_redo(ours):
    rename_title(ours, "conv-001", "Login")
    undo(ours)
    push_to(ours)
    redo(ours)
    assert read_metadata(ours, "conv-001").title == "Login"


def test_a_push_that_is_named_is_not_undone_and_a_way_back_is_named(ours):
    push_to(ours)
    with pytest.raises(Refused, match="a push cannot be undone") as error:
        undo(ours, last_push(ours).id)
    assert "push CONV --force" in error.value.hint


@pytest.mark.slow
def test_an_undone_fetch_keeps_what_was_pushed_since(ours, theirs):
    say(theirs, "conv-001/fix", "e")
    push_to(theirs)
    fetch_from(ours)
    rename_title(ours, "conv-001", "Login")
    push_to(ours)
    seen = ours.list_refs(REMOTES)
    undo(ours)
    undo(ours)
    assert texts(ours, "conv-001/fix")[-1] == "c"
    assert ours.list_refs(REMOTES) == seen


def test_a_fetch_names_both_titles_where_it_replaces_one_that_was_given_here(ours, theirs):
    rename_title(ours, "conv-001", "mine")
    rename_title(theirs, "conv-001", "theirs")
    push_to(theirs)
    fetched = fetch_from(ours)
    assert notes(fetched) == ["conv-001: the title that you gave, 'mine', was replaced: it is 'theirs' now"]
    assert fetched.conversations[0].replaced == ((None, "mine", "theirs"),)


def test_a_pull_has_the_notes_of_its_fetch_but_those_about_what_it_merges(ours, theirs):
    rename_title(ours, "conv-001", "mine")
    rename_title(theirs, "conv-001", "theirs")
    say(theirs, "conv-001/main", "d")
    push_to(theirs)
    say(ours, "conv-001/main", "e")
    pulled = pull(ours, resolve_remote(ours, None), Selection(), connection())
    assert [row.state for row in pulled.branches] == ["merged"]
    assert notes(pulled) == ["conv-001: the title that you gave, 'mine', was replaced: it is 'theirs' now"]
    assert "differs from origin" in " ".join(notes(pulled.fetched))


def test_a_title_of_somebody_else_is_replaced_without_a_note(ours, theirs):
    rename_title(ours, "conv-001", "one")
    push_to(ours)
    fetch_from(theirs)
    rename_title(ours, "conv-001", "two")
    push_to(ours)
    assert notes(fetch_from(theirs)) == []


def test_a_tag_that_moves_from_the_message_of_the_user_is_named(ours, theirs):
    tag(ours, "conv-001", "v1", "main")
    tag(theirs, "conv-001", "v1", "fix")
    push_to(theirs)
    fetched = fetch_from(ours)
    old, new = (list_branch_tips(ours, "conv-001")[name][:12] for name in ("main", "fix"))
    assert notes(fetched) == [f"conv-001: the tag v1 that you set at {old} is at {new} now"]
    again = f"scopes tag conv-001 v1 --delete; then: scopes tag conv-001 v1 {old}"
    assert fetched.notes[0].hint == f"to have it again: {again}"


def test_a_push_says_what_it_has_fetched_first(ours, theirs):
    branch(theirs, "conv-001", name="try-a")
    push_to(theirs)
    say(ours, "conv-001/main", "d")
    assert notes(push_to(ours)) == ["origin had moved, so conv-001 was fetched first: try-a created, metadata changed"]


def test_new_messages_of_a_branch_that_was_deleted_here_are_named(ours, theirs):
    delete_branch(theirs, "conv-001", "fix", force=True)
    say(ours, "conv-001/fix", "more")
    push_to(ours)
    fetched = fetch_from(theirs)
    assert notes(fetched) == ["conv-001/fix (deleted here) has 1 new message"]
    assert fetched.notes[0].hint == "get it: scopes branch conv-001 fix --from origin/fix"
    branch(theirs, "conv-001", name="fix", start="origin/fix")
    assert texts(theirs, "conv-001/fix")[-1] == "more"


def test_a_push_after_a_rewind_says_that_the_remote_has_newer_messages(ours):
    push_to(ours)
    rewind(ours, "conv-001", to="main~1")
    pushed = push_to(ours)
    assert [(row.status, row.behind) for row in pushed.conversations] == [("unchanged", ("main",))]
    assert notes(pushed) == ["1 branch of origin has newer messages: conv-001/main"]


def test_the_branch_of_a_conflict_stays_here(ours, bare):
    """A merge that has stopped is unfinished work: its branch and its entry do not leave."""
    decide(ours, "conv-001/main", "JWT")
    decide(ours, "conv-001/fix", "cookies")
    merge(ours, "conv-001", source="fix", target="main")
    working = [each.branch for each in list_in_progress(ours, "conv-001")]
    assert len(working) == 1
    push_to(ours)
    assert "conflict-resolution" not in git(bare, "cat-file", "--batch-all-objects", "--batch")
    assert working[0] in list_branch_tips(ours, "conv-001")
