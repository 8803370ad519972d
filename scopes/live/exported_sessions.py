"""The files in which the plugin of OpenCode gives a long session: nobody waits until a pipe has taken it.

The plugin writes a file, and its hook reads it and deletes it. Where OpenCode ends between the two, the file is deleted
by the hook of a later turn.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from scopes.errors import Invalid
from scopes.regular_file import read_regular
from scopes.store.projects import state_directory

FOLDER: Final = "hooks"  # in the directory for logs
MAX_BYTES: Final = 128 << 20
_NAME = re.compile(r"opencode-[0-9]+-[0-9]+-[0-9]+\.json")
_OLD_SECONDS: Final = 3600.0


def take_session(path: str, environ: Mapping[str, str], hint: str) -> bytes:
    """Return what the plugin wrote, and delete its file; a file elsewhere is only read.

    Raises:
        Invalid: the file cannot be read; with the hint.
    """
    folder = os.path.join(state_directory(environ), FOLDER)
    try:
        return read_regular(path, MAX_BYTES)
    except OSError as error:
        raise Invalid(f"the session that OpenCode wrote for its hook cannot be read: {error}", hint=hint) from error
    finally:
        if os.path.dirname(path) == folder and _NAME.fullmatch(os.path.basename(path)):
            _delete(path)
        _delete_old(folder)


def _delete_old(folder: str) -> None:
    """Delete the files of an hour ago: OpenCode ended before it started their hooks."""
    with suppress(OSError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if _NAME.fullmatch(name) and os.stat(path).st_mtime < time.time() - _OLD_SECONDS:
                _delete(path)


def _delete(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
