"""Copies of purged texts in transcripts: they are recognized by their lines, and their records are overwritten."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

from scopes.history.sources import NOTHING, Purged, purged_of, read_purged, read_spans, write_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import MessageId
from scopes.importers.identity import Content, shorter_ids
from scopes.lazy_patterns import compile_lazily
from scopes.model.message import Part
from scopes.store.objects import Objects
from scopes.store.refs import PURGED
from scopes.store.repository import Repository


class Span(NamedTuple):
    """Where a record begins in a source, and how long it is, in bytes."""

    offset: int
    length: int


class RecordSpan(NamedTuple):
    """Where a record is, and the message that it became, if any."""

    span: Span
    message: str | None


_MARK: Final = b'{"purged":true}'
_LINE_END: Final = b"\n"


def blank_records(chunks: Iterable[bytes], spans: Iterable[Span]) -> Iterator[bytes]:
    """Yield the chunks of a source with the records in ascending spans overwritten; sizes stay as they are.

    A record becomes a JSON object of the same length that says that it was purged, or blanks if it is too short.
    """
    waiting = [span for span in spans if span.length]
    start = 0
    for chunk in chunks:
        end, data = start + len(chunk), bytearray(chunk)
        for span in waiting:
            if span.offset >= end:
                break
            if span.offset + span.length > start:
                _overwrite(data, span, start)
        waiting = [span for span in waiting if span.offset + span.length > end]
        yield bytes(data)
        start = end


def _overwrite(data: bytearray, span: Span, start: int) -> None:
    first, last = max(span.offset - start, 0), min(span.offset + span.length - start, len(data))
    ends_line = last == span.offset + span.length - start and bytes(data[last - 1 : last]) == _LINE_END
    text = _MARK if first == span.offset - start and last - first > len(_MARK) else b""
    data[first:last] = text.ljust(last - first)
    if ends_line:
        data[last - 1 : last] = _LINE_END


def list_purged_spans(
    records: Iterable[RecordSpan],
    purged: Purged,
    quotes: Quotes,
    read: Callable[[], Iterable[bytes]],
    read_message: Callable[[str], Iterable[bytes]],
) -> list[Span]:
    """Return the spans of purged messages and records, and of other records that quote one, ascending.

    A record of a message that stays goes only if it quotes what the message does not.

    read: returns the bytes of the whole source, in chunks
    read_message: returns what is stored of a message that stays, in all its forms
    """
    owners: dict[Span, list[str]] = {}
    for span, message in records:
        owners.setdefault(span, []).extend(() if message is None else [message])
    spans = [span for span, found in owners.items() if any(map(purged.has_message, found))]
    others = sorted({*owners}.difference(spans, (span for span in owners if not span.length)))
    is_read = quotes or purged.conversations
    pieces = read_spans(read(), [(span.offset, span.length) for span in others]) if is_read else ()
    for span, data in zip(others, pieces, strict=False):
        is_quoting = quotes.are_in_record(data)
        if not owners[span]:  # it may be several records
            lines = _split_records(span, data)
            found = [each for each, line in lines if purged.has_record(line) or quotes.are_in_record(line)]
            spans += found or [span] * is_quoting
        elif is_quoting:
            kept = b"\0".join(each for message in owners[span] for each in read_message(message))
            if any(not any(form in kept for form in forms_of(line)) for line in quotes.walk_found(data)):
                spans.append(span)
    return sorted(spans)


def _split_records(span: Span, data: bytes) -> list[tuple[Span, bytes]]:
    """Return the lines of a span with where they are; the whole span if it is one JSON document."""
    if parse_json(data) is not None:
        return [(span, data)]
    lines = data.splitlines(keepends=True)
    ends = accumulate(map(len, lines))
    return [(Span(span.offset + end - len(line), len(line)), line) for line, end in zip(lines, ends, strict=True)]


DISTINCT: Final = 16  # characters of a line that no other text has by chance
MAX_SEARCHED: Final = 20_000  # of the lines, the longest: a search for more needs much memory
_LONGEST: Final = 4096
_NO_TEXTS: Final = frozenset({"call_id", "name", "media_type", "op"})  # of parts: words of the format
_SESSION = compile_lazily(
    rb'"(?:cwd|gitBranch|git_branch)": ?"(?:[^"\\]|\\.)*"|"repository_url": ?"(?:[a-z+]+://)?(?:git@)?[^"\\\s@?]*"'
)  # an address with a password is a text
_PATH = compile_lazily(
    r"(?:(?:ref: ?)?refs/|/|~/|(?:\.\.?/)+)\.?[A-Za-z][a-z_-]*\d{0,2}"  # no key begins with an ordinary word
    r"(?:/(?!(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*[0-9])[^/]{16,})[\w.-]{1,63})*/?"  # nor is a key the name of a file
)
_ESCAPE = compile_lazily(r"\\u[0-9a-f]{4}")


class Quotes:
    """Lines of purged texts, by which copies are recognized: those of 16 characters and more, each by itself.

    Attributes:
        texts: All lines, also shorter ones.
    """

    def __init__(self) -> None:
        self.texts: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self.texts)

    def add_parts(self, parts: Iterable[Part], numbers: Container[int] | None) -> None:
        """Add the texts of parts; with numbers only of those."""
        for number, part in enumerate(parts):
            if numbers is None or number in numbers:
                self.add([value for name, value in part.fields.items() if name not in _NO_TEXTS])

    def add(self, value: object) -> None:
        """Add all texts in a value; paths of files are no texts."""
        self._forget_computed()
        for _, text in walk_named_texts(value):
            for line in map(str.strip, text.split("\n")):
                if line and not is_path(line):
                    self.texts[line[:_LONGEST]] = None

    def drop(self, found: Container[str]) -> None:
        """Leave some lines out: they are names of other things."""
        self._forget_computed()
        self.texts = {line: None for line in self.texts if line not in found}

    def _forget_computed(self) -> None:
        for name in ("_searched", "_forms", "_search"):
            self.__dict__.pop(name, None)

    def lines(self) -> Sequence[str]:
        """Return the lines that are searched for, the longest first; of very many only the longest."""
        return self._searched[:MAX_SEARCHED]

    @property
    def unsearched(self) -> int:
        """How many lines are not searched for, because there are so many."""
        return max(len(self._searched) - MAX_SEARCHED, 0)

    def are_in(self, text: str) -> bool:
        """Return True if a text has one of the lines in it."""
        return self.are_in_bytes(text.encode("utf-8", "surrogatepass"))

    def are_in_bytes(self, data: bytes) -> bool:
        """Return True if bytes have one of the lines in them, as text or as JSON writes it."""
        return next(self._search.walk(data), None) is not None

    def are_in_record(self, data: bytes) -> bool:
        """Return True if a record of a transcript has a line, not counting where the session ran."""
        return self.are_in_bytes(data) and self.are_in_bytes(without_session(data))

    def walk_found(self, data: bytes) -> Iterator[str]:
        """Yield the lines that a record has, some of them again, not counting where the session ran."""
        return (self._forms[form] for form in self._search.walk(without_session(data)))

    @cached_property
    def _searched(self) -> list[str]:
        lines = [line for line in self.texts if len(line) >= DISTINCT]
        return sorted(lines, key=lambda line: (-len(line), line))

    @cached_property
    def _forms(self) -> Mapping[bytes, str]:
        return {form: line for line in self.lines() for form in forms_of(line)}

    @cached_property
    def _search(self) -> ByteSearch:
        return ByteSearch(self._forms)


_PIECE: Final = 8  # bytes
_SHORTEST: Final = 2 * _PIECE - 1


class ByteSearch:
    """Looks for many byte strings at once, each of at least 15 bytes."""

    def __init__(self, wanted: Iterable[bytes]) -> None:
        self._wanted = {each for each in wanted if len(each) >= _SHORTEST}

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def walk(self, data: bytes) -> Iterator[bytes]:
        """Yield those that data have, some of them again."""
        if not self._wanted or len(data) < _SHORTEST:
            return
        pieces = memoryview(data)[: len(data) // _PIECE * _PIECE].cast("Q")
        if self._pieces.isdisjoint(pieces):
            return
        end = 0
        for number, piece in enumerate(pieces):
            if piece in self._pieces:
                place = number * _PIECE
                for start in range(max(place - _PIECE + 1, end), place + 1):
                    for length in self._lengths.get(data[start : start + _PIECE], ()):
                        found = data[start : start + length]
                        if found in self._wanted:
                            yield found
                end = place + 1

    @cached_property
    def _pieces(self) -> set[int]:
        """The numbers of all pieces that begin in the first eight bytes of one of them."""
        found: set[int] = set()
        for shift in range(_PIECE):
            joined = b"".join(each[shift : shift + _PIECE] for each in self._wanted)
            found.update(memoryview(joined).cast("Q"))
        return found

    @cached_property
    def _lengths(self) -> dict[bytes, set[int]]:
        """How long those are that begin with eight bytes."""
        found: dict[bytes, set[int]] = {}
        for each in self._wanted:
            found.setdefault(each[:_PIECE], set()).add(len(each))
        return found


def is_path(text: str) -> bool:
    """Return True for a text that looks like the path of a file or directory, and not like a key."""
    return text.count("/") > 1 and _PATH.fullmatch(text) is not None


def without_session(data: bytes) -> bytes:
    """Return stored messages or records of a transcript without the directory and branch of the session."""
    return _SESSION.sub(b"", data)


def parse_json(data: bytes | str) -> object:
    """Return a JSON document; None if the bytes are none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def forms_of(line: str) -> Iterator[bytes]:
    r"""Yield a line as UTF-8, and as JSON may write it if that differs: with `\t`, `\uXXXX`, `\/`."""
    plain = json.dumps(line, ensure_ascii=False)[1:-1]
    escaped = json.dumps(line)[1:-1]
    upper = _ESCAPE.sub(lambda match: match[0].upper().replace("U", "u", 1), escaped)
    forms = [plain.encode("utf-8", "backslashreplace"), escaped.encode(), upper.encode()]
    slashed = [form.replace(b"/", b"\\/") for form in forms]
    yield from dict.fromkeys((line.encode("utf-8", "surrogatepass"), *forms, *slashed))


