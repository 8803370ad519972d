"""`repair`: every defect that can be repaired without losing anything is repaired; the others are reported (P10)."""

from __future__ import annotations

import glob
import os
import shutil
import signal

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import new
from scopes.conversation.store import gc
from scopes.conversation.verify import repair
from scopes.errors import Busy, Inaccessible
from scopes.history.messages import plain_message
from scopes.ids import Oid
from scopes.model.operation import RefChange
from scopes.store import locks, refs, transactions
from scopes.store.transactions import write_operation
from tests.support.store import (
    IMPATIENT,
    MAIN,
    Process,
    assert_sound,
    files_of,
    git,
    loose_path,
    move,
    open_store,
    operation,
    read_bytes,
    run,
    write_bytes,
)

SIDE = "refs/heads/conv-001/side"
QUICK = """
from scopes.store import locks
from scopes.store import transactions as recovery
locks._ORPHAN_AFTER_SECONDS = 0.05
"""
CURES = """
from scopes.conversation.verify import verify
for finding in verify(open_store(path)).findings:
    print(finding.where, finding.cure, sep="|")
"""
REPAIR = """
from scopes.conversation.verify import repair
done = repair(open_store(path))
for where, action in done.repairs:
    print(where)
print(len(done.remaining), done.exit_code)
"""
KILLED = """
import signal
from scopes.store import locks
from scopes.store import transactions as recovery
from scopes.store import verify as module
from scopes.conversation.verify import repair
left = int(sys.argv[2])
def counted(original):
    def call(*arguments, **options):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return original(*arguments, **options)
    return call
module.sync = counted(module.sync)
module.set_ref = counted(module.set_ref)
module.run_git = counted(module.run_git)
recovery._set = counted(recovery._set)
os.rename, os.replace = counted(os.rename), counted(os.replace)
os.unlink = counted(os.unlink)
repair(open_store(path))
print("done")
"""


@pytest.fixture(autouse=True)
def conversation(repository, monkeypatch):
    """Make a conversation of two branches."""
    monkeypatch.setattr(locks, "_ORPHAN_AFTER_SECONDS", 0.1)
    new(repository, title="a title", participants=["carol"])
    for number in range(4):
        append(repository, "conv-001", plain_message("carol", f"message {number} " * 20))
    branch(repository, "conv-001", name="side", start="conv-001~2")
    append(repository, "conv-001", plain_message("dave", "on the side"), branch="side")


def repaired(repository):
    """Repair the store in a process of its own; return what was repaired, the number of defects left, the exit code."""
    *where, last = run(QUICK + REPAIR, repository.path).splitlines()
    remaining, exit_code = map(int, last.split())
    return where, remaining, exit_code


def cures(repository):
    """Verify the store in a process of its own; return what is damaged and how to repair it."""
    return [tuple(line.split("|")) for line in run(QUICK + CURES, repository.path).splitlines()]


def flip(path, place):
    data = bytearray(read_bytes(path))
    data[place] ^= 1
    write_bytes(path, bytes(data))


def pack_file(repository, suffix):
    return glob.glob(f"{repository.path}/objects/pack/*{suffix}")[0]


def all_refs(repository):
    return open_store(repository).list_refs()


def test_a_sound_store_is_not_changed(repository):
    before = files_of(repository.path)
    done = repair(repository)
    assert (done.repairs, done.remaining, done.quarantine, done.exit_code) == ((), (), None, 0)
    assert files_of(repository.path) == before


def damage_everything(repository):
    """Make every defect that can be repaired; return the refs as they were."""
    gc(repository)
    append(repository, "conv-001", plain_message("carol", "after gc"), branch="main")
    before = all_refs(repository)
    flip(pack_file(repository, ".idx"), 1100)
    path = f"{repository.path}/packed-refs"
    head, *lines = read_bytes(path).splitlines(keepends=True)
    kept = [line for line in lines if SIDE.encode() not in line]
    write_bytes(path, b"".join([head, *kept[::-1], b"garbage\n"]))
    write_bytes(f"{repository.path}/{MAIN}", b"\0" * 41)
    write_bytes(f"{repository.path}/{SIDE}.lock", b"")
    write_bytes(f"{repository.path}/objects/pack/tmp_pack_x", b"x")
    return before


