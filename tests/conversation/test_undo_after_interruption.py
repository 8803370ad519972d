"""A second `undo` or `redo` after one that was interrupted: it finishes the first one, or tells what that had done."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import list_tags, tag
from scopes.conversation.new_rename_delete import rename_title
from scopes.conversation.show import show
from scopes.conversation.undo import redo, undo
from scopes.errors import Refused
from scopes.history.messages import plain_message
from scopes.store import transactions
from scopes.store import transactions as recovery
from tests.support.history import history, say, texts
from tests.support.store import assert_sound, open_store

PENDING = "refs/scopes/pending"


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def tagged(repository):
    """Three tags, each an operation."""
    history(repository, "main: a b")
    for name in ("v1", "v2", "v3"):
        tag(repository, "conv-001", name)
    return repository


def kill(repository, monkeypatch, act, *, after):
    """Run a command that dies after so many refs were moved; its marker ref counts as the first one."""
    moved = []
    original = recovery.set_ref

    def move(store, change, reason, *, checked=False):
        if len(moved) == after:
            raise Killed
        moved.append(change.ref)
        original(store, change, reason, checked=checked)

    with monkeypatch.context() as patch:
        patch.setattr(recovery, "set_ref", move)
        patch.setattr(transactions, "set_ref", move)
        with pytest.raises(Killed):
            act(repository)
    return open_store(repository.path)


def tags(repository):
    return sorted(name for name, *_ in list_tags(repository, "conv-001").tags)


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_second_undo_only_finishes_one_that_was_interrupted(tagged, monkeypatch, after):
    """It finished the first one, and took back v2 as well."""
    again = kill(tagged, monkeypatch, undo, after=after)
    assert again.raw_ref(PENDING) is not None
    planned = undo(again, dry_run=True)
    done = undo(again)
    assert tags(again) == ["v1", "v2"]
    assert done.target.summary == "tag v3 in conv-001"
    assert "was interrupted after it had committed" in done.notes[0].text
    assert done.notes[0].hint == "one more step: scopes undo"
    assert planned.operation is None
    assert after == 3 or planned.target == done.target
    assert again.raw_ref(PENDING) is None
    further = undo(again)
    assert (tags(again), further.target.summary) == (["v1"], "tag v2 in conv-001")
    assert_sound(again)


def test_one_that_died_before_its_commit_point_is_done_now(tagged, monkeypatch):
    again = kill(tagged, monkeypatch, undo, after=0)
    done = undo(again)
    assert (tags(again), done.notes) == (["v1", "v2"], ())


def test_one_that_died_after_its_last_step_is_named_by_the_next_undo(tagged):
    """Nothing in the store shows that it was killed before it printed anything."""
    undo(tagged)
    done = undo(open_store(tagged.path))
    (note,) = done.notes
    assert note.text == "this is one more step back; the last undo took back: tag v3 in conv-001"
    assert note.hint == "if that was enough: scopes redo"
    assert tags(tagged) == ["v1"]
    redo(tagged)
    assert tags(tagged) == ["v1", "v2"]


def test_no_note_where_the_last_thing_was_no_undo(tagged):
    assert undo(tagged).notes == ()
    tag(tagged, "conv-001", "v4")
    assert undo(tagged).notes == ()


def test_what_somebody_else_undid_is_no_step_of_the_caller(tagged):
    undo(open_store(tagged.path, actor="bob"), any_actor=True)
    assert undo(tagged).notes == ()


@pytest.mark.parametrize("after", [1, 2])
def test_an_interrupted_undo_of_somebody_else_does_not_stop_the_own_one(tagged, monkeypatch, after):
    bob = open_store(tagged.path, actor="bob")
    kill(bob, monkeypatch, lambda store: undo(store, any_actor=True), after=after)
    done = undo(tagged)
    assert (done.notes, done.target.summary, tags(tagged)) == ((), "tag v2 in conv-001", ["v1"])


@pytest.mark.parametrize("after", [1, 2])
def test_an_interrupted_redo_is_finished_by_the_next_one(tagged, monkeypatch, after):
    undo(tagged)
    undo(tagged)
    again = kill(tagged, monkeypatch, redo, after=after)
    done = redo(again)
    assert done.redo
    assert "an earlier redo was interrupted" in done.notes[0].text
    assert tags(again) == ["v1", "v2"]
    redo(again)
    assert tags(again) == ["v1", "v2", "v3"]


def test_the_same_operation_by_name_is_finished_and_another_one_is_undone(tagged, monkeypatch):
    """`undo ID` was refused: it had been undone already, by the command that seemed to have failed."""
    named = undo(tagged, dry_run=True).target.id
    again = kill(tagged, monkeypatch, undo, after=1)
    done = undo(again, named)
    assert (done.target.id, tags(again)) == (named, ["v1", "v2"])
    with pytest.raises(Refused, match="undone already"):
        undo(again, named)


def test_an_interrupted_undo_in_another_conversation_does_not_stop_this_one(tagged, monkeypatch):
    history(tagged, "main: x", conversation="conv-002")
    rename_title(tagged, "conv-002", "T")
    again = kill(tagged, monkeypatch, undo, after=1)
    done = undo(again, conversation="conv-001")
    assert (done.target.summary, done.notes) == ("tag v3 in conv-001", ())
    assert show(again, "conv-002").title is None


@pytest.mark.parametrize("after", [1, 2])
def test_an_undo_of_an_append_that_was_interrupted_is_reported_with_the_append(repository, monkeypatch, after):
    history(repository, "main: a b c")
    again = kill(repository, monkeypatch, undo, after=after)
    done = undo(again)
    assert texts(again, "conv-001") == ["a", "b"]
    assert done.target.kind == "append"
    assert done.target.summary.endswith("'c' (1 message)")


def test_a_write_between_them_has_finished_the_first_one(tagged, monkeypatch):
    """The next undo takes back that write, as always."""
    again = kill(tagged, monkeypatch, undo, after=1)
    append(again, "conv-001", plain_message("carol", "more"))
    done = undo(again)
    assert (done.target.kind, done.notes, texts(again, "conv-001")) == ("append", (), ["a", "b"])
    say(again, "conv-001", "again")
    assert tags(again) == ["v1", "v2"]
