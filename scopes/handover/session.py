"""What a session of any agent can hold of a conversation, within the tokens that the agent's model has room for.

The interfaces of models refuse a history with a result that has no call, a call without its result directly after it,
or an empty answer. So turns are prompts, answers with calls, and a result for each call right behind them; what a
session cannot hold becomes text or is left out, and is counted. A history that is too large keeps its newest turns, and
a block of text replaces the older ones.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias

from scopes.clock import format_seconds, format_time, parse_time
from scopes.context.history_block import HistoryRequest
from scopes.context.history_block import history as write_block
from scopes.errors import Invalid, Refused
from scopes.exporters.selection import select_messages, walk_current
from scopes.history.handles import BranchHandle, read_first_prompt
from scopes.history.messages import message_id_of
from scopes.ids import MessageId
from scopes.memory.compaction_base import walk_compactions
from scopes.merge.plan import SCOPES
from scopes.model.message import Message, Part, payload_key
from scopes.sanitize import cut
from scopes.secret_scan.clearance import Gate
from scopes.secrets.gates import gate_of, redacting
from scopes.store.objects import read_commit
from scopes.tokens.count import TokenizerChoice

NO_RESULT = "[no result recorded]"
_BEGINS_WITH_ANSWER = "[the conversation begins with an answer]"
_MAX_NAME = 64  # of a call, and of its id: what all interfaces of models accept
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MILLION = 1_000_000
_SECOND = 1_000_000_000
_TURN_TOKENS = 8  # of what is around a turn in a request
_SHARE = 4  # a quarter of the tokens for what comes before
_MARK_CHARACTERS = 16
_MAX_OPENING = 100  # characters of a first prompt that a list of sessions shows

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


@dataclass(frozen=True, slots=True)
class NativeSession:
    """What a session is made of.

    id: UUID shaped, made of the tip and the agent, so that it is the same on every machine.
    created: RFC 3339, in whole seconds and UTC: the time of the newest message.
    directory: where the agent is to work.
    title: that of the conversation; empty if it has none.
    model: what the agent is set to, as PROVIDER/MODEL, if it asks for that; empty if that is not known.
    opening: the beginning of the first prompt, for an agent that has no session without a title.
    """

    id: str
    created: str
    directory: str
    title: str
    turns: Sequence[Turn]
    model: str = ""
    opening: str = ""

    @property
    def milliseconds(self) -> int:
        """The time of the session, since 1970."""
        return (parse_time(self.created) or 0) // _MILLION

    def times(self) -> list[int]:
        """Return the time of each turn in milliseconds since 1970; each is later than the one before.

        The last one is that of the session; turns that would be later than it, or have no time, come just before.
        """
        found: list[int] = []
        for turn in self.turns:
            time = (parse_time(turn.time or "") or 0) // _MILLION
            found.append(max(time, found[-1] + 1 if found else 1))
        limit = self.milliseconds
        for position in reversed(range(len(found))):
            found[position] = min(found[position], limit)
            limit = found[position] - 1
        return found

    def answered_turns(self) -> Iterator[tuple[Turn, Turn | None, int]]:
        """Yield each prompt and answer, the results of its calls, and its time, for agents that keep them together."""
        following = [*self.turns[1:], None]
        for turn, after, time in zip(self.turns, following, self.times(), strict=True):
            if turn.role != "results":
                yield turn, after if after is not None and after.role == "results" else None, time

    def uuid_of(self, number: int) -> str:
        """Return the id of a record."""
        return uuid_of(self.id, str(number))


class NativeRecord(NamedTuple):
    """A record of a session, and the message that it is of; None for a record about the session.

    native_id: the id that the importer finds the message by, if not by its place in the file.
    """

    value: Mapping[str, Any]
    message: MessageId | None = None
    native_id: str | None = None


class Writer:
    """Writes sessions for one agent.

    name: the name of the agent, and of its transcript format.
    window: the context window of the models that the agent usually has, in tokens.
    keeps_files: True if a session is a file of its own, which is written; else it goes into the agent's database.
    """

    name: str
    window: int
    keeps_files = True

    def name_session(self, uuid: str) -> str:
        """Return the id of the session with a UUID."""
        return uuid

    def configured_model(self, directory: str) -> str:
        """Return the model of the agent's configuration in this directory, if sessions need one; empty if none."""
        del directory
        return ""

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return where the agent looks for the session, below its configuration directory."""
        raise NotImplementedError

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the records of the session in order."""
        raise NotImplementedError

    def assemble(self, lines: Sequence[bytes]) -> bytes:
        """Return the document of the records, each of which is a line of JSON."""
        return b"".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions:
    """How much of a history a session gets: all messages or those since the last compaction, within some tokens.

    directory: where the agent is to work.
    model: what the agent is set to.
    reasoning: quote it in the answers.
    """

    directory: str
    max_tokens: int
    model: str = ""
    full: bool = False
    reasoning: bool = False


@dataclass(frozen=True, slots=True)
class SessionHistory:
    """A session, and what became of the messages that it does not hold as they are.

    left_out: messages before a compaction, or beyond the tokens.
    compacted: those of them before the compaction.
    """

    session: NativeSession
    tip: MessageId
    tokens: int
    total: int
    left_out: int
    compacted: int
    flattened: Counter[str]
    dropped: Counter[str]


