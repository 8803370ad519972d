"""Moving refs: concurrent appends lose nothing, and operations are atomic."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import Busy, Corrupt, Inaccessible, Invalid, NotFound
from scopes.model.operation import RefChange
from scopes.store import locks, refs, transactions
from scopes.store import transactions as recovery
from scopes.store.objects import read_commit
from scopes.store.operations import walk_moves, walk_operations
from scopes.store.transactions import append, commit_operation, exclusive_write
from tests.support.examples import amount, examples
from tests.support.store import (
    HEADS,
    MAIN,
    Process,
    assert_sound,
    git,
    make_branch,
    make_store,
    move,
    open_store,
    operation,
    state_of,
    subjects,
    write_bytes,
    write_chain,
    write_message,
)


def append_text(repository, text, ref=MAIN):
    return append(repository, ref, lambda tip: write_message(repository, text, tip), f"append: {text}")


@pytest.fixture
def fast_stale_locks(monkeypatch):
    """Treat a lock file as stale sooner than after a second."""
    monkeypatch.setattr(locks, "_ORPHAN_AFTER_SECONDS", 0.2)


# Appending


def test_an_append_moves_the_ref_and_writes_the_reflog(repository):
    (root,) = make_branch(repository, "one")
    recorded = []
    with repository.as_caller(on_commit=recorded.append):
        oid = append_text(repository, "two")
    assert repository.find_ref(MAIN) == oid
    assert read_commit(repository, oid).parents == (root,)
    first = next(walk_moves(repository, MAIN))
    assert (first.old, first.new, first.reason.partition(" at ")[0]) == (root, oid, "append: two")
    assert recorded == ["append: two"]
    assert_sound(repository)


def test_an_append_to_a_packed_ref_works(repository):
    make_branch(repository, "one")
    git(repository, "pack-refs", "--all")
    append_text(repository, "two")
    assert subjects(open_store(repository)) == ["two", "one"]


def test_an_append_to_a_missing_ref_is_not_found(repository):
    with pytest.raises(NotFound, match="there is no conv-001/main"):
        append_text(repository, "one")
    assert repository.list_refs() == {}


def test_after_a_lost_race_the_commit_is_built_again(repository):
    """E-52: the test moves the ref once during the append."""
    make_branch(repository, "one")
    other, tips = open_store(repository), []

    def build(tip):
        tips.append(tip)
        if len(tips) == 1:
            append_text(other, "faster")
        return write_message(repository, "two", tip)

    append(repository, MAIN, build, "append")
    assert len(tips) == 2
    assert subjects(repository) == ["two", "faster", "one"]


def test_after_several_lost_races_the_exclusive_lock_is_taken(repository):
    """A git command takes no lock of scopes and moves the ref before each of several attempts."""
    make_branch(repository, "one")
    turns = []

    def build(tip):
        turns.append(tip)
        if len(turns) <= 10:
            git(repository, "update-ref", MAIN, write_message(repository, f"git {len(turns)}", tip))
        return write_message(repository, "two", tip)

    append(repository, MAIN, build, "append")
    assert subjects(repository) == ["two", *(f"git {n}" for n in range(10, 0, -1)), "one"]


def test_an_append_that_never_succeeds_is_busy(repository, fast_stale_locks):
    make_branch(repository, "one")

    def build(tip):
        git(repository, "update-ref", MAIN, write_message(repository, "git", tip))
        return write_message(repository, "two", tip)

    with pytest.raises(Busy, match="another program keeps refs/heads/conv-001/main locked"):
        append(repository, MAIN, build, "append")
    assert "two" not in subjects(repository)


def test_a_branch_deleted_during_an_append_is_not_recreated(repository):
    make_branch(repository, "one")

    def build(tip):
        git(repository, "update-ref", "-d", MAIN)
        return write_message(repository, "two", tip)

    with pytest.raises(NotFound):
        append(repository, MAIN, build, "append")
    assert repository.find_ref(MAIN) is None


def test_a_failing_build_changes_nothing_and_releases_the_lock(repository):
    make_branch(repository, "one")
    before = state_of(repository)
    with pytest.raises(Inaccessible), exclusive_write(repository):
        raise Inaccessible("no")

    def build(tip):
        raise Inaccessible("no")

    with pytest.raises(Inaccessible):
        append(repository, MAIN, build, "append")
    assert state_of(repository) == before
    append_text(repository, "two")


def test_a_ref_is_never_moved_to_a_missing_commit(repository):
    """Storage, write path: libgit2's create_commit did this on a full disk."""
    make_branch(repository, "one")
    before = state_of(repository)
    with pytest.raises((Inaccessible, transactions.ScopesError)):
        append(repository, MAIN, lambda tip: "1" * 40, "append")
    assert state_of(repository) == before


