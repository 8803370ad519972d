"""What was purged, so that nothing brings it back: a ref with a file for each message and conversation, by hashes.

    refs/scopes/purged                  messages/<2 hex>/<hash of the id>=     a message, or the numbers of its parts
                                        conversations/<2 hex>/<hash>=          by the id of the root commit, and by
                                                                               what its sessions are known by;
                                                                               a record that became no message, too
    refs/scopes/local/purge-offers/<remote>/<machine>   the list of another machine: nothing is removed by it
    refs/scopes/local/purged-elsewhere                  what such lists had, and have no more
    refs/scopes/local/purge-declined                    what of it the user wants to keep

The ids are hashed, so that the list tells nobody what there was. Two lists are joined by their union. The commit is a
function of the list, so machines with the same list have the same commit, unless the git of a user signs.
Copies of what is purged are recognized by its lines of 16 characters and more (`Quotes`).
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.messages import TO_TRAILER
from scopes.history.names import conversation_ids, find_root_commit
from scopes.history.sources import read_spans
from scopes.ids import ConversationId, MessageId, Oid
from scopes.lazy_patterns import compile_lazily
from scopes.model import encoding
from scopes.model.message import Message, Part
from scopes.store import refs
from scopes.store.objects import (
    BLOB,
    COMMIT,
    EMPTY_TREE,
    TREE,
    BlobChange,
    Identity,
    Objects,
    TreeEntry,
    find_blob,
    format_commit,
    format_tree,
    one_line,
    read_blob,
    read_commit,
    read_tree,
    update_tree,
    walk_blobs,
)
from scopes.store.refs import REDACTED
from scopes.store.repository import Repository

MESSAGES: Final = "messages/"
CONVERSATIONS: Final = "conversations/"
MAX_ENTRY_BYTES: Final = 1 << 16
_MAX_PART: Final = 1_000_000
_SUBJECT: Final = "what was purged"
_PATH = compile_lazily(r"(messages|conversations)/([0-9a-f]{2})/([0-9a-f]{62})=")

Parts: TypeAlias = frozenset[int] | None
"""The numbers of the parts of a message that were purged; None: all of it."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What was purged: messages with their parts, and conversations, by the hashes of their ids."""

    messages: Mapping[str, Parts] = field(default_factory=dict)
    conversations: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.messages or self.conversations)

    def has_message(self, message: str) -> bool:
        """Return True if a message was purged, or parts of it were."""
        return bool(self.messages) and hash_of(message) in self.messages

    def parts_of(self, message: str) -> Parts:
        """Return the parts of a message that were purged; call it only if there are any."""
        return self.messages[hash_of(message)]

    def has_conversation(self, root: str) -> bool:
        """Return True if the conversation with a root commit was purged, or that of a session with this name."""
        return bool(self.conversations) and hash_of(root) in self.conversations

    def has_record(self, record: bytes) -> bool:
        """Return True if a record of a transcript was purged that became no message."""
        return bool(self.conversations) and hash_of(name_of_record(record)) in self.conversations

    def join(self, other: Purged) -> Purged:
        """Return everything that is in one of two lists."""
        messages = dict(self.messages)
        for name, parts in other.messages.items():
            messages[name] = _join_parts(messages[name], parts) if name in messages else parts
        return Purged(messages, self.conversations | other.conversations)

    def without(self, other: Purged) -> Purged:
        """Return what another list lacks."""
        messages = {
            name: parts
            for name, parts in self.messages.items()
            if name not in other.messages or _join_parts(other.messages[name], parts) != other.messages[name]
        }
        return Purged(messages, self.conversations - other.conversations)


NOTHING: Final = Purged()
RECORD: Final = "record "


def name_of_live_session(native_id: str) -> str:
    """Return what a session is listed by that was recorded live in a purged conversation."""
    return f"session {native_id}"


def name_of_answer(proof: bytes) -> str:
    """Return what a session is listed by that begins like a purged conversation, see `history/answer_proofs`."""
    return f"answer {proof.hex()}"


def name_of_record(record: bytes) -> str:
    """Return what a record of a transcript is listed by that became no message, from its bytes."""
    return f"{RECORD}{sha256(record.strip()).hexdigest()}"


