"""Find working trees of git in recorded paths: `/proj/.worktrees/2/src/f.py` is `src/f.py` of the repository `/proj`.

Only directories that agents and people reserve for working trees of the repository around them are known. Where another
working tree belongs is not recorded, so it is not guessed. The file system is not read: a merge is the same everywhere.
"""

from __future__ import annotations

import re
from typing import Final

_RESERVED: Final = r"(?:\.claude/worktrees|\.worktrees)/[^/\s'\"`;|&()<>]+"
_IN_PATH: Final = re.compile(r"(?<=/)(?:\.claude/worktrees|\.worktrees)/[^/]+(?:/|\Z)")
_FILE_IN_COMMAND: Final = re.compile(rf"(?:(?<=[\s/'\"=(])|\A){_RESERVED}/+(?=[^\s'\";|&()<>])")
_START_IN_COMMAND: Final = re.compile(
    rf"((?:\b(?:cd|pushd)|\s-C)\s+['\"]?(?:[^\s'\";|&()<>]{{0,4096}}/)?){_RESERVED}/?(?=['\"]?(?:[\s;|&)]|\Z))"
)


def without_working_tree(path: str) -> str:
    """Return an absolute path as that of the same file in the repository around its working tree; else unchanged."""
    if "worktrees/" not in path:
        return path
    found = _IN_PATH.sub("", path)
    return found.rstrip("/") or "/" if found != path else path


def working_tree_of(path: str) -> str:
    """Return the working tree of an absolute path; empty if it is in no directory that is reserved for them."""
    found = [*_IN_PATH.finditer(path)] if "worktrees/" in path else []
    return path[: found[-1].end()].rstrip("/") if found else ""


def command_without_working_trees(command: str) -> str:
    """Return a command line that names files in working trees as those of the repository around them.

    A command about a working tree as a whole, such as its removal, is unchanged.
    """
    if "worktrees/" not in command:
        return command
    return _START_IN_COMMAND.sub(r"\1.", _FILE_IN_COMMAND.sub("", command))
