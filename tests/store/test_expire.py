"""Expire deletes entries older than the cutoff, except those that a newer operation refers to."""

from __future__ import annotations

import pytest

from scopes.clock import parse_time
from scopes.errors import Corrupt, NotFound
from scopes.store import refs
from scopes.store import transactions as recovery
from scopes.store.maintenance import EXPIRE, expire
from scopes.store.operations import walk_operations
from scopes.store.transactions import exclusive_write
from tests.support.store import HEADS, MAIN, assert_sound, git, loose_path, move, open_store, write_bytes, write_chain

ALL = 2**63


def day(number):
    return f"2026-01-{number:02}T00:00:00.000Z"


@pytest.fixture
def commits(repository):
    """Write the operations of three days: create a branch, delete it, create another."""
    one, two = write_chain(repository, "one", "two")
    trash = refs.trash_ref("conv-001", "op", MAIN)
    move(repository, (MAIN, None, one), time=day(1))
    move(repository, (MAIN, one, None), (trash, None, one), time=day(2))
    move(repository, (HEADS + "other", None, two), time=day(3))
    return one, two


def expire_before(repository, text):
    with exclusive_write(repository):
        return expire(repository, ALL if text is None else parse_time(text))


def times(repository):
    """Return the times of the operations, without the records of expires."""
    return [operation.time for _, operation in walk_operations(repository) if operation.kind != EXPIRE]


@pytest.mark.parametrize(
    ("before", "gone", "trash", "left"),
    [(day(1), 0, 0, 3), (day(2), 1, 0, 2), ("2026-01-02T00:00:00.001Z", 2, 1, 1), (day(3), 2, 1, 1), (None, 3, 1, 0)],
)
def test_operations_and_trash_before_the_cutoff_expire(repository, commits, before, gone, trash, left):
    assert expire_before(repository, before) == (gone, trash)
    assert times(repository) == [day(3), day(2), day(1)][:left]
    assert len(repository.list_refs(refs.TRASH)) == 1 - trash
    assert list(repository.list_refs(HEADS)) == [HEADS + "other"]
    assert_sound(repository)


def test_an_expire_is_recorded_with_its_actor_and_keeps_nothing(repository, commits):
    """G1: undo can say that it cannot be undone."""
    expire_before(repository, day(3))
    (_, record), (_, kept) = walk_operations(repository)
    assert (record.kind, record.actor, record.changes, kept.time) == (EXPIRE, "carol", (), day(3))
    assert record.summary == "delete 2 operations and 1 ref of the trash for good"
    assert expire_before(repository, None) == (1, 0)
    assert expire_before(repository, None) == (0, 0)


def test_remaining_operations_are_unchanged(repository, commits):
    before = [operation for _, operation in walk_operations(repository)][:2]
    expire_before(repository, day(2))
    assert [operation for _, operation in walk_operations(repository)][1:] == before
    move(repository, (HEADS + "third", None, commits[0]), time=day(4))
    assert times(repository) == [day(4), day(3), day(2)]


def test_gc_collects_expired_objects_and_no_others(repository, commits):
    """P7: only the message of the deleted branch is gone."""
    one, two = commits
    other = write_chain(repository, "three")[0]
    move(repository, (HEADS + "third", None, other), time=day(4))
    move(
        repository, (HEADS + "third", other, None), (refs.TRASH + "conv-001/op2/heads/third", None, other), time=day(5)
    )
    expire_before(repository, day(5))
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "-q", "--prune=now")
    assert [open_store(repository).has(oid) for oid in (one, two, other)] == [True, True, True]
    expire_before(repository, None)
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "-q", "--prune=now")
    assert [open_store(repository).has(oid) for oid in (one, two, other)] == [True, True, False]
    assert_sound(repository)


def test_an_interrupted_expire_is_complete_for_readers_and_finished_by_the_next_writer(
    repository, commits, monkeypatch
):
    """P3, P4: its commit point is one ref update, as for an operation."""
    left = iter(range(1))
    real = recovery._set

    def set_ref(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(recovery, "_set", set_ref)
    with pytest.raises(KeyboardInterrupt):
        expire_before(repository, day(3))
    assert (repository.list_refs(refs.TRASH), times(repository)) == ({}, [day(3)])
    assert repository.raw_ref(refs.OPERATIONS) != repository.find_ref(refs.OPERATIONS)
    monkeypatch.undo()
    move(repository, (HEADS + "third", None, commits[0]), time=day(9))
    assert times(repository) == [day(9), day(3)]
    assert repository.raw_ref(refs.trash_ref("conv-001", "op", MAIN)) is None


def test_the_reflog_does_not_keep_expired_objects(repository, commits):
    """Git would keep them for another month."""
    old_tip = repository.raw_ref(refs.OPERATIONS)
    expire_before(repository, day(3))
    assert old_tip not in git(repository, "rev-list", "--all", "--reflog").split()


def test_an_empty_log_expires_nothing(repository):
    assert expire_before(repository, None) == (0, 0)


def test_without_the_log_no_trash_expires(repository, commits):
    """D-41: without the log the age of trash refs is unknown."""
    git(repository, "update-ref", "-d", refs.OPERATIONS)
    assert expire_before(repository, None) == (0, 0)
    assert len(repository.list_refs(refs.TRASH)) == 1


def test_a_damaged_log_is_not_rewritten(repository, commits):
    """D-42."""
    oid = git(repository, "rev-parse", f"{refs.OPERATIONS}~2^{{tree}}").strip()
    write_bytes(loose_path(repository, oid), b"")
    before = repository.raw_ref(refs.OPERATIONS)
    with pytest.raises((NotFound, Corrupt)):
        expire_before(repository, day(3))
    assert repository.raw_ref(refs.OPERATIONS) == before


def test_an_operation_without_a_valid_time_is_the_oldest(repository):
    (one,) = write_chain(repository, "one")
    move(repository, (MAIN, None, one), time="no time")
    assert expire_before(repository, day(1)) == (1, 0)
