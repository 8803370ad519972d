"""Decide whether a shell command that failed may have written files before it failed."""

from __future__ import annotations

from scopes.model.file_edits import command_of
from scopes.model.message import Part
from scopes.model.shell_words import ANY, STAR, SimpleCommand, Unreadable, split_command
from scopes.model.shell_writers import MAX_COMMAND, without_patches

_OPERANDS = {"rm": 1, "unlink": 1, "rmdir": 1, "mv": 2, "cp": 2, "sed": 2, "apply_patch": 0}
"""Programs that change all or nothing, with the largest number of operands for which that is so."""
_GIT_OPERANDS = {"rm": 1, "mv": 2, "apply": 1}
_RECURSIVE = frozenset("rR")
_CODE = ("$(", "`")  # in a here document


def may_write_when_failing(call: Part | None) -> bool:
    """Return True if a failed call may have written files: a command line of several commands, for example.

    A call of another tool has written nothing, and neither has a single command that changes all or nothing.
    """
    command = None if call is None else command_of(call)
    if command is None:
        return False
    text = without_patches(command)
    if len(text) > MAX_COMMAND:
        return True
    try:
        commands = [each for each in split_command(text) if each.words[:1] not in ([], ["cd"]) or _redirects(each)]
    except (Unreadable, RecursionError):
        return True
    if len(commands) != 1 or _redirects(commands[0]):
        return bool(commands)
    words = commands[0].words
    limit, rest = _OPERANDS.get(words[0]), words[1:]
    if words[:1] == ["git"]:
        limit, rest = _GIT_OPERANDS.get("".join(words[1:2])), words[2:]
    options = [word for word in rest if word.startswith("-")]
    operands = [word for word in rest if not word.startswith("-")]
    if limit is None or len(operands) > limit or any(mark in word for word in operands for mark in (ANY, STAR)):
        return True
    return words[0] != "sed" and any(_RECURSIVE & set(word) for word in options if not word.startswith("--"))


def _redirects(command: SimpleCommand) -> bool:
    """Return True if a command without a program may write a file too: by a redirection, or code in a here document."""
    return bool(command.outputs) or any(mark in text for text in command.texts for mark in _CODE)
