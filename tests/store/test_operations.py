"""The operation log yields every record once, newest first, and ends at the first operation."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Corrupt, NotFound
from scopes.ids import Oid
from scopes.model.operation import RefChange
from scopes.store import refs
from scopes.store.objects import COMMIT, EMPTY_TREE, TREE, format_commit
from scopes.store.operations import (
    NULL_OID,
    RefMove,
    find_value_at,
    list_logs,
    parse_append,
    walk_moves,
    walk_operations,
)
from scopes.store.transactions import append, set_ref, write_operation
from tests.support.store import (
    CAROL,
    HEADS,
    MAIN,
    NOON,
    git,
    loose_path,
    make_branch,
    move,
    open_store,
    operation,
    write_bytes,
    write_chain,
    write_message,
)


def logged(repository):
    return [[change.ref.removeprefix(HEADS) for change in what.changes] for _, what in walk_operations(repository)]


def test_a_store_without_operations_has_an_empty_log(repository):
    assert list(walk_operations(repository)) == []


def test_operations_are_yielded_newest_first_with_their_commits(repository):
    one, two = write_chain(repository, "one", "two")
    oids = [move(repository, (HEADS + name, None, one)) for name in "abc"]
    oids.append(move(repository, (HEADS + "a", one, two), (HEADS + "b", one, None)))
    assert logged(repository) == [["a", "b"], ["c"], ["b"], ["a"]]
    assert [oid for oid, _ in walk_operations(repository)] == oids[::-1]
    assert next(walk_operations(repository))[1].changes == (
        RefChange(HEADS + "a", one, two),
        RefChange(HEADS + "b", one, None),
    )


def test_the_log_ends_at_its_first_operation(repository):
    """The parents of a record are the previous record and the old and new tips; only the first is read as an operation."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (MAIN, None, two))
    assert logged(repository) == [["main"]]
    move(repository, (MAIN, two, one))
    assert logged(repository) == [["main"], ["main"]]


def test_a_message_that_looks_like_an_operation_is_not_one(repository):
    """B-20: its text looks like a trailer of scopes."""
    forged = write_message(repository, "Scopes-Operation: forged\n\nScopes-Operation: forged")
    move(repository, (MAIN, None, forged))
    assert logged(repository) == [["main"]]


def test_a_pending_operation_is_the_newest(repository):
    (one,) = write_chain(repository, "one")
    move(repository, (HEADS + "a", None, one))
    what = operation(RefChange(HEADS + "b", None, one))
    commit = write_operation(repository, what, Oid(repository.raw_ref(refs.OPERATIONS)))
    set_ref(repository, RefChange(refs.PENDING, None, commit), "test")
    assert logged(open_store(repository)) == [["b"], ["a"]]


def test_a_damaged_record_is_corrupt_and_newer_ones_are_read(repository):
    """D-42."""
    (one,) = write_chain(repository, "one")
    first, second = (move(repository, (HEADS + name, None, one)) for name in "ab")
    write_bytes(loose_path(repository, git(repository, "rev-parse", f"{first}:operation.json").strip()), b"")
    walk = walk_operations(repository)
    assert next(walk)[0] == second
    with pytest.raises(Corrupt):
        next(walk)


def test_a_log_with_a_missing_commit_is_not_found(repository):
    """D-42."""
    write_bytes(f"{repository.path}/{refs.OPERATIONS}", b"1" * 40 + b"\n")
    with pytest.raises(NotFound):
        list(walk_operations(repository))


def test_a_commit_that_is_not_an_operation_is_corrupt(repository):
    """The log ref points to a message."""
    repository.write(TREE, b"")
    empty = format_commit(tree=EMPTY_TREE, parents=[], author=CAROL, time=NOON, subject="x", trailers=[])
    for oid in (write_message(repository, "one"), repository.write(COMMIT, empty)):
        git(repository, "update-ref", refs.OPERATIONS, oid)
        with pytest.raises(Corrupt, match="is not an operation"):
            list(walk_operations(repository))


ONE, TWO = "1" * 40, "2" * 40


def line(old, new, seconds, reason="append: x", who="scopes <scopes@systems.scopes>", zone="+0000"):
    return f"{old} {new} {who} {seconds} {zone}\t{reason}\n".encode()


@pytest.fixture
def log(repository):
    make_branch(repository, "one")
    path = f"{repository.path}/logs/{MAIN}"
    return lambda *lines: write_bytes(path, b"".join(lines))


def test_every_move_of_a_ref_is_listed_newest_first(repository):
    one, two, three = write_chain(repository, "one", "two", "three")
    move(repository, (MAIN, None, one))
    append(repository, MAIN, lambda tip: two, "append: two")
    move(repository, (MAIN, two, three))
    seen = list(walk_moves(repository, MAIN))
    assert [(m.old, m.new, m.reason.partition(" at ")[0]) for m in seen] == [
        (two, three, "test: of a test"),
        (one, two, "append: two"),
        (NULL_OID, one, "test: of a test"),
    ]
    shown = git(repository, "reflog", "show", "--format=%H %gs", MAIN).splitlines()
    assert shown == [f"{m.new} {m.reason}" for m in seen]