def test_a_dry_run_lists_the_repairs_and_changes_nothing(repository):
    damage_everything(repository)
    before = files_of(repository.path)
    done = repair(open_store(repository), dry_run=True)
    assert {"packed-refs", f"{SIDE}.lock"} <= {where for where, _ in done.repairs}
    assert any(where.endswith(".idx") for where, _ in done.repairs)
    assert (done.quarantine, done.remaining) == (None, ())
    assert files_of(repository.path) == before


def test_every_repairable_defect_is_repaired_and_replaced_files_are_kept(repository):
    before = damage_everything(repository)
    index = pack_file(repository, ".idx")
    kept = {name: read_bytes(f"{repository.path}/{name}") for name in ("packed-refs", MAIN)}
    kept[os.path.relpath(index, repository.path)] = read_bytes(index)
    _, remaining, exit_code = repaired(repository)
    assert (remaining, exit_code) == (0, 0)
    assert all_refs(repository) == before
    (quarantine,) = glob.glob(f"{repository.path}/scopes-quarantine/*")
    assert {name: read_bytes(f"{quarantine}/{name}") for name in kept} == kept
    assert_sound(repository)
    assert cures(repository) == []
    assert repaired(repository) == ([], 0, 0)


@pytest.mark.parametrize("first", [3, *(pytest.param(n, marks=pytest.mark.sweep) for n in (0, 1, 2, 4, 5, 6, 7))])
def test_a_repair_that_is_killed_is_finished_by_the_next_one(repository, tmp_path, first):
    """P3, P4: at every eighth step here, at all of them in the sweep."""
    before = damage_everything(repository)
    damaged = str(tmp_path / "damaged")
    os.rename(repository.path, damaged)
    points = 0
    for point in range(first, 1000, 8):
        shutil.rmtree(repository.path, ignore_errors=True)
        shutil.copytree(damaged, repository.path, symlinks=True)
        killed = Process(QUICK + KILLED, repository.path, point)
        out, err = killed.popen.communicate()
        if out == "done\n":
            break
        assert killed.popen.returncode == -signal.SIGKILL, err
        points += 1
        assert repaired(repository)[1:] == (0, 0), (point, cures(repository))
        assert all_refs(repository) == before
    assert points >= 2


def test_a_branch_set_back_by_a_backup_is_moved_on_to_the_end_of_its_reflog(repository):
    """D-43: every message that the branch has now is kept."""
    tip = repository.find_ref(MAIN)
    write_bytes(f"{repository.path}/{MAIN}", git(repository, "rev-parse", f"{MAIN}~2").encode())
    assert repaired(repository) == (["conv-001/main"], 0, 0)
    assert all_refs(repository)[MAIN] == tip


def test_a_branch_with_messages_that_its_reflog_lacks_is_left_alone(repository):
    """Moving it could lose them."""
    other = repository.find_ref(SIDE)
    write_bytes(f"{repository.path}/{MAIN}", f"{other}\n".encode())
    where, remaining, exit_code = repaired(repository)
    assert (where, remaining, exit_code) == ([], 1, 7)
    assert all_refs(repository)[MAIN] == other


def test_a_lost_operation_log_is_restored_from_its_reflog(repository):
    """D-41."""
    before = repository.find_ref(refs.OPERATIONS)
    os.unlink(f"{repository.path}/{refs.OPERATIONS}")
    assert repaired(repository) == ([refs.OPERATIONS], 0, 0)
    assert all_refs(repository)[refs.OPERATIONS] == before


def test_without_packed_refs_every_ref_comes_back(repository):
    """D-39."""
    before = all_refs(repository)
    git(repository, "pack-refs", "--all")
    os.unlink(f"{repository.path}/packed-refs")
    _, remaining, exit_code = repaired(repository)
    assert (remaining, exit_code) == (0, 0)
    assert all_refs(repository) == before


def test_the_only_copy_of_a_damaged_object_stays_where_it_is(repository):
    oid = git(repository, "rev-parse", f"{MAIN}~1:message.json").strip()
    path = loose_path(repository, oid)
    write_bytes(path, b"damaged")
    where, remaining, exit_code = repaired(repository)
    assert (where, exit_code) == ([], 7)
    assert remaining > 0
    assert read_bytes(path) == b"damaged"