APPENDER = """
repository = open_store(path)
for number in range(int(sys.argv[3])):
    text = f"{sys.argv[2]}-{number}"
    append(repository, MAIN, lambda tip: write_message(repository, text, tip), "append")
"""
MOVER = """
repository = open_store(path)
one, two = sys.argv[2:4]
names = [f"{HEADS}b{number}" for number in range(5)]
for turn in range(40):
    move(repository, *((name, None, one) for name in names))
    move(repository, *((name, one, two) for name in names))
    move(repository, *((name, two, None) for name in names))
print("moved")
"""
PACKER = """
from scopes.store.maintenance import pack
repository = open_store(path)
for turn in range(6):
    with exclusive_write(repository): pack(repository)
    time.sleep(0.05)
print("packed")
"""


def appended(processes, count):
    return sorted(f"{writer}-{number}" for writer in range(processes) for number in range(count))


def test_processes_lose_none_of_their_appends(repository):
    """P5: all 800 (60 of four in an ordinary run), none twice, and those of each process in their order."""
    count, processes = amount(100, 15), amount(8, 4)
    make_branch(repository, "root")
    writers = [Process(APPENDER, repository.path, writer, count) for writer in range(processes)]
    for writer in writers:
        writer.finish()
    committed = subjects(repository)[:-1]
    assert sorted(committed) == appended(processes, count)
    for writer in range(processes):
        mine = [int(text.split("-")[1]) for text in reversed(committed) if text.startswith(f"{writer}-")]
        assert mine == list(range(count))
    assert len(list(walk_moves(repository, MAIN))) == processes * count + 1
    assert_sound(repository)


def test_concurrent_appends_operations_and_packing_all_succeed(repository):
    """P5, P7, E-50: four processes append, one moves five refs at a time, one packs."""
    make_branch(repository, "root")
    one, two = write_chain(repository, "one", "two")
    others = [Process(MOVER, repository.path, one, two), Process(PACKER, repository.path)]
    writers = [Process(APPENDER, repository.path, writer, amount(50, 15)) for writer in range(4)]
    for writer in writers:
        writer.finish()
    assert [other.finish() for other in others] == ["moved", "packed"]
    assert sorted(subjects(repository)[:-1]) == appended(4, amount(50, 15))
    assert len(list(walk_operations(repository))) == 121
    assert list(repository.list_refs(HEADS)) == [MAIN]
    assert_sound(repository)


# Locks of dead and of other processes


