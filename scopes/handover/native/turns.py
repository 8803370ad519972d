"""What a session of any agent can hold of a conversation: prompts, answers with calls, and a result for each call.

The interfaces of models refuse a history with a result that has no call, a call without its result directly after it,
or an empty answer. So results follow their calls here, and what a session cannot hold becomes text or is left out, and
is counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias

from scopes.ids import MessageId
from scopes.merge.plan import SCOPES
from scopes.model.message import Message, Part, payload_key

NO_RESULT = "[no result recorded]"
_BEGINS_WITH_ANSWER = "[the conversation begins with an answer]"
_MAX_NAME = 64  # of a call, and of its id: what all interfaces of models accept
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")

REASONING, INJECTED, EMPTY, FILES, ORPHANS = (
    "reasoning", "injected messages", "messages without content", "images and files", "results without a call",
)  # fmt: skip


class Call(NamedTuple):
    """A tool call; its id occurs once in a session."""

    id: str
    name: str
    input: Mapping[str, Any]


class CallResult(NamedTuple):
    """The result of a tool call."""

    id: str
    name: str
    text: str
    is_error: bool


Role: TypeAlias = Literal["user", "assistant", "results"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a session: `parts` are texts, with calls in an answer; of results only `results` is set.

    message: what it is in the conversation; None for a text that only the session has.
    time: RFC 3339; None if that is not known.
    """

    role: Role
    message: MessageId | None
    parts: tuple[str | Call, ...] = ()
    results: tuple[CallResult, ...] = ()
    time: str | None = None
    model: str | None = None

    @property
    def text(self) -> str:
        """All its texts, joined by blank lines."""
        return "\n\n".join(part for part in self.parts if isinstance(part, str))

    @property
    def calls(self) -> tuple[Call, ...]:
        """Its tool calls."""
        return tuple(part for part in self.parts if isinstance(part, Call))


@dataclass(slots=True)
class Turns:
    """Turns in order, and how many of what became text (`flattened`) or was left out (`dropped`)."""

    turns: list[Turn] = field(default_factory=list)
    flattened: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)


def list_turns(messages: Sequence[Message], *, reasoning: bool = False) -> Turns:
    """Return what a session can hold of messages in order; with `reasoning`, that is quoted in the answers."""
    builder = _Builder(messages, reasoning=reasoning)
    for message in messages:
        builder.add(message)
    turns = builder.turns
    if turns.turns and turns.turns[0].role != "user":
        turns.turns.insert(0, Turn("user", None, (_BEGINS_WITH_ANSWER,), time=turns.turns[0].time))
    return turns