def is_whole(purged: Purged) -> Callable[[str], bool]:
    """Return a predicate: was all of a message purged? An amendment of a partly purged message may stay."""
    whole = {name for name, parts in purged.messages.items() if parts is None}
    return lambda message: hash_of(message) in whole


def hash_of(name: str) -> str:
    """Return the hash under which a message or a root commit is listed."""
    return sha256(f"purged {name}".encode()).hexdigest()


def purged_of(messages: Mapping[str, Parts], roots: Iterable[str]) -> Purged:
    """Return the list of some messages and conversations."""
    return Purged({hash_of(name): parts for name, parts in messages.items()}, frozenset(map(hash_of, roots)))


def read_purged(repository: Repository, ref: str = refs.PURGED) -> Purged:
    """Return a list of the store; an entry that cannot be read is left out."""
    value = repository.find_ref(ref)
    return NOTHING if value is None else read_purged_tree(repository, read_commit(repository, Oid(value)).tree)


def read_purged_tree(objects: Objects, tree: Oid) -> Purged:
    """Return the list in a tree; what is no entry is left out."""
    messages: dict[str, Parts] = {}
    conversations: set[str] = set()
    decoded: dict[Oid, tuple[Parts, ...]] = {}  # nearly all entries are one and the same blob
    for path, oid in walk_blobs(objects, tree):
        match = _PATH.fullmatch(path)
        if match is None:
            continue
        if match[1] == "conversations":
            conversations.add(match[2] + match[3])
            continue
        if oid not in decoded:
            decoded[oid] = tuple(_walk_decoded(objects, oid))
        for parts in decoded[oid]:
            messages[match[2] + match[3]] = parts
    return Purged(messages, frozenset(conversations))


def _walk_decoded(objects: Objects, blob: Oid) -> Iterator[Parts]:
    """Yield what an entry says; nothing if it is damaged."""
    with suppress(Corrupt):
        yield decode_parts(read_blob(objects, blob))


def is_entry(path: str) -> bool:
    """Return True if a path is that of an entry."""
    return _PATH.fullmatch(path) is not None


def decode_parts(data: bytes) -> Parts:
    """Decode an entry of a message.

    Raises:
        Corrupt: it is damaged.
    """
    match encoding.load_distinct(data) if len(data) <= MAX_ENTRY_BYTES else None:
        case {"v": 1, "parts": list(numbers)} if numbers and all(_is_number(each) for each in numbers):
            return frozenset(numbers)
        case {"v": 1, **rest} if "parts" not in rest:
            return None
    raise Corrupt("an entry of the list of what was purged is damaged", hint="see: scopes verify")


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_PART


def write_purged(objects: Objects, purged: Purged, sign: Callable[[bytes], bytes] = bytes) -> Oid:
    """Write a list as a commit, which is the same on every machine, but for what `sign` adds."""
    files: dict[str, BlobChange] = {_path_of(MESSAGES, name): _encode(parts) for name, parts in purged.messages.items()}
    files |= {_path_of(CONVERSATIONS, name): _encode(None) for name in purged.conversations}
    return objects.write(COMMIT, sign(format_list_commit(update_tree(objects, None, files))))


def format_list_commit(tree: Oid) -> bytes:
    """Format the commit of a list."""
    author = Identity("scopes", "scopes@systems.scopes")
    return format_commit(tree=tree, parents=(), author=author, time=0, subject=_SUBJECT)


def _encode(parts: Parts) -> bytes:
    if parts is None:
        return encoding.dump({"v": 1})
    numbers: list[Any] = sorted(parts)
    return encoding.dump({"v": 1, "parts": numbers})


def _path_of(folder: str, name: str) -> str:
    return f"{folder}{name[:2]}/{name[2:]}="


def join_all(lists: Iterable[Purged]) -> Purged:
    """Return everything that is in one of some lists."""
    joined = NOTHING
    for each in lists:
        joined = joined.join(each) if joined else each
    return joined


def _join_parts(one: Parts, other: Parts) -> Parts:
    return None if one is None or other is None else one | other


_MARK: Final = b'{"purged":true}'
_LINE_END: Final = b"\n"


class Span(NamedTuple):
    """Where a record begins in a source, and how long it is, in bytes."""

    offset: int
    length: int


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


_FEW: Final = 24  # which are found sooner one by one
_PIECE: Final = 8  # bytes
_SHORTEST: Final = 2 * _PIECE - 1


