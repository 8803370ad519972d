"""Recognize shell commands that remove one file, or that change the directory of their shell."""

from __future__ import annotations

import re
import shlex

_SPECIAL = re.compile(r"[*?\[\]{}$`~!;&|<>()\\#\n]")  # what a shell would expand, or begin another command with
_REMOVALS = {  # commands that remove files, with the options that change nothing about that
    ("rm",): {"-f", "-r", "-R", "-rf", "-fr", "-v", "-fv", "-vf", "--force", "--recursive", "--verbose"},
    ("git", "rm"): {"-f", "-r", "-rf", "-fr", "-q", "-fq", "-qf", "--force", "--quiet"},
}
_MOVE = re.compile(r"(?<![^\s;&|({])(?:cd|pushd|popd)(?![^\s;&|)}])")
MAX_COMMAND = 100_000  # characters that are looked at


def changes_directory(command: str) -> bool:
    """Return True if a command line seems to change the directory of its shell, as `cd src && make` does."""
    return _MOVE.search(command) is not None


def find_removed(command: str) -> str | None:
    """Return the path that a plain `rm PATH` or `git rm PATH` removes; None for every other command."""
    if len(command) > MAX_COMMAND or _SPECIAL.search(command.strip()):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    for name, options in _REMOVALS.items():
        if tuple(words[: len(name)]) == name:
            given = words[len(name) :]
            while given and given[0] in options:
                del given[0]
            if given[:1] == ["--"]:
                del given[0]
            elif any(word.startswith("-") for word in given):
                return None
            return given[0] if len(given) == 1 and given[0] else None
    return None
