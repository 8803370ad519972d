"""Which files the commands of an agent's shell renamed, so that the text of a file is known under its new name too.

Nothing is proved by it: a text that is known serves only to complete lines that an edit replaces in part.
"""

from __future__ import annotations

import posixpath
from typing import Final

from scopes.code_links.shell_commands import Move
from scopes.code_links.shell_commands import list_moves as moves_of_line
from scopes.model.message import Part
from scopes.model.tools import command_of

MARK: Final = b"mv "  # is in every message with such a command


def list_moves(call: Part) -> list[Move]:
    """Return what the `mv` and `git mv` in the command line of a shell call rename."""
    command = command_of(call)
    return [] if command is None or "mv " not in command else moves_of_line(command)


def names_after(path: str, move: Move) -> list[str]:
    """Return the names that a file may have after a move; none if it was not moved.

    The directory in which the command ran is not known: a relative path is the end of an absolute one.
    """
    start = _find(path, posixpath.normpath(move.path))
    if start is None:
        return []
    base, end = start
    targets = dict.fromkeys(each for each in (move.new, move.into) if each)
    return [posixpath.normpath(posixpath.join(base, target) + path[end:]) for target in targets]


def _find(path: str, moved: str) -> tuple[str, int] | None:
    """Return the directory that a moved path is relative to, and where it ends in a path; None if it is not there."""
    if path == moved or path.startswith(f"{moved}/"):
        return "", len(moved)
    if not posixpath.isabs(moved) and f"/{moved}/" in f"{path}/":
        end = f"{path}/".index(f"/{moved}/") + 1 + len(moved)
        return path[: end - len(moved)], end
    return None
