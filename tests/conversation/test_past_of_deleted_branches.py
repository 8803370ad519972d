"""`--at-operation` shows deleted and renamed branches without the messages that were appended after the operation.

The messages here claim to be from the year 2000, so that their own times never tell which ones are later.
"""

from __future__ import annotations

import json
import os
from random import Random

import pytest

from scopes import clock
from scopes.conversation.branch import branch
from scopes.conversation.delete import delete, delete_branch
from scopes.conversation.merge import abort_merge, continue_merge, merge
from scopes.conversation.operations import list_operations
from scopes.conversation.rename import rename_branch, rename_conversation
from scopes.conversation.resolve import resolve_conflict
from scopes.conversation.rewind import rewind
from scopes.conversation.tag import tag
from scopes.conversation.undo import redo, undo
from scopes.errors import ScopesError
from scopes.history.past import show_past
from scopes.model.message import Author
from scopes.model.operation import LOST_APPENDS
from scopes.store.operation_log import walk_operations
from scopes.store.reflog import list_append_lines, parse_append_lines
from tests.support.decisions import decide
from tests.support.history import history, say, texts
from tests.support.random_ids import hashed_counter
from tests.support.store import assert_sound, open_store

ERIN = Author("erin", "human")
NAMES = ("main", "side", "third", "side/deeper")


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Make ids that differ in their first letters."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


def say_long_ago(repository, branch_name, text):
    """Append a message with a time that says nothing about when it was appended."""
    say(repository, f"conv-001/{branch_name}", text, time="2000-01-01T00:00:00Z")


def newest(repository):
    return list_operations(repository, limit=1).operations[0].id


def past(repository, operation):
    shown = open_store(repository.path)
    show_past(shown, operation)
    return shown


def make_point(repository, name="v1"):
    """Record an operation that moves no branch, and return its id."""
    tag(repository, "conv-001", name)
    return newest(repository)


def create_again(repository):
    """Make a branch of the old name where that is free, with a message of its own."""
    try:
        branch(repository, "conv-001", name="side", start="main", switch=False)
    except ScopesError:
        return
    say_long_ago(repository, "side", "of the second branch")


ENDINGS = {
    "nothing": lambda r: None,
    "deleted": lambda r: delete_branch(r, "conv-001", "side", force=True),
    "deleted with its conversation": lambda r: delete(r, "conv-001"),
    "renamed": lambda r: rename_branch(r, "conv-001", "side", "other"),
    "renamed to a directory of its name": lambda r: rename_branch(r, "conv-001", "side", "side/deeper"),
    "renamed with its conversation": lambda r: rename_conversation(r, "conv-001", "login"),
    "rewound": lambda r: rewind(r, "conv-001/side", count=1),
}
AFTERWARDS = {
    "nothing": lambda r: None,
    "undone": undo,
    "undone and redone": lambda r: (undo(r), redo(r)),
    "undone, redone and undone": lambda r: (undo(r), redo(r), undo(r)),
    "another branch has its name": create_again,
}


