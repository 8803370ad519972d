"""Whether the user's configuration may have a setting: a status line does not load libgit2 to find that it has not."""

from __future__ import annotations

import os
from collections.abc import Mapping

from scopes.regular_file import MAX_CONFIG_BYTES, read_regular

_SYSTEM = "/etc/gitconfig"
_INCLUDE = b"include"


def may_set(key: str, environ: Mapping[str, str], home: str) -> bool:
    """Return False only if neither the environment nor a file of the user or the system has the last word of a key.

    A file that cannot be read or includes others may have it.
    """
    word = key.rpartition(".")[2]
    if f"SCOPES_{word.upper()}" in environ:
        return True
    folder = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    paths = (os.path.join(home, ".gitconfig"), os.path.join(folder, "git", "config"), _SYSTEM)
    return any(_may_have(path, word.lower().encode()) for path in paths)


def _may_have(path: str, word: bytes) -> bool:
    try:
        text = read_regular(path, MAX_CONFIG_BYTES).lower()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return word in text or _INCLUDE in text
