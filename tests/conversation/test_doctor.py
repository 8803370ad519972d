"""`doctor`: checks everything that scopes needs, and changes nothing."""

from __future__ import annotations

import errno
import os

import pytest

from scopes import __version__
from scopes.conversation import verify as module
from scopes.conversation.verify import doctor
from scopes.errors import Corrupt, NotFound
from scopes.store.locks import LOCK_FILE, StoreLock
from scopes.store.repository import create_store, open_repository
from tests.server.acp.test_recording_off import fill, small_disk
from tests.support.history import history
from tests.support.store import files_of, git, open_store


def checks(repository):
    """Return the checks by name."""
    return {check.name: check for check in doctor(repository).checks}


def test_every_check_of_a_healthy_store_is_ok(tmp_path):
    path = str(tmp_path / "s.git")
    create_store(path)
    diagnosis = doctor(open_repository(path))
    assert {check.state for check in diagnosis.checks} == {"ok"}
    assert diagnosis.exit_code == 0
    names = [check.name for check in diagnosis.checks]
    assert names == [
        "scopes", "libraries", "git", "store", "format", "writing", "durability", "loose objects", "privacy", "free space",
    ]  # fmt: skip


def test_versions_are_reported(repository):
    found = checks(repository)
    assert found["scopes"].detail.startswith(f"{__version__}, Python 3.")
    assert "libgit2" in found["libraries"].detail
    assert found["git"].detail.endswith("git")


def test_checking_changes_nothing(repository):
    history(repository, "main: a")
    before = files_of(repository.path)
    doctor(repository)
    assert files_of(repository.path) == before


def test_a_missing_store_is_a_warning(tmp_path):
    missing = NotFound("there is no store at x yet", hint="create one: scopes init")
    diagnosis = doctor(missing)
    last = diagnosis.checks[-1]
    assert (last.name, last.state, last.detail, last.cure) == ("store", "warning", missing.message, missing.hint)
    assert diagnosis.exit_code == 0


def test_a_store_that_cannot_be_opened_is_a_failure(tmp_path):
    diagnosis = doctor(Corrupt("x is not a scopes store", hint="choose the store with --store"))
    assert (diagnosis.checks[-1].state, diagnosis.checks[-1].cure) == ("failed", "choose the store with --store")
    assert diagnosis.exit_code == 1


@pytest.mark.parametrize(("version", "cure"), [("99", "update scopes"), ("0", "formatVersion 2")])
def test_an_unsupported_format_is_a_failure(repository, version, cure):
    """P17."""
    git(repository, "config", "scopes.formatVersion", version)
    diagnosis = doctor(open_store(repository.path))
    check = next(check for check in diagnosis.checks if check.name == "format")
    assert check.state == "failed"
    assert cure in check.cure
    assert diagnosis.exit_code == 1


def test_fast_durability_is_a_warning(repository):
    """The stores of the tests use fast durability."""
    check = checks(repository)["durability"]
    assert (check.state, check.detail) == ("warning", "fast: a power cut may lose messages")


@pytest.mark.parametrize(("mode", "state"), [(0o700, "ok"), (0o755, "warning"), (0o770, "warning"), (0o701, "warning")])
def test_a_store_readable_by_others_is_a_warning(repository, mode, state):
    """P13."""
    os.chmod(repository.path, mode)
    check = checks(repository)["privacy"]
    assert (check.state, check.detail) == (state, f"mode {mode:04o}")
    assert check.cure == (None if state == "ok" else f"chmod 700 {repository.path}")


def test_a_store_that_cannot_be_written_is_a_warning(repository, monkeypatch):
    monkeypatch.setattr(module, "try_write", raising(errno.EROFS))
    check = checks(repository)["writing"]
    assert (check.state, check.detail) == ("warning", "reading only")
    assert "permissions" in check.cure


def raising(number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_a_failure_with_its_reason(repository, monkeypatch, number):
    monkeypatch.setattr(module, "try_write", raising(number))
    check = checks(repository)["writing"]
    assert (check.state, check.detail) == ("failed", f"impossible: {os.strerror(number).lower()}")
    assert check.cure == f"free some space on the disk of {repository.path}"


@pytest.mark.needs_root
def test_writing_is_tried_on_the_disk_of_the_store(tmp_path):
    """It said that writing was possible on a disk without a free byte, because the permissions were right."""
    with small_disk(tmp_path / "disk") as disk:
        path = str(disk / "store.git")
        create_store(path)
        repository = open_repository(path)
        assert checks(repository)["writing"].state == "ok"
        fill(disk)
        before = files_of(path)
        found = checks(repository)
        assert files_of(path) == before, "nothing is left of what was tried"
    assert (found["writing"].state, found["writing"].detail) == ("failed", "impossible: no space left on device")
    assert (found["free space"].state, found["free space"].detail) == ("warning", "0 MiB")


def test_a_store_that_another_process_has_locked_is_a_warning_with_the_process(repository, monkeypatch):
    """It said that writing was possible, while every append ended with "the store is busy"."""
    monkeypatch.setattr(module, "_LOCK_SECONDS", 0)
    with StoreLock(repository.path).exclusive():
        check = checks(repository)["writing"]
    assert (check.state, check.detail) == ("warning", f"the store is busy: process {os.getpid()} holds it")
    assert checks(repository)["writing"].state == "ok"


def test_appends_of_others_do_not_make_a_store_busy(repository):
    with StoreLock(repository.path).shared():
        assert checks(repository)["writing"].state == "ok"


def test_a_lock_that_is_no_file_is_a_warning(repository):
    path = os.path.join(repository.path, LOCK_FILE)
    if os.path.exists(path):
        os.unlink(path)
    os.mkdir(path)
    check = checks(repository)["writing"]
    assert (check.state, check.detail.startswith("reading only: cannot lock the store")) == ("warning", True)


def test_a_missing_git_program_is_a_warning(repository, monkeypatch):
    monkeypatch.setattr(module, "find_git", lambda: None)
    assert checks(repository)["git"].state == "warning"
    assert "install git" in checks(repository)["git"].cure


def test_many_loose_objects_are_a_warning(repository, monkeypatch):
    monkeypatch.setattr(module, "estimate_loose_objects", lambda _: 20_000)
    check = checks(repository)["loose objects"]
    assert (check.state, check.detail, check.cure) == ("warning", "about 20000", "scopes gc")


def test_little_free_disk_space_is_a_warning(repository, monkeypatch):
    room = os.statvfs(repository.path)
    small = os.statvfs_result((4096, 4096, *tuple(room)[2:3], 10, 10, *tuple(room)[5:]))
    monkeypatch.setattr(os, "statvfs", lambda path: small)
    assert (checks(repository)["free space"].state, checks(repository)["free space"].detail) == ("warning", "0 MiB")
