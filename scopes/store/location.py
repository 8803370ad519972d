"""Which store a command means, and how a new one is made."""

from __future__ import annotations

import os
import secrets
import shutil

import pygit2

from scopes.errors import Inaccessible, Invalid
from scopes.store.foreign_errors import translated

FORMAT_VERSION = 1
STORE_CONFIG = {
    "commitGraph.generationVersion": 1,  # libgit2 1.9.7 silently ignores a graph of version 2
    "core.logAllRefUpdates": "always",  # appends are in the reflog
    "gc.auto": 0,  # we pack ourselves, under our lock
    "scopes.formatVersion": FORMAT_VERSION,
}


def choose_store(*, explicit: str | None, environment: str | None, cwd: str, data_home: str) -> str:
    """Return the path of the store that is meant: `--store`, then SCOPES_STORE, then the project's, then the user's.

    The path need not exist. The project's store is `<git common dir>/scopes` of the enclosing repository, where
    `scopes init` made one.
    """
    for named in (explicit, environment):
        if named:
            return os.path.abspath(os.path.join(cwd, os.path.expanduser(named)))
    project = find_project_store(cwd)
    if project is not None and os.path.isdir(os.path.join(project, "objects")):
        return project
    return os.path.join(data_home, "scopes", "store.git")


def find_project_store(cwd: str) -> str | None:
    """Return where the enclosing git repository keeps, or would keep, a store; None outside a repository."""
    directory = os.path.abspath(cwd)
    while True:
        marker = os.path.join(directory, ".git")
        if os.path.isdir(marker):
            return os.path.join(marker, "scopes")
        if os.path.isfile(marker):
            return os.path.join(_common_directory(marker), "scopes")
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def _common_directory(marker: str) -> str:
    """Follow a worktree's or submodule's `.git` file to the directory that all worktrees share."""
    here = os.path.dirname(marker)
    with open(marker, encoding="utf-8", errors="surrogateescape") as file:
        git_directory = os.path.join(here, file.readline().removeprefix("gitdir:").strip())
    pointer = os.path.join(git_directory, "commondir")
    if not os.path.isfile(pointer):
        return os.path.normpath(git_directory)
    with open(pointer, encoding="utf-8", errors="surrogateescape") as file:
        return os.path.normpath(os.path.join(git_directory, file.readline().strip()))


def create_store(path: str) -> bool:
    """Make an empty store at `path`, readable by its owner alone; False when there is one already.

    It is built beside its place and renamed into it, so that nobody ever sees half of it and two makers agree.

    Raises:
        Invalid: something else is at `path`.
        Inaccessible: the store cannot be written there.
    """
    if is_store(path):
        return False
    if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
        raise Invalid(f"{path} exists and is no scopes store", hint="name another place with --store")
    workplace = f"{path}.new-{secrets.token_hex(4)}"
    mask = os.umask(0o077)
    try:
        with translated(f"make a store at {path}", os.path.dirname(path)):
            _build(workplace)
            try:
                os.rename(workplace, path)
            except OSError:
                if not is_store(path):
                    raise
                return False
    finally:
        os.umask(mask)
        shutil.rmtree(workplace, ignore_errors=True)
    return True


def _build(workplace: str) -> None:
    os.makedirs(os.path.dirname(workplace), mode=0o700, exist_ok=True)
    os.mkdir(workplace, 0o700)
    repository = pygit2.init_repository(workplace, bare=True, initial_head="scopes-none")
    for key, value in STORE_CONFIG.items():
        repository.config[key] = value
    os.chmod(workplace, 0o700)
    for directory, _, files in os.walk(workplace):
        for name in files:
            os.chmod(os.path.join(directory, name), 0o600)
    sync_directory(workplace)


def sync_directory(path: str) -> None:
    """Wait until the disk has a directory's entries."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_store(path: str) -> bool:
    """Tell whether a store of ours is at `path`, without opening it."""
    try:
        with open(os.path.join(path, "config"), encoding="utf-8", errors="replace") as file:
            return "[scopes]" in file.read(1 << 16)
    except PermissionError as error:
        raise Inaccessible(f"cannot read {path}: permission denied", hint="check who owns it") from error
    except OSError:
        return False