@pytest.mark.parametrize("lock", [MAIN, "packed-refs", refs.PENDING, refs.OPERATIONS, HEADS + "new", HEADS + "old"])
def test_the_lock_file_of_a_dead_process_blocks_no_operation(repository, fast_stale_locks, lock):
    """E-47: the append, the commit point, the moves, the log."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (MAIN, None, one), (HEADS + "old", None, one))
    git(repository, "pack-refs", "--all")
    write_bytes(f"{repository.path}/{lock}.lock", b"")
    append_text(repository, "hello")
    tip = repository.find_ref(MAIN)
    move(repository, (MAIN, tip, two), (HEADS + "old", one, None), (HEADS + "new", None, one))
    append_text(repository, "again")
    assert open_store(repository).list_refs(HEADS) == {MAIN: repository.raw_ref(MAIN), HEADS + "new": one}
    assert repository.raw_ref(refs.PENDING) is None
    assert repository.raw_ref(HEADS + "old") is None


@pytest.mark.parametrize("lock", [MAIN, "packed-refs"])
def test_the_lock_file_of_a_running_git_is_not_removed(repository, monkeypatch, lock):
    """E-48."""
    make_branch(repository, "one")
    git(repository, "pack-refs", "--all")
    path = f"{repository.path}/{lock}.lock"
    write_bytes(path, b"")
    removed = []
    unlink = os.unlink

    def recorded_unlink(victim, **options):
        removed.append(victim)
        unlink(victim, **options)

    monkeypatch.setattr(recovery.os, "unlink", recorded_unlink)
    git_is_done = threading.Timer(0.4, unlink, [path])
    git_is_done.start()
    append_text(repository, "two")
    move(repository, (MAIN, repository.find_ref(MAIN), None))
    git_is_done.join()
    assert repository.find_ref(MAIN) is None
    assert [victim for victim in removed if victim.endswith(".lock")] == []


# Operations


def test_an_operation_moves_all_its_refs(repository):
    one, two = write_chain(repository, "one", "two")
    active = refs.active_ref("conv-001")
    move(repository, (MAIN, None, one), (HEADS + "old", None, one), (active, None, f"ref: {MAIN}"))
    moves = (
        (MAIN, one, two),
        (HEADS + "old", one, None),
        (HEADS + "new", None, one),
        (active, f"ref: {MAIN}", f"ref: {HEADS}new"),
    )
    recorded = []
    with repository.as_caller(on_commit=recorded.append):
        oid = move(repository, *moves)
    assert open_store(repository).list_refs() == {
        MAIN: two,
        HEADS + "new": one,
        active: f"ref: {HEADS}new",
        refs.OPERATIONS: oid,
    }
    assert recorded == ["test: of a test"]
    assert_sound(repository)


def test_an_operation_keeps_what_undo_needs(repository):
    """P7: the parents of its record are the log first, then the values before and after."""
    one, two = write_chain(repository, "one", "two")
    first = move(repository, (MAIN, None, one))
    second = move(repository, (MAIN, one, two), (refs.active_ref("conv-001"), None, f"ref: {MAIN}"))
    third = move(repository, (MAIN, two, None))
    assert [read_commit(repository, oid).parents for oid in (first, second, third)] == [
        (one,),
        (first, one, two),
        (second, two),
    ]
    git(repository, "gc", "-q", "--prune=now")
    assert open_store(repository).has(two)


def test_an_operation_with_an_outdated_old_value_is_refused_and_changes_nothing(repository):
    """E-52: a ref was moved, deleted or created; the other changes of the operation are not made either."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (MAIN, None, two))
    before = state_of(repository)
    for wrong in ((MAIN, one, two), (MAIN, None, one), (HEADS + "gone", one, two), (HEADS + "gone", one, None)):
        with pytest.raises(Busy, match="was moved by another process"):
            move(repository, (HEADS + "other", None, one), wrong)
        assert state_of(repository) == before
        assert repository.raw_ref(refs.PENDING) is None


@pytest.mark.parametrize("kind", ["loose", "packed", "damaged"])
def test_a_large_operation_that_creates_a_ref_that_exists_is_refused(repository, kind):
    """E-52."""
    (one,) = write_chain(repository, "one")
    move(repository, (MAIN, None, one))
    if kind == "packed":
        git(repository, "pack-refs", "--all")
    elif kind == "damaged":
        write_bytes(os.path.join(repository.path, MAIN), b"no object\n")
    with pytest.raises(Corrupt if kind == "damaged" else Busy):
        move(repository, *((f"{HEADS}n{number}", None, one) for number in range(150)), (MAIN, None, one))
    assert not repository.list_ref_names(HEADS) - {MAIN}
    assert repository.raw_ref(refs.PENDING) is None


@pytest.mark.parametrize("name", ["main/x", "MAIN", "Main/x", "main/x/y"])
def test_conflicting_names_are_refused_before_the_commit_point(repository, name):
    """A-5, storage pitfall 10."""
    (tip,) = make_branch(repository, "one")
    before = state_of(repository)
    with pytest.raises(Invalid, match="cannot exist together with"):
        move(repository, (HEADS + "other", None, tip), (HEADS + name, None, tip))
    assert state_of(repository) == before


@pytest.mark.parametrize("name", ["x.lock", "a..b", "fork/x.lock", "a//b", "a b", ".a"])
def test_a_name_that_git_refuses_is_refused_before_the_commit_point(repository, name):
    """After the commit point, every later writer would fail to roll the operation forward."""
    (tip,) = make_branch(repository, "one")
    before = state_of(repository)
    with pytest.raises(Invalid, match="not a name that git accepts"):
        move(repository, (HEADS + "other", None, tip), (HEADS + name, None, tip))
    assert (state_of(repository), repository.raw_ref(refs.PENDING)) == (before, None)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("old", "new"), [("x", "x/y"), ("x/y", "x"), ("x/y/z", "x/y"), ("x", "X"), ("a/x", "A/x")])
