"""The calls of a run: what a tool was asked to do, the commands that it runs, the files that it changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from scopes.check.shell import parse_commands
from scopes.check.tool_files import edits_of_tool
from scopes.model.tools import FILE_TOOLS, command_of, edits_of_result, is_shell

if TYPE_CHECKING:
    from scopes.check.shell_command import Command
    from scopes.ids import MessageId
    from scopes.model.message import Part
    from scopes.model.tools import FileEdit

_COMMANDS = ("command", "cmd", "commands", "commandline", "command_line", "script")
ANY_WORKSPACE = "/workspace"  # stands for the workspace of a transcript that does not state it

Outcome: TypeAlias = Literal["ok", "failed", "denied", "open"]


class CommandReader(Protocol):
    """Reads the commands of a call with what the calls before it wrote and set."""

    def commands_of(self, call: Call) -> tuple[Command, ...]:
        """Return the commands of a shell call; empty for other calls."""

    def reads_own(self, call: Call, path: str) -> bool:
        """Return True if a call that reads a file reads one that certainly has only texts of the run."""


@dataclass(frozen=True)
class Call:
    """A tool call with its result.

    number: position in the run, from 1; texts have numbers too
    outcome: `open` if there is no result
    exit_code: None if none is recorded, also for a successful call
    agent: who called; `sub_agent` is True on a line that a tool call started
    directory: the working directory that the transcript states at this point
    edits: what the call did or tried to do to files, reads included
    reader: reads all calls of its run; None for a call by itself
    """

    number: int
    message: MessageId
    agent: str
    sub_agent: bool
    call: Part
    result: Part | None
    outcome: Outcome
    exit_code: int | None
    directory: str | None
    shell: str | None
    edits: tuple[FileEdit, ...]
    reader: CommandReader | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the tool."""
        name = self.call.fields.get("name")
        return name if isinstance(name, str) and name else "tool"

    @property
    def attempted(self) -> bool:
        """True if the call certainly did nothing: it was refused, or it is an edit or a read by a tool that failed.

        A command that ran and failed may have done what it was to do, or a part of it; so may any other tool.
        """
        return self.outcome == "denied" or (self.outcome == "failed" and self.shell is None and bool(self.edits))

    def reads_own(self, path: str) -> bool:
        """Return True if it reads a file that certainly has only texts of the run."""
        return self.reader is not None and self.reader.reads_own(self, path)

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands that a shell call runs, unwrapped, in order; empty for other calls."""
        if self.reader is not None:
            return self.reader.commands_of(self)
        return () if self.shell is None else parse_commands(self.shell, self.directory)

    @cached_property
    def directories(self) -> tuple[str | None, ...]:
        """The directory of each command, None if it is unknown; in a call without one, as if in `ANY_WORKSPACE`."""
        if self.directory is not None or not self.commands:
            return tuple(command.directory for command in self.commands)
        placed = parse_commands(self.shell or "", ANY_WORKSPACE)
        is_same = len(placed) == len(self.commands)
        return tuple(command.directory for command in placed) if is_same else (None,) * len(self.commands)


def command_line_of(call: Part) -> str | None:
    """Return the command line of a call of a shell, also of one that an MCP server provides; None for other calls."""
    command = command_of(call)
    if call.fields.get("name") == "write_stdin":  # of Codex: the text is typed into a running program, such as a shell
        typed = _arguments_of(call).get("chars")
        return typed.strip() or None if isinstance(typed, str) else None
    if not _is_shell(call):
        return command
    arguments = _arguments_of(call)
    texts = [text for name, text in arguments.items() if isinstance(text, str) and _is_command_key(name)]
    if command is None or len(texts) > 1:  # which of several texts runs is unknown
        return "\n".join(dict.fromkeys([*([] if command is None else [command]), *texts])) if texts else command
    return command


def edits_of(call: Part, result: Part | None = None) -> tuple[FileEdit, ...]:
    """Return what a call did to files, also by a tool of an MCP server."""
    edits = tuple(edits_of_result(call, result))
    name = call.fields.get("name")
    if edits or not isinstance(name, str) or name in FILE_TOOLS or is_shell(name):
        return edits
    return edits_of_tool(name, _arguments_of(call))


def has_unread_command(call: Part) -> bool:
    """Return True if a call of a shell has a command in another form than a text or a list of words."""
    if not _is_shell(call) or command_line_of(call) is not None:
        return False
    arguments = _arguments_of(call)
    given = call.fields.get("input", call.fields.get("input_text"))
    return any(value and _is_command_key(name) for name, value in arguments.items()) if arguments else bool(given)


def _arguments_of(call: Part) -> Mapping[str, object]:
    """Return the arguments of a call, also of one whose input is a text in JSON; empty if there are none."""
    given = call.fields.get("input", call.fields.get("input_text"))
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {}
    return given if isinstance(given, Mapping) else {}


def _is_command_key(name: str) -> bool:
    return name.strip().lower() in _COMMANDS


def _is_shell(call: Part) -> bool:
    name = call.fields.get("name")
    return isinstance(name, str) and is_shell(name)