class Needles:
    """Byte strings to look for."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        known = dict.fromkeys(filter(None, needles))
        is_few = len(known) <= _FEW
        self._single = [needle for needle in known if is_few or len(needle) < _SHORTEST]
        self._many = set() if is_few else {needle for needle in known if len(needle) >= _SHORTEST}

    def __bool__(self) -> bool:
        return bool(self._single or self._many)

    def are_in(self, data: bytes) -> bool:
        """Return True if data have one of them."""
        return next(self.walk(data), None) is not None

    def walk(self, data: bytes) -> Iterator[bytes]:
        """Yield those that data have, some of them again."""
        yield from (needle for needle in self._single if needle in data)
        if not self._many or len(data) < _SHORTEST:
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
                        if found in self._many:
                            yield found
                end = place + 1

    @cached_property
    def _pieces(self) -> set[int]:
        """The numbers of all pieces that begin in the first eight bytes of one of them."""
        found: set[int] = set()
        for shift in range(_PIECE):
            joined = b"".join(needle[shift : shift + _PIECE] for needle in self._many)
            found.update(memoryview(joined).cast("Q"))
        return found

    @cached_property
    def _lengths(self) -> dict[bytes, tuple[int, ...]]:
        """How long those are that begin with eight bytes."""
        found: dict[bytes, set[int]] = {}
        for needle in self._many:
            found.setdefault(needle[:_PIECE], set()).add(len(needle))
        return {begin: tuple(lengths) for begin, lengths in found.items()}


DISTINCT: Final = 16  # characters of a line that no other text has by chance
MAX_SEARCHED: Final = 20_000  # of the lines, the longest: a search for more needs much memory
_NO_TEXTS: Final = frozenset({"call_id", "name", "media_type", "op"})  # of parts: words of the format
# Fields of documents with names, which others give to other things, too.
_NAMES: Final = frozenset(
    {"actor", "agent", "author", "branch", "capabilities", "conversation", "dependencies", "directory", "entity_id",
     "from", "id", "key", "keys", "kind", "name", "native_id", "parent", "path", "purpose", "source", "subject", "tags",
     "target", "topic", "topics", "uuid"}
)  # fmt: skip
_SESSION: Final = re.compile(
    rb'"(?:cwd|gitBranch|git_branch)": ?"(?:[^"\\]|\\.)*"|"repository_url": ?"(?:[a-z+]+://)?(?:git@)?[^"\\\s@?]*"'
)  # an address with a password is a text
_START: Final = re.compile(r"(?:ref: ?)?refs/|/|~/|(?:\.\.?/)+")  # of a path, or of the name of a ref
_FIRST: Final = re.compile(r"\.?[A-Za-z][a-z_-]*\d{0,2}")  # no key begins with an ordinary word
_NAME: Final = re.compile(r"[\w.-]{1,63}")
_KEY: Final = re.compile(r"(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*[0-9])[^/]{16,}")  # no name of a directory or file
_ESCAPE: Final = re.compile(r"\\u[0-9a-f]{4}")


class Quotes:
    """Collects texts; each line counts by itself."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add_message(self, message: Message, numbers: Container[int] | None) -> None:
        """Add the texts of a message; with the numbers of parts only theirs."""
        self.add_parts(message.parts, numbers)
        if numbers is None:
            self.add([text for name, text in _walk_named(message.payload) if name not in _NAMES])
            self.add(message.task)

    def add_parts(self, parts: Iterable[Part], numbers: Container[int] | None) -> None:
        """Add the texts of parts; with numbers only of those."""
        for number, part in enumerate(parts):
            if numbers is None or number in numbers:
                self.add([value for name, value in part.fields.items() if name not in _NO_TEXTS])

    def add(self, value: object) -> None:
        """Add all texts in a value."""
        self._forget_computed()
        for text in walk_texts(value):
            for line in map(str.strip, text.split("\n")):
                if line and not is_path(line):
                    self._lines[line[:_LONGEST]] = None

    def add_others(self, found: Quotes, kept: Quotes) -> None:
        """Add the lines that were found and are not among those that are kept."""
        self.add([line for line in found._lines if line not in kept._lines])

    def walk_matching(self, pattern: re.Pattern[str]) -> Iterator[str]:
        """Yield the lines that a pattern matches as a whole."""
        return filter(pattern.fullmatch, self._lines)

    def drop(self, found: Container[str]) -> None:
        """Leave some lines out: they are names of other things."""
        self._forget_computed()
        self._lines = {line: None for line in self._lines if line not in found}

    def _forget_computed(self) -> None:
        for name in ("_searched", "_forms", "_needles"):
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
        return self._needles.are_in(data)

    def are_in_title(self, title: str) -> bool:
        """Return True if a title of the same conversation is one of the texts, begins like a line, or has one in it."""
        start = one_line(title).rstrip("…. ")
        begins = len(start) >= DISTINCT and any(line.startswith(start) for line in self._searched)
        return start in self._lines or begins or self.are_in(title)

    def are_in_record(self, data: bytes) -> bool:
        """Return True if a record of a transcript has a line, not counting where the session ran."""
        return self.are_in_bytes(data) and self.are_in_bytes(without_session(data))

    def are_in_document(self, data: bytes) -> bool:
        """Return True for a document of which a text has a line; names do not count. Other files count as one text."""
        if not self.are_in_bytes(data):
            return False
        document = _parse(data)
        return document is None or any(self._is_copy(name, text) for name, text in _walk_named(document))

    def _is_copy(self, name: str, text: str) -> bool:
        return name not in _NAMES and not is_path(text) and self.are_in(text)

    def without_copies(self, document: object, instead: str, name: str = "") -> Any:
        """Return a document with another text in place of each that makes `are_in_document` True.

        name: of the field that the document is the value of
        """
        match document:
            case str(text):
                return instead if self._is_copy(name, text) else text
            case dict():
                return {key: self.without_copies(value, instead, key) for key, value in document.items()}
            case list():
                return [self.without_copies(each, instead, name) for each in document]
        return document

    def walk_found(self, data: bytes) -> Iterator[str]:
        """Yield the lines that bytes have in them, some of them again."""
        return (self._forms[form] for form in self._needles.walk(data))

    @cached_property
    def _searched(self) -> list[str]:
        lines = [line for line in self._lines if len(line) >= DISTINCT]
        return sorted(lines, key=lambda line: (-len(line), line))

    @cached_property
    def _forms(self) -> Mapping[bytes, str]:
        return {form: line for line in self.lines() for form in forms_of(line)}

    @cached_property
    def _needles(self) -> Needles:
        return Needles(self._forms)