def test_the_identity_in_the_reflog_is_the_actor(repository):
    make_branch(repository, "one")
    assert "carol <carol@actors.scopes>" in git(repository, "reflog", "show", "--format=%gn <%ge>", MAIN)


@pytest.mark.parametrize(
    "actor", ["agent 1", "J\xf6rg", "a <b> c", ".", "", "x\ny", "\udcff", "%41", " \t", "a@b", "'\"'"]
)
def test_every_actor_is_read_from_the_reflog_again(repository, actor):
    """G1: git refuses or trims some names."""
    (tip,) = make_branch(repository, "one")
    other = open_store(repository, actor=actor)
    append(other, MAIN, lambda tip: write_message(other, "two", tip), "append: two")
    move, first = walk_moves(repository, MAIN)
    assert (move.actor, first.actor, move.old) == (actor, "carol", tip)


def test_the_line_of_an_append_has_its_command_and_place_in_the_operation_log(repository):
    (_,) = make_branch(repository, "one")
    operations = repository.raw_ref("refs/scopes/operations")
    for text, first in (("two", None), ("three", "two")):
        append(
            repository,
            MAIN,
            lambda tip, text=text: write_message(repository, text, tip),
            f"append: {text}",
            first=first,
        )
    third, second, created = (parse_append(move) for move in walk_moves(repository, MAIN))
    assert (third.message, third.first, third.after) == ("three", "two", operations[:16])
    assert (second.message, second.first, second.after) == ("two", "two", operations[:16])
    assert created is None
    assert second.time < third.time


def test_a_ref_without_a_reflog_has_no_moves(repository):
    assert list(walk_moves(repository, MAIN)) == []
    assert find_value_at(repository, MAIN, 2**40) is None


@pytest.mark.parametrize(
    ("seconds", "value"),
    [(99, None), (100, ONE), (150, ONE), (199, ONE), (200, TWO), (10**12, TWO), (-1, None), (0, None)],
)
def test_the_value_at_a_time_is_that_of_the_last_move_before(repository, log, seconds, value):
    """`conv-001@{2 hours ago}`."""
    log(line(NULL_OID, ONE, 100), line(ONE, TWO, 200))
    assert find_value_at(repository, MAIN, seconds) == value


def test_two_moves_in_one_second_give_the_later(repository, log):
    log(line(NULL_OID, ONE, 100), line(ONE, TWO, 100))
    assert find_value_at(repository, MAIN, 100) == TWO


def test_a_deleted_branch_has_no_value(repository, log):
    log(line(NULL_OID, ONE, 100), line(ONE, NULL_OID, 200), line(NULL_OID, TWO, 300))
    assert [find_value_at(repository, MAIN, at) for at in (150, 250, 350)] == [ONE, None, TWO]


@pytest.mark.parametrize(
    "damage",
    [b"garbage\n", b"\n\n", b"\0" * 60, b"\xff\xfe\n", line(ONE, TWO, 5)[:50], b"z" * 200, line(ONE, TWO, "²")],
)
def test_a_damaged_line_is_skipped(repository, log, damage):
    """D-38: a power cut leaves a partial last line."""
    log(line(NULL_OID, ONE, 100), damage)
    assert [m.new for m in walk_moves(repository, MAIN)] == [ONE]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (line(ONE, TWO, 7, "bad \udcff".encode("utf-8", "surrogateescape").decode("utf-8", "replace")), "bad \ufffd"),
        (f"{ONE} {TWO} J\xf6rg <j@x> 7 +0200\tb\xf6se\n".encode("latin-1"), "b\ufffdse"),
        (line(ONE, TWO, 7, who="a > b <c@d>", zone="-1200"), "append: x"),
        (line(ONE, TWO, 7, "tab\tand > 9 +0000"), "tab\tand > 9 +0000"),
        (f"{ONE} {TWO} x <y> 7 +0000\n".encode(), ""),
    ],
)
def test_entries_of_other_programs_are_read(repository, log, raw, reason):
    log(raw)
    assert list(walk_moves(repository, MAIN)) == [RefMove(ONE, TWO, 7, reason)]


def test_a_reflog_without_its_ref_is_still_read(repository):
    """D-39: the only trace of a branch that is lost from packed-refs."""
    (tip,) = make_branch(repository, "one")
    os.unlink(f"{repository.path}/{MAIN}")
    assert [m.new for m in walk_moves(repository, MAIN)] == [tip]
    assert [ref for _, ref in list_logs(repository, HEADS)] == [MAIN]


def test_git_deletes_the_reflog_with_its_ref(repository):
    tip = write_message(repository, "one")
    move(repository, (MAIN, None, tip), (HEADS + "a/b", None, tip))
    write_bytes(f"{repository.path}/logs/{MAIN}.lock", b"")
    assert sorted(ref for _, ref in list_logs(repository, HEADS)) == [HEADS + "a/b", MAIN]
    move(repository, (MAIN, tip, None))
    assert sorted(ref for _, ref in list_logs(repository, HEADS)) == [HEADS + "a/b"]
    assert list_logs(repository, "refs/none/") == []
