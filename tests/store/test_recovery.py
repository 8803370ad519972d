"""Recovery from dead processes, and the files it must not touch."""

from __future__ import annotations

import os
import random
import threading
import time
from dataclasses import replace

import pytest

from scopes.errors import Corrupt, Inaccessible, NotFound
from scopes.model.operation import RefChange
from scopes.store import locks, refs
from scopes.store import transactions as recovery
from scopes.store.locks import remove_orphans
from scopes.store.maintenance import remove_leftovers
from scopes.store.operations import walk_moves, walk_operations
from scopes.store.transactions import append, commit_operation, exclusive_write, finish_pending, list_leftovers, set_ref
from tests.support.examples import amount
from tests.support.store import (
    HEADS,
    MAIN,
    Process,
    assert_sound,
    git,
    make_branch,
    move,
    open_store,
    operation,
    write_bytes,
    write_chain,
    write_message,
)

MOVES = 6  # four refs, the operation log, the marker


class Killed(BaseException):
    """The process dies here."""


@pytest.fixture
def fast_stale_locks(monkeypatch):
    """Treat a lock file as stale sooner than after a second."""
    monkeypatch.setattr(locks, "_ORPHAN_AFTER_SECONDS", 0.1)


def die_at(repository, turn, *changes, after=False):
    """Commit an operation and die before its change of a file number `turn`, or after it; the commit point is number 0."""
    real, left = recovery._set, iter(range(turn))

    def change(*arguments):
        if next(left, None) is None:
            if after:
                real(*arguments)
            raise Killed
        return real(*arguments)

    with pytest.MonkeyPatch.context() as patch, exclusive_write(repository):
        patch.setattr(recovery, "_set", change)
        with pytest.raises(Killed):
            commit_operation(repository, operation(*(RefChange(*change) for change in changes)))


@pytest.fixture
def drawn(repository):
    """Draw three refs and a symbolic ref, and an operation that changes all of them."""
    one, two = write_chain(repository, "one", "two")
    active = refs.active_ref("conv-001")
    move(repository, (MAIN, None, one), (HEADS + "old", None, two), (active, None, f"ref: {MAIN}"))
    before = repository.list_refs()
    changes = [
        (MAIN, one, two),
        (HEADS + "old", two, None),
        (HEADS + "old/new", None, one),
        (active, f"ref: {MAIN}", f"ref: {HEADS}old/new"),
    ]
    after = {MAIN: two, HEADS + "old/new": one, active: f"ref: {HEADS}old/new"}
    return before, changes, after


def without_log(values):
    return {name: value for name, value in values.items() if name != refs.OPERATIONS}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("turn", range(MOVES + 1))
def test_a_process_that_dies_during_an_operation_did_nothing_or_all_of_it(repository, drawn, turn, packed):
    """P3, P4: readers see the result before any repair, and the next writer repairs the refs."""
    before, changes, after = drawn
    if packed:
        git(repository, "pack-refs", "--all")
    die_at(repository, turn, *changes)
    survivor = open_store(repository)
    assert without_log(survivor.list_refs()) == (without_log(before) if turn == 0 else after)
    assert len(list(walk_operations(survivor))) == (1 if turn == 0 else 2)
    with exclusive_write(survivor):
        pass
    assert survivor.raw_ref(refs.PENDING) is None
    assert without_log(open_store(repository).list_refs()) == (without_log(before) if turn == 0 else after)
    assert_sound(repository)


@pytest.mark.parametrize("turn", range(1, MOVES))
def test_an_append_after_a_death_finishes_the_operation_first(repository, drawn, turn):
    _, changes, after = drawn
    die_at(repository, turn, *changes)
    survivor = open_store(repository)
    oid = append(survivor, MAIN, lambda tip: write_message(survivor, "next", tip), "append")
    assert git(repository, "rev-parse", f"{oid}^").strip() == after[MAIN]
    assert survivor.raw_ref(refs.PENDING) is None


