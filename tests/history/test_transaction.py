"""Every operation is atomic, takes one lock and is recorded."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import abandon, branch, delete_tag, rewind, switch, tag
from scopes.conversation.new_rename_delete import (
    delete,
    delete_branch,
    new,
    rename_branch,
    rename_conversation,
    rename_title,
)
from scopes.conversation.undo import list_operations, redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Busy, Inaccessible, Invalid, NotFound, TooNew
from scopes.history.names import conversation_ids
from scopes.history.transaction import RefTransaction, Transaction
from scopes.model.operation import RefChange
from scopes.store import transactions
from scopes.store.transactions import exclusive_write
from tests.support.history import history, say, texts
from tests.support.kills import dying_after_commit
from tests.support.store import git, open_store, overtake, refs

VERBS = {
    "new": lambda r: new(r, title="x", participants=["dave"]),
    "branch": lambda r: branch(r, "conv-001", purpose="analysis", agent="carol", start="main~1"),
    "switch": lambda r: switch(r, "conv-001", "fix"),
    "title": lambda r: rename_title(r, "conv-001", "Login"),
    "rename": lambda r: rename_conversation(r, "conv-001", "login"),
    "rename branch": lambda r: rename_branch(r, "conv-001", "old", "old/deeper"),
    "tag": lambda r: tag(r, "conv-001", "v2"),
    "remove tag": lambda r: delete_tag(r, "conv-001", "v1"),
    "abandon": lambda r: abandon(r, "conv-001", "old"),
    "delete": lambda r: delete(r, "conv-001"),
    "delete branch": lambda r: delete_branch(r, "conv-001", "fix", force=True),
    "rewind": lambda r: rewind(r, "conv-001", count=2),
    "undo": lambda repository: undo(repository, any_actor=True),
    "undo of a switch": lambda r: undo(r, next(o.id for o in list_operations(r).operations if o.kind == "switch")),
}
every_verb = pytest.mark.parametrize("operate", VERBS.values(), ids=VERBS)


class Killed(BaseException):
    """Simulates the death of the process."""


@pytest.fixture
def busy(repository):
    """Make a conversation in which every operation is possible."""
    history(repository, "main: a b", "fix: c", "old: d")
    tag(repository, "conv-001", "v1")
    switch(repository, "conv-001", "old")
    rename_title(repository, "conv-001", "Title")
    return repository


def die(*_, **__):
    raise Killed


def dies(monkeypatch, set_ref, act):
    """Run an action with another function that moves refs; True if that has killed the process."""
    with monkeypatch.context() as fault:
        fault.setattr(transactions, "set_ref", set_ref)
        try:
            act()
        except Killed:
            return True
    return False


def view(repository):
    """Return what a reader sees: refs without the marker, and the operations."""
    seen = {name: value for name, value in refs(repository).items() if name != "refs/scopes/pending"}
    return seen, [operation.kind for operation in list_operations(repository).operations]


@every_verb
def test_a_process_that_dies_before_the_commit_point_changes_nothing(busy, monkeypatch, operate):
    """P3."""
    before = view(busy)
    assert dies(monkeypatch, die, lambda: operate(busy))
    survivor = open_store(busy.path)
    assert view(survivor) == before
    operate(survivor)
    assert view(survivor) != before
    assert verify(survivor).sound


@every_verb
def test_an_operation_is_complete_if_the_process_dies_after_the_commit_point(busy, monkeypatch, operate):
    """P3, P4: after a crash at any ref, readers see the whole operation and the next writer finishes it."""
    turn = 0
    while dies(monkeypatch, dying_after_commit(Killed, turn), lambda: operate(busy)):
        turn += 1
        survivor = open_store(busy.path)
        expected = view(survivor)
        with exclusive_write(survivor):
            pass
        assert (refs(survivor), expected[1]) == (expected[0], view(survivor)[1])
        undo(survivor, list_operations(survivor).operations[0].id)
        assert len(view(survivor)[1]) == len(expected[1]) + 1
    assert turn >= 3
    assert verify(busy).sound
    assert git(busy, "fsck", "--strict") == ""


@every_verb
def test_an_append_after_a_crash_continues_from_the_finished_operation(busy, monkeypatch, operate):
    """P4."""
    assert dies(monkeypatch, dying_after_commit(Killed), lambda: operate(busy))
    survivor = open_store(busy.path)
    for conversation in conversation_ids(survivor):
        say(survivor, conversation, "after")
        assert texts(survivor, conversation)[-1] == "after"
        assert git(survivor, "for-each-ref", "refs/scopes/pending") == ""
    assert verify(survivor).sound


def test_redo_survives_a_crash(busy, monkeypatch):
    """P3."""
    after = refs(busy)
    undo(busy)
    assert dies(monkeypatch, dying_after_commit(Killed), lambda: redo(busy))
    survivor = open_store(busy.path)
    with exclusive_write(survivor):
        assert refs(survivor) == after


@every_verb
def test_an_operation_records_who_did_it_with_what_and_every_ref(busy, operate):
    """Operation log."""
    before = refs(busy)
    caller = open_store(busy.path, actor="dave", command="scopes " + "x" * 5000)
    operate(caller)
    last = list_operations(caller).operations[0]
    assert (last.actor, len(last.command)) == ("dave", 2000)
    assert last.time.startswith("2026-01-01T00:")
    moved = {name: (before.get(name), refs(busy).get(name)) for name in before.keys() | refs(busy).keys()}
    assert {c.ref: (c.old, c.new) for c in last.changes} == {n: m for n, m in moved.items() if m[0] != m[1]}


@every_verb
def test_a_store_of_a_newer_format_is_not_changed(busy, operate):
    """P17."""
    git(busy, "config", "scopes.formatVersion", "99")
    before = refs(busy)
    with pytest.raises(TooNew) as refusal:
        operate(open_store(busy.path))
    assert refusal.value.hint
    assert refs(busy) == before


@every_verb
def test_a_locked_store_is_reported_as_busy(busy, operate):
    """Exit 6: another process holds the lock."""
    git(busy, "config", "scopes.lockTimeout", "0")
    with open_store(busy.path).lock.exclusive():
        with pytest.raises(Busy, match="the store is busy") as refusal:
            operate(open_store(busy.path))
        assert refusal.value.hint == "try again in a moment"


def commit_changes(repository, *changes, **fields):
    """Commit ref changes as one operation."""
    tx = RefTransaction(repository)
    for change in changes:
        tx.move_ref(*change)
    return tx.commit("test", "test", **fields)


def test_an_operation_whose_refs_were_moved_by_another_process_is_refused(busy):
    """Every ref move is a compare-and-swap."""
    tip = refs(busy)["refs/heads/conv-001/main"]
    wrong = RefChange("refs/heads/conv-001/main", refs(busy)["refs/heads/conv-001/fix"], tip)
    with exclusive_write(busy), pytest.raises(Busy, match="conv-001/main was moved by another process"):
        commit_changes(busy, wrong)
    assert refs(busy)["refs/heads/conv-001/main"] == tip


def test_a_change_that_changes_nothing_is_not_recorded(busy):
    tip = refs(busy)["refs/heads/conv-001/main"]
    same = RefChange("refs/heads/conv-001/main", tip, tip)
    with exclusive_write(busy):
        assert commit_changes(busy, same, details={"a": 1}).changes == ()
    assert list_operations(busy).operations[0].details == {"a": 1}


def test_operation_ids_are_fresh(busy):
    assert len({RefTransaction(busy).operation_id for _ in range(100)}) == 100


def test_conflicting_names_are_refused_before_anything_is_recorded(busy):
    before = view(busy)
    with pytest.raises(Invalid, match="cannot exist together with"):
        branch(busy, "conv-001", name="main/x")
    assert view(busy) == before


def test_a_store_that_cannot_be_locked_is_reported(busy, monkeypatch):
    """Exit 8."""
    monkeypatch.setattr("scopes.store.locks.LOCK_FILE", "no/such/directory/lock")
    with pytest.raises(Inaccessible, match="cannot lock the store"):
        undo(busy)


GONE = {name: operate for name, operate in VERBS.items() if name not in {"new", "undo", "undo of a switch"}}


@pytest.mark.parametrize("operate", GONE.values(), ids=GONE)
def test_a_conversation_deleted_while_waiting_for_the_lock_is_not_found(busy, operate):
    """It is not recreated, and no empty operation is recorded."""
    overtake(busy, lambda other: delete(other, "conv-001"))
    with pytest.raises(NotFound) as refusal:
        operate(busy)
    assert refusal.value.hint
    assert list_operations(busy).operations[0].actor == "somebody else"
    assert all(name.startswith("refs/scopes/trash/") for name in refs(busy))


def test_metadata_edits_make_one_commit_at_the_position_of_the_first(busy):
    tip = refs(busy)["refs/heads/conv-001/main"]
    with exclusive_write(busy):
        tx = Transaction(busy, "conv-001")
        tx.create_branch("new", tip)
        tx.set_title("Other")
        tx.activate("new")
        tx.set_tag("v9", tip)
        operation = tx.commit("test", "test", metadata_message="two edits")
    meta = "refs/scopes/meta/conv-001"
    assert [change.ref for change in operation.changes] == [
        "refs/heads/conv-001/new",
        meta,
        "refs/scopes/active/conv-001",
    ]
    assert git(busy, "log", "-1", "--format=%s", meta).strip() == "two edits"
    assert git(busy, "rev-parse", f"{meta}^").strip() == operation.changes[1].old


def test_changes_of_one_ref_are_joined(busy):
    main, fix = (refs(busy)[f"refs/heads/conv-001/{name}"] for name in ("main", "fix"))
    tx = RefTransaction(busy)
    tx.move_ref("refs/heads/conv-001/main", main, fix)
    assert tx
    tx.move_ref("refs/heads/conv-001/main", fix, main)
    assert not tx
    assert tx.list_changes() == [RefChange("refs/heads/conv-001/main", main, main)]
