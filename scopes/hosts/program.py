"""The words with which another program starts this one, from whatever directory and with whatever environment."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence

RUN = ("hooks", "run")
# A Python that does not find the program ends with 2, by which an agent means: go on, and give the error to the model;
# some agents show its error too. A hook writes its own errors into a log. sh, bash, zsh, fish and PowerShell 7 read it.
GUARD = " 2>/dev/null || exit 0"
_OLD_GUARD = " || exit 0"
_MAIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__main__.py")


def program_words() -> list[str]:
    """Return the words that start this program, for a host that runs it in a directory of somebody else.

    All paths are absolute. `-P` keeps the current directory off the path of modules, and `-E` ignores variables such as
    PYTHONPATH, which some agents take from a file of the project: neither may bring code with it.
    """
    return [sys.executable, "-E", "-P", "-X", "utf8", _MAIN]


def arguments_of(words: Sequence[str]) -> list[str] | None:
    """Return what follows the words that start this program, here or in another place; None if they start another one.

    Before the program there may be its interpreter with options, and nothing else.
    """
    if words and os.path.basename(words[0]) == "scopes":
        return list(words[1:])
    position = next((at for at, word in enumerate(words) if word.endswith(f"scopes{os.sep}__main__.py")), None)
    if position is None or not all(_is_interpreter(words[:position], at) for at in range(position)):
        return None
    return list(words[position + 1 :])


def _is_interpreter(words: Sequence[str], at: int) -> bool:
    """Return True if a word is the interpreter, or an option of it."""
    if at == 0:
        return "py" in os.path.basename(words[0])
    return words[at].startswith("-") or words[at - 1] == "-X"


def is_hook_run(words: Sequence[str], name: str | None = None) -> bool:
    """Return True if words run the hook of a target, of any without a name, and do nothing else."""
    arguments = arguments_of(words)
    if arguments is None or arguments[:2] != [*RUN] or arguments[2:3] in ([], ["--store"]):
        return False
    is_whole = not arguments[3:] or (len(arguments) == 5 and arguments[3] == "--store")
    return is_whole and name in (None, arguments[2])


def guarded(words: Sequence[str]) -> str:
    """Return a shell command that runs words, and succeeds silently whatever they do, even if the program is gone."""
    return shlex.join(words) + GUARD


def split_command(command: str) -> list[str]:
    """Return the words of a shell command, which may be guarded.

    None if it is more than words, such as two commands or a variable.
    """
    command = command.strip().removesuffix(GUARD).removesuffix(_OLD_GUARD)
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return words if shlex.join(words) == command.strip() else []
