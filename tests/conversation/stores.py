"""Create and open stores for tests, and inspect them with the git program."""

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
    """Create an empty store and open it."""
    create_store(str(path))
    return open_store(str(path))


def open_store(path: str, actor: str = "carol", command: str = "scopes test") -> Repository:
    """Open a store as a new process would."""
    return open_repository(path, FAST, Caller(actor, command))


def git(where: Repository | str, *words: str) -> str:
    """Run git on a store and return its output."""
    path = where if isinstance(where, str) else where.path
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", f"--git-dir={path}", "-c", "user.name=t", "-c", "user.email=t@t", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def refs(repository: Repository) -> dict[str, str]:
    """Return every ref except the operation log, to compare the refs before and after an action."""
    return {name: value for name, value in repository.list_refs().items() if name != "refs/scopes/operations"}


def files_of(path: str) -> dict[str, bytes]:
    """Return every file of a directory with its content."""
    found = {}
    for top, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(top, name), "rb") as file:
                found[os.path.relpath(file.name, path)] = file.read()
    return found


def overtake(repository: Repository, act: Callable[[Repository], object]) -> None:
    """Run an action of another process the first time this process waits for the exclusive lock."""
    original = repository.lock.exclusive

    def exclusive() -> AbstractContextManager[None]:
        repository.lock.exclusive = original
        act(open_store(repository.path, actor="somebody else"))
        return original()

    repository.lock.exclusive = exclusive


def remove_object(repository: Repository, oid: str) -> Callable[[], None]:
    """Remove a loose object, and return a function that restores it."""
    path = os.path.join(repository.path, "objects", oid[:2], oid[2:])
    os.rename(path, f"{path}.away")
    return lambda: os.rename(f"{path}.away", path)
