"""`verify`: every defect is found and reported, and nothing is changed (P10)."""

from __future__ import annotations

import os
import re

import pytest

from scopes.conversation.branch import rewind
from scopes.conversation.list import list_conversations
from scopes.conversation.new_rename_delete import delete, new
from scopes.conversation.show import show
from scopes.conversation.undo import undo
from scopes.conversation.verify import repair, verify
from scopes.errors import Busy
from scopes.store.objects import BLOB, TREE, TreeEntry, format_tree
from tests.support.examples import amount
from tests.support.history import history, say
from tests.support.store import IMPATIENT, Process, files_of, git, open_store, overtake


def found(repository):
    """Verify as a new process would; return severity, location and problem of each finding."""
    return [(f.severity, f.where, f.problem) for f in verify(open_store(repository.path)).findings]


def loose(repository, oid):
    return os.path.join(repository.path, "objects", oid[:2], oid[2:])


def overwrite(path, data):
    os.chmod(path, 0o600)
    with open(path, "wb") as file:
        file.write(data)


def commit_of(repository, document, *parents, trailers="Scopes-Kind: plain"):
    """Write a commit whose message.json is the given document."""
    blob = repository.write(BLOB, document)
    tree = repository.write(TREE, format_tree([TreeEntry("message.json", blob, is_tree=False)]))
    words = [word for parent in parents for word in ("-p", parent)]
    return git(repository, "commit-tree", tree, *words, "-m", f"by hand\n\n{trailers}").strip()


def test_a_sound_store_has_no_findings_and_is_counted(repository):
    history(repository, "main: a b", "fix@a: c", "same:")
    history(repository, "main: d")
    new(repository)
    seen = verify(repository)
    assert (seen.conversations, seen.branches, seen.messages) == (3, 5, 4)
    assert (seen.findings, seen.sound, seen.exit_code, seen.path) == ((), True, 0, repository.path)


def test_an_empty_store_is_sound(repository):
    seen = verify(repository)
    assert (seen.conversations, seen.branches, seen.messages, seen.sound) == (0, 0, 0, True)


def test_the_store_is_sound_after_every_operation(repository):
    history(repository, "main: a b", "fix: c")
    rewind(repository, "conv-001")
    delete(repository, "conv-001")
    undo(repository)
    undo(repository)
    git(repository, "gc", "-q")
    assert found(repository) == []


def test_checking_changes_nothing(repository):
    """P10."""
    drawn = history(repository, "main: a b")
    os.unlink(loose(repository, drawn.oids["a"]))
    before = files_of(repository.path)
    assert not verify(repository).sound
    assert files_of(repository.path) == before


def test_a_missing_message_is_an_error_that_names_the_branch(repository):
    """D-40; exit 7."""
    drawn = history(repository, "main: a b", "fix@root: c")
    os.unlink(loose(repository, drawn.oids["a"]))
    seen = verify(open_store(repository.path))
    assert (seen.sound, seen.exit_code) == (False, 7)
    assert any(f.severity == "error" and f.where.startswith("conv-001/main") for f in seen.findings)
    assert any("its history breaks off" in f.problem for f in seen.findings)
    assert not any(f.where.startswith("conv-001/fix") for f in seen.findings)


@pytest.mark.parametrize("what", ["conv-001/main", "conv-001/main^{tree}", "conv-001/main:message.json"])
@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_every_damaged_object_is_found(repository, what, damage):
    """D-36, D-37, D-40: empty, garbled or gone."""
    history(repository, "main: a b")
    path = loose(repository, git(repository, "rev-parse", what).strip())
    os.unlink(path) if damage is None else overwrite(path, damage)
    seen = verify(open_store(repository.path))
    assert (seen.sound, seen.exit_code) == (False, 7)
    assert all(finding.problem for finding in seen.findings)