@pytest.mark.parametrize("after", AFTERWARDS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_later_messages_are_not_shown_however_the_branch_ended(repository, ending, after):
    """Only the times of the messages told: one with an early time was shown before it was appended."""
    history(repository, "main: a", "side: b")
    say_long_ago(repository, "side", "earlier")
    first = make_point(repository)
    say_long_ago(repository, "side", "later")
    second = make_point(repository, "v2")
    say_long_ago(repository, "side", "last")
    ENDINGS[ending](repository)
    if not (ending == "nothing" and after.startswith("undone")):
        AFTERWARDS[after](repository)
    assert texts(past(repository, first), "conv-001/side") == ["a", "b", "earlier"]
    assert texts(past(repository, second), "conv-001/side") == ["a", "b", "earlier", "later"]


def contested(repository):
    """Let a merge of side into main stop; return the name of its conflict-resolution branch."""
    history(repository, "main: a", "side@a:")
    decide(repository, "conv-001/main", "pg", author="alice")
    decide(repository, "conv-001/side", "my", author="bob")
    return merge(repository, "conv-001", "side", target="main").branch


def finish(repository):
    resolve_conflict(repository, "conv-001", "1", take="source", author=ERIN)
    continue_merge(repository, "conv-001")


@pytest.mark.parametrize("end", [finish, lambda r: abort_merge(r, "conv-001")], ids=["continue", "abort"])
@pytest.mark.parametrize("restored", [False, True])
def test_a_discussion_on_a_deleted_conflict_resolution_branch_grows_as_it_did(repository, end, restored):
    """`--abort` deletes the branch without a copy in the trash, and git deletes its reflog with it."""
    name = contested(repository)
    say_long_ago(repository, name, "I prefer pg")
    first = make_point(repository)
    say_long_ago(repository, name, "no, my")
    second = make_point(repository, "v2")
    end(repository)
    kept = [record.details[LOST_APPENDS] for _, record in walk_operations(repository) if LOST_APPENDS in record.details]
    assert [list(lines) for lines in kept] == ([] if end is finish else [[f"refs/heads/conv-001/{name}"]])
    if restored:
        undo(repository)
    assert texts(past(repository, first), f"conv-001/{name}")[-1] == "I prefer pg"
    assert texts(past(repository, second), f"conv-001/{name}")[-1] == "no, my"
    assert_sound(repository)


def test_a_branch_whose_creation_was_undone_is_shown_without_what_was_appended_later(repository):
    history(repository, "main: a")
    branch(repository, "conv-001", name="side", switch=False)
    first = make_point(repository)
    say_long_ago(repository, "side", "later")
    second = make_point(repository, "v2")
    rewind(repository, "conv-001/side", count=1)
    for _ in range(5):
        undo(repository)
    assert texts(past(repository, first), "conv-001/side") == ["a"]
    assert texts(past(repository, second), "conv-001/side") == ["a", "later"]


def test_the_record_has_no_lines_where_nothing_is_lost(repository):
    """A branch in the trash keeps its reflog; a branch without an append has nothing to keep."""
    history(repository, "main: a", "side: b")
    branch(repository, "conv-001", name="empty", switch=False)
    undo(repository)
    delete_branch(repository, "conv-001", "side", force=True)
    assert [record.id for _, record in walk_operations(repository) if LOST_APPENDS in record.details] == []


def test_a_branch_that_an_older_version_deleted_is_shown_by_the_times_of_its_messages(repository):
    """Such a record has no lines, and the trash no reflog."""
    history(repository, "main: a", "side: b")
    first = make_point(repository)
    say_long_ago(repository, "side", "of unknown place")
    delete_branch(repository, "conv-001", "side", force=True)
    logs = os.path.join(repository.path, "logs", "refs", "scopes", "trash")
    for here, _, files in os.walk(logs):
        for name in files:
            os.unlink(os.path.join(here, name))
    assert texts(past(repository, first), "conv-001/side") == ["a", "b", "of unknown place"]


@pytest.mark.parametrize(
    "lines", [None, 5, "x", {}, [5], [[]], [["a", "b", "c", "d"]], [["a", "b", 1]], [["a", "b", 1, 2]], [{"old": "a"}]]
)
def test_lines_of_another_shape_in_a_record_are_left_out(lines):
    """A record may come from a store of somebody else."""
    assert parse_append_lines(lines) == []


def test_lines_survive_json(repository):
    history(repository, "main: a")
    for text in ("b", "c\n\u00e9", "d\ttab"):
        say_long_ago(repository, "main", text)
    lines = list_append_lines(repository, "refs/heads/conv-001/main")
    moves = parse_append_lines(json.loads(json.dumps(lines)))
    assert [(move.old, move.new, move.time, move.reason) for move in moves] == [tuple(line) for line in lines]
    assert len(moves) == 4


def random_act(random, repository):
    """Do something that moves, renames, deletes or restores branches; a refusal changes nothing."""
    one, other = random.sample(NAMES, 2)
    acts = [
        lambda: branch(repository, "conv-001", name=one, start=other, switch=False),
        lambda: delete_branch(repository, "conv-001", one, force=True),
        lambda: rename_branch(repository, "conv-001", one, other),
        lambda: rewind(repository, f"conv-001/{one}", count=1),
        lambda: undo(repository),
        lambda: undo(repository),
        lambda: redo(repository),
        lambda: merge(repository, "conv-001", one, target=other),
        lambda: abort_merge(repository, "conv-001"),
        lambda: tag(repository, "conv-001", clock.new_id()[:8]),
    ]
    random.choice(acts)()


@pytest.mark.parametrize("seed", range(12))
def test_random_histories_are_shown_as_they_were_after_every_operation(repository, seed):
    """The refs of the past equal a record of them that was made at that time."""
    random = Random(seed)
    history(repository, "main: a b", "side: c")
    seen = {newest(repository): None}  # messages were appended since
    for number in range(25):
        try:
            random_act(random, repository)
        except ScopesError:
            continue
        seen.setdefault(newest(repository), repository.list_refs())
        for place in random.choices(NAMES, k=random.randrange(3)):
            try:
                say_long_ago(repository, place, f"message {number}")
            except ScopesError:
                continue
    assert len(seen) > 5
    for operation, values in seen.items():
        assert values is None or past(repository, operation).list_refs() == values
