"""Read documents that are one object with a list of records, such as messages, in it: one document, or many in a file.

The records are an array, or the values of an object. A cut or damaged document is read up to the error. What the
records mean, and the other members, is for the formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple

from scopes.importers.formats.base import Source
from scopes.importers.formats.events import ByteRange, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.json_stream import (
    JsonDocument,
    find_value_end,
    skip_blanks,
    source_length,
    walk_documents,
)
from scopes.importers.formats.lossless_json import decode, decode_first
from scopes.importers.formats.openai.message_lists import Element, read_element, skip_comma
from scopes.importers.formats.session_walk import RecordReader

MAX_MEMBER = 1 << 20  # characters of a member beside the list that are kept
_NAMING_BYTES = 4096


@dataclass(slots=True)
class ObjectList:
    """An object in a text, and the records in it.

    members: the other members, without large ones; of other arrays only the first element is in `beginnings`
    complete: it was read to its end
    rest: the bytes that belong to no record
    """

    text: str
    elements: list[Element] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)
    beginnings: dict[str, Any] = field(default_factory=dict)
    found: bool = False
    complete: bool = False
    records: list[Record] = field(default_factory=list)
    rest: tuple[ByteRange, ...] = ()

    def values(self) -> Iterator[dict[str, Any]]:
        """Yield the elements that are objects."""
        return (element.value for element in self.elements if isinstance(element.value, dict))


class Shape(NamedTuple):
    """What a format's documents are: the member with the records, and a check of what was read of one."""

    list_name: str
    is_known: Callable[[ObjectList], bool]

    def recognizes(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is such an object, or an array or sequence of them."""
        text = head.decode("utf-8", "surrogateescape")
        start = skip_blanks(text, 0)
        if text.startswith("[", start):
            start = skip_blanks(text, start + 1)
        return self.read(text, start) is not None

    def read(self, text: str, start: int = 0) -> ObjectList | None:
        """Read the object that begins at `start`; None if it is not of this shape."""
        found = ObjectList(text=text)
        if not text.startswith("{", start):
            return None
        try:
            _read_members(text, start + 1, self.list_name, found)
            found.complete = True
        except (ValueError, RecursionError, IndexError):
            pass
        return found if self.is_known(found) else None


ReadSession = Callable[[ObjectList], tuple[Session, Iterator[Event]]]


def walk_sessions(source: Source, shape: Shape, name: str, read_session: ReadSession) -> Iterator[Event]:
    """Yield the events of each object of a source as `read_session` gives them; the last one is an Ending."""
    waiting: list[Unparsed] = []
    names: dict[str, int] = {}
    ending: Ending | None = None
    with source.open() as stream:
        for document in walk_documents(stream, source.size, lambda text, at: shape.read(text, at) is not None):
            found = shape.read(document.text)
            if found is None:
                span = ByteRange(document.begin, document.end - document.begin)
                waiting.append(Unparsed(spans=(span,), reason="not a conversation, damaged or too large"))
                continue
            if ending is not None:
                yield from waiting
                yield ending
                waiting = []
            _place(document, found)
            session, events = read_session(found)
            yield _with_own_name(session, names)
            yield from waiting
            waiting = []
            for event in events:
                if isinstance(event, Ending):
                    ending = event
                else:
                    yield event
    if ending is None:
        yield Session(format=name, native_id=_digest_beginning(source))
    if ending is None and not waiting and source.size:
        yield Unparsed(spans=(ByteRange(0, source.size),), reason="only whitespace")
    yield from waiting
    yield ending or Ending(active=None)


def rest_event(found: ObjectList) -> Iterator[Event]:
    """Yield the bytes that belong to no record; those after an error are unparsed."""
    known = found.rest if found.complete else found.rest[:1] if found.records else ()
    if known:
        yield SessionRecord(key="conversation", spans=known)
    if lost := found.rest[len(known) :]:
        yield Unparsed(spans=lost, reason="truncated or damaged")


def read_in_order(found: ObjectList, reader: RecordReader) -> tuple[Session, Iterator[Event]]:
    """Return the Session of an object and its events, with a reader of its records."""

    def walk() -> Iterator[Event]:
        yield from rest_event(found)
        for record in found.records:
            yield from reader.read(record)
        yield from reader.finish()

    return reader.session, walk()


def digest_of_values(values: Iterator[Any]) -> str:
    """Return a hash of records, which names a session that has no id of its own."""
    digest = sha256()
    for value in values:
        digest.update(repr(value).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def split_record(found: ObjectList, record: Record, name: str) -> tuple[ByteRange, ByteRange]:
    """Divide the bytes of a record that has a member of this name into those before the member, and the others."""
    element = found.elements[record.number]
    at = _find_member(found.text, element.start, name)
    length = source_length(found.text[element.start : element.start if at is None else at])
    begin, end = record.span.offset, record.span.offset + record.span.length
    return ByteRange(begin, length), ByteRange(begin + length, end - begin - length)


def _find_member(text: str, start: int, name: str) -> int | None:
    """Return where the key of a member of an object begins; None if there is none."""
    position = skip_blanks(text, start + 1)
    while text[position] != "}":
        begin = position
        key, position = decode_first(text, position)
        if key == name:
            return begin
        value = skip_blanks(text, skip_blanks(text, position) + 1)
        position = skip_comma(text, find_value_end(text, value), "}")
    return None


def _with_own_name(session: Session, names: dict[str, int]) -> Session:
    """Return a Session with a number behind its id if an earlier one of the source has that id."""
    names[session.native_id] = names.get(session.native_id, 0) + 1
    count = names[session.native_id]
    return session if count == 1 else replace(session, native_id=f"{session.native_id}#{count}")


def _read_members(text: str, position: int, list_name: str, found: ObjectList) -> None:
    position = skip_blanks(text, position)
    while text[position] != "}":
        key, position = decode_first(text, position)
        position = skip_blanks(text, position)
        if not isinstance(key, str) or text[position] != ":":
            raise ValueError(position)
        position = skip_blanks(text, position + 1)
        if key == list_name and text[position] in "[{" and not found.found:
            position = _read_list(text, position, found)
        else:
            position = _read_member(text, position, key, found)
        position = skip_comma(text, position, "}")


def _read_member(text: str, position: int, key: str, found: ObjectList) -> int:
    """Read a member beside the list; return where it ends. The beginning of an array is known also if it is cut off."""
    if text[position] == "[":
        first = skip_blanks(text, position + 1)
        if text[first] != "]":
            found.beginnings.setdefault(key, read_element(text, first).value)
    end = find_value_end(text, position)
    if text[position] != "[" and end - position <= MAX_MEMBER:
        found.members[key] = decode(text[position:end])
    return end


def _read_list(text: str, position: int, found: ObjectList) -> int:
    """Read the records; return where their list ends."""
    found.found = True
    closing = "]" if text[position] == "[" else "}"
    position = skip_blanks(text, position + 1)
    while text[position] != closing:
        start = position
        if closing == "}":
            key, position = decode_first(text, position)
            position = skip_blanks(text, position)
            if not isinstance(key, str) or text[position] != ":":
                raise ValueError(position)
            position = skip_blanks(text, position + 1)
        element = read_element(text, position)
        found.elements.append(Element(start, element.end, element.value, element.problem))
        position = skip_comma(text, element.end, closing)
    return position + 1


def _place(document: JsonDocument, found: ObjectList) -> None:
    """Give each element its bytes, up to the next one; the last one ends where it ends."""
    places = [place for element in found.elements for place in (element.start, element.end)]
    offsets, offset, reached = [], document.start, 0
    for place in places:
        offset += source_length(document.text[reached:place])
        reached = place
        offsets.append(offset)
    first, last = (offsets[0], offsets[-1]) if offsets else (document.begin, document.begin)
    bounds = [*offsets[::2], last]
    for number, element in enumerate(found.elements):
        span = ByteRange(bounds[number], bounds[number + 1] - bounds[number])
        found.records.append(Record(number + 1, number, span, element.value, element.problem))
    around = [(document.begin, first), (last, document.end)] if offsets else [(document.begin, document.end)]
    found.rest = tuple(ByteRange(begin, end - begin) for begin, end in around if end > begin)


def _digest_beginning(source: Source) -> str:
    """Return the id of a source without any conversation: a hash of its beginning."""
    with source.open() as stream:
        return sha256(stream.read(min(_NAMING_BYTES, source.size))).hexdigest()


def short_word(value: Mapping[str, Any], name: str) -> str:
    """Return a field for a reason or a key: its text, at most 64 characters of it, or that it is missing."""
    found = value.get(name)
    return repr(found[:64]) if isinstance(found, str) else "none"