_LONGEST: Final = 4096


def is_path(text: str) -> bool:
    """Return True for a text that looks like the path of a file or directory, and not like a key."""
    start = _START.match(text)
    if start is None or text.count("/") < 2:
        return False
    first, *names = text[start.end() :].removesuffix("/").split("/")
    return _FIRST.fullmatch(first) is not None and all(_NAME.fullmatch(n) and not _KEY.fullmatch(n) for n in names)


def without_session(data: bytes) -> bytes:
    """Return stored messages or records of a transcript without the directory and branch of the session."""
    return _SESSION.sub(b"", data)


def _parse(data: bytes | str) -> object:
    """Return a JSON document; None if the bytes are none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def is_json(data: bytes) -> bool:
    """Return True if bytes are one JSON document."""
    return _parse(data) is not None


def forms_of(line: str) -> Iterator[bytes]:
    r"""Yield a line as UTF-8, and as JSON may write it if that differs: with `\t`, `\uXXXX`, `\/`."""
    plain = json.dumps(line, ensure_ascii=False)[1:-1]
    escaped = json.dumps(line)[1:-1]
    upper = _ESCAPE.sub(lambda match: match[0].upper().replace("U", "u", 1), escaped)
    forms = [plain.encode("utf-8", "backslashreplace"), escaped.encode(), upper.encode()]
    slashed = [form.replace(b"/", b"\\/") for form in forms]
    yield from dict.fromkeys((line.encode("utf-8", "surrogatepass"), *forms, *slashed))


def is_in_file(text: str, data: bytes) -> bool:
    """Return True if a stored file has a text, as such or as JSON writes it."""
    return any(form in data for form in forms_of(text))


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


def _walk_named(document: object) -> Iterator[tuple[str, str]]:
    """Yield the texts of a document with their names, and those of documents that are texts in it."""
    for name, text in walk_named_texts(document):
        yield name, text
        if text.startswith(("{", "[")):
            yield from walk_named_texts(_parse(text))


class RecordSpan(NamedTuple):
    """Where a record is, and the message that it became, if any."""

    span: Span
    message: str | None


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
        if not owners[span]:
            listed = [record for record, line in _split_records(span, data) if purged.has_record(line)]
            spans += listed or _walk_quoting(span, data, quotes)
        elif quotes.are_in_record(data):
            kept = b"\0".join(each for message in owners[span] for each in read_message(message))
            if not all(is_in_file(line, kept) for line in quotes.walk_found(without_session(data))):
                spans.append(span)
    return sorted(spans)


def _walk_quoting(span: Span, data: bytes, quotes: Quotes) -> Iterator[Span]:
    """Yield a span that quotes, or those of its lines that do: what became no message may be several records."""
    records = _split_records(span, data)
    found = [record for record, line in records if quotes.are_in_record(line)] if len(records) > 1 else []
    if found:
        yield from found
    elif quotes.are_in_record(data):
        yield span


def _split_records(span: Span, data: bytes) -> list[tuple[Span, bytes]]:
    """Return the lines of a span with where they are; the whole span if it is one JSON document."""
    if is_json(data):
        return [(span, data)]
    lines = data.splitlines(keepends=True)
    ends = itertools.accumulate(map(len, lines))
    return [(Span(span.offset + end - len(line), len(line)), line) for line, end in zip(lines, ends, strict=True)]


_REPLACED = (b"tree ", b"parent ")
_PERSON = compile_lazily(rb"^(author|committer) .*>(?= [0-9]+ [+-][0-9]{4}$)", re.MULTILINE)
_RECIPIENTS = f"{TO_TRAILER}: ".encode()
_SIGNATURES = (b"gpgsig", b"mergetag")


def edit_commit(
    data: bytes, tree: Oid, parents: Iterable[Oid], *, subject: str | None = None, kind: str | None = None
) -> bytes:
    """Return the bytes of a commit with another tree and parents, and another subject and kind if they are given."""
    head, gap, body = data.partition(b"\n\n")
    above = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
    if subject is not None:
        body = one_line(subject).encode() + body[len(body.partition(b"\n")[0]) :]
    if kind is not None:
        lines = body.split(b"\n")
        body = b"\n".join(b"Scopes-Kind: " + kind.encode() if _is_kind(line) else line for line in lines)
    return b"\n".join([*above, *_walk_kept(head.split(b"\n"))]) + gap + body


def edit_people(data: bytes, other: bytes) -> bytes:
    """Return the bytes of a commit with the author, the committer and the recipients of another one; times stay."""
    head, gap, body = data.partition(b"\n\n")
    people = {match[1]: match[0] for match in _PERSON.finditer(other)}
    head = _PERSON.sub(lambda match: people[match[1]], head)
    recipients = next((line for line in other.split(b"\n") if line.startswith(_RECIPIENTS)), b"")
    lines = (recipients if line.startswith(_RECIPIENTS) else line for line in body.split(b"\n"))
    return head + gap + b"\n".join(lines)


def _is_kind(line: bytes) -> bool:
    return line.startswith(b"Scopes-Kind: ")


def _walk_kept(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the header lines that stay; a line that begins with a blank belongs to the one before."""
    is_kept = True
    for line in lines:
        if not line.startswith(b" "):
            is_kept = not line.startswith((*_REPLACED, *_SIGNATURES))
        if is_kept:
            yield line