def test_a_process_that_dies_during_recovery_does_no_harm(repository, drawn):
    """P4: each attempt to roll forward dies one step later."""
    _, changes, after = drawn
    die_at(repository, 1, *changes)
    for _ in range(MOVES):
        with pytest.MonkeyPatch.context() as patch:
            real, left = recovery._set, iter(range(1))

            def change(*arguments, real=real, left=left):
                if next(left, None) is None:
                    raise Killed
                return real(*arguments)

            patch.setattr(recovery, "_set", change)
            try:
                with exclusive_write(open_store(repository)):
                    pass
            except Killed:
                assert without_log(open_store(repository).list_refs()) == after
    assert repository.raw_ref(refs.PENDING) is None
    assert without_log(open_store(repository).list_refs()) == after


def test_finishing_twice_is_harmless(repository, drawn):
    _, changes, after = drawn
    die_at(repository, 3, *changes)
    with repository.lock.exclusive():
        assert finish_pending(repository).kind == "test"
        assert finish_pending(repository) is None
    assert without_log(repository.list_refs()) == after


@pytest.mark.parametrize("name", ["a\0b", "/p/\ud800x", "a\nb", "x" * 100_000])
def test_an_operation_about_a_name_with_any_character_is_finished(repository, name):
    """A summary has names from messages; git writes the reflog, and refuses a NUL."""
    [commit] = write_chain(repository, "one")
    summary = f"resolve {name}"
    with exclusive_write(repository):
        commit_operation(repository, replace(operation(RefChange(MAIN, None, commit)), summary=summary))
    assert (repository.find_ref(MAIN), repository.find_ref(refs.PENDING)) == (commit, None)
    assert_sound(repository)


def test_a_failing_disk_leaves_the_operation_committed(repository, drawn, monkeypatch):
    """P3: the command succeeded, readers see it, and a later writer moves the refs."""
    _, changes, after = drawn
    real, left = recovery._set, iter(range(2))

    def change(*arguments):
        if next(left, None) is None:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(recovery, "_set", change)
    commit = move(repository, *changes)
    assert open_store(repository).find_ref(refs.OPERATIONS) == commit
    assert without_log(open_store(repository).list_refs()) == after
    with pytest.raises(Inaccessible, match="the disk is full"), exclusive_write(open_store(repository)):
        pass
    monkeypatch.undo()
    with exclusive_write(repository):
        pass
    assert without_log(repository.list_refs()) == after


def test_a_ref_that_git_moved_is_not_changed(repository, drawn):
    """D-43: a roll-forward discards no commit of another program."""
    _, changes, after = drawn
    die_at(repository, 1, *changes)
    by_hand = write_message(repository, "by hand")
    git(repository, "update-ref", MAIN, by_hand)
    with exclusive_write(repository):
        pass
    assert without_log(open_store(repository).list_refs()) == after | {MAIN: by_hand}


@pytest.mark.parametrize("marker", ["garbage", "0" * 40])
def test_an_unreadable_marker_stops_writers_and_is_reported(repository, marker):
    make_branch(repository, "one")
    write_bytes(f"{repository.path}/{refs.PENDING}", marker.encode())
    with pytest.raises((Corrupt, NotFound), match=f"{refs.PENDING}|{marker}"), exclusive_write(open_store(repository)):
        pass


def test_a_marker_that_is_not_an_operation_stops_writers(repository):
    (tip,) = make_branch(repository, "one")
    git(repository, "update-ref", refs.PENDING, write_message(repository, "other"))
    with pytest.raises(Corrupt, match="is not an operation"), exclusive_write(open_store(repository)):
        pass
    assert repository.raw_ref(MAIN) == tip


# Killed processes

ENDLESS = """
repository = open_store(path)
one, two = sys.argv[2:4]
names = [f"{HEADS}b{number}" for number in range(8)]
print("go", flush=True)
while True:
    move(repository, *((name, one, two) for name in names))
    one, two = two, one
"""


def test_a_process_killed_at_any_time_leaves_an_intact_store(repository):
    """P3, P4: SIGKILL at arbitrary times."""
    one, two = write_chain(repository, "one", "two")
    names = [f"{HEADS}b{number}" for number in range(8)]
    move(repository, *((name, None, one) for name in names))
    for _ in range(amount(6, 3)):
        tip = repository.find_ref(names[0])
        writer = Process(ENDLESS, repository.path, tip, two if tip == one else one)
        assert writer.read_line() == "go"
        time.sleep(random.random() * 0.05)
        writer.kill()
        seen = open_store(repository).list_refs(HEADS)
        assert list(seen) == names
        assert len(set(seen.values())) == 1
        repository = open_store(repository)
        with exclusive_write(repository):
            remove_leftovers(repository)
        assert repository.list_refs(HEADS) == seen
    assert_sound(repository)


