"""Read and write one setting of a git configuration file; remove the lock file of a dead writer if there is one."""

from __future__ import annotations

import os

from scopes.errors import Inaccessible
from scopes.loading import load
from scopes.store.error_translation import is_locked, refusal
from scopes.store.init import sync
from scopes.store.libgit2 import pygit2


def read_setting(files: pygit2.Config, key: str) -> str | None:
    """Return the value of a key in a configuration file; None if it has none, or one that is not UTF-8 text."""
    try:
        return str(files[key])
    except (KeyError, UnicodeDecodeError):
        return None


def write_setting(files: pygit2.Config, path: str, key: str, value: str | None) -> bool:
    """Set a value in the configuration file at `path`, or remove it if it is None; False if there was none to remove.

    Raises:
        Busy: another program keeps the file locked.
        Inaccessible: the file cannot be written, or it was written and could not be synced; the message says which.
    """
    if value is None and key not in files:
        return False
    for may_retry in (True, False):
        try:
            _write(files, key, value)
        except (pygit2.GitError, OSError, ValueError) as error:
            if not (may_retry and is_locked(error)):
                raise refusal(f"write the setting {key}", os.path.dirname(path), error, writing=True) from error
            load("scopes.store.recovery:remove_orphans")([f"{path}.lock"])
        else:
            break
    _sync(path, key)
    return True


def _write(files: pygit2.Config, key: str, value: str | None) -> None:
    if value is None:
        del files[key]
    else:
        files[key] = value


def _sync(path: str, key: str) -> None:
    try:
        for synced in (path, os.path.dirname(path)):
            sync(synced)
    except OSError as error:
        raise Inaccessible(
            f"the setting {key} was written, but could not be synced: a power cut may lose it",
            hint=f"check the disk of {path}",
        ) from error