MAP_FILE: Final = "map.json"
_ANYWHERE: Final = re.compile(
    rb"(?P<before>)(?<![0-9a-z])(?:(?P<commit>[0-9a-f]{40})|(?P<message>[a-z2-7]{26}))(?P<after>)(?![0-9a-z])"
)
_QUOTED: Final = re.compile(rb'(?P<before>")(?:(?P<commit>[0-9a-f]{40})|(?P<message>[a-z2-7]{26}))(?P<after>")')
_SUFFIX: Final = "="


@dataclass(slots=True)
class IdMap:
    """New ids of commits and of messages; those that are not in it stay."""

    commits: dict[Oid, Oid] = field(default_factory=dict)
    messages: dict[MessageId, MessageId] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(old != new for old, new in self.commits.items()) or bool(self.messages)

    def commit(self, oid: Oid) -> Oid:
        """Return the new id of a commit."""
        return self.commits.get(oid, oid)

    def message(self, name: MessageId) -> MessageId:
        """Return the new id of a message."""
        return self.messages.get(name, name)

    def substitute(self, data: bytes, *, anywhere: bool = False) -> bytes:
        """Return a file with the new ids in place of the old ones: in JSON where an id is a whole text, or anywhere."""

        def new(match: re.Match[bytes]) -> bytes:
            commit, message = match["commit"], match["message"]
            found = self.commit(Oid(commit.decode())) if commit else self.message(MessageId(message.decode()))
            return match["before"] + found.encode() + match["after"]

        return (_ANYWHERE if anywhere else _QUOTED).sub(new, data)

    def substitute_tree(self, objects: Objects, tree: Oid, *, anywhere: bool = False) -> Oid:
        """Write a tree again with the new ids in its files and in the names of its entries."""
        entries = []
        for name, entry in read_tree(objects, tree).items():
            plain, end = name.removesuffix(_SUFFIX), name[len(name.removesuffix(_SUFFIX)) :]
            known = self.message(MessageId(plain)) if MessageId(plain) in self.messages else plain
            if entry.is_tree:
                oid = self.substitute_tree(objects, entry.oid, anywhere=anywhere)
            else:
                oid = self.substitute_blob(objects, entry.oid, anywhere=anywhere)
            entries.append(TreeEntry(f"{known}{end}", oid, is_tree=entry.is_tree))
        return objects.write(TREE, format_tree(entries)) if entries else EMPTY_TREE

    def substitute_blob(self, objects: Objects, blob: Oid, *, anywhere: bool = False) -> Oid:
        """Write a file again with the new ids."""
        data = read_blob(objects, blob)
        new = self.substitute(data, anywhere=anywhere)
        return blob if new == data else objects.write(BLOB, new)


