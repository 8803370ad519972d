"""Read how a session begins: its first answers, and what only a copy of them has too.

Equal content alone is no proof: two sessions that begin with the same prompt often get the same short first answer. The
proofs are an id that the model's API gave (of the answer or of a tool call), the exact time of the answer, or a text of
the agent that is too long to be written twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Final

from scopes.ids import MessageId
from scopes.importers.formats.events import Draft, Ending, Event, Session
from scopes.importers.identity import content_bytes, message_id

MAX_ANSWERS = 8  # at the beginning of a session, which are compared
MIN_TEXT: Final = 1000  # code points; independent answers to one prompt were equal in up to 559
EXACT: Final = "exact"
_RANDOM_ID: Final = re.compile(r"(?:[A-Za-z]+[_-]){0,2}[A-Za-z0-9-]{20,}")
_EXACT_TIME: Final = re.compile(r".*\.\d*[1-9]\d*(?:Z|[+-]\d\d:\d\d)")  # with a fraction of a second


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first answers of a session.

    answers: their message ids, which are hashes of everything up to them
    proofs: hashes of an answer's id and of what only a copy of it has too; those of later answers are later
    """

    answers: tuple[MessageId, ...] = ()
    proofs: tuple[bytes, ...] = ()


@dataclass(slots=True)
class _Line:
    """The line of messages up to one of them: its id, their number, and the length of the agent's text in them."""

    message: MessageId
    length: int
    text: int


def can_join(session: Session) -> bool:
    """Return True if a session may join another one, or be joined: it is no sub-agent and names no other session."""
    return session.base is None and session.sub_file is None and session.spawned_by is None


def read_beginning(events: Iterable[Event]) -> Beginning:
    """Read the first answers of the first session; the other events are not read."""
    answers: list[MessageId] = []
    proofs: dict[bytes, None] = {}
    for answer, found in islice(walk_answers(events), MAX_ANSWERS):
        answers.append(answer)
        proofs |= dict.fromkeys(found)
    return Beginning(tuple(answers), tuple(proofs))


def walk_answers(events: Iterable[Event]) -> Iterator[tuple[MessageId, list[bytes]]]:
    """Yield the message ids of the answers of the first session, after at least one other message, and their proofs."""
    lines: dict[str, _Line] = {}
    for event in events:
        if isinstance(event, Ending):
            return
        if not isinstance(event, Draft) or event.side is not None or event.spawned_by is not None:
            continue
        before = None if event.parent is None else lines.get(event.parent)
        if before is None and event.parent is not None:
            continue  # it follows a sub-agent's message
        identity = message_id(None if before is None else before.message, content_bytes(event))
        line = _Line(identity, 1, 0) if before is None else _Line(identity, before.length + 1, before.text)
        lines[event.key] = line
        if event.author.kind == "agent":
            line.text += sum(len(part.fields.get("text") or "") for part in event.parts if part.type == "text")
            if line.length > 1:
                yield identity, list(_proofs_of(event, line))


def _proofs_of(draft: Draft, line: _Line) -> Iterator[bytes]:
    calls = (part.fields.get("call_id") for part in draft.parts if part.type == "tool_call")
    found = [prove_by_id(line.message, name) for name in dict.fromkeys((*draft.native_ids, *calls))]
    found += [prove_by_time(line.message, draft.time, draft.precision), prove_by_text(line.message, line.text)]
    yield from (proof for proof in found if proof is not None)


def prove_by_id(message: MessageId, name: object) -> bytes | None:
    """Return the proof by the id of an answer or a call that the API of a model gave; None if it is not random."""
    return _prove(message, "id", name) if isinstance(name, str) and _RANDOM_ID.fullmatch(name) else None


def prove_by_time(message: MessageId, time: str | None, precision: object) -> bytes | None:
    """Return the proof by the time of an answer; None if it is not exact."""
    if precision != EXACT or time is None or not _EXACT_TIME.fullmatch(time):
        return None
    return _prove(message, "time", time)


def prove_by_text(message: MessageId, length: int) -> bytes | None:
    """Return the proof by what an agent has written up to an answer; None if that is not long enough."""
    return _prove(message, "text", "") if length >= MIN_TEXT else None


def _prove(message: MessageId, kind: str, value: str) -> bytes:
    return sha256("\0".join((message, kind, value)).encode("utf-8", "surrogatepass")).digest()[:16]
