"""Find working trees of git in recorded paths: `/proj/.worktrees/2/src/f.py` is `src/f.py` of the repository `/proj`.

Only directories that agents and people reserve for working trees of the repository around them are known. Where another
working tree belongs is not recorded, so it is not guessed. The file system is not read: a merge is the same everywhere.
"""

from __future__ import annotations

import re
from typing import Final

_IN_PATH: Final = re.compile(r"(?<=/)(?:\.claude/worktrees|\.worktrees)/[^/]+(?:/|\Z)")


def without_working_tree(path: str) -> str:
    """Return an absolute path as that of the same file in the repository around its working tree; else unchanged."""
    found = _IN_PATH.sub("", path)
    return found.rstrip("/") or "/" if found != path else path
