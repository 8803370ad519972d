"""Create a store, and recognize one. `discovery` chooses the store of a command."""

from __future__ import annotations

import contextlib
import os
import re
import shutil

from scopes.errors import Inaccessible, Invalid
from scopes.regular_file import MAX_CONFIG_BYTES, read_regular, sync
from scopes.store.libgit2 import pygit2, translated
from scopes.store.ref_files import parse_packed_refs, read_packed_refs
from scopes.store.refs import META

FORMAT_VERSION = 2
_UNFINISHED = ".new-"
HEAD = "ref: refs/heads/scopes-none\n"  # no branch: scopes has none of its own
_INITIAL_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
STORE_CONFIG: dict[str, int | str] = {
    "core.logAllRefUpdates": "always",  # appends are recorded in the reflog
    "gc.auto": 0,  # scopes packs the store itself, under its lock
    "scopes.formatVersion": FORMAT_VERSION,
}


def create_store(path: str, *, durable: bool = True) -> bool:
    """Create an empty store at `path`, readable by its owner alone; return False if there is one already.

    It is created in a temporary sibling directory and renamed, so that no process sees an incomplete store and two
    processes can create it at once. A mirror clone of a store lacks only the settings; it gets them. Without `durable`
    the store may be incomplete after a power cut.

    Raises:
        Invalid: `path` exists and is something else.
        Inaccessible: the store cannot be written there.
    """
    if is_store(path):
        return False
    if is_clone(path):
        adopt(path)
        return True
    if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
        if is_store(path):  # another process has created it since the first look
            return False
        raise Invalid(f"{path} exists and is not a scopes store", hint="choose another path with --store")
    unfinished = f"{path}{_UNFINISHED}{os.urandom(4).hex()}"
    mask = os.umask(0o077)
    try:
        with translated(f"create a store at {path}", os.path.dirname(path)):
            try:
                _build(unfinished, durable=durable)
                os.rename(unfinished, path)
            except (pygit2.GitError, OSError):
                if not is_store(path):
                    raise
                return False
            if durable:
                sync(os.path.dirname(path))
    finally:
        os.umask(mask)
        shutil.rmtree(unfinished, ignore_errors=True)
    return True


def is_clone(path: str) -> bool:
    """Return True for a bare clone of a store, which has refs that only stores have."""
    try:
        packed = parse_packed_refs(read_packed_refs(path), (META,))
    except OSError:
        packed = {}
    return bool(packed) or os.path.isdir(os.path.join(path, META))


def is_config_damaged(path: str) -> bool:
    """Return True if the configuration of a store, or of a clone of one, is not one that git wrote."""
    try:
        content = read_regular(os.path.join(path, "config"), MAX_CONFIG_BYTES)
    except OSError:
        return is_clone(path)
    return (b"[core]" not in content or b"\0" in content) and is_clone(path)


def write_initial_config(path: str) -> None:
    """Write the configuration of a store anew; settings that the user made in it are lost."""
    config = os.path.join(path, "config")
    with open(config, "w", encoding="ascii") as file:
        file.write(_INITIAL_CONFIG)
    adopt(path)


def adopt(path: str) -> None:
    """Write the settings that a clone of a store lacks."""
    with translated(f"turn {path} into a store", path):
        config = pygit2.Config(os.path.join(path, "config"))
        for key, value in STORE_CONFIG.items():
            config[key] = value
        os.chmod(path, 0o700)
        sync(os.path.join(path, "config"))


def remove_unfinished_stores(path: str) -> None:
    """Remove the temporary directories that dead processes left while they created the store at `path`.

    A process that is still at it finds that the store exists.
    """
    directory, store = os.path.split(os.path.abspath(path))
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            if re.fullmatch(re.escape(store + _UNFINISHED) + "[0-9a-f]{8}", name):
                shutil.rmtree(os.path.join(directory, name))


def _build(path: str, *, durable: bool) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    os.mkdir(path, 0o700)
    repository = pygit2.init_repository(path, bare=True, initial_head="scopes-none")
    for key, value in STORE_CONFIG.items():
        repository.config[key] = value
    os.chmod(path, 0o700)
    for directory, _, files in os.walk(path):
        for name in files:
            os.chmod(os.path.join(directory, name), 0o600)
    if durable:
        for synced in ("config", "HEAD", ""):  # an empty config after a power cut would hide every message
            sync(os.path.join(path, synced))


def is_store(path: str) -> bool:
    """Return True if there is a store at `path`, without opening it."""
    try:
        return b"[scopes]" in read_regular(os.path.join(path, "config"), MAX_CONFIG_BYTES)
    except PermissionError as error:
        raise Inaccessible(f"cannot read {path}: permission denied", hint="check who owns it") from error
    except OSError:
        return False
