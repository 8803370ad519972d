"""Read a conversation once for its turns, the lines that its edits added, and the calls that made commits.

A turn begins with a prompt of a person, or with a slash command. Turns are counted along the history of each message,
so that a branch goes on counting where it began. What a sub-agent did belongs to the turn of the call that started it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scopes.clock import parse_time
from scopes.code_links.commit_calls import CommitCall, may_commit, read_commit_call, read_unanswered_call
from scopes.code_links.edits import AddedLines, list_added
from scopes.code_links.known_texts import KnownTexts
from scopes.code_links.moved_texts import MARK, list_moves
from scopes.code_links.turns import begins_turn
from scopes.history.activity import calls_by_id, is_failed, results_by_id
from scopes.history.messages import NO_TEXT, MessageHeader, header_of, is_root, read_body_bytes
from scopes.history.sessions import is_spawned, spawner_of
from scopes.ids import MessageId, Oid
from scopes.model.message import Message, Part, decode
from scopes.model.tools import FILE_TOOLS, edits_of_call, tool_name
from scopes.store.objects import Commit
from scopes.store.repository import Repository

SHORT_PROMPT: Final = 25  # characters; a shorter prompt agrees to something, or says "go on"
_CALL: Final = b'"tool_call"'
_RESULT: Final = b'"tool_result"'
# One of these is in every message with a call that edits files or makes a commit: most others need not be parsed.
_MARKS: Final = (
    b"*** Begin Patch",
    b"commit",
    MARK,
    *(f'"{name}"'.encode() for name, operation in FILE_TOOLS.items() if operation != "read"),
)
_SECOND: Final = 1_000_000_000


@dataclass(slots=True)
class Turn:
    """A turn: its number from 1, 0 before the first prompt, and the commits in the store of what it is about.

    agreed_to: the last answer with text before the prompt
    long_prompt: the last prompt with at least SHORT_PROMPT characters before it, if it is a short one
    began, ended: in seconds since 1970
    """

    number: int
    prompt: Oid | None = None
    agreed_to: Oid | None = None
    long_prompt: Oid | None = None
    began: float = 0.0
    ended: float = 0.0


class FoundEdit(NamedTuple):
    """An edit of one file; `turn` is the position of its turn in `ConversationEdits.turns`."""

    message: MessageId
    oid: Oid
    turn: int
    call_id: str
    tool: str
    time: float
    added: AddedLines


class FoundCommitCall(NamedTuple):
    """A call that ran `git commit`."""

    message: MessageId
    oid: Oid
    turn: int
    call_id: str
    call: CommitCall


@dataclass(slots=True)
class ConversationEdits:
    """What was read from a conversation; `first` and `last` are the times of its messages, 0 if there is none."""

    turns: list[Turn] = field(default_factory=list)
    edits: list[FoundEdit] = field(default_factory=list)
    commit_calls: list[FoundCommitCall] = field(default_factory=list)
    first: float = 0.0
    last: float = 0.0


class _Pending(NamedTuple):
    """A call whose result was not read yet."""

    head: MessageHeader
    turn: int
    time: str | None
    part: Part


@dataclass(slots=True)
class _Position:
    """What a commit leaves to its children: the turn, the last answer with text, the last long prompt."""

    turn: int
    answer: Oid | None = None
    long_prompt: Oid | None = None


def read_conversation_edits(repository: Repository, oldest_first: Iterable[Commit]) -> ConversationEdits:
    """Read the edits of all branches of a conversation; `oldest_first` are its commits, parents before children.

    Raises:
        Corrupt, NotFound: a message is damaged or missing.
    """
    return _Reader(repository).read(oldest_first)


class _Reader:
    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._found = ConversationEdits()
        self._positions: dict[Oid, _Position] = {}
        self._turn_of: dict[MessageId, int] = {}
        self._pending: dict[str, _Pending] = {}
        self._texts = KnownTexts()
        self._done: set[tuple[MessageId, str]] = set()  # copies of a message in several commits repeat its calls
        self._without_end: dict[Oid, list[int]] = {}  # commit calls whose result is in the message of the call
        self._next: dict[Oid, float | None] = {}  # of messages with calls, when the first one after it began

    def read(self, oldest_first: Iterable[Commit]) -> ConversationEdits:
        self._found.turns.append(Turn(0))
        for commit in oldest_first:
            if is_root(commit):
                self._positions[commit.oid] = _Position(0)
                continue
            head = header_of(commit)
            self._visit(head)
        for call_id, pending in self._pending.items():
            self._add_unanswered(call_id, pending)
        return self._found

    def _visit(self, head: MessageHeader) -> None:
        """Give a message its turn, and read what its calls did."""
        before = self._positions.get(head.parents[0]) if head.parents else None
        position = self._next_position(head, before or _Position(0))
        self._positions[head.oid] = position
        self._turn_of.setdefault(head.id, position.turn)
        turn = self._found.turns[position.turn]
        turn.ended = max(turn.ended, float(head.time))
        self._found.first = min(self._found.first or float(head.time), float(head.time))
        self._found.last = max(self._found.last, float(head.time))
        if head.parents:
            self._end_calls(head.parents[0], float(head.time))
            if self._next.get(head.parents[0], 0.0) is None:
                self._next[head.parents[0]] = float(head.time)
        self._read_calls(head, position.turn)

    def _next_position(self, head: MessageHeader, before: _Position) -> _Position:
        """Return the position after a message."""
        if begins_turn(head):
            return self._begin_turn(head, before)
        if self._begins_at_root(head):
            spawner = self._find_spawner(head)
            if spawner is not None:
                return _Position(spawner)
        if head.author_kind == "agent" and head.subject != NO_TEXT:
            return _Position(before.turn, head.oid, before.long_prompt)
        return before

    def _begin_turn(self, head: MessageHeader, before: _Position) -> _Position:
        is_long = len(head.subject) >= SHORT_PROMPT
        number = self._found.turns[before.turn].number + 1
        self._found.turns.append(
            Turn(
                number,
                head.oid,
                before.answer,
                None if is_long else before.long_prompt,
                began=float(head.time),
                ended=float(head.time),
            )
        )
        return _Position(len(self._found.turns) - 1, None, head.oid if is_long else before.long_prompt)

    def _begins_at_root(self, head: MessageHeader) -> bool:
        return bool(head.parents) and head.parents[0] in self._positions and self._is_first(head.parents[0])

    def _is_first(self, parent: Oid) -> bool:
        position = self._positions[parent]
        return position.turn == 0 and position.answer is None

    def _find_spawner(self, head: MessageHeader) -> int | None:
        """Return the turn of the call that started a sub-agent which begins with a message; None for other messages."""
        message = decode(read_body_bytes(self._repository, head))
        name = spawner_of(message) if is_spawned(message) else None
        return None if name is None else self._turn_of.get(MessageId(name))

    def _read_calls(self, head: MessageHeader, turn: int) -> None:
        data = read_body_bytes(self._repository, head)
        has_calls = _CALL in data and head.author_kind != "human" and any(mark in data for mark in _MARKS)
        has_results = _RESULT in data and (bool(self._pending) or has_calls)
        if not has_calls and not has_results:
            return
        if not has_calls and not any(name.encode("utf-8", "replace") in data for name in self._pending):
            return
        message = decode(data)
        for call_id, part in calls_by_id(message.parts).items():
            if (head.id, call_id) not in self._done and _is_wanted(part):
                self._pending[call_id] = _Pending(head, turn, message.time, part)
                self._next[head.oid] = None
        for call_id, result in results_by_id(message.parts).items():
            pending = self._pending.pop(call_id, None)
            if pending is not None:
                self._done.add((pending.head.id, call_id))
                self._add(call_id, pending, result, message)

    def _add(self, call_id: str, pending: _Pending, result: Part, answer: Message) -> None:
        head, turn, began, part = pending
        commit_call = read_commit_call(part, result, began, answer.time)
        if commit_call is not None:
            if answer.id == head.id:
                self._without_end.setdefault(head.oid, []).append(len(self._found.commit_calls))
            self._found.commit_calls.append(FoundCommitCall(head.id, head.oid, turn, call_id, commit_call))
        for move in () if is_failed(result) else list_moves(part):
            self._texts.move(move)
        for added in list_added(part, result, self._texts):
            time = _seconds(answer.time or began, head.time)
            self._found.edits.append(FoundEdit(head.id, head.oid, turn, call_id, tool_name(part), time, added))

    def _add_unanswered(self, call_id: str, pending: _Pending) -> None:
        """Add a commit call whose result is missing: the agent died in it, or the session was imported meanwhile."""
        head, turn, began, part = pending
        call = read_unanswered_call(part, began, self._next.get(head.oid))
        if call is not None:
            self._found.commit_calls.append(FoundCommitCall(head.id, head.oid, turn, call_id, call))

    def _end_calls(self, oid: Oid, time: float) -> None:
        """End the calls of a message that has their results, too: the time of such a message is when it began.

        They had ended when the first message after it began.
        """
        for position in self._without_end.pop(oid, ()):
            found = self._found.commit_calls[position]
            ended = max(found.call.ended, time)
            self._found.commit_calls[position] = found._replace(call=found.call._replace(ended=ended))


def _is_wanted(part: Part) -> bool:
    """Return True for a call that may make a commit, rename or edit a file, also one whose result alone says which."""
    edits = edits_of_call(part, {})
    is_edit = any(edit.op != "read" for edit in edits) if edits else FILE_TOOLS.get(tool_name(part)) == "edit"
    return is_edit or may_commit(part) or bool(list_moves(part))


def _seconds(time: str | None, default: int) -> float:
    moment = None if time is None else parse_time(time)
    return float(default) if moment is None else moment / _SECOND
