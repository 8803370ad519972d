"""Find the call of a turn that made a commit of which only the turn is recorded: a person may have made it meanwhile.

A call that runs git for that counts if the commit was made while it ran. Of any other call that may run git, such as a
script or a tool of an MCP server, it counts only if the call also names the commit. Measured on 373 sessions with 697
commits whose session is known: no call of a script made one, but a person did meanwhile; sub-agents made 7, and
named 4 of them. What a sub-agent did is read as a part of the turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Final, NamedTuple

from scopes.clock import parse_time
from scopes.code_links.commit_calls import MAX_COMMAND, MAX_OUTPUT, MIN_SUBJECT, TOLERANCE, output_text
from scopes.code_links.commit_record import CommitRecord
from scopes.code_links.shell_commands import CommitChance
from scopes.code_links.shell_commands import commit_chance as chance_of_line
from scopes.code_links.turns import TurnMessage
from scopes.history.activity import calls_by_id, results_by_id
from scopes.history.messages import read_body
from scopes.history.sessions import spawner_of
from scopes.ids import MessageId, Oid
from scopes.lazy_patterns import compile_lazily
from scopes.model.message import Message, Part
from scopes.model.tools import FILE_TOOLS, command_of, edits_of_call, is_refused, tool_name
from scopes.store.repository import Repository

_BEFORE: Final = 1.0  # seconds by which a commit may be older than its call: git has whole seconds
_SHORT_ID: Final = 7  # digits of a commit as git prints it
_SECOND: Final = 1_000_000_000
_WORDS_COMMIT = compile_lazily(r"\bgit\b[^\n;|&]{0,300}?\bcommit\b[^\n;|&]*?\s(?:-[a-zA-Z]*m|--message)\b")
_OTHER_COMMANDS = compile_lazily(r"\b(?:amend|fixup|squash|merge|rebase|cherry-pick|revert|am|pull)\b|[$`]")


class TurnCall(NamedTuple):
    """A call that may have made a commit, from its start to its result, in seconds since 1970.

    message: the one with the call
    text: what it was given and what it printed
    """

    call_id: str
    message: TurnMessage
    chance: CommitChance
    began: float
    ended: float
    text: str

    def made(self, record: CommitRecord, time: float) -> bool:
        """Return True if there is evidence that the call made a commit, which was made at a time."""
        if not self.began - _BEFORE <= time <= self.ended + TOLERANCE:
            return False
        names = (record.commit[:_SHORT_ID], record.subject if len(record.subject) >= MIN_SUBJECT else "")
        is_named = any(name in self.text for name in names if name)
        if self.chance == "git":
            return self.began <= time <= self.ended or is_named or not self._words_another(record)
        return is_named

    def _words_another(self, record: CommitRecord) -> bool:
        """Return True if the call only makes a commit with another subject: this one is of the same second."""
        return (
            _WORDS_COMMIT.search(self.text) is not None
            and _OTHER_COMMANDS.search(self.text) is None
            and record.subject not in self.text
        )


class TurnCalls:
    """Reads the calls of turns; each turn is read once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._calls: dict[MessageId, list[TurnCall]] = {}

    def find(self, messages: Sequence[TurnMessage], turn: TurnMessage, record: CommitRecord) -> TurnCall | None:
        """Return the last call of a turn with evidence that it made a commit; None if there is none.

        messages: those of the conversation, parents before children; `turn` is one of them

        Raises:
            Corrupt, NotFound: a message is damaged or missing.
        """
        time = parse_time(record.at)
        if turn.head.id not in self._calls:
            self._calls[turn.head.id] = list(self._read(messages, turn))
        calls = self._calls[turn.head.id] if time is not None else ()
        return next((each for each in reversed(calls) if each.made(record, (time or 0) / _SECOND)), None)

    def _read(self, messages: Sequence[TurnMessage], turn: TurnMessage) -> Iterator[TurnCall]:
        """Yield the calls of a turn in the order of their results; those without one come last, and never end."""
        bodies = [(each, read_body(self._repository, each.head)) for each in messages if each.begin == turn.begin]
        bodies += self._read_sub_agents(messages, {each.head.id for each, _ in bodies})
        times = {each.head.oid: _time_of(body, each) for each, body in bodies}
        places = {each.head.oid: each for each, _ in bodies}
        open_calls: dict[str, tuple[Part, Oid, float]] = {}
        for each, body in bodies:
            oid, time = each.head.oid, times[each.head.oid]
            before = next((times[parent] for parent in each.head.parents if parent in times), time)
            open_calls |= {name: (call, oid, time) for name, call in calls_by_id(body.parts).items()}
            for name, result in results_by_id(body.parts).items():
                if name in open_calls:
                    call, place, began = open_calls.pop(name)
                    # A recorder that writes calls when they have ended puts the result into the same message.
                    began = before if place == oid else began
                    yield from _turn_call(name, places[place], call, result, (began, time))
        for name, (call, place, began) in open_calls.items():
            yield from _turn_call(name, places[place], call, None, (began, inf))

    def _read_sub_agents(
        self, messages: Sequence[TurnMessage], turn: Iterable[MessageId]
    ) -> list[tuple[TurnMessage, Message]]:
        """Return the messages of the sub-agents that a turn has started, and of those that they started."""
        names, oids = set(turn), {each.head.oid for each in messages}
        found: dict[Oid, tuple[TurnMessage, Message]] = {}
        size = -1
        while len(found) > size:
            size = len(found)
            for each in messages:
                head = each.head
                is_first = not any(parent in oids for parent in head.parents)
                if head.oid in found or not (is_first or found.keys() & set(head.parents)):
                    continue
                body = read_body(self._repository, head)
                if not is_first or spawner_of(body) in names:
                    found[head.oid] = each, body
                    names.add(head.id)
        return list(found.values())


def _turn_call(
    name: str, message: TurnMessage, call: Part, result: Part | None, times: tuple[float, float]
) -> Iterator[TurnCall]:
    """Yield a call that may have made a commit."""
    chance = "none" if result is not None and is_refused(result) else commit_chance(call)
    if chance != "none":
        output = "" if result is None else output_text(result)[:MAX_OUTPUT]
        yield TurnCall(name, message, chance, *times, f"{_given(call)}\n{output}")


def commit_chance(call: Part) -> CommitChance:
    """Return whether a call can make a commit; only a tool that reads or edits files certainly makes none."""
    command = command_of(call)
    if command is not None:
        return chance_of_line(command)
    return "none" if tool_name(call) in FILE_TOOLS or edits_of_call(call, {}) else "unknown"


def _given(call: Part) -> str:
    """Return what a call was given, as one text."""
    given = command_of(call) or call.fields.get("input", call.fields.get("input_text"))
    text = json.dumps(given, ensure_ascii=False) if isinstance(given, Mapping | list) else str(given or "")
    return text[:MAX_COMMAND]


def _time_of(body: Message, message: TurnMessage) -> float:
    time = None if body.time is None else parse_time(body.time)
    return float(message.head.time) if time is None else time / _SECOND
