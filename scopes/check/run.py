"""The model that rules read: one run of an agent, with calls, texts and end, in the order in which they happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from scopes.check.call_reader import CallReader
from scopes.check.workspace import is_widening, is_workspace, resolve

if TYPE_CHECKING:
    from scopes.check.calls import Call
    from scopes.check.shell_command import Command
    from scopes.history.activity import Tokens
    from scopes.ids import ConversationId, MessageId
    from scopes.importers.formats.events import RunEnd
    from scopes.model.message import Part


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
class Run:
    """One conversation as rules read it.

    name: the conversation, or the path that was given
    directory: the first working directory of the transcript: the workspace, unless it is too wide
    calls, texts: each once, in the order in which they happened; calls of a sub-agent follow the call that started it
    parts: all parts of all messages, those of calls and texts included; the document of a typed message is one of them
    end: None if no event stream of the run has an end record
    tokens: recorded usage, of each answer once; None if none is recorded
    answers: answers of models; one with calls whose results are between them counts once
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
        """Let one reader read the calls; those of a part of a run keep the reader of the whole run."""
        reader = CallReader(self.calls)
        for call in self.calls:
            if call.reader is None:
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
