"""How a new store is made, and how one is told from anything else. Which one a command means is `names`' business."""

from __future__ import annotations

import contextlib
import os
import re
import shutil

from scopes.errors import Inaccessible, Invalid
from scopes.store.error_translation import translated
from scopes.store.libgit2 import pygit2

FORMAT_VERSION = 1
_OID_LENGTH = 40
_WORKPLACE = ".new-"
STORE_CONFIG: dict[str, int | str] = {
    "commitGraph.generationVersion": 1,  # libgit2 1.9.7 silently ignores a graph of version 2
    "core.logAllRefUpdates": "always",  # appends are in the reflog
    "gc.auto": 0,  # we pack ourselves, under our lock
    "scopes.formatVersion": FORMAT_VERSION,
}


def create_store(path: str) -> bool:
    """Make an empty store at `path`, readable by its owner alone; False when there is one already.

    It is built beside its place and renamed into it, so that nobody ever sees half of it and two makers agree. A mirror
    clone of a store, which git made without the settings, becomes a store by getting them.

    Raises:
        Invalid: something else is at `path`.
        Inaccessible: the store cannot be written there.
    """
    if is_store(path):
        return False
    if _is_clone(path):
        return _adopt(path)
    if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
        raise Invalid(f"{path} exists and is no scopes store", hint="name another place with --store")
    workplace = f"{path}{_WORKPLACE}{os.urandom(4).hex()}"
    mask = os.umask(0o077)
    try:
        with translated(f"make a store at {path}", os.path.dirname(path)):
            try:
                _build(workplace)
                os.rename(workplace, path)
            except (pygit2.GitError, OSError):
                if not is_store(path):
                    raise
                return False
            sync(os.path.dirname(path))
    finally:
        os.umask(mask)
        shutil.rmtree(workplace, ignore_errors=True)
    return True


def _is_clone(path: str) -> bool:
    """Tell a bare clone of a store by the refs that only stores have."""
    try:
        with open(os.path.join(path, "packed-refs"), "rb") as file:
            packed = any(line[_OID_LENGTH:].startswith(b" refs/scopes/meta/") for line in file)
    except OSError:
        packed = False
    return packed or os.path.isdir(os.path.join(path, "refs", "scopes", "meta"))


def _adopt(path: str) -> bool:
    with translated(f"make a store of {path}", path):
        config = pygit2.Config(os.path.join(path, "config"))
        for key, value in STORE_CONFIG.items():
            config[key] = value
        os.chmod(path, 0o700)
        sync(os.path.join(path, "config"))
    return True


def remove_workplaces(path: str) -> None:
    """Remove what dead makers of the store at `path` left beside it; one who lives finds the store made."""
    directory, store = os.path.split(os.path.abspath(path))
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            if re.fullmatch(re.escape(store + _WORKPLACE) + "[0-9a-f]{8}", name):
                shutil.rmtree(os.path.join(directory, name))


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
    for needed in ("config", "HEAD", ""):  # an empty config after a power cut would hide every message
        sync(os.path.join(workplace, needed))


def sync(path: str) -> None:
    """Wait until the disk has a file's bytes, or a directory's entries."""
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
