"""Each test makes one defect, as git's t1450 does: it is reported, and the check changes nothing."""

from __future__ import annotations

import glob
import os
import random

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import new
from scopes.conversation.verify import verify
from scopes.errors import Inaccessible
from scopes.history.messages import plain_message
from scopes.store import refs, transactions
from scopes.store.maintenance import expire, pack
from scopes.store.transactions import exclusive_write
from tests.support.examples import amount
from tests.support.store import (
    MAIN,
    assert_sound,
    files_of,
    git,
    loose_path,
    make_store,
    move,
    open_store,
    read_bytes,
    run,
    write_bytes,
    write_chain,
)

REPAIR = """
from scopes.conversation.verify import repair
done = repair(open_store(path), dry_run=len(sys.argv) > 2)
for where, action in done.repairs:
    print(where, action, sep="|")
print(done.quarantine)
"""
LOOK = """
from scopes.conversation.verify import verify
for finding in verify(open_store(path)).findings:
    print(finding.severity, finding.where, finding.problem, finding.cure, sep="|")
"""
SIDE = "refs/heads/conv-001/side"


@pytest.fixture(autouse=True)
def conversation(repository):
    """Create a conversation with two branches and nine messages."""
    new(repository, title="a title", participants=["carol"])
    for number in range(6):
        append(repository, "conv-001", plain_message("carol", f"message {number} " * 20))
    branch(repository, "conv-001", purpose="analysis", name="side", start="conv-001~2")
    for number in range(3):
        append(repository, "conv-001", plain_message("dave", f"beside {number}"), branch="side")
    assert verify(repository).findings == ()


def findings(repository):
    """Check in a subprocess, because libgit2 caches objects; assert that the check changes no file."""
    before = files_of(repository.path)
    found = [tuple(line.split("|")) for line in run(LOOK, repository.path).splitlines()]
    assert files_of(repository.path) == before
    return found


def repaired(repository, *options):
    """Repair the store in a process of its own; return the refs and files that were repaired, and the quarantine."""
    *done, quarantine = run(REPAIR, repository.path, *options).splitlines()
    return [line.split("|")[0] for line in done], quarantine


def problems(repository):
    return {(where, problem) for _, where, problem, _ in findings(repository)}


def packed(repository):
    with exclusive_write(repository):
        pack(repository)
    return glob.glob(os.path.join(repository.path, "objects", "pack", "*.pack"))[0]


def flip(path, place, bit=0):
    data = bytearray(read_bytes(path))
    data[place] ^= 1 << bit
    write_bytes(path, bytes(data))


def blob_of(repository, revision):
    return git(repository, "rev-parse", f"{revision}:message.json").strip()


def test_an_intact_store_has_no_findings_loose_or_packed(repository):
    assert findings(repository) == []
    packed(repository)
    assert findings(repository) == []
    assert_sound(repository)