def test_a_name_may_become_a_directory_or_change_its_case_in_one_operation(repository, old, new, packed):
    tip = make_branch(repository, "one", ref=HEADS + old)[-1]
    for _ in range(2):
        if packed:
            git(repository, "pack-refs", "--all")
        for one, other in ((old, new), (new, old)):
            move(repository, (HEADS + other, None, tip), (HEADS + one, tip, None))
            assert repository.raw_ref(refs.PENDING) is None
            assert open_store(repository).list_refs(HEADS) == {HEADS + other: tip}
    assert_sound(repository)


def test_a_marker_that_cannot_be_set_is_no_commit_point(repository, monkeypatch):
    """A git command set it meanwhile: the operation was not committed and must not report success."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (MAIN, None, one))
    write = transactions.write_operation

    def write_and_interfere(*arguments):
        commit = write(*arguments)
        git(repository, "update-ref", refs.PENDING, repository.raw_ref(refs.OPERATIONS))
        return commit

    monkeypatch.setattr(transactions, "write_operation", write_and_interfere)
    with pytest.raises(Busy, match="refs/scopes/pending"):
        move(repository, (MAIN, one, two))
    monkeypatch.undo()
    assert open_store(repository).find_ref(MAIN) == one
    move(repository, (MAIN, one, two))


# Failed updates of a ref


def test_a_failure_after_the_move_is_a_success_if_the_sync_succeeds(repository, monkeypatch):
    """F-57: the ref was moved, but the sync of its directory failed."""
    (tip,) = make_branch(repository, "one")
    transactions._check_failed_move(repository, MAIN, tip, OSError("sync"))

    def fail(path):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(transactions, "sync", fail)
    with pytest.raises(Inaccessible, match=f"conv-001/main was recorded as {tip}, but") as caught:
        transactions._check_failed_move(repository, MAIN, tip, OSError("sync"))
    assert "do not repeat" in caught.value.hint


def test_a_failure_before_the_move_is_reported(repository):
    make_branch(repository, "one")
    with pytest.raises(Inaccessible, match="cannot move conv-001/main: Input/output error"):
        transactions._check_failed_move(repository, MAIN, "1" * 40, OSError(5, "Input/output error"))


# The model: a dictionary of refs


names = st.sampled_from([HEADS + name for name in ("a", "b", "c", "a/x", "B", "d")])
steps = st.lists(
    st.tuples(st.dictionaries(names, st.sampled_from([None, 0, 1, 2]), min_size=1, max_size=4), st.integers(0, 9)),
    max_size=8,
)


class Killed(BaseException):
    """The process dies here."""


def dying(monkeypatch, turn):
    """Die before the change of a ref number `turn`."""
    real, left = recovery._set, iter(range(turn))

    def change(*arguments):
        if next(left, None) is None:
            raise Killed
        return real(*arguments)

    monkeypatch.setattr(recovery, "_set", change)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_refs_behave_like_a_dictionary_although_processes_die(tmp_path_factory, steps):
    """P3, P4, P16: an operation may die at any of its changes; readers see the refs before or after it."""
    repository = make_store(tmp_path_factory.mktemp("model") / "store.git")
    values = write_chain(repository, "zero", "one", "two")
    model = {}
    for wanted, turn in steps:
        changes = {
            n: None if v is None else values[v]
            for n, v in wanted.items()
            if (None if v is None else values[v]) != model.get(n)
        }
        what = operation(*(RefChange(n, model.get(n), v) for n, v in changes.items()))
        after = {n: v for n, v in {**model, **changes}.items() if v is not None}
        with pytest.MonkeyPatch.context() as patch:
            try:
                with exclusive_write(repository):
                    dying(patch, turn)
                    commit_operation(repository, what)
                model = after
            except Invalid:
                assert any(n.casefold().startswith(m.casefold()) for n in after for m in after if m != n)
            except Killed:
                model = after if turn > 0 else model
        repository = open_store(repository)
        assert repository.list_refs(HEADS) == dict(sorted(model.items()))
    with exclusive_write(repository):
        pass
    assert repository.raw_ref(refs.PENDING) is None
    assert git(repository, "for-each-ref", "--format=%(refname) %(objectname)", HEADS).split() == [
        word for pair in sorted(model.items()) for word in pair
    ]
