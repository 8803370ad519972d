"""The model that rules read: one run of an agent, with calls, texts and end, in the order in which they happened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from scopes.check.shell import parse_commands
from scopes.check.shell_command import Command
from scopes.check.workspace import is_widening, resolve
from scopes.lazy_patterns import compile_lazily
from scopes.model.agent_tools import SHELLS
from scopes.model.file_edits import command_of

if TYPE_CHECKING:
    from scopes.history.usage import Tokens
    from scopes.ids import ConversationId, MessageId
    from scopes.importers.formats.events import RunEnd
    from scopes.model.file_edits import FileEdit
    from scopes.model.message import Part

# Names of shells among the tools of MCP servers and of agents that scopes has no table for.
_SHELL_TOOL = compile_lazily(
    r"(?:.*(?:__|[./:]))?(?:(?:run|execute|exec)_?(?:in_?)?)?(?:ba|z|power)?(?:sh|shell|command|terminal|exec)"
    r"(?:_?(?:exec|execute|command|tool|run|cmd))?",
    re.IGNORECASE,
)
_COMMANDS = ("command", "cmd")

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

    @property
    def name(self) -> str:
        """The name of the tool."""
        name = self.call.fields.get("name")
        return name if isinstance(name, str) and name else "tool"

    @property
    def attempted(self) -> bool:
        """True if the call was refused or failed: what it asked for may not have happened.

        The exit code of a line of several commands is that of the last: the others may have done what they do.
        """
        return self.outcome == "denied" or (self.outcome == "failed" and len(self.commands) <= 1)

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands that a shell call runs, unwrapped, in order; empty for other calls."""
        return () if self.shell is None else parse_commands(self.shell, self.directory)


@dataclass(frozen=True)
class Run:
    """One conversation as rules read it.

    name: the conversation, or the path that was given
    directory: the workspace: the first working directory of the transcript
    calls, texts: each once, in the order in which they happened; calls of a sub-agent follow the call that started it
    parts: all parts of all messages, those of calls and texts included; the document of a typed message is one of them
    end: None if no event stream of the run has an end record
    tokens: recorded usage, of each answer once; None if none is recorded
    answers: answers of models; one with calls whose results stand between them counts once
    seconds: from the first to the last message; None if the times are unknown
    unfinished: a session file that ends before the run; None if each has its end
    damage: records that cannot be read, or were cut off, a text for each
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

    @cached_property
    def workspaces(self) -> tuple[str, ...]:
        """The workspace, the worktrees that the agent added, and the directories that it did not enter with `cd`.

        A user resumed the session in such a directory, or the agent program moved there. It is left out if it contains
        another workspace, is a home or belongs to the system: the agent may have entered it unseen.
        """
        if self.directory is None or self.directory == "/":  # everything would be inside
            return ()
        found = {self.directory: None}
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
            found.update((each, None) for each in added if not is_widening(each, tuple(found)))
        return tuple(found)

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
    if command is None and _is_shell(call):
        arguments = call.fields.get("input")
        given = [arguments.get(name) for name in _COMMANDS] if isinstance(arguments, Mapping) else []
        return next((text for text in given if isinstance(text, str)), None)
    return command


def has_unread_command(call: Part) -> bool:
    """Return True if a call of a shell has a command in another form than a text or a list of words."""
    arguments = call.fields.get("input")
    if not _is_shell(call) or command_line_of(call) is not None:
        return False
    return not isinstance(arguments, Mapping) or any(arguments.get(name) for name in _COMMANDS)


def _is_shell(call: Part) -> bool:
    name = call.fields.get("name")
    return isinstance(name, str) and (name in SHELLS or _SHELL_TOOL.fullmatch(name) is not None)


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
