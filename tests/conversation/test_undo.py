"""`undo` and `redo`: every operation can be undone and redone (P9)."""

from __future__ import annotations

import re
import shlex

import pytest

from scopes.conversation.branch import abandon, branch, delete_tag, list_tags, rewind, switch, tag
from scopes.conversation.new_rename_delete import (
    delete,
    delete_branch,
    new,
    rename_branch,
    rename_conversation,
    rename_title,
)
from scopes.conversation.undo import list_operations, redo, undo
from scopes.errors import Ambiguous, NotFound, Refused
from scopes.history.names import conversation_ids
from tests.support.history import history, say, texts
from tests.support.store import git, open_store, refs

OPERATIONS = {
    "new": lambda r: new(r, title="x"),
    "branch": lambda r: branch(r, "conv-001", purpose="analysis", agent="carol", start="main~1"),
    "branch elsewhere": lambda r: branch(r, "conv-001", name="new", switch=False),
    "switch": lambda r: switch(r, "conv-001", "fix"),
    "title": lambda r: rename_title(r, "conv-001", "Login"),
    "rename": lambda r: rename_conversation(r, "conv-001", "login"),
    "rename branch": lambda r: rename_branch(r, "conv-001", "fix", "fix/deeper"),
    "tag": lambda r: tag(r, "conv-001", "v2"),
    "remove tag": lambda r: delete_tag(r, "conv-001", "v1"),
    "abandon": lambda r: abandon(r, "conv-001", "fix"),
    "revive": lambda r: abandon(r, "conv-001", "old", revive=True),
    "delete": lambda r: delete(r, "conv-001"),
    "delete branch": lambda r: delete_branch(r, "conv-001", "fix", force=True),
    "rewind": lambda r: rewind(r, "conv-001", count=2),
}


@pytest.fixture
def busy(repository):
    """Make a conversation in which every operation is possible."""
    history(repository, "main: a b", "fix: c", "old: d")
    tag(repository, "conv-001", "v1")
    abandon(repository, "conv-001", "old")
    return repository


@pytest.mark.parametrize("operate", OPERATIONS.values(), ids=OPERATIONS)
def test_undo_restores_every_ref_and_redo_moves_each_again(busy, operate):
    """P9: undo of an operation restores the view before it exactly."""
    before = refs(busy)
    done = operate(busy)
    after = refs(busy)
    assert after != before
    undone = undo(busy)
    assert undone.target.id == done.operation
    assert refs(busy) == before
    assert redo(busy).target.id == undone.operation
    assert refs(busy) == after
    undo(busy)
    assert refs(busy) == before
    assert git(busy, "fsck", "--strict") == ""


def views(repository, *steps):
    """Take the steps; return the refs before the first and after each."""
    seen = [refs(repository)]
    for step in steps:
        step(repository)
        seen.append(refs(repository))
    return seen


def test_undo_again_goes_one_operation_further_back(busy):
    seen = views(busy, OPERATIONS["tag"], OPERATIONS["switch"], OPERATIONS["rewind"])
    for before in reversed(seen[:-1]):
        undo(busy)
        assert refs(busy) == before


def test_redo_again_goes_one_operation_further_forward(busy):
    seen = views(busy, OPERATIONS["tag"], OPERATIONS["switch"], OPERATIONS["rewind"])
    for _ in range(3):
        undo(busy)
    for after in seen[1:]:
        redo(busy)
        assert refs(busy) == after
    with pytest.raises(NotFound, match="there is nothing to redo"):
        redo(busy)


@pytest.mark.parametrize("moves", ["uuru", "uruurr", "uurrur", "ururur", "uuurrruuu"])
def test_undo_and_redo_walk_back_and_forth_over_the_same_states(busy, moves):
    seen = views(busy, OPERATIONS["tag"], OPERATIONS["switch"], OPERATIONS["rewind"])
    place = 3
    for move in moves:
        (undo if move == "u" else redo)(busy)
        place += -1 if move == "u" else 1
        assert refs(busy) == seen[place]


def test_a_new_operation_makes_redo_impossible(busy):
    """As in an editor."""
    tag(busy, "conv-001", "v2")
    undo(busy)
    tag(busy, "conv-001", "v3")
    before = refs(busy)
    with pytest.raises(NotFound, match="there is nothing to redo") as refusal:
        redo(busy)
    assert refusal.value.hint == "see: scopes op -a"
    assert refs(busy) == before
    assert undo(busy).target.summary == "tag v3 in conv-001"
    assert redo(busy).target.summary == "undo tag v3 in conv-001"


def test_undo_after_an_undone_operation_and_a_new_one_skips_what_was_undone(busy):
    before = refs(busy)
    tag(busy, "conv-001", "v2")
    undo(busy)
    tag(busy, "conv-001", "v3")
    undo(busy)
    assert refs(busy) == before
    assert undo(busy).target.kind == "abandon"


def test_an_empty_store_has_nothing_to_undo_or_redo(repository):
    for move in (undo, redo):
        with pytest.raises(NotFound, match=f"there is nothing to {move.__name__}"):
            move(repository)
    new(repository)
    undo(repository)
    assert conversation_ids(repository) == []
    with pytest.raises(NotFound, match="nothing to undo"):
        undo(repository)


