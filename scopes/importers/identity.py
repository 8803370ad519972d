"""Ids of messages, sessions and sources: hashes of their content, equal on every machine and for every path.

A message's id is the hash of its parent's id and of its content bytes, so equal histories have equal message ids in any
conversation (storage format, message ids). What only a copy has, such as the exact time of an answer, is hashed too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol

from scopes.history.sources import source_key
from scopes.ids import MessageId
from scopes.importers.formats.events import STREAM, Draft, Ending, Event, Session
from scopes.model import canonical_json
from scopes.model.message import FOREIGN_FIELDS, Author, Part

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

CONTENT_VERSION = "h1"
_END = b"]]\n"  # of the content of a message
PARSER_VERSION = 1
SHORT_ID = 8  # characters of an id in a name
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_DIGITS = [first + second for first in _BASE32 for second in _BASE32]  # two at once: five times as fast as `base64`
_DIGEST = Struct(">QQB")
_LOW_58 = (1 << 58) - 1
_CONTENT_FIELDS = (
    "text", "name", "input", "input_text", "output", "output_text", "media_type", "data", "path", "json", "json_text",
)  # fmt: skip


class Content(Protocol):
    """What identifies a message: a draft has it, and a message."""

    @property
    def author(self) -> Author:
        """Who wrote it."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What it says."""


def content_bytes(draft: Content) -> bytes:
    """Serialize what identifies a message: author kind, part types, texts, tool names, inputs and outputs.

    Times, native ids, usage and directories are left out: copies of one history differ in them.
    """
    parts: list[Any] = [[part.type, *_content_of(part)] for part in draft.parts]
    return canonical_json.dump([CONTENT_VERSION, draft.author.kind, parts])


def message_id(parent: MessageId | None, content: bytes) -> MessageId:
    """Return the id of a message with this content after `parent`: 26 lower-case base32 characters."""
    return _format_id(_begin_id(parent, content).digest())


def shorter_ids(message: Content, parent: MessageId | None) -> Iterator[MessageId]:
    """Yield the ids that a message with fewer parts would have: with the first one, with the first two, and so on."""
    hashed = _begin_id(parent, canonical_json.dump([CONTENT_VERSION, message.author.kind, []]).removesuffix(_END))
    for number, part in enumerate(message.parts[:-1]):
        hashed.update((b"," if number else b"") + canonical_json.dump([part.type, *_content_of(part)])[:-1])
        ended = hashed.copy()
        ended.update(_END)
        yield _format_id(ended.digest())


def _begin_id(parent: MessageId | None, content: bytes) -> Hash:
    return sha256(b"\0".join((b"message", (parent or "").encode(), content)))


def _format_id(digest: bytes) -> MessageId:
    first, second, third = _DIGEST.unpack_from(digest)  # the id has 130 bits: 60 of them, 10 and 60 again
    last = (second & _LOW_58) << 2 | third >> 6
    return MessageId(
        f"{_DIGITS[first >> 54]}{_DIGITS[first >> 44 & 0x3FF]}{_DIGITS[first >> 34 & 0x3FF]}"
        f"{_DIGITS[first >> 24 & 0x3FF]}{_DIGITS[first >> 14 & 0x3FF]}{_DIGITS[first >> 4 & 0x3FF]}"
        f"{_DIGITS[(first & 0xF) << 6 | second >> 58]}"
        f"{_DIGITS[last >> 50]}{_DIGITS[last >> 40 & 0x3FF]}{_DIGITS[last >> 30 & 0x3FF]}"
        f"{_DIGITS[last >> 20 & 0x3FF]}{_DIGITS[last >> 10 & 0x3FF]}{_DIGITS[last & 0x3FF]}"
    )


def session_uuid(format_name: str, native_id: str) -> str:
    """Return the uuid of an imported conversation (version 8, RFC 9562)."""
    octets = bytearray(sha256(b"\0".join((b"session", format_name.encode(), _encode(native_id)))).digest()[:16])
    octets[6] = octets[6] & 0x0F | 0x80
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def source_key_of(session: Session) -> str:
    """Return the key of a session's source."""
    return source_key(session.format, session.native_id, session.sub_file)


def stream_key(session: Session) -> str:
    """Return the key of the first event stream of a session."""
    return source_key(session.format, session.native_id, STREAM)


def parent_source_keys(session: Session) -> list[str]:
    """Return the keys of sources that a session may continue, most likely first.

    `session.base` is a session, or a part of this session or of the one in `details.forked_from`. A part without a base
    belongs to its session's main source. A stream belongs to the session file of its run, else to the first stream, of
    its session or of the one above it.
    """
    names: list[tuple[str, str | None]] = []
    if session.base is not None:
        forked_from = session.details.get("forked_from", session.native_id)
        names = [(session.base, None), (session.native_id, session.base), (str(forked_from), session.base)]
    if session.sub_file is not None:
        names.append((session.native_id, None))
    if session.is_stream:
        names += [(name, STREAM) for name in (session.base, session.native_id) if name is not None]
    keys = dict.fromkeys(source_key(session.format, native_id, part) for native_id, part in names)
    return [key for key in keys if key != source_key_of(session)]


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _content_of(part: Part) -> list[Any]:
    found: list[Any] = []
    for name in _CONTENT_FIELDS:
        if name in part.fields:
            value = part.fields[name]
            found += [name, canonical_json.Foreign(value) if name in FOREIGN_FIELDS else value]
    return found


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
