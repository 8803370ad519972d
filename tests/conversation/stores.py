"""Stores of their own for these tests, and the plain git program to look at them from outside."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager

from scopes.store.config import Setting
from scopes.store.init import create_store
from scopes.store.repository import Caller, Repository, open_repository

FAST = {"scopes.durability": Setting("scopes.durability", "fast", "flag")}
"""No waiting for the disk: durability has its tests in the store."""


def make_store(path: object) -> Repository:
    """Make an empty store and open it."""
    create_store(str(path))
    return open_store(str(path))


def open_store(path: str, actor: str = "carol", command: str = "scopes test") -> Repository:
    """Open a store the way a new process would."""
    return open_repository(path, FAST, Caller(actor, command))


def git(where: Repository | str, *words: str) -> str:
    """Run plain git on a store and return what it prints."""
    path = where if isinstance(where, str) else where.path
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", f"--git-dir={path}", "-c", "user.name=t", "-c", "user.email=t@t", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def refs(repository: Repository) -> dict[str, str]:
    """Return every ref but the operation log, for comparing what was before with what is after."""
    return {name: value for name, value in repository.list_refs().items() if name != "refs/scopes/operations"}


def files_of(path: str) -> dict[str, bytes]:
    """Return every file of a directory with its bytes."""
    found = {}
    for top, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(top, name), "rb") as file:
                found[os.path.relpath(file.name, path)] = file.read()
    return found


def overtake(repository: Repository, act: Callable[[Repository], object]) -> None:
    """Let another process act while this one waits for the store alone, the first time that it does."""
    original = repository.lock.exclusive

    def exclusive() -> AbstractContextManager[None]:
        repository.lock.exclusive = original
        act(open_store(repository.path, actor="somebody else"))
        return original()

    repository.lock.exclusive = exclusive


def remove_object(repository: Repository, oid: str) -> Callable[[], None]:
    """Take a loose object away, and return what brings it back."""
    path = os.path.join(repository.path, "objects", oid[:2], oid[2:])
    os.rename(path, f"{path}.away")
    return lambda: os.rename(f"{path}.away", path)
