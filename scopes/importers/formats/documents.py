"""Read documents that are one object with a list of records, such as messages, in it: one document, or many in a file.

The records are an array, or the values of an object; of some formats the array may also stand alone. A cut or damaged
document is read up to the error. What the records mean, and the other members, is for the formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple

from scopes.importers.formats.base import Source
from scopes.importers.formats.events import ByteRange, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.formats.records import (
    JsonDocument,
    Record,
    decode,
    decode_first,
    describe_error,
    find_value_end,
    skip_blanks,
    source_length,
    walk_documents,
)
from scopes.importers.formats.run_builder import RecordReader

MAX_MEMBER = 1 << 20  # characters of a member beside the list that are kept
_NAMING_BYTES = 4096


class Element(NamedTuple):
    """An element of the list and its position in the text; if it has a `problem`, it has no value."""

    start: int
    end: int
    value: Any = None
    problem: str | None = None


@dataclass(slots=True)
class ObjectList:
    """An object in a text, and the records in it.

    members: the other members, without large ones; of other arrays only the first element is in `beginnings`
    found: there is a list
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
    """What a format's documents are: the members that may have the records, and a check of what was read of one.

    bare: the list may also be the whole document
    """

    list_names: tuple[str, ...]
    is_known: Callable[[ObjectList], bool]
    bare: bool = False

    def recognizes(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is such a document, or an array or sequence of them."""
        text = head.decode("utf-8", "surrogateescape")
        start = skip_blanks(text, 0)
        starts = [start, skip_blanks(text, start + 1)] if text.startswith("[", start) else [start]
        return any(self.read(text, at) is not None for at in starts)

    def read(self, text: str, start: int = 0) -> ObjectList | None:
        """Read the document that begins at `start`; None if it is not of this shape."""
        is_object = text.startswith("{", start)
        if not is_object and not (self.bare and text.startswith("[", start)):
            return None
        found = ObjectList(text=text)
        try:
            if is_object:
                _read_members(text, start + 1, self.list_names, found)
            else:
                _read_list(text, start, found)
            found.complete = True
        except (ValueError, RecursionError, IndexError):
            pass
        return found if self.is_known(found) else None


ReadSession = Callable[[ObjectList], tuple[Session, Iterator[Event]]]


def walk_sessions(source: Source, shape: Shape, name: str, read_session: ReadSession) -> Iterator[Event]:
    """Yield the events of each document of a source as `read_session` gives them; the last one is an Ending.

    A session with the id of an earlier one of the source gets a number behind it.
    """
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
            names[session.native_id] = count = names.get(session.native_id, 0) + 1
            yield session if count == 1 else replace(session, native_id=f"{session.native_id}#{count}")
            yield from waiting
            waiting = []
            for event in events:
                if isinstance(event, Ending):
                    ending = event
                else:
                    yield event
    if ending is None:
        yield Session(format=name, native_id=digest_beginning(source))
    if ending is None and not waiting and source.size:
        yield Unparsed(spans=(ByteRange(0, source.size),), reason="only whitespace")
    yield from waiting
    yield ending or Ending(active=None)


def digest_beginning(source: Source) -> str:
    """Return the id of a source without any conversation: a hash of its beginning."""
    with source.open() as stream:
        return sha256(stream.read(min(_NAMING_BYTES, source.size))).hexdigest()


def rest_event(found: ObjectList) -> Iterator[Event]:
    """Yield the bytes that belong to no record; those after an error are unparsed."""
    known = found.rest if found.complete else found.rest[:1] if found.records else ()
    if known:
        yield SessionRecord(key="conversation", spans=known)
    if lost := found.rest[len(known) :]:
        yield Unparsed(spans=lost, reason="truncated or damaged")


def read_in_order(found: ObjectList, reader: RecordReader) -> tuple[Session, Iterator[Event]]:
    """Return the Session of a document and its events, with a reader of its records."""

    def walk() -> Iterator[Event]:
        yield from rest_event(found)
        for record in found.records:
            yield from reader.read(record)
        yield from reader.finish()

    return reader.session, walk()


def split_record(found: ObjectList, record: Record, name: str) -> tuple[ByteRange, ByteRange]:
    """Divide the bytes of a record that has a member of this name into those before the member, and the others."""
    element = found.elements[record.number]
    position, at = skip_blanks(found.text, element.start + 1), element.start
    while found.text[position] != "}":
        begin = position
        key, position = decode_first(found.text, position)
        if key == name:
            at = begin
            break
        value = skip_blanks(found.text, skip_blanks(found.text, position) + 1)
        position = _skip_comma(found.text, find_value_end(found.text, value), "}")
    length = source_length(found.text[element.start : at])
    begin, end = record.span.offset, record.span.offset + record.span.length
    return ByteRange(begin, length), ByteRange(begin + length, end - begin - length)


def _read_members(text: str, position: int, list_names: tuple[str, ...], found: ObjectList) -> None:
    position = skip_blanks(text, position)
    while text[position] != "}":
        key, position = _read_key(text, position)
        if key in list_names and text[position] in "[{" and not found.found:
            position = _read_list(text, position, found)
        else:
            position = _read_member(text, position, key, found)
        position = _skip_comma(text, position, "}")


def _read_key(text: str, position: int) -> tuple[str, int]:
    """Return the key of a member and where its value begins."""
    key, position = decode_first(text, position)
    position = skip_blanks(text, position)
    if not isinstance(key, str) or text[position] != ":":
        raise ValueError(position)
    return key, skip_blanks(text, position + 1)


def _read_member(text: str, position: int, key: str, found: ObjectList) -> int:
    """Read a member beside the list; return where it ends. The beginning of an array is known also if it is cut off."""
    if text[position] == "[":
        first = skip_blanks(text, position + 1)
        if text[first] != "]":
            found.beginnings.setdefault(key, _read_element(text, first).value)
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
            _, position = _read_key(text, position)
        element = _read_element(text, position)
        found.elements.append(element._replace(start=start))
        position = _skip_comma(text, element.end, closing)
    return position + 1


def _read_element(text: str, start: int) -> Element:
    """Read one element; an element that is well-formed but cannot be decoded gets a problem."""
    try:
        value, end = decode_first(text, start)
        if not text.isascii():
            text[start:end].encode()
    except UnicodeError as error:
        return Element(start, end, None, describe_error(error))
    except (ValueError, RecursionError) as error:
        return Element(start, find_value_end(text, start), None, describe_error(error))
    return Element(start, end, value)


def _skip_comma(text: str, position: int, closing: str) -> int:
    """Return where the next element begins, or the closing bracket.

    Raises:
        ValueError: something else is there.
    """
    position = skip_blanks(text, position)
    if text[position] == ",":
        return skip_blanks(text, position + 1)
    if text[position] != closing:
        raise ValueError(position)
    return position


def _place(document: JsonDocument, found: ObjectList) -> None:
    """Give each element its bytes, up to the next one; the last one ends where it ends."""
    offsets, offset, reached = [], document.start, 0
    for element in found.elements:
        for place in element[:2]:
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
