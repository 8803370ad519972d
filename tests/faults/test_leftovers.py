"""P4: files left behind by a killed command block no other command and are removed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import pygit2
import pytest

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import delete, new
from scopes.conversation.store import gc
from scopes.conversation.verify import verify
from scopes.errors import Inaccessible
from scopes.history.messages import plain_message
from scopes.store import locks
from scopes.store import refs as names
from scopes.store import repository as init
from scopes.store import transactions as recovery
from scopes.store.repository import create_store, open_repository

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture(autouse=True)
def conversation(repository, monkeypatch):
    """Make a conversation of one message, and treat an unreferenced file as an orphan at once."""
    monkeypatch.setattr(locks, "_ORPHAN_AFTER_SECONDS", 0.05)
    new(repository)
    append(repository, "conv-001", plain_message("carol", "first"))


def test_gc_removes_the_files_of_a_process_that_died_creating_the_store(repository, tmp_path):
    """It was killed before it renamed the store to its final path."""
    (tmp_path / "store.git.new-0123abcd" / "refs").mkdir(parents=True)
    (tmp_path / "store.git.new-backup").mkdir()
    gc(repository)
    assert sorted(os.listdir(tmp_path)) == ["store.git", "store.git.new-backup"]


def test_a_creator_whose_temporary_directory_was_removed_opens_the_existing_store(tmp_path, monkeypatch):
    """Another process created the store first and has run gc since."""
    path = str(tmp_path / "lost.git")
    build = init._build

    def lose(temporary, **_options):
        monkeypatch.setattr(init, "_build", build)
        assert create_store(path)
        raise FileNotFoundError(temporary)

    monkeypatch.setattr(init, "_build", lose)
    assert not create_store(path)
    assert open_repository(path).list_refs() == {}


def test_the_pid_file_of_a_killed_git_gc_does_not_stop_the_next_one(repository):
    """Another process may have the same pid by now; git itself would refuse for twelve hours."""
    pid_file = os.path.join(repository.path, "gc.pid")
    with open(pid_file, "w", encoding="ascii") as file:
        file.write(f"{os.getpid()} {socket.gethostname()}")
    gc(repository)


def test_gc_removes_unfinished_packs_of_a_killed_git(repository):
    """Git removes only those of its own process."""
    left = os.path.join(repository.path, "objects", "pack", ".tmp-4711-pack-0123.pack")
    with open(left, "wb") as file:
        file.write(bytes(100))
    gc(repository)
    assert not os.path.exists(left)


def test_a_reflog_one_move_ahead_of_its_branch_is_not_damage(repository):
    """Git writes the reflog first, so a kill between both writes leaves this state."""
    ref = "refs/heads/conv-001/main"
    tip = repository.raw_ref(ref)
    with open(os.path.join(repository.path, "logs", ref), "a", encoding="ascii") as file:
        file.write(f"{tip} {'1' * 40} scopes <scopes@systems.scopes> 1767225600 +0000\tappend: lost\n")
    found = verify(repository)
    assert found.sound
    assert [finding.where for finding in found.findings] == ["conv-001/main"]


def test_a_reflog_that_disagrees_with_its_branch_is_damage(repository):
    """The branch stands neither where its last move began nor where it ended."""
    with open(os.path.join(repository.path, "logs", "refs/heads/conv-001/main"), "a", encoding="ascii") as file:
        file.write(f"{'2' * 40} {'1' * 40} scopes <scopes@systems.scopes> 1767225600 +0000\tappend: lost\n")
    assert not verify(repository).sound


def test_the_refs_of_a_pending_expire_are_not_reported_missing(repository, monkeypatch):
    """P4: a process killed during expire leaves a reflog whose operation is not in the log."""
    delete(repository, "conv-001")
    real = recovery._set
    monkeypatch.setattr(
        recovery, "_set", lambda git, ref, *values: real(git, ref, *values) if ref == names.PENDING else 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        gc(repository, expire_before="now")
    monkeypatch.undo()
    assert repository.raw_ref(names.PENDING) is not None
    assert list(repository.list_refs()) == [names.OPERATIONS]  # the record of the expire itself
    assert verify(repository).sound


def test_an_active_branch_set_by_no_operation_is_damage(repository):
    """P10: a flipped bit in its name."""
    repository.git.references.get("refs/scopes/active/conv-001").set_target("refs/heads/conv-001/maim")
    assert [finding.where for finding in verify(repository).findings] == ["refs/scopes/active/conv-001"]


def test_with_a_damaged_pack_index_nothing_else_is_read(repository):
    """P10: libgit2 1.9.7 dies of an offset behind the end of its pack."""
    gc(repository)
    packs = os.path.join(repository.path, "objects", "pack")
    index = next(os.path.join(packs, name) for name in os.listdir(packs) if name.endswith(".idx"))
    os.chmod(index, 0o600)
    with open(index, "r+b") as file:
        count = int.from_bytes(file.read()[8 + 255 * 4 : 8 + 256 * 4], "big")
        file.seek(8 + 256 * 4 + 24 * count)
        file.write(b"\x08")
    program = "import sys; from scopes.cli.main import main; sys.exit(main())"
    environment = {**os.environ, "PYTHONPATH": ROOT, "SCOPES_STORE": repository.path}
    done = subprocess.run(
        [sys.executable, "-c", program, "verify", "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (7, "")
    assert [finding["where"] for finding in json.loads(done.stdout)["findings"]] == [
        os.path.relpath(index, repository.path)
    ]


def test_a_directory_removed_by_git_meanwhile_is_created_again(repository, monkeypatch):
    """P5: a plain `git repack` during an append."""
    real, left = repository.git.write, iter(range(2))

    def write(*arguments):
        if next(left, None) is not None:
            raise OSError("failed to rename lockfile to '/store/objects/61/dd': No such file or directory")
        return real(*arguments)

    monkeypatch.setattr(repository, "git", SimpleNamespace(write=write))
    assert repository.has(repository.write("blob", b"again"))


def test_a_failed_write_without_a_reason_is_a_disk_error(repository, monkeypatch):
    """F-58: libgit2 says `no error` where a file grows too large."""

    def write(*_arguments):
        raise pygit2.GitError("no error")

    monkeypatch.setattr(repository, "git", SimpleNamespace(write=write))
    with pytest.raises(Inaccessible, match="a disk error"):
        repository.write("blob", b"never")


def test_a_branch_without_an_operation_is_reported(repository):
    """P10: packed-refs has no checksum, and a flipped bit in it makes another branch."""
    gc(repository)
    packed = os.path.join(repository.path, "packed-refs")
    append(repository, "conv-001", plain_message("carol", "so that the branch has a file of its own"))
    with open(packed, "rb") as file:
        damaged = file.read().replace(b"refs/heads/conv-001/main", b"refs/heads/cmnv-001/main")
    with open(packed, "wb") as file:
        file.write(damaged)
    assert [finding.where for finding in verify(open_repository(repository.path)).findings] == ["cmnv-001/main"]


def test_a_lock_that_is_released_while_this_process_is_held_up_is_no_orphan(tmp_path, monkeypatch):
    """On a busy machine the time was over before the file was looked at again, and a live lock was removed."""
    monkeypatch.setattr(locks, "_ORPHAN_AFTER_SECONDS", 0.0)
    lock, orphan = tmp_path / "main.lock", tmp_path / "packed-refs.lock"
    lock.touch()
    orphan.touch()
    monkeypatch.setattr(recovery.time, "sleep", lambda _: lock.unlink(missing_ok=True))  # the other process goes on
    assert locks.find_orphans([str(lock), str(orphan)]) == [str(orphan)]