def make_session(
    branch: BranchHandle, writer: Writer, options: HistoryOptions, gate: Gate, choice: TokenizerChoice
) -> SessionHistory:
    """Return the session for an agent; its ids and times depend on the conversation and the agent alone.

    Raises:
        Refused: the branch has nothing to hand over.
        Invalid: the newest messages have more tokens than there is room.
    """
    tip = message_id_of(read_commit(branch.repository, branch.tip))
    messages, total, compacted = _read_messages(branch, gate, full=options.full)
    found = list_turns(messages, reasoning=options.reasoning)
    if not any(turn.role == "user" and turn.message for turn in found.turns) and len(found.turns) < 2:
        raise Refused(f"{branch} has no message to hand over", hint="see: scopes log")

    mark = uuid_of("mark", tip, writer.name).replace("-", "")[:_MARK_CHARACTERS]

    def write_earlier(message: MessageId, tokens: int) -> str:
        request = HistoryRequest(where=message, last=None, max_tokens=tokens, secrets=gate.mode, mark=mark)
        return write_block(branch.repository, request, choice).text.strip("\n")

    fitted = fit_turns(found.turns, options.max_tokens, choice.tokenizer.count, write_earlier)
    beyond = sum(turn.message is not None for turn in found.turns[: fitted.left_out])
    session = NativeSession(
        id=writer.name_session(uuid_of("hand-over", tip, writer.name)),
        created=_time_of(fitted.turns),
        directory=options.directory,
        title=branch.conversation.metadata.title or "",
        turns=fitted.turns,
        model=options.model,
        opening=_read_opening(branch),
    )
    return SessionHistory(
        session, tip, fitted.tokens, total, compacted + beyond, compacted, found.flattened, found.dropped
    )


def _read_opening(branch: BranchHandle) -> str:
    """Return the beginning of the first prompt without secrets; the prompt itself may not be handed over."""
    text = read_first_prompt(branch.repository, branch.conversation.id) or ""
    shown = gate_of(branch.repository, "redact").clear_name(text, "the first prompt")
    return shown if len(shown) <= _MAX_OPENING else f"{cut(shown, _MAX_OPENING - 1)}…"


def _read_messages(branch: BranchHandle, gate: Gate, *, full: bool) -> tuple[Sequence[Message], int, int]:
    """Return the messages from the last compaction on, or all, with amendments applied; how many there are, and before.

    Among the messages are marks of merged branches, which are not in the history and do not count.
    """
    repository = branch.repository
    selection = select_messages(repository, str(branch), all_branches=False)
    heads = list(selection.heads)
    newest = next(walk_compactions(repository, branch.tip, reversed(heads)), None)
    with redacting(repository, gate):
        messages = list(walk_current(repository, selection))
    if newest is None or full:
        return messages, len(heads), 0
    start = next((n for n, message in enumerate(messages) if message.id == newest[0].id), 0)
    before = next((n for n, head in enumerate(heads) if start and head.id == newest[0].id), 0)
    return messages[start:], len(heads), before


def _time_of(turns: Sequence[Turn]) -> str:
    """Return the time of the newest turn in whole seconds; 1970 if none has a time."""
    times = (parse_time(turn.time) for turn in reversed(turns) if turn.time is not None)
    newest = next((time for time in times if time is not None), len(turns) * _SECOND)
    return format_seconds(newest // _SECOND)


@dataclass(frozen=True, slots=True)
class FittedTurns:
    """Turns that fit; `left_out` is how many are in the block of text only, or before it."""

    turns: Sequence[Turn]
    tokens: int
    left_out: int = 0


def fit_turns(
    turns: Sequence[Turn],
    max_tokens: int,
    count: Callable[[str], int],
    write_earlier: Callable[[MessageId, int], str],
) -> FittedTurns:
    """Return the turns if they have at most `max_tokens`; else the newest ones, after a prompt for the older ones.

    `write_earlier` returns the text about the history up to a message, within a number of tokens. The turns that are
    kept begin with a prompt, if one of them is one, and never with results, whose calls would be missing.

    Raises:
        Invalid: not even the newest turn fits.
    """
    sizes = [count(_text_of(turn)) + _TURN_TOKENS for turn in turns]
    if sum(sizes) <= max_tokens:
        return FittedTurns(turns, sum(sizes))
    share = max(max_tokens // _SHARE, 2 * _TURN_TOKENS)
    room = max_tokens - share
    start, used = len(turns), 0
    while start and used + sizes[start - 1] <= room:
        start -= 1
        used += sizes[start]
    starts = [number for number in range(start, len(turns)) if turns[number].role != "results"]
    start = next((number for number in starts if turns[number].role == "user"), starts[0] if starts else len(turns))
    before = next((turn.message for turn in reversed(turns[:start]) if turn.message is not None), None)
    if start == len(turns) or before is None:
        newest = sum(sizes[max(len(turns) - 2, 0) :])
        raise Invalid(
            f"{max_tokens} tokens have no room for the newest messages", hint=f"use more: --max-tokens {newest * 2}"
        )
    block = write_earlier(before, share - _TURN_TOKENS)
    first = Turn("user", before, (block,), time=turns[start].time)
    kept = [first, *turns[start:]]
    return FittedTurns(kept, count(block) + _TURN_TOKENS + sum(sizes[start:]), start)


def _text_of(turn: Turn) -> str:
    calls = [f"{call.name} {dump(call.input)}" for call in turn.calls]
    return "\n".join([turn.text, *calls, *(result.text for result in turn.results)])


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


def uuid_of(*names: str) -> str:
    """Return the UUID for some names, of version 4 in form: some agents take no other."""
    octets = bytearray(sha256("\0".join(names).encode("utf-8", "surrogatepass")).digest()[:16])
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def format_milliseconds(time: int) -> str:
    """Return a time as agents write it: 2026-01-01T00:00:00.000Z."""
    return format_time(time * _MILLION)


def dump(value: object) -> str:
    """Return a value as JSON on one line; a surrogate, which agents written in Rust do not read, is replaced."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return clean(text)


def clean(text: str) -> str:
    """Return a text without surrogates."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
