"""Importing pygit2 does not import `ssl`, and `ssl` works afterwards."""

from __future__ import annotations

import ast
import errno
import os
import subprocess
import sys
from pathlib import Path

import pygit2
import pytest

from scopes.errors import Busy, Corrupt, Inaccessible, NotFound
from scopes.store.objects import is_locked, is_moved, refusal, translated
from tests.support.store import HEADS, MAIN, ROOT, make_branch, make_store, write_bytes, write_message


def run(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_no_module_of_the_store_imports_ssl():
    """18 ms of every command, mostly for the system's certificates."""
    everything = "import pkgutil, scopes.store; [__import__(f'scopes.store.{m.name}') for m in pkgutil.iter_modules(scopes.store.__path__)]"
    assert run(f"{everything}\nimport sys; print('pygit2' in sys.modules, 'ssl' in sys.modules)") == ["True", "False"]


def names_imported_by(path):
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if "pygit2" in text else ():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_only_one_module_imports_pygit2_itself():
    """The first import decides whether `ssl` is loaded, whichever module it is in."""
    package = Path(ROOT) / "scopes"
    direct = {path.name for path in package.rglob("*.py") if "pygit2" in set(names_imported_by(path))}
    assert direct == {"objects.py"}


@pytest.mark.parametrize("name", ["repository", "objects"])
def test_a_module_that_is_imported_first_does_not_import_ssl(name):
    assert run(f"import sys, scopes.store.{name}; print('ssl' in sys.modules)") == ["False"]


def test_ssl_works_when_imported_afterwards():
    code = "from scopes.store.objects import pygit2\nimport ssl\nprint(ssl.create_default_context().check_hostname)"
    assert run(code) == ["True"]


def test_an_imported_ssl_is_kept():
    code = "import ssl, sys\nfrom scopes.store.objects import pygit2\nprint(sys.modules['ssl'] is ssl)"
    assert run(code) == ["True"]


def test_pygit2_is_the_real_module():
    assert run("from scopes.store.objects import pygit2 as ours\nimport pygit2\nprint(ours is pygit2)") == ["True"]


OID = "5ffbbbb4384b96cc9dffb03ed88ff1501fba2693"


@pytest.fixture(params=["store.git", "already exists/is locked.git", "it's failed to lock file.git"])
def store(request, tmp_path):
    """Create stores in directories whose names look like libgit2's error texts."""
    store = make_store(tmp_path / request.param)
    make_branch(store, "one")
    return store


def failure_of(call, *arguments, **keywords):
    with pytest.raises((pygit2.GitError, OSError)) as caught:
        call(*arguments, **keywords)
    return caught.value


def lock(store, ref):
    write_bytes(f"{store.path}/{ref}.lock", b"")


def test_a_ref_that_another_process_moved_is_recognized(store):
    """E-47, storage pitfall 3."""
    first, second = (store.git.references[MAIN] for _ in "12")
    first.set_target(pygit2.Oid(hex=write_message(store, "two")))
    error = failure_of(second.set_target, pygit2.Oid(hex=write_message(store, "three")))
    assert (is_moved(error), is_locked(error)) == (True, False)
    assert is_moved(failure_of(second.delete))
    store.git.references[MAIN].delete()
    assert is_moved(failure_of(second.set_target, second.target))


def test_an_existing_ref_counts_as_moved(store):
    tip = store.git.references[MAIN].target
    error = failure_of(store.git.create_reference_direct, MAIN, tip, force=False)
    assert (is_moved(error), is_locked(error)) == (True, False)


def test_a_held_lock_is_recognized(store):
    """E-47, E-48."""
    reference = store.git.references[MAIN]
    other = pygit2.Oid(hex=write_message(store, "two"))
    lock(store, MAIN)
    lock(store, HEADS + "new")
    for error in (
        failure_of(reference.set_target, other),
        failure_of(reference.delete),
        failure_of(store.git.create_reference_direct, HEADS + "new", other, force=False),
    ):
        assert (is_moved(error), is_locked(error)) == (False, True), str(error)
        assert isinstance(refusal("move it", store.path, error), Busy)


def test_a_lock_that_appears_between_check_and_creation_is_a_held_lock():
    """libgit2 checks for the file before it creates it; the error of the race is rare, so its text is taken from libgit2's source."""
    error = OSError("failed to create locked file '/a/b.lock': File exists")
    assert (is_moved(error), is_locked(error)) == (False, True)
    assert not is_locked(OSError("failed to create locked file '/a/b.lock': Permission denied"))
    assert not is_locked(OSError("refs/heads/x: failed stat - '/a/b' is locked: Permission denied"))


def test_conflicting_names_are_neither_moved_nor_locked(store):
    tip = store.git.references[MAIN].target
    for name in (MAIN + "/x", HEADS.rstrip("/")):
        error = failure_of(store.git.create_reference_direct, name, tip, force=False)
        assert (is_moved(error), is_locked(error)) == (False, False), str(error)


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EDQUOT, "disk is full"),
        (errno.EFBIG, "disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EPERM, "permission denied"),
        (errno.EIO, "Input/output error"),
        (errno.EMFILE, "Too many open files"),
    ],
)
def test_a_system_error_becomes_an_exception_that_names_the_action(code, word, tmp_path):
    """F-55, F-57, F-58, F-60, F-61, F-63: by its errno, or by libgit2's text where there is no errno."""
    with_path = f"failed to write '/x/input/output error': {os.strerror(code)}"
    for error in (OSError(code, os.strerror(code)), pygit2.GitError(with_path)):
        found = refusal("save it", str(tmp_path), error)
        assert isinstance(found, Inaccessible)
        assert found.message.startswith("cannot save it: ")
        assert word in found.message
        assert found.hint


def test_an_unknown_error_means_damage_if_the_disk_is_fine(tmp_path):
    assert isinstance(refusal("save it", str(tmp_path), pygit2.GitError("no error")), Corrupt)
    assert "no error" not in refusal("save it", str(tmp_path), pygit2.GitError("no error")).message


def test_a_missing_directory_is_reported_as_missing(tmp_path):
    found = refusal("save it", str(tmp_path / "gone"), pygit2.GitError("no error"))
    assert "No such file or directory" in found.message


def test_a_missing_object_means_damage(tmp_path):
    assert "missing" in refusal("save it", str(tmp_path), KeyError(OID)).message


def test_translated_keeps_the_cause_and_does_not_change_scopes_errors(tmp_path):
    cause = OSError(errno.EACCES, "no")
    with pytest.raises(Inaccessible) as caught, translated("save it", str(tmp_path)):
        raise cause
    assert caught.value.__cause__ is cause
    with pytest.raises(NotFound), translated("save it", str(tmp_path)):
        raise NotFound("there is none")
