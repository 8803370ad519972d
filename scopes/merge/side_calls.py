"""Read the tool calls of one side of a merge, each with its result, in the order of the results."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from scopes.errors import Corrupt
from scopes.history.messages import is_root, message_id_of, read_message_bytes_at
from scopes.history.tool_calls import calls_by_id, is_failed
from scopes.ids import MessageId, Oid
from scopes.model.agent_tools import COMMANDS, TITLE
from scopes.model.codec import decode
from scopes.model.file_edits import command_of, directories_of_command
from scopes.model.message import Message, Part
from scopes.model.shell_commands import changes_directory
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, read_commit

MAX_COMMITS = 10_000  # of a side, the newest
_MAX_ABOVE = 64  # commits below the fork point that are searched for the call of a result
_CALL, _RESULT = b'"tool_call"', b'"tool_result"'
_CALL_ID = re.compile(rb'"call_id"\s*:\s*("(?:[^"\\]|\\.)*")')
COMMAND_NAMES = tuple(f'"{name}"'.encode() for name in (*COMMANDS, TITLE))
"""What the stored bytes of a message with a command contain: the name of a tool that runs some."""
_MAY_CHANGE_DIRECTORY = re.compile(rb"(?:\b|\\[nrt])(?:cd|pushd|popd)\b")
_MOVES = (b"cd", b"pushd", b"popd")  # words of the pattern above: they are found much faster
_MAY_REMOVE = re.compile(r"\b(?:rm|mv|sed)\b")  # only for these commands the history is read
_STREAM = "stream"  # field of a message of an event stream, which states only the directory in which the run began


class SideCall(NamedTuple):
    """One tool call and its result; `call` is None if it was not found.

    `agent` called the tool in the message `caller`; `message` holds the result, and `time` is its time. `directory` is
    where a command began, relative to the directory of the conversation; None if that is unknown. `unless_moved` is
    true if it is known only as long as the agent has not changed its directory before.
    """

    call: Part | None
    result: Part
    message: MessageId
    agent: str
    caller: MessageId
    time: str | None = None
    directory: str | None = None
    unless_moved: bool = False

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


class SegmentCalls(NamedTuple):
    """The calls in some consecutive commits, as far as these commits alone tell.

    calls: the answered calls, oldest first, for each `wanted`
    unanswered: the ids of wanted calls without a result
    results: the ids in all messages with results
    is_complete: False if the call of a wanted result is not in the commits
    moved: the agents that changed the directory of their shell
    """

    calls: list[list[SideCall]]
    unanswered: frozenset[str]
    results: frozenset[str]
    is_complete: bool
    moved: frozenset[str]


class ToolMessages:
    """Reads the stored bytes of messages with tool calls or results.

    It remembers which messages have none, and in which no call changes the directory of a shell, so that these are read
    once, however often a history is searched.
    """

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self._without: set[Oid] = set()
        self._without_moves: set[Oid] = set()

    def find(self, commit: Commit) -> bytes | None:
        """Return the stored bytes of a message with tool calls or results; None of any other one."""
        if commit.oid in self._without:
            return None
        if not is_root(commit):
            data = read_message_bytes_at(self.objects, commit.tree)
            has_calls = _CALL in data
            if not (has_calls and has_any(data, _MOVES) and _MAY_CHANGE_DIRECTORY.search(data)):
                self._without_moves.add(commit.oid)
            if has_calls or _RESULT in data:
                return data
        self._without.add(commit.oid)
        return None

    def find_moving(self, commit: Commit) -> bytes | None:
        """Return the stored bytes of a message with a call that may change the directory; None of any other one."""
        data = None if commit.oid in self._without_moves else self.find(commit)
        return None if commit.oid in self._without_moves else data


def has_any(data: bytes, words: Iterable[bytes]) -> bool:
    """Return True if bytes contain one of some words; a loop, because that is faster than a generator."""
    for word in words:  # noqa: SIM110
        if word in data:
            return True
    return False


def read_side_calls(
    messages: ToolMessages,
    commits: Iterable[Commit],
    bases: Sequence[Oid],
    *wanted: Callable[[bytes], bool],
) -> list[list[SideCall]]:
    """Return the answered calls in commits, oldest first, for each `wanted`; every message is read once for all.

    Only messages whose stored bytes are wanted are decoded, and the results of their calls. The call of the first
    results may be in the history of the bases.
    """
    newest = list(commits)[-MAX_COMMITS:]
    moves = _DirectoryMoves(messages, bases, newest)
    found = [_CallList(messages, bases, each) for each in wanted]
    before = dict.fromkeys(bases).keys() - {commit.oid for commit in newest}
    for commit in [*(read_commit(messages.objects, base) for base in dict.fromkeys(bases)), *newest]:
        data = messages.find(commit)
        if data is not None:
            _add_to_all(found, data, is_before=commit.oid in before)
    return [each.finish(moves) for each in found]


def read_segment_calls(
    messages: ToolMessages, commits: Sequence[Commit], *wanted: Callable[[bytes], bool]
) -> SegmentCalls:
    """Return the calls in consecutive commits, oldest first; nothing else is read."""
    found = [_CallList(messages, (), each) for each in wanted]
    results: set[bytes] = set()
    for commit in commits:
        data = messages.find(commit)
        if data is not None:
            _add_to_all(found, data, is_before=False)
            if _RESULT in data:
                results.update(_CALL_ID.findall(data))
    moves = _DirectoryMoves(messages, (), commits)
    calls = [each.finish(moves) for each in found]
    return SegmentCalls(
        calls,
        unanswered=frozenset(call_id for each in found for call_id in each.unanswered),
        results=frozenset(name for name in map(_text_of, results) if name is not None),
        is_complete=all(call.call is not None for each in calls for call in each),
        moved=moves.agents,
    )


def list_calls(messages: ToolMessages, commit: Commit, *wanted: Callable[[bytes], bool]) -> set[str]:
    """Return the ids of the calls in a message if its stored bytes are wanted, else nothing."""
    data = messages.find(commit)
    message = _decode(data) if data is not None and any(each(data) for each in wanted) else None
    return set() if message is None else {*calls_by_id(message.parts)}


def agents_moved_in(messages: ToolMessages, tips: Sequence[Oid], most: int) -> frozenset[str]:
    """Return the agents that changed the directory of their shell in the last `most` commits of the history of tips."""
    return _DirectoryMoves(messages, (), [*islice(walk_newest_first(messages.objects, tips), most)][::-1]).agents


def _add_to_all(found: Iterable[_CallList], data: bytes, *, is_before: bool) -> None:
    interested = [each for each in found if each.wants(data)]
    message = _decode(data) if interested else None
    if message is not None:
        for each in interested:
            each.add(message, is_before=is_before)


class _CallList:
    """Collects the answered calls in messages that are wanted, and the results of the calls in them."""

    def __init__(self, messages: ToolMessages, bases: Sequence[Oid], wanted: Callable[[bytes], bool]) -> None:
        self.unanswered: set[str] = set()  # calls whose results need not be wanted by themselves
        self._found: list[tuple[SideCall, Message]] = []  # with the message of the call
        self._messages = messages
        self._bases = bases
        self._wanted = wanted
        self._made: dict[str, tuple[Part, Message]] = {}
        self._searched = False

    def wants(self, data: bytes) -> bool:
        """Return True if a message with these stored bytes is to be added."""
        return self._wanted(data) or (bool(self.unanswered) and _RESULT in data and self._answers(data))

    def _answers(self, data: bytes) -> bool:
        """Return True if a message has the id of an unanswered call; the time does not grow with their number."""
        return any(_text_of(name) in self.unanswered for name in _CALL_ID.findall(data))

    def add(self, message: Message, *, is_before: bool) -> None:
        """Add the calls and results of a message; `is_before` is a merge base, whose calls may be answered after it."""
        called = calls_by_id(message.parts)
        self._made |= {call_id: (part, message) for call_id, part in called.items()}
        self.unanswered.update(called)
        for part in () if is_before else message.parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_result" and isinstance(call_id, str):
                self._add_result(message, part, call_id)

    def _add_result(self, message: Message, part: Part, call_id: str) -> None:
        if call_id not in self._made and not self._searched:
            self._searched = True
            self._made = {**dict(_walk_calls_before(self._messages, self._bases)), **self._made}
        self.unanswered.discard(call_id)
        call, caller = self._made.get(call_id, (None, message))
        self._found.append((SideCall(call, part, message.id, caller.author.name, caller.id, message.time), caller))

    def finish(self, moves: _DirectoryMoves) -> list[SideCall]:
        """Return the calls with the directories in which they began."""
        return [_with_directory(call, caller, moves) for call, caller in self._found]


def _text_of(name: bytes) -> str | None:
    """Return the text of a JSON string; None for bytes of another program that are none."""
    try:
        return str(json.loads(name))
    except ValueError:
        return None


def _decode(data: bytes) -> Message | None:
    try:
        return decode(data)
    except Corrupt:
        return None  # a commit of another program


class _DirectoryMoves:
    """Finds agents that changed the directory of their shell; the history is read at the first question."""

    def __init__(self, messages: ToolMessages, bases: Sequence[Oid], commits: Sequence[Commit]) -> None:
        self._messages = messages
        self._bases = bases
        self._commits = commits
        self._positions: dict[MessageId, int] = {}

    @property
    def agents(self) -> frozenset[str]:
        """The agents that changed their directory."""
        return frozenset(self._first)

    def has_moved(self, caller: Message, call: Part) -> bool:
        """Return True if the author of a message called `cd` before it, or in another call of it."""
        first = self._first.get(caller.author.name)
        position = self._positions.get(caller.id)
        if first is None or (position is not None and first > position):
            return False
        return first != position or _may_begin_elsewhere(caller, call)

    @cached_property
    def _first(self) -> dict[str, int]:
        """The position of the first move, by agent."""
        before = list(islice(walk_newest_first(self._messages.objects, self._bases), MAX_COMMITS))
        found: dict[str, int] = {}
        for position, commit in enumerate((*reversed(before), *self._commits)):
            data = self._messages.find_moving(commit)
            message = None if data is None else _decode(data)
            self._positions[message_id_of(commit)] = position
            if message is not None and _changes_directory(message):
                found.setdefault(message.author.name, position)
        return found


def _with_directory(found: SideCall, caller: Message, moves: _DirectoryMoves) -> SideCall:
    """Return a call with `directory`; a shell keeps its `cd`, and only session files record where that led."""
    call = found.call
    command = None if call is None else command_of(call)
    if call is None or command is None:
        return found._replace(directory="")
    named = next(iter(directories_of_command(call)), "")
    if posixpath.isabs(named):
        return found._replace(directory=named)
    recorded = _recorded_directory(caller)
    is_unknown = (
        _may_begin_elsewhere(caller, call)
        if recorded is not None
        else _MAY_REMOVE.search(command) is None or moves.has_moved(caller, call)
    )
    if is_unknown:
        return found
    return found._replace(directory=posixpath.join(recorded or "", named), unless_moved=recorded is None)


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


def _walk_calls_before(messages: ToolMessages, bases: Iterable[Oid]) -> Iterator[tuple[str, tuple[Part, Message]]]:
    """Yield the calls in the last messages of the bases, the oldest first."""
    commits = list(islice(walk_newest_first(messages.objects, bases), _MAX_ABOVE))
    for commit in reversed(commits):
        data = messages.find(commit)
        message = None if data is None else _decode(data)
        if message is not None:
            yield from ((call_id, (part, message)) for call_id, part in calls_by_id(message.parts).items())