def test_a_damaged_pack_is_found(repository):
    """D-36."""
    history(repository, "main: a b c")
    git(repository, "repack", "-adq")
    directory = os.path.join(repository.path, "objects", "pack")
    pack = next(os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".pack"))
    with open(pack, "rb") as file:
        data = bytearray(file.read())
    data[len(data) // 2] ^= 1
    overwrite(pack, bytes(data))
    assert any(where.endswith(".pack") and "checksum" in problem for _, where, problem in found(repository))


def test_a_branch_deleted_without_an_operation_is_found(repository):
    """D-39: packed-refs has no checksum."""
    drawn = history(repository, "main: a", "fix: b")
    git(repository, "update-ref", "-d", "refs/heads/conv-001/fix")
    [finding] = verify(repository).findings
    assert (finding.severity, finding.where, finding.problem) == (
        "error",
        "conv-001/fix",
        "it is missing, and no operation deleted it",
    )
    assert finding.cure == "repair it: scopes verify --repair"
    (done,) = repair(open_store(repository)).repairs
    assert (done.where, done.action) == ("conv-001/fix", f"set it to {drawn.oids['a']}")
    assert open_store(repository).find_ref("refs/heads/conv-001/fix") == drawn.oids["a"]


def test_a_branch_created_with_git_is_a_warning(repository):
    """D-43."""
    drawn = history(repository, "main: a")
    git(repository, "update-ref", "refs/heads/conv-001/mine", drawn.oids["a"])
    assert found(repository) == [
        ("warning", "conv-001/mine", "no operation created it: a git command did, or packed-refs is damaged")
    ]
    assert verify(repository).exit_code == 0


@pytest.mark.parametrize(
    ("document", "trailers", "problem"),
    [
        (b"{}", "Scopes-Kind: plain", "a stored message is damaged"),
        (b"not json", "Scopes-Kind: plain", ""),
        (b'{"id":"x","v":1}', "Scopes-Message: y", "commit and message disagree about its id"),
        (b'{"id":"x"}', "Scopes-Kind: root", "the root of a conversation is damaged"),
    ],
)
def test_a_commit_with_an_invalid_message_is_found(repository, document, trailers, problem):
    """D-43: git commits anything."""
    drawn = history(repository, "main: a")
    commit = commit_of(repository, document, drawn.oids["a"], trailers=trailers)
    git(repository, "update-ref", "refs/heads/conv-001/main", commit)
    assert any(severity == "error" and problem in text for severity, _, text in found(repository))


def test_a_history_without_a_root_is_found(repository):
    commit = commit_of(repository, b'{"id":"x","v":1}', trailers="Scopes-Message: x")
    git(repository, "update-ref", "refs/heads/conv-001/main", commit)
    assert ("error", "conv-001/main", "its history does not begin with the root of a conversation") in found(repository)


def test_a_leftover_file_of_a_dead_process_is_a_warning(repository):
    """P4."""
    history(repository, "main: a")
    for name in ("refs/heads/conv-001/main.lock", "objects/tmp_obj_x"):
        open(os.path.join(repository.path, name), "wb").close()
    assert {(severity, where) for severity, where, _ in found(repository)} == {
        ("warning", "refs/heads/conv-001/main.lock"), ("warning", "objects/tmp_obj_x"),
    }  # fmt: skip


def test_a_store_with_a_defect_can_still_be_written(repository):
    """A damaged conversation does not prevent the use of others."""
    drawn = history(repository, "main: a")
    history(repository, "main: b")
    os.unlink(loose(repository, drawn.oids["a"]))
    assert say(open_store(repository.path), "conv-002", "c").branch == "main"


# Beside writers

WRITE = """
from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import delete_branch
from scopes.history.messages import plain_message
import itertools
repository = open_store(path)
for number in itertools.count():
    append(repository, "conv-001", plain_message("carol", f"message {number}"))
    name = f"try-{sys.argv[2]}-{number}"
    branch(repository, "conv-001", name=name, start="main", switch=False)
    append(repository, "conv-001", plain_message("carol", "there"), branch=name)
    delete_branch(repository, "conv-001", name, force=True)
    if number == 0:
        print("started", flush=True)
    time.sleep(0.1)
"""


def verify_during_writes(repository, runs):
    """Verify the store while three processes append and create and delete branches; return all findings."""
    history(repository, "main: " + " ".join(f"m{number}" for number in range(40)))
    writers = [Process(WRITE, repository.path, str(number)) for number in range(3)]
    try:
        for writer in writers:
            assert writer.read_line() == "started", writer.popen.stderr.read()
        findings = [finding for _ in range(runs) for finding in found(repository)]
        for writer in writers:
            assert writer.popen.poll() is None, writer.popen.stderr.read()
        return findings
    finally:
        for writer in writers:
            writer.kill()


def test_nothing_is_reported_during_writes(repository):
    """P10: moved refs are no damage, and live locks are no leftovers."""
    assert verify_during_writes(repository, amount(10, 3)) == []


@pytest.mark.sweep
@pytest.mark.parametrize("store", range(15))
def test_nothing_is_reported_in_150_runs_during_writes(repository, store):
    """Ten runs on each of 15 stores, because the stores grow."""
    assert verify_during_writes(repository, 10) == []


def test_what_is_found_without_the_lock_is_looked_at_again_with_it(repository, monkeypatch):
    """Another process holds a lock file of a ref while the store is read, and releases it before its own lock."""
    history(repository, "main: a")
    lock = f"{repository.path}/refs/heads/conv-001/main.lock"
    open(lock, "wb").close()
    overtake(repository, lambda other: os.unlink(lock))
    assert verify(repository).findings == ()


def test_a_store_that_cannot_be_locked_is_reported_with_a_note(repository):
    """A disk that is read-only, and a store of somebody else."""
    history(repository, "main: a")
    git(repository, "update-ref", "-d", "refs/heads/conv-001/main")
    os.unlink(f"{repository.path}/scopes.lock")
    os.mkdir(f"{repository.path}/scopes.lock")
    seen = verify(open_store(repository))
    assert [finding.where for finding in seen.findings] == ["conv-001/main"]
    assert "a defect may be the work of another process" in seen.notes[0].text


def test_a_defect_that_cannot_be_confirmed_is_not_reported(repository):
    """While another process holds the lock."""
    history(repository, "main: a")
    git(repository, "update-ref", "-d", "refs/heads/conv-001/main")
    with repository.lock.exclusive(), pytest.raises(Busy):
        verify(open_store(repository, IMPATIENT))


@pytest.mark.parametrize("seconds", ["253402300800", "67768036191676799", "100000000000000000"])
@pytest.mark.parametrize("ref", ["refs/heads/conv-001/main", "refs/scopes/operations"])
def test_a_commit_time_beyond_the_year_9999_stops_no_reader(repository, ref, seconds):
    history(repository, "main: a b")
    data = git(repository, "cat-file", "commit", ref)
    forged = re.sub(r"(author|committer) (.*> )[0-9]+", rf"\g<1> \g<2>{seconds}", data)
    commit = repository.write("commit", forged.encode())
    git(repository, "update-ref", ref, commit)
    received = open_store(repository.path)
    assert [row.id for row in list_conversations(received).conversations] == ["conv-001"]
    assert show(received, "conv-001").id == "conv-001"