class _Builder:
    """Makes turns of messages."""

    def __init__(self, messages: Iterable[Message], *, reasoning: bool) -> None:
        self.turns = Turns()
        self._keeps_reasoning = reasoning
        self._results = _queue_results(messages)
        self._ids: set[str] = set()
        self._paired = {id(part) for waiting in self._results.values() for part, _ in waiting}

    def add(self, message: Message) -> None:
        """Add the turns of the next message."""
        kind = message.author.kind
        if message.kind in {"compaction", "summary"}:
            self._add_user(message)
        elif kind == "injected" or (kind == "system" and message.author != SCOPES):
            self.turns.dropped[INJECTED] += 1
        elif kind == "agent":
            self._add_answer(message)
        else:
            self._add_user(message)

    def _add_user(self, message: Message) -> None:
        """Add a prompt, a summary, or results whose call is not known, which are texts then."""
        texts = [text for part in message.parts for text in self._texts_of(part)]
        if message.payload is not None and not any(texts):
            texts.append(json.dumps({payload_key(message.kind): message.payload}, ensure_ascii=False))
        if any(text.strip() for text in texts):
            self._append(Turn("user", message.id, tuple(text for text in texts if text.strip()), time=message.time))
        elif not any(part.type == "tool_result" for part in message.parts):
            self.turns.dropped[EMPTY] += 1

    def _add_answer(self, message: Message) -> None:
        parts: list[str | Call] = []
        results: list[tuple[CallResult, Message | None]] = []
        for part in message.parts:
            if part.type == "tool_call":
                call, found = self._read_call(part)
                parts.append(call)
                results.append(found)
            else:
                parts += [text for text in self._texts_of(part) if text.strip()]
        if message.payload is not None and not parts:
            parts.append(json.dumps({payload_key(message.kind): message.payload}, ensure_ascii=False))
        if not parts:
            self.turns.dropped[EMPTY] += 1
            return
        self._append(Turn("assistant", message.id, tuple(parts), time=message.time, model=message.model))
        if results:
            owner = next((owner for _, owner in results if owner is not None), None)
            answered = tuple(result for result, _ in results)
            source = message if owner is None else owner
            self._append(Turn("results", source.id, results=answered, time=source.time))

    def _append(self, turn: Turn) -> None:
        if turn.time is None and self.turns.turns:
            turn = replace(turn, time=self.turns.turns[-1].time)
        self.turns.turns.append(turn)

    def _texts_of(self, part: Part) -> Iterator[str]:
        if part.type == "text":
            yield part.text
        elif part.type == "reasoning":
            if self._keeps_reasoning and part.text.strip():
                self.turns.flattened[REASONING] += 1
                yield "\n".join(f"> {line}" for line in part.text.splitlines())
            else:
                self.turns.dropped[REASONING] += 1
        elif part.type == "tool_result":
            if id(part) not in self._paired:
                self.turns.flattened[ORPHANS] += 1
                yield f"[result of a call that is not recorded]\n{text_of_result(part)}"
        elif part.type != "tool_call":
            self.turns.flattened[FILES] += 1
            name = part.fields.get("path") or part.fields.get("media_type") or "unknown"
            yield f"[{part.type}: {name}]"

    def _read_call(self, part: Part) -> tuple[Call, tuple[CallResult, Message | None]]:
        recorded = part.fields.get("call_id")
        waiting = self._results.get(recorded) if isinstance(recorded, str) else None
        name = _NOT_IN_NAME.sub("_", str(part.fields.get("name") or "unknown"))[:_MAX_NAME] or "unknown"
        call = Call(self._free_id(str(recorded or name)), name, _read_input(part))
        if not waiting:
            return call, (CallResult(call.id, name, NO_RESULT, is_error=False), None)
        result, owner = waiting.pop(0)
        is_error = result.fields.get("is_error") is True
        return call, (CallResult(call.id, name, text_of_result(result) or NO_RESULT, is_error), owner)

    def _free_id(self, recorded: str) -> str:
        """Return the id of a call in the session: the recorded one, if all interfaces take it and it is not used."""
        found, number = recorded, 0
        while found in self._ids or not _ID.fullmatch(found):
            found = f"call_{sha256(f'{recorded} {number}'.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
            number += 1
        self._ids.add(found)
        return found


def _queue_results(messages: Iterable[Message]) -> dict[str, list[tuple[Part, Message]]]:
    """Return the results by the ids of their calls, with their messages: an id may have been used several times."""
    found: dict[str, list[tuple[Part, Message]]] = {}
    open_calls: Counter[str] = Counter()
    for message in messages:
        for part in message.parts:
            name = part.fields.get("call_id")
            if not isinstance(name, str):
                continue
            if part.type == "tool_call":
                open_calls[name] += 1
            elif part.type == "tool_result" and open_calls[name]:
                open_calls[name] -= 1
                found.setdefault(name, []).append((part, message))
    return found


def _read_input(part: Part) -> Mapping[str, Any]:
    value, text = part.fields.get("input"), part.fields.get("input_text")
    if isinstance(value, dict):
        return value
    return {"input": text if isinstance(text, str) else value} if (text or value) is not None else {}


def text_of_result(part: Part) -> str:
    """Return the output of a call as a text: the texts of a list of blocks, anything else as JSON."""
    output = part.fields.get("output", part.fields.get("output_text"))
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(map(_text_of_block, output))
    return "" if output is None else json.dumps(output, ensure_ascii=False)


def _text_of_block(block: object) -> str:
    match block:
        case str():
            return block
        case {"text": str(text)}:
            return text
        case {"type": "image", **_rest}:
            return "[image]"
    return json.dumps(block, ensure_ascii=False)