def write_map(objects: Objects, root: Oid, ids: IdMap, *, subject: str, previous: Oid | None = None) -> Oid:
    """Write which commits and messages of the conversation with this root became which; return the commit."""
    commits: dict[str, Any] = {str(old): str(new) for old, new in ids.commits.items()}
    messages: dict[str, Any] = {str(old): str(new) for old, new in ids.messages.items()}
    data = encoding.dump({"v": 1, "root": root, "commits": commits, "messages": messages})
    tree = update_tree(objects, None, {MAP_FILE: data})
    author = Identity("scopes", "scopes@systems.scopes")
    parents = () if previous is None else (previous,)
    return objects.write(COMMIT, format_commit(tree=tree, parents=parents, author=author, time=0, subject=subject))


def read_map(objects: Objects, tree: Oid) -> Mapping[str, Any]:
    """Return the document of a map; empty if the tree has none."""
    found = encoding.load(find_blob(objects, tree, MAP_FILE) or b"{}")
    return found if isinstance(found, dict) else {}


class RedactedCopy(NamedTuple):
    """A redacted copy; `original` is None if that is not in the store any more."""

    copy: ConversationId
    original: ConversationId | None


def find_original(repository: Repository, conversation: ConversationId) -> RedactedCopy | None:
    """Return of what a conversation is a redacted copy; None if it is none that was made here."""
    return next((each for each in list_copies(repository) if each.copy == conversation), None)


def list_copies(repository: Repository) -> list[RedactedCopy]:
    """Return the redacted copies that were made here, in the order of their ids."""
    maps = {Oid(ref.removeprefix(REDACTED)): Oid(oid) for ref, oid in repository.list_refs(REDACTED).items()}
    if not maps:
        return []
    roots = {root: name for name, root in _walk_roots(repository)}
    originals = {root: _read_original(repository, found) for root, found in maps.items() if root in roots}
    rows = (RedactedCopy(roots[copy], None if root is None else roots.get(root)) for copy, root in originals.items())
    return sorted(rows)


def _walk_roots(repository: Repository) -> Iterator[tuple[ConversationId, Oid]]:
    for name in conversation_ids(repository):
        with suppress(Corrupt, NotFound):
            root = find_root_commit(repository, name)
            if root is not None:
                yield name, root


def _read_original(repository: Repository, commit: Oid) -> Oid | None:
    """Return the root of the original that a map names; None for a damaged map."""
    with suppress(Corrupt, NotFound, Invalid):
        root = read_map(repository, read_commit(repository, commit).tree).get("root")
        return Oid(root) if isinstance(root, str) else None
    return None