# Objects


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty"])
@pytest.mark.parametrize("revision", [f"{MAIN}~1", f"{MAIN}~1^{{tree}}", f"{MAIN}~1:message.json", f"{MAIN}:state"])
def test_a_damaged_loose_object_is_reported(repository, revision, damage):
    """D-36, D-37, P10: together with the message that it belongs to."""
    oid = git(repository, "rev-parse", revision).strip()
    path = loose_path(repository, oid)
    stored = read_bytes(path)
    write_bytes(path, {"flipped": stored, "truncated": stored[:-9], "empty": b""}[damage])
    if damage == "flipped":
        flip(path, len(stored) // 2)
    found = problems(repository)
    assert any(oid in where and problem.endswith("is damaged") for where, problem in found), found
    assert any(where.startswith("conv-001/") for where, _ in found)


@pytest.mark.parametrize("revision", [f"{MAIN}~2", f"{MAIN}~2^{{tree}}", f"{MAIN}~2:message.json"])
def test_a_missing_object_is_reported(repository, revision):
    """D-40: a parent, a tree, a blob."""
    oid = git(repository, "rev-parse", revision).strip()
    os.unlink(loose_path(repository, oid))
    assert any(f"object {oid} is not in the store" in problem for _, problem in problems(repository))


def test_a_damaged_message_is_reported_with_its_object_id(repository):
    """P10."""
    identifier = git(repository, "log", "-1", "--format=%(trailers:key=Scopes-Message,valueonly)", f"{MAIN}~1").strip()
    write_bytes(loose_path(repository, blob_of(repository, f"{MAIN}~1")), b"")
    assert any(where == f"conv-001/main: message {identifier}" for where, _ in problems(repository))


@pytest.mark.parametrize(("suffix", "cure"), [("pack", "backup"), ("idx", "scopes verify --repair")])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_flipped_bit_in_a_pack_or_its_index_is_found(repository, suffix, cure, place):
    """D-36: libgit2 does not verify objects that it reads from a pack."""
    path = packed(repository).removesuffix("pack") + suffix
    size = os.path.getsize(path)
    flip(path, {"first": 0, "middle": size // 2, "last": size - 1}[place])
    where = os.path.relpath(path, repository.path)
    assert [(w, p) for _, w, p, c in findings(repository) if w == where and cure in c] == [
        (where, "its checksum does not match")
    ]


@pytest.mark.parametrize("rest", [0, 10, 40, 500])
def test_a_truncated_pack_is_found(repository, rest):
    path = packed(repository)
    write_bytes(path, read_bytes(path)[:rest])
    assert any(where.endswith(".pack") for where, _ in problems(repository))


def test_every_flipped_bit_of_a_pack_is_found(repository):
    """P10."""
    path = packed(repository)
    sound = read_bytes(path)
    for _ in range(amount(100, 20)):
        flip(path, random.randrange(len(sound)), random.randrange(8))
        assert [f for f in verify(open_store(repository)).findings if f.where.endswith(".pack")]
        write_bytes(path, sound)


# Refs


@pytest.mark.parametrize("content", [b"", b"garbage\n", b"1234567\n", b"\0" * 41])
def test_a_damaged_ref_file_is_reported_and_repaired(repository, content):
    """D-38: git and libgit2 omit it from every listing."""
    tip = repository.find_ref(SIDE)
    write_bytes(f"{repository.path}/{SIDE}", content)
    ((severity, where, problem, cure),) = findings(repository)
    assert (severity, where, problem) == ("error", "conv-001/side", "its file is damaged")
    assert cure == "repair it: scopes verify --repair"
    where, quarantine = repaired(repository)
    assert where == ["conv-001/side"]
    assert read_bytes(f"{quarantine}/{SIDE}") == content
    assert open_store(repository).find_ref(SIDE) == tip
    assert findings(repository) == []


@pytest.mark.parametrize("damage", [b"", b"conv-001/maio", b"conv-003/main"])
def test_a_branch_missing_from_packed_refs_is_reported_although_git_fsck_passes(repository, damage):
    """D-39: packed-refs has no checksum; the repair keeps the messages since the last operation."""
    git(repository, "pack-refs", "--all")
    tip = repository.find_ref(MAIN)
    path = f"{repository.path}/packed-refs"
    lines = read_bytes(path).split(b"\n")
    kept = [line.replace(b"conv-001/main", damage) for line in lines if damage or b"conv-001/main" not in line]
    write_bytes(path, b"\n".join(kept))
    git(repository, "fsck", "--strict")
    ((severity, _, problem, cure),) = [finding for finding in findings(repository) if finding[1] == "conv-001/main"]
    assert (severity, problem) == ("error", "it is missing, and no operation deleted it")
    assert cure == "repair it: scopes verify --repair"
    assert "conv-001/main" in repaired(repository)[0]
    assert open_store(repository).find_ref(MAIN) == tip


@pytest.mark.parametrize("name", ["refs/heads/sonv-001/main", "refs/scopes/meta/sonv-001"])
def test_a_ref_without_reflog_and_operation_is_reported(repository, name):
    """D-39: a bit flipped in a packed name that a loose ref overrides leaves no ref missing, but adds one."""
    path = f"{repository.path}/packed-refs"
    git(repository, "pack-refs", "--all")
    head, *lines = read_bytes(path).decode().splitlines(keepends=True)
    lines.append(f"{repository.find_ref(MAIN)} {name}\n")
    write_bytes(path, "".join([head, *sorted(lines, key=lambda line: line[41:])]).encode())
    assert (
        name.removeprefix("refs/heads/"),
        "no operation created it: a git command did, or packed-refs is damaged",
    ) in problems(repository)


def test_unsorted_packed_refs_are_reported(repository):
    path = f"{repository.path}/packed-refs"
    git(repository, "pack-refs", "--all")
    head, *lines = read_bytes(path).splitlines(keepends=True)
    write_bytes(path, b"".join([head, *lines[::-1]]))
    assert any("packed-refs is not sorted" in problem for _, problem in problems(repository))


def test_without_packed_refs_every_packed_ref_is_reported_missing(repository):
    git(repository, "pack-refs", "--all")
    os.unlink(f"{repository.path}/packed-refs")
    gone = {where for where, problem in problems(repository) if "it is missing" in problem}
    assert {"conv-001/main", "conv-001/side"} <= gone


def test_a_missing_branch_is_reported_after_the_log_expired(repository):
    """Only its reflog is left."""
    with exclusive_write(repository):
        expire(repository, 2**63)
    assert findings(repository) == []
    os.unlink(f"{repository.path}/{SIDE}")
    assert ("conv-001/side", "it is missing, and no operation deleted it") in problems(repository)


def test_a_missing_symbolic_ref_is_reported_and_repaired(repository):
    active = refs.active_ref("conv-001")
    value = repository.find_ref(active)
    os.unlink(f"{repository.path}/{active}")
    ((_, where, _, cure),) = findings(repository)
    assert where == active
    assert cure == "repair it: scopes verify --repair"
    assert repaired(repository)[0] == [active]
    assert open_store(repository).find_ref(active) == value


def test_a_ref_with_an_older_value_is_reported(repository):
    """D-43: a file restored from yesterday's backup."""
    write_bytes(f"{repository.path}/{MAIN}", git(repository, "rev-parse", f"{MAIN}~2").encode())
    assert ("conv-001/main", "it differs from the last value in its reflog") in problems(repository)


def test_a_ref_to_a_missing_object_is_reported(repository):
    write_bytes(f"{repository.path}/{MAIN}", b"1" * 40 + b"\n")
    assert any(
        where.startswith("conv-001/main") and "is not in the store" in problem
        for where, problem in problems(repository)
    )


def test_a_branch_created_by_git_is_a_warning_and_one_deleted_by_git_an_error(repository):
    """D-43."""
    git(repository, "update-ref", "refs/heads/conv-001/byhand", MAIN)
    assert findings(repository) == [
        ("warning", "conv-001/byhand", "no operation created it: a git command did, or packed-refs is damaged", "None")
    ]
    assert verify(open_store(repository)).sound
    git(repository, "update-ref", "-d", SIDE)
    assert ("conv-001/side", "it is missing, and no operation deleted it") in problems(repository)


def test_a_tag_created_by_git_is_not_reported(repository):
    git(repository, "tag", "-a", "-m", "x", "v1", MAIN)
    assert findings(repository) == []


# The operation log and leftovers


def test_a_missing_operation_log_is_reported(repository):
    """D-41: nothing else is lost with it."""
    os.unlink(f"{repository.path}/{refs.OPERATIONS}")
    assert (refs.OPERATIONS, "it is missing, and no operation deleted it") in problems(repository)


def test_an_incomplete_operation_log_is_reported(repository):
    """D-42."""
    oid = git(repository, "rev-parse", f"{refs.OPERATIONS}^:operation.json").strip()
    os.unlink(loose_path(repository, oid))
    assert any(where == refs.OPERATIONS and oid in problem for where, problem in problems(repository))


def test_leftovers_and_a_pending_operation_are_warnings(repository):
    """P4."""
    for name in (f"{MAIN}.lock", "objects/pack/tmp_pack_x"):
        write_bytes(f"{repository.path}/{name}", b"")
    marker = repository.find_ref(refs.OPERATIONS)
    git(repository, "update-ref", refs.PENDING, marker)
    found = findings(repository)
    assert {severity for severity, *_ in found} == {"warning"}
    assert {where for _, where, *_ in found} == {f"{MAIN}.lock", "objects/pack/tmp_pack_x", refs.PENDING}
    assert verify(open_store(repository)).sound


def test_a_first_operation_that_is_pending_is_no_defect_of_the_log(tmp_path, monkeypatch):
    """Its log was called unsorted in packed-refs, since it has no ref yet."""
    repository = make_store(tmp_path / "first.git")
    (tip,) = write_chain(repository, "one")
    monkeypatch.setattr(transactions, "move_refs", raising(Inaccessible("the disk is full")))
    move(repository, (MAIN, None, tip))
    assert repository.raw_ref(refs.OPERATIONS) is None
    assert not [finding for finding in findings(repository) if refs.OPERATIONS in finding]


def test_a_store_copied_during_an_operation_has_no_errors(repository, monkeypatch):
    """E-54: the log says that a ref has moved and another is gone; their files and reflogs do not yet."""
    tip = repository.find_ref(MAIN)
    what = [(SIDE, repository.find_ref(SIDE), tip), (MAIN, tip, None), ("refs/heads/conv-001/new", None, tip)]
    monkeypatch.setattr(transactions, "move_refs", raising(Inaccessible("the disk is full")))
    move(repository, *what)
    assert repository.raw_ref(SIDE) != repository.find_ref(SIDE)
    assert findings(repository) == [
        (
            "warning",
            refs.PENDING,
            "an operation is committed, but not all of its refs are moved",
            "the next command that writes will finish it",
        )
    ]


def raising(error):
    def call(*arguments):
        raise error

    return call
