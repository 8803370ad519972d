"""The model that rules read: one run of an agent, with calls, texts and end, in the order in which they happened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from scopes.check.call_reader import CallReader
from scopes.check.shell import parse_commands
from scopes.check.shell_command import Command
from scopes.check.tool_files import edits_of_tool
from scopes.check.workspace import is_widening, is_workspace, resolve
from scopes.model.agent_tools import FILE_TOOLS, is_shell
from scopes.model.file_edits import command_of, edits_of_result

if TYPE_CHECKING:
    from scopes.history.usage import Tokens
    from scopes.ids import ConversationId, MessageId
    from scopes.importers.formats.events import RunEnd
    from scopes.model.file_edits import FileEdit
    from scopes.model.message import Part

_COMMANDS = ("command", "cmd", "commands", "commandline", "command_line", "script")
ANY_WORKSPACE = "/workspace"  # stands for the workspace of a transcript that does not state it

Outcome: TypeAlias = Literal["ok", "failed", "denied", "open"]


class RunSource(NamedTuple):
    """One transcript of a run; a `stream` is what a headless agent prints, a `session` is the file that it keeps.

    digest: the SHA-256 of its bytes
    """

    path: str
    format: str
    kind: Literal["stream", "session"]
    digest: str = ""


class Unfinished(NamedTuple):
    """A session file that ends before its run: its last message, and how that shows it."""

    message: MessageId
    reason: str


class Text(NamedTuple):
    """A text of a message; `number` is its position in the run."""

    number: int
    message: MessageId
    author: str
    author_kind: str
    text: str


class RunPart(NamedTuple):
    """Any part of a message; `number` is the position of the last call or text of the run up to it."""

    number: int
    message: MessageId
    author: str
    part: Part


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
    reader: CallReader | None = field(default=None, compare=False, repr=False)

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


@dataclass(frozen=True)
class Run:
    """One conversation as rules read it.

    name: the conversation, or the path that was given
    directory: the first working directory of the transcript: the workspace, unless it is too wide
    calls, texts: each once, in the order in which they happened; calls of a sub-agent follow the call that started it
    parts: all parts of all messages, those of calls and texts included; the document of a typed message is one of them
    end: None if no event stream of the run has an end record
    tokens: recorded usage, of each answer once; None if none is recorded
    answers: answers of models; one with calls whose results stand between them counts once
    seconds: from the first to the last message; None if the times are unknown
    unfinished: a session file that ends before the run; None if each has its end
    damage: records that cannot be read, or were cut off, a text for each
    checkout: the directory of the checkout, if the CI system in which the run is checked states it
    """

    name: str
    conversation: ConversationId | None
    title: str | None
    directory: str | None
    calls: tuple[Call, ...]
    texts: tuple[Text, ...]
    sources: tuple[RunSource, ...]
    end: RunEnd | None = None
    tokens: Tokens | None = None
    seconds: float | None = None
    models: tuple[str, ...] = ()
    answers: int = 0
    parts: tuple[RunPart, ...] = ()
    unfinished: Unfinished | None = None
    damage: tuple[str, ...] = ()
    checkout: str | None = None

    def __post_init__(self) -> None:
        reader = CallReader(self.calls)
        for call in self.calls:
            object.__setattr__(call, "reader", reader)

    @cached_property
    def workspaces(self) -> tuple[str, ...]:
        """The workspace, the worktrees that the agent added, and the directories that it did not enter with `cd`.

        A user resumed the session in such a directory, or the agent program moved there. It is left out if it contains
        another workspace, is a home or belongs to the system: the agent may have entered it unseen. The root directory,
        a home, and a directory of the system are no workspace of a transcript that begins there: a run without any
        whose directory is stated works outside.
        """
        if self.directory is None:
            return ()
        found = {self.directory: None} if is_workspace(self.directory, self.checkout) else {}
        reached: set[str | None] = set()
        for call in self.calls:
            added = [] if call.directory is None or reached & {call.directory, None} else [call.directory]
            for command in call.commands:
                if command.program in {"cd", "pushd", "popd"}:
                    target = next((word for word in command.words[1:] if not word.startswith("-")), None)
                    known = target is not None and target in command.argv
                    reached.add(resolve(target, command.directory) if target is not None and known else None)
                if command.argv[:3] == ("git", "worktree", "add") and call.outcome == "ok":
                    added += _added_worktree(command)
            added = [each for each in added if is_workspace(each, self.checkout)]
            found.update((each, None) for each in added if not is_widening(each, tuple(found)))
        return tuple(found)

    def find_places(self, path: str, directory: str | None, *, follows_last: bool = True) -> Sequence[str]:  # noqa: ARG002
        """Return where links of the disk lead a path; nothing for a run that is over: its disk is another one."""
        return ()

    @property
    def final_text(self) -> Text | None:
        """The last text of an agent."""
        return next((each for each in reversed(self.texts) if each.author_kind == "agent" and each.text.strip()), None)

    @property
    def is_stream_only(self) -> bool:
        """True if there are event streams and no session file: calls may be missing."""
        return bool(self.sources) and all(source.kind == "stream" for source in self.sources)


def command_line_of(call: Part) -> str | None:
    """Return the command line of a call of a shell, also of one that an MCP server provides; None for other calls."""
    command = command_of(call)
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


def _added_worktree(command: Command) -> tuple[str, ...]:
    """Return the directory of a worktree that `git worktree add` makes; nothing if the command line lacks it."""
    words = iter(command.argv[3:])
    for word in words:
        if word in {"-b", "-B", "--reason"}:
            next(words, None)
        elif word is not None and not word.startswith("-"):
            path = resolve(word, command.directory)
            return () if path is None or path.startswith("~") else (path,)
    return ()
