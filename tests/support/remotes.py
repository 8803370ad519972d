"""Remotes and stores for tests of push, fetch and clone: bare directories, and other machines with a store each."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from scopes.store.config import Setting
from scopes.store.repository import Repository
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote
from scopes.sync.clone import Cloned, clone
from scopes.sync.connection import Connection
from scopes.sync.fetch import Fetched, fetch
from scopes.sync.local_conversations import Selection
from scopes.sync.pull import Pulled, pull
from scopes.sync.push import push
from scopes.sync.pushed import Pushed
from scopes.sync.remotes import resolve_remote
from tests.support.snapshot import Snapshot, take_snapshot
from tests.support.store import FAST, git, make_store, open_store

EVERYTHING = Selection(everything=True)
_BARE: dict[str | None, Snapshot] = {}


def make_bare(path: object) -> str:
    """Create a bare git repository and return its path; the first one of each git of this process is copied."""
    if os.path.exists(os.path.join(os.environ["HOME"], ".gitconfig")) or os.path.lexists(str(path)):
        _init_bare(str(path))
    elif (program := shutil.which("git")) in _BARE:
        os.makedirs(os.path.dirname(str(path)), exist_ok=True)
        _BARE[program].write(str(path))
    else:
        _init_bare(str(path))
        _BARE[program] = take_snapshot(str(path))
    return str(path)


def _init_bare(path: str) -> None:
    done = subprocess.run(["git", "init", "-q", "--bare", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def connection(**options: object) -> Connection:
    """Return how the tests talk to remotes: without a terminal, in the environment of the test."""
    return Connection(environ=os.environ, **options)


def add(repository: Repository, address: str, name: str = "origin", *, probe: bool = False) -> None:
    """Add a remote."""
    add_remote(repository, name, parse_address(address), connection(), probe=probe)


def machine(path: object, address: str, author: str = "carol") -> Repository:
    """Make another store that knows the remote."""
    store = make_store(path)
    add(store, address)
    return open_store(store, FAST, author)


def push_to(repository: Repository, *names: str, remote: str | None = None, **options: object) -> Pushed:
    """Push conversations, by default all."""
    selection = Selection(names) if names else EVERYTHING
    return push(repository, resolve_remote(repository, remote), selection, connection(), **options)


def fetch_from(repository: Repository, *names: str, remote: str | None = None, **options: object) -> Fetched:
    """Fetch conversations, by default all."""
    return fetch(repository, resolve_remote(repository, remote), Selection(names), connection(**options))


def pull_from(repository: Repository, *, rebasing: bool = False) -> Pulled:
    """Fetch all conversations, and join their branches."""
    return pull(repository, resolve_remote(repository, None), Selection(()), connection(), rebasing=rebasing)


def clone_to(path: object, address: str, names: Sequence[str] = ()) -> Cloned:
    """Clone a remote into a new store."""
    return clone(
        str(path),
        parse_address(address),
        Selection(tuple(names)),
        connection(),
        open_store=lambda: open_store(path),
        name="origin",
    )


def limited(repository: Repository, conversations: int, actor: str = "carol", **settings: str) -> Repository:
    """Open a store again, with a limit for the repositories of its remotes."""
    values = {"scopes.remoteconversations": str(conversations), **settings}
    return open_store(
        repository.path, {**FAST, **{key: Setting(key, text, "flag") for key, text in values.items()}}, actor
    )


def count_conversations(path: str) -> int:
    """Return how many conversations a repository has."""
    return len(git(path, "for-each-ref", "--format=%(refname)", "refs/scopes/v1/c/").split())


def numbered(bare: str, number: int) -> str:
    """Return the path of one of the repositories after the first."""
    return bare.replace(".git", f"-{number}.git")
