"""Read the tool calls of one side of a merge, each with its result, in the order of the results."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from scopes.errors import Corrupt
from scopes.history.messages import is_root, message_id_of, read_message_bytes_at
from scopes.history.tool_calls import calls_by_id, is_failed
from scopes.ids import MessageId, Oid
from scopes.model.codec import decode
from scopes.model.file_edits import command_of, directories_of_command
from scopes.model.message import Message, Part
from scopes.model.shell_commands import changes_directory
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, read_commit

MAX_COMMITS = 10_000  # of a side, the newest
_MAX_ABOVE = 64  # commits below the fork point that are searched for the call of a result
_TOOL_PARTS = (b'"tool_call"', b'"tool_result"')
_MAY_CHANGE_DIRECTORY = re.compile(rb"(?:\b|\\[nrt])(?:cd|pushd|popd)\b")
_MAY_REMOVE = re.compile(r"\b(?:rm|mv|sed)\b")  # only for these commands the history is read
_STREAM = "stream"  # field of a message of an event stream, which states only the directory in which the run began


class SideCall(NamedTuple):
    """One tool call and its result; `call` is None if it was not found.

    `agent` called the tool in the message `caller`; `message` holds the result, and `time` is its time. `directory` is
    where a command began, relative to the directory of the conversation; None if that is unknown.
    """

    call: Part | None
    result: Part
    message: MessageId
    agent: str
    caller: MessageId
    time: str | None = None
    directory: str | None = None

    @property
    def name(self) -> str:
        """The name of the tool, "tool" if it is unknown."""
        name = None if self.call is None else self.call.fields.get("name")
        return name if isinstance(name, str) and name else "tool"

    @property
    def failed(self) -> bool:
        """True if the result is an error."""
        return is_failed(self.result)

    @property
    def structured(self) -> Mapping[str, Any]:
        """The structured result as it is stored, which lacks texts that the records of the source have."""
        found = self.result.fields.get("structured")
        return found if isinstance(found, dict) else {}


def read_side_calls(
    objects: Objects, commits: Iterable[Commit], bases: Sequence[Oid], wanted: Callable[[bytes], bool]
) -> list[SideCall]:
    """Return the answered calls in commits, oldest first; only messages whose stored bytes are `wanted` are decoded.

    The results of such calls are decoded too. The call of the first results may be in the history of the bases.
    """
    newest = list(commits)[-MAX_COMMITS:]

    def is_wanted(data: bytes) -> bool:
        return wanted(data) or any(name in data for name in unanswered)

    calls: dict[str, tuple[Part, Message]] = {}
    found: list[SideCall] = []
    unanswered: set[bytes] = set()  # calls whose results need not be wanted by themselves
    searched = False
    moves = _DirectoryMoves(objects, bases, newest)
    own = {commit.oid for commit in newest}
    for commit in [*(read_commit(objects, base) for base in dict.fromkeys(bases)), *newest]:
        message = _read(objects, commit, is_wanted)
        if message is None:
            continue
        called = calls_by_id(message.parts)
        calls |= {call_id: (part, message) for call_id, part in called.items()}
        unanswered.update(call_id.encode("utf-8", "surrogatepass") for call_id in called)
        if commit.oid not in own:
            continue  # a merge base, whose calls may be answered after it
        for part in message.parts:
            call_id = part.fields.get("call_id")
            if part.type != "tool_result" or not isinstance(call_id, str):
                continue
            if call_id not in calls and not searched:
                searched = True
                calls = {**dict(_walk_calls_before(objects, bases)), **calls}
            unanswered.discard(call_id.encode("utf-8", "surrogatepass"))
            call, caller = calls.get(call_id, (None, message))
            directory = _find_directory(call, caller, moves)
            found.append(SideCall(call, part, message.id, caller.author.name, caller.id, message.time, directory))
    return found


def _read(objects: Objects, commit: Commit, wanted: Callable[[bytes], bool]) -> Message | None:
    """Return a message with tool calls or results that is wanted, else None."""
    if is_root(commit):
        return None
    data = read_message_bytes_at(objects, commit.tree)
    if not any(mark in data for mark in _TOOL_PARTS) or not wanted(data):
        return None
    try:
        return decode(data)
    except Corrupt:
        return None  # a commit of another program


class _DirectoryMoves:
    """Finds agents that changed the directory of their shell; the history is read at the first question."""

    def __init__(self, objects: Objects, bases: Sequence[Oid], commits: Sequence[Commit]) -> None:
        self._objects = objects
        self._bases = bases
        self._commits = commits
        self._positions: dict[MessageId, int] = {}
        self._first: dict[str, int] | None = None  # position of the first move, by agent

    def has_moved(self, caller: Message, call: Part) -> bool:
        """Return True if the author of a message called `cd` before it, or in another call of it."""
        if self._first is None:
            self._first = self._find_first()
        first = self._first.get(caller.author.name)
        position = self._positions.get(caller.id)
        if first is None or (position is not None and first > position):
            return False
        return first != position or _may_begin_elsewhere(caller, call)

    def _find_first(self) -> dict[str, int]:
        before = list(islice(walk_newest_first(self._objects, self._bases), MAX_COMMITS))
        found: dict[str, int] = {}
        for position, commit in enumerate((*reversed(before), *self._commits)):
            message = _read(self._objects, commit, lambda data: _MAY_CHANGE_DIRECTORY.search(data) is not None)
            self._positions[message_id_of(commit)] = position
            if message is not None and _changes_directory(message):
                found.setdefault(message.author.name, position)
        return found


def _find_directory(call: Part | None, caller: Message, moves: _DirectoryMoves) -> str | None:
    """Return the `directory` of SideCall; a shell keeps its `cd`, and only session files record where that led."""
    command = None if call is None else command_of(call)
    if call is None or command is None:
        return ""
    named = next(iter(directories_of_command(call)), "")
    if posixpath.isabs(named):
        return named
    recorded = _recorded_directory(caller)
    if (
        _may_begin_elsewhere(caller, call)
        if recorded is not None
        else _MAY_REMOVE.search(command) is None or moves.has_moved(caller, call)
    ):
        return None
    return posixpath.join(recorded or "", named)


def _recorded_directory(message: Message) -> str | None:
    """Return the directory that a session file states for a message; empty: that of the session; None: it has none."""
    if "precision" not in message.extra or _STREAM in message.extra:
        return None
    directory = message.extra.get("cwd")
    return directory if isinstance(directory, str) else ""


def _changes_directory(message: Message) -> bool:
    calls = (part for part in message.parts if part.type == "tool_call")
    return any((command := command_of(call)) is not None and changes_directory(command) for call in calls)


def _may_begin_elsewhere(message: Message, call: Part) -> bool:
    """Return True if another call of a message changes the directory; a call begins before its own `cd`."""
    calls = [part for part in message.parts if part.type == "tool_call" and part is not call]
    return any((command := command_of(each)) is not None and changes_directory(command) for each in calls)


def _walk_calls_before(objects: Objects, bases: Iterable[Oid]) -> Iterator[tuple[str, tuple[Part, Message]]]:
    """Yield the calls in the last messages of the bases, the oldest first."""
    commits = list(islice(walk_newest_first(objects, bases), _MAX_ABOVE))
    for commit in reversed(commits):
        message = _read(objects, commit, lambda _: True)
        if message is not None:
            yield from ((call_id, (part, message)) for call_id, part in calls_by_id(message.parts).items())