def walk_texts(value: object) -> Iterator[str]:
    """Yield every text in a JSON value."""
    return (text for _, text in walk_named_texts(value))


def walk_named_texts(value: object) -> Iterator[tuple[str, str]]:
    """Yield every text in a JSON value with the name of the field that it, or the list with it, is in."""
    waiting = [("", value)]
    while waiting:
        name, found = waiting.pop()
        if isinstance(found, str):
            yield name, found
        elif isinstance(found, Mapping):
            waiting += found.items()
        elif isinstance(found, list | tuple):
            waiting += [(name, each) for each in found]


def find_longer_form(purged: Purged, message: Content, parent: MessageId | None, identity: MessageId) -> Purged:
    """Return the entry for a message of which a shorter form was purged, with the same parts; else nothing.

    A message may be purged before its session has written all of it. The longer form has another id; its first parts
    are the shorter one.
    """
    if not purged.messages or len(message.parts) < 2 or purged.has_message(identity):
        return NOTHING
    shorter = next(filter(purged.has_message, shorter_ids(message, parent)), None)
    return NOTHING if shorter is None else purged_of({identity: purged.parts_of(shorter)}, ())


def add_to_list(repository: Repository, objects: Objects, grown: Purged, tx: RefTransaction) -> None:
    """Add longer forms that were found to the list of the store: they are not fetched either."""
    known = read_purged(repository)
    if grown.without(known):
        listed = write_purged(objects, known.join(grown), repository.caller.sign)
        tx.move_ref(PURGED, repository.find_ref(PURGED), listed)