def test_a_repair_reads_the_disk_and_not_its_copies_in_memory(repository):
    """One handle wrote the object, or read it before it was damaged."""
    path = loose_path(repository, git(repository, "rev-parse", f"{MAIN}~1:message.json").strip())
    append(repository, "conv-001", plain_message("carol", "in memory"), branch="main")
    own = loose_path(repository, git(repository, "rev-parse", f"{MAIN}:message.json").strip())
    for damaged in (path, own):
        sound = read_bytes(damaged)
        repository.read(Oid(damaged[-41:].replace("/", "")))
        write_bytes(damaged, b"damaged")
        assert repair(repository).exit_code == 7
        write_bytes(damaged, sound)
    assert repair(repository).exit_code == 0


def test_a_ref_whose_object_is_lost_is_not_restored(repository):
    tip = repository.find_ref(SIDE)
    os.unlink(f"{repository.path}/{SIDE}")
    os.unlink(loose_path(repository, tip))
    where, _, exit_code = repaired(repository)
    assert (where, exit_code) == ([], 7)
    assert SIDE not in all_refs(repository)
    assert ("conv-001/side", f"restore object {tip} from a backup or a clone") in cures(repository)


def test_an_interrupted_operation_is_finished(repository, monkeypatch):
    tip = repository.find_ref(MAIN)
    with monkeypatch.context() as failing:
        failing.setattr(transactions, "move_refs", raising(Inaccessible("the disk is full")))
        move(repository, ("refs/heads/conv-001/new", None, tip))
    assert repaired(repository) == ([refs.PENDING], 0, 0)
    assert open_store(repository).raw_ref("refs/heads/conv-001/new") == tip


@pytest.mark.parametrize("content", [b"1" * 40 + b"\n", b"garbage\n"])
def test_the_marker_of_an_operation_that_cannot_be_read_is_moved_away(repository, content):
    """Every reader would stop at it."""
    before = all_refs(repository)
    write_bytes(f"{repository.path}/{refs.PENDING}", content)
    assert repaired(repository) == ([refs.PENDING], 0, 0)
    assert all_refs(repository) == before
    (kept,) = glob.glob(f"{repository.path}/scopes-quarantine/*/{refs.PENDING}")
    assert read_bytes(kept) == content


def test_a_repair_waits_for_the_lock(repository):
    with repository.lock.exclusive(), pytest.raises(Busy):
        repair(open_store(repository, IMPATIENT))


def test_every_cure_of_what_can_be_repaired_is_a_command_of_scopes(repository):
    """No text tells people to write into a ref file."""
    damage_everything(repository)
    assert {cure for _, cure in cures(repository)} == {"repair it: scopes verify --repair"}
    assert repaired(repository)[1:] == (0, 0)
    write_bytes(f"{repository.path}/{MAIN}", b"")
    os.unlink(f"{repository.path}/{SIDE}")
    assert sorted(cures(repository)) == [
        ("conv-001/main", "repair it: scopes verify --repair"), ("conv-001/side", "repair it: scopes verify --repair"),
    ]  # fmt: skip


def raising(error):
    def call(*arguments):
        raise error

    return call


def test_a_recorded_ref_outside_the_store_is_not_written(repository, tmp_path):
    """P14: the operation log of a hostile store names a file of the user as a lost ref."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    outside = f"refs/heads/../../../{victim.name}"
    assert os.path.samefile(f"{repository.path}/{outside}", victim)
    tip = repository.find_ref(MAIN)
    record = write_operation(
        repository, operation(RefChange(outside, None, tip)), Oid(repository.find_ref(refs.OPERATIONS))
    )
    git(repository, "update-ref", refs.OPERATIONS, record)
    done = repair(open_store(repository))
    assert victim.read_text() == "mine"
    assert outside not in {where for where, _ in done.repairs}
    assert sorted(os.listdir(tmp_path)) == ["store.git", "victim"]


def test_a_damaged_ref_of_any_size_is_kept_without_being_copied(repository):
    """R5: a sparse file costs its maker nothing; its copy would fill the disk."""
    os.truncate(f"{repository.path}/{SIDE}", 1 << 42)
    done = repair(open_store(repository))
    assert (done.exit_code, os.path.getsize(f"{done.quarantine}/{SIDE}")) == (0, 1 << 42)
