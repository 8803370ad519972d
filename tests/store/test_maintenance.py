"""Packing loses nothing reachable and runs no command of a store."""

from __future__ import annotations

import os

import pytest

from scopes.clock import parse_time
from scopes.conversation.new_rename_delete import new
from scopes.conversation.verify import verify
from scopes.errors import Busy, Corrupt, Inaccessible, NotFound
from scopes.store import locks, maintenance, refs
from scopes.store import transactions as recovery
from scopes.store.config import Setting
from scopes.store.maintenance import EXPIRE, estimate_loose_objects, expire, pack, pack_when_needed, remove_leftovers
from scopes.store.objects import (
    BLOB,
    COMMIT,
    TREE,
    Identity,
    TreeEntry,
    format_commit,
    format_tree,
    read_tree,
    update_tree,
)
from scopes.store.operations import walk_operations
from scopes.store.packs import bulk_objects
from scopes.store.transactions import append, exclusive_write
from tests.support.store import (
    FAST,
    HEADS,
    MAIN,
    Process,
    assert_sound,
    files_of,
    git,
    loose_path,
    make_branch,
    move,
    open_store,
    state_of,
    subjects,
    write_bytes,
    write_chain,
    write_message,
)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Treat a lock file as stale sooner than after a second."""
    monkeypatch.setattr(locks, "_ORPHAN_AFTER_SECONDS", 0.1)


def packed(repository):
    with exclusive_write(repository):
        pack(repository)


def loose(repository):
    return [name for name in files_of(repository.path) if name.startswith("objects/") and len(name.split("/")[1]) == 2]


def test_packing_changes_no_ref(repository):
    """P7: branches, refs of operations, symbolic refs."""
    one, two = write_chain(repository, "one", "two")
    active = refs.active_ref("conv-001")
    move(repository, (MAIN, None, one), (HEADS + "gone", None, two), (active, None, f"ref: {MAIN}"))
    move(repository, (HEADS + "gone", two, None))
    before = repository.list_refs()
    log = list(walk_operations(repository))
    packed(repository)
    after = open_store(repository)
    assert after.list_refs() == before
    assert list(walk_operations(after)) == log
    assert after.has(two)
    assert loose(repository) == []
    assert_sound(repository)


def test_new_unreachable_objects_survive_packing(repository):
    """P7: a blob that a writer has stored and that no ref reaches yet."""
    make_branch(repository, "one")
    blob = repository.write(BLOB, b"not named yet")
    packed(repository)
    assert open_store(repository).read(blob) == (BLOB, b"not named yet")


def test_an_open_repository_can_read_after_another_process_packed(repository):
    commits = make_branch(repository, "one", "two")
    code = "from scopes.store.maintenance import pack\nrepository = open_store(path)\nwith exclusive_write(repository): pack(repository)"
    Process(code, repository.path).finish()
    assert [repository.read(oid)[0] for oid in commits] == ["commit", "commit"]
    append(repository, MAIN, lambda tip: write_message(repository, "three", tip), "append")
    assert subjects(repository) == ["three", "two", "one"]


def test_packing_removes_the_files_of_dead_processes(repository):
    """P4: no tmp_*, no *.lock."""
    make_branch(repository, "one")
    for name in ("objects/12/tmp_obj_a", "objects/pack/tmp_pack_b", "packed-refs.lock", f"{MAIN}.lock"):
        write_bytes(f"{repository.path}/{name}", b"")
    packed(repository)
    assert [n for n in files_of(repository.path) if "tmp_" in n or (n.endswith(".lock") and n != "scopes.lock")] == []


def test_packing_a_damaged_store_fails_and_loses_nothing(repository):
    commits = make_branch(repository, "one", "two")
    write_bytes(loose_path(repository, commits[0]), b"")
    before = repository.list_refs()
    with pytest.raises(Inaccessible, match="git gc failed"):
        packed(repository)
    assert open_store(repository).list_refs() == before
    assert repository.read(commits[1])[0] == "commit"


def test_packing_a_hostile_store_runs_no_command(repository, tmp_path):
    """P14, I-72: hooks, file system monitors, and the hook that lists recent objects, which no option of git turns off."""
    make_branch(repository, "one")
    sentinel = tmp_path / "pwned"
    for key in ("core.fsmonitor", "core.alternateRefsCommand", "core.sshCommand", "core.pager"):
        git(repository, "config", key, f"touch {sentinel}")
    hook = tmp_path / "hooks" / "reference-transaction"
    write_bytes(hook, f"#!/bin/sh\ntouch {sentinel}\n".encode())
    os.chmod(hook, 0o700)
    git(repository, "config", "core.hooksPath", str(tmp_path / "hooks"))
    packed(open_store(repository))
    assert not sentinel.exists()
    git(repository, "config", "--file", f"{repository.path}/config", "gc.recentObjectsHook", f"touch {sentinel}")
    packed(open_store(repository))
    assert not sentinel.exists()
    assert loose(repository) == []


def test_packing_removes_the_private_directory_of_a_git_that_was_killed(repository):
    """P4."""
    make_branch(repository, "one")
    left = os.path.join(repository.path, "scopes-git-left")
    os.mkdir(left)
    os.symlink("../objects", os.path.join(left, "objects"))
    write_bytes(os.path.join(left, "gc.pid.lock"), b"")
    assert list(recovery.list_leftovers(repository)) == ["scopes-git-left"]
    packed(repository)
    assert not os.path.exists(left)
    assert_sound(repository)


# Objects written in bulk


def write_in_bulk(repository, count, seed):
    """Write trees of 100 names, each with one blob that differs from the one before; return their names."""
    with exclusive_write(repository), bulk_objects(repository) as objects:
        tree = update_tree(objects, None, {f"file-{number}": b"%d" % number for number in range(100)})
        trees = [tree]
        for number in range(count):
            tree = update_tree(objects, tree, {f"file-{number % 100}": b"%s %d" % (seed, number)})
            trees.append(tree)
        root = objects.write(
            TREE, format_tree([TreeEntry(f"{n:04d}", oid, is_tree=True) for n, oid in enumerate(trees)])
        )
        commit = objects.write(
            COMMIT, format_commit(tree=root, parents=(), author=Identity("a", "b"), time=1, subject="s")
        )
    move(repository, (f"refs/scopes/sources/{seed.decode()}", None, commit))
    return trees


def pack_bytes(repository):
    directory = f"{repository.path}/objects/pack"
    return sum(os.path.getsize(f"{directory}/{name}") for name in os.listdir(directory) if name.endswith(".pack"))


def test_packing_makes_deltas_of_bulk_written_objects_and_loses_none(repository):
    trees = write_in_bulk(repository, 300, b"first")
    before = pack_bytes(repository)
    packed(repository)
    assert pack_bytes(repository) < before / 3
    assert len([name for name in files_of(repository.path) if name.endswith(".bitmap")]) == 1
    again = open_store(repository)
    assert all(len(read_tree(again, tree)) == 100 for tree in trees)
    assert_sound(repository)


@pytest.mark.slow
def test_all_packs_are_searched_for_deltas_only_if_a_large_part_was_not(repository, monkeypatch):
    searched = []
    real = maintenance.run_git
    monkeypatch.setattr(
        maintenance, "run_git", lambda *words, **more: searched.append("--aggressive" in words) or real(*words, **more)
    )
    for count, seed, expected in ((300, b"first", True), (0, b"small", False), (300, b"large", True)):
        write_in_bulk(repository, count, seed)
        searched.clear()
        packed(open_store(repository))
        assert searched == [expected], seed
    searched.clear()
    packed(open_store(repository))
    assert searched == [False]


# When the store is packed


def impatient(repository, threshold):
    key = "scopes.packThreshold"
    return open_store(repository, FAST | {key: Setting(key, str(threshold), "flag")})


def test_the_number_of_loose_objects_is_estimated_from_one_directory(repository):
    assert estimate_loose_objects(repository) == 0
    for number in range(2000):
        repository.write(BLOB, str(number).encode())
    assert 1000 < estimate_loose_objects(repository) < 4000


def test_a_store_packs_itself_at_the_threshold(repository, monkeypatch):
    commits = make_branch(repository, "one")
    monkeypatch.setattr(maintenance, "_SAMPLE_DIRECTORY", commits[0][:2])
    assert pack_when_needed(impatient(repository, 100_000)) is False
    assert pack_when_needed(impatient(repository, 0)) is False
    assert len(loose(repository)) > 3
    assert pack_when_needed(impatient(repository, 1)) is True
    assert loose(repository) == []
    assert_sound(repository)


def test_a_failed_automatic_pack_changes_nothing(repository, monkeypatch):
    make_branch(repository, "one")
    monkeypatch.setattr(maintenance, "estimate_loose_objects", lambda repository: 10**6)
    before = state_of(repository)
    with monkeypatch.context() as gone:
        gone.setenv("PATH", "/nowhere")
        assert pack_when_needed(repository) is False
    with monkeypatch.context() as busy:
        busy.setattr(maintenance, "exclusive_write", raising(Busy("no")))
        assert pack_when_needed(repository) is False
    git(repository, "config", "scopes.formatVersion", "99")
    newer = open_store(repository)
    assert pack_when_needed(newer) is False
    git(repository, "config", "scopes.formatVersion", "2")
    assert state_of(repository) == before
    assert not os.path.exists(f"{repository.path}/gc.pid")


def raising(error):
    def call(*arguments):
        raise error

    return call


def test_there_is_nothing_to_remove_in_a_clean_store(repository):
    make_branch(repository, "one")
    with exclusive_write(repository):
        assert remove_leftovers(repository) == []


def test_the_refs_of_many_conversations_are_packed_by_the_command_that_makes_the_last_one(repository, monkeypatch):
    monkeypatch.setattr(maintenance, "_LOOSE_CONVERSATIONS", 3)
    names = [new(repository).id for _ in range(4)]
    heads = os.path.join(repository.path, "refs", "heads")
    assert os.listdir(heads) == [names[-1]]
    assert [*open_store(repository).list_refs("refs/heads/")] == [f"refs/heads/{name}/main" for name in names]
    assert verify(open_store(repository)).findings == ()


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