@pytest.mark.parametrize(("old", "new"), [("x", "x/y"), ("x/y", "x"), ("x", "y"), ("x/y", "x/y/z")])
@pytest.mark.parametrize("turn", range(5))
@pytest.mark.parametrize("after", [False, True])
def test_a_rename_keeps_the_reflog_wherever_the_process_dies(repository, old, new, turn, after):
    """The old ref is deleted before the new one exists if one name is a directory of the other."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (HEADS + old, None, one))
    move(repository, (HEADS + old, one, two))
    die_at(repository, turn, (HEADS + old, two, None), (HEADS + new, None, two), after=after)
    with exclusive_write(open_store(repository)):
        pass
    moves = [move.new for move in walk_moves(repository, HEADS + (new if turn or after else old))]
    assert moves[-2:] == [two, one]
    assert list(list_leftovers(repository)) == []


# Files of dead processes


def test_the_files_of_a_dead_process_are_listed(repository):
    """P4, E-47: locks anywhere, temporary files below objects/."""
    left = [
        "HEAD.lock", "config.lock", "packed-refs.lock", f"{MAIN}.lock", "refs/scopes/pending.lock", f"logs/{MAIN}.lock",
        "objects/12/tmp_obj_a", "objects/pack/tmp_pack_b", "objects/pack/tmp_idx_c", "objects/pack/.tmp-12-pack-d.pack",
        "objects/info/commit-graph.lock", "objects/ab/tmp_object_git2_e",
    ]  # fmt: skip
    make_branch(repository, "one")
    for name in left:
        write_bytes(f"{repository.path}/{name}", b"")
    assert sorted(list_leftovers(repository)) == sorted(left)


NAMES = ["tmp_fix", "tmp-fix", ".tmp-x", "logs/x", "lock", "x.lock.y"]


def test_a_branch_named_like_a_temporary_file_is_not_listed(repository, fast_stale_locks):
    """The user chose the name; it is in refs and in reflogs."""
    names = [HEADS + name for name in NAMES if not name.startswith(".")]
    names += ["refs/heads/tmp_conversation/logs", "refs/scopes/meta/tmp_conversation", "refs/scopes/active/tmp-x"]
    tip = write_message(repository, "one")
    move(repository, *((name, None, tip) for name in names))
    before = repository.list_refs()
    assert list(list_leftovers(repository)) == []
    with exclusive_write(repository):
        assert remove_leftovers(repository) == []
    assert open_store(repository).list_refs() == before


def test_an_unchanged_lock_file_is_removed_and_a_changing_one_is_not(tmp_path, fast_stale_locks):
    dead, living, ends = (str(tmp_path / name) for name in ("dead", "living", "ends"))
    for path in (dead, living, ends):
        write_bytes(path, b"")
    stop = threading.Event()

    def live():
        while not stop.wait(0.01):
            os.utime(living, ns=(time.time_ns(), time.time_ns()))

    threads = [threading.Thread(target=live), threading.Timer(0.05, os.unlink, [ends])]
    for thread in threads:
        thread.start()
    assert remove_orphans([dead, living, ends, str(tmp_path / "gone")]) == [dead]
    stop.set()
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["living"]


def test_nothing_to_remove_takes_no_time(tmp_path):
    began = time.monotonic()
    assert remove_orphans([str(tmp_path / "gone")]) == []
    assert time.monotonic() - began < 0.5


def test_a_ref_that_has_its_new_value_is_not_set_again(repository):
    one, two = write_chain(repository, "one", "two")
    set_ref(repository, RefChange(MAIN, None, one), "first")
    for change in ((MAIN, None, one), (MAIN, two, None), (MAIN, None, two), (HEADS + "gone", one, None)):
        set_ref(repository, RefChange(*change), "again")
        assert repository.list_refs() == {MAIN: one}
    assert git(repository, "reflog", "show", "--format=%gs", MAIN).split() == ["first"]