def test_one_operation_is_undone_by_its_id(busy):
    first = switch(busy, "conv-001", "fix")
    rename_conversation(busy, "conv-001", "login")
    other = new(busy)
    undo(busy, other.operation[:8])
    assert conversation_ids(busy) == ["login"]
    with pytest.raises(Refused, match="since 'switch conv-001 to fix'"):
        undo(busy, first.operation)


def test_an_operation_that_was_undone_is_not_undone_again(busy):
    done = tag(busy, "conv-001", "v2")
    undo(busy, done.operation)
    with pytest.raises(Refused, match=f"operation {done.operation[:8]} was undone already") as refusal:
        undo(busy, done.operation)
    assert refusal.value.hint == "redo it: scopes redo"
    redo(busy)
    undo(busy, done.operation)
    assert [name for name, _ in list_tags(busy, "conv-001").tags] == ["v1"]


def test_an_undo_can_be_undone_by_its_id(busy):
    tag(busy, "conv-001", "v2")
    after = refs(busy)
    undone = undo(busy)
    undo(busy, undone.operation)
    assert refs(busy) == after
    assert undo(busy).target.summary == "tag v2 in conv-001"


def test_an_unknown_ambiguous_or_empty_operation_is_refused(busy, monkeypatch):
    monkeypatch.setattr("scopes.store.operations.MIN_PREFIX_LENGTH", 1)
    ids = [operation.id for operation in list_operations(busy).operations]
    with pytest.raises(NotFound, match="there is no operation 'zzzz'") as refusal:
        undo(busy, "zzzz")
    assert refusal.value.hint == "list them: scopes op -a"
    with pytest.raises(NotFound, match="there is no operation ''"):
        undo(busy, "")
    while len({identity[0] for identity in ids}) == len(ids):
        ids.append(tag(busy, "conv-001", f"t{len(ids)}").operation)
    with pytest.raises(Ambiguous, match="matches 2 operations"):
        undo(busy, next(i[0] for i in ids if sum(other[0] == i[0] for other in ids) == 2))


def test_an_operation_under_a_later_one_on_the_same_ref_is_refused(busy):
    first = tag(busy, "conv-001", "v2")
    tag(busy, "conv-001", "v3")
    before = refs(busy)
    with pytest.raises(Refused, match="was moved since 'tag v2 in conv-001'") as refusal:
        undo(busy, first.operation)
    assert refusal.value.hint == "see: scopes op -a"
    assert refs(busy) == before


def test_undo_and_redo_are_operations_with_the_caller(busy):
    tag(busy, "conv-001", "v2")
    undo(open_store(busy.path, actor="dave", command="scopes undo"), any_actor=True)
    redo(busy, any_actor=True)
    third, second, first = list_operations(busy, limit=3).operations
    assert [o.kind for o in (first, second, third)] == ["tag", "undo", "redo"]
    assert (second.undoes, third.undoes) == (first.id, second.id)
    assert (second.actor, second.command, second.summary) == ("dave", "scopes undo", "undo tag v2 in conv-001")
    assert third.summary == "tag v2 in conv-001"


def test_redo_after_an_append_is_refused_and_the_message_is_kept(busy):
    rewind(busy, "conv-001", count=1)
    undo(busy)
    say(busy, "conv-001", "new")
    with pytest.raises(Refused, match="conv-001/main"):
        redo(busy)
    assert texts(busy, "conv-001") == ["a", "b", "new"]


def follow(repository, hint):
    """Run the commands of a hint: rewind, then undo."""
    command = re.search(r"scopes rewind (?P<words>[^;]+); then: scopes undo (?P<operation>\w+)$", hint)
    where, message = shlex.split(command["words"])
    rewind(repository, where, to=message)
    return undo(repository, command["operation"])


APPENDED = {
    "new": (new, "conv-002/main"),
    "branch": (lambda r: branch(r, "conv-001", name="x", start="main~1", switch=False), "conv-001/x"),
    "branch at the root": (lambda r: branch(r, "conv-001", name="x", start="main~2", switch=False), "conv-001/x"),
    "rewind": (lambda r: rewind(r, "conv-001", count=1), "conv-001/main"),
    "rename": (lambda r: rename_conversation(r, "conv-001", "login"), "login/fix"),
    "rename branch": (lambda r: rename_branch(r, "conv-001", "fix", "x"), "conv-001/x"),
}


@pytest.mark.parametrize(("operate", "where"), APPENDED.values(), ids=APPENDED)
def test_undo_after_an_append_is_refused_and_the_hint_does_it(busy, operate, where):
    """Operation log: the message is not lost silently; the commands in the hint work as written."""
    before = refs(busy)
    operate(busy)
    for text in ("one", "two"):
        say(open_store(busy, actor="dave"), where, text)
    with pytest.raises(Refused, match=f"{where} has new messages since") as refusal:
        undo(busy)
    assert texts(busy, where)[-2:] == ["one", "two"]
    follow(busy, refusal.value.hint)
    assert refs(busy) == before
