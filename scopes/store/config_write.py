"""Writing one setting into a file of git's, also over the lock file of a writer that died."""

from __future__ import annotations

import os

from scopes.errors import Inaccessible
from scopes.store.error_translation import is_locked, refusal
from scopes.store.init import sync
from scopes.store.libgit2 import pygit2
from scopes.store.recovery import remove_orphans


def write_setting(files: pygit2.Config, path: str, key: str, value: str | None) -> bool:
    """Set (or, with None, remove) a value in the configuration file at `path`; False when there was nothing to remove.

    Raises:
        Busy: another program keeps the file locked.
        Inaccessible: the file cannot be written, or it was and the disk does not confirm it, as the message says.
    """
    if value is None and key not in files:
        return False
    for may_wait in (True, False):
        try:
            _write(files, key, value)
        except (pygit2.GitError, OSError, ValueError) as error:
            if not (may_wait and is_locked(error)):
                raise refusal(f"write the setting {key}", os.path.dirname(path), error, writing=True) from error
            remove_orphans([f"{path}.lock"])
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
        for written in (path, os.path.dirname(path)):
            sync(written)
    except OSError as error:
        raise Inaccessible(
            f"the setting {key} was recorded, but the disk does not confirm that it would survive a power cut",
            hint=f"check the disk of {path}",
        ) from error
