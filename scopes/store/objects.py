"""Parse and format the bytes of git's trees and commits, and read loose objects.

Parsing the raw bytes is as fast as libgit2's own walk and needs no call per field. Formatting them lets the bulk writer
work without an object database. Tests compare the results with those of git.

Loose objects are read without libgit2: version 1.9.7 loops forever on a truncated one (libgit2 issue 7342), which a
power cut can leave, and writes beyond its buffer if the header gives too small a size (issue 7177).
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, starmap
from sys import intern
from typing import Any, NamedTuple, Protocol

from scopes.clock import random_bytes
from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.regular_file import UnusableFile, read_regular
from scopes.sanitize import SUBJECT_LENGTH
from scopes.store.libgit2 import pygit2, refusal

BLOB = "blob"
TREE = "tree"
COMMIT = "commit"
TAG = "tag"  # scopes writes none; a git command may
EMPTY_TREE = Oid("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

FILE_MODE = b"100644"
DIRECTORY_MODE = b"40000"
MAX_TIME_SECONDS = 2**32 - 1  # libgit2 stores commit times as unsigned 32-bit numbers
_AFTER_TREE = len("tree \n") + 40
_PARENT_LENGTH = len("parent \n") + 40
_RAW_OID_LENGTH = 20

_UNSAFE_IN_HEADER = re.compile(r"[\x00-\x1f\x7f<>\ud800-\udfff]+")
_TREE_LINE = re.compile(rb"([^ ]*) ([^\0]*)\0(.{20})", re.DOTALL)
_UNSAFE_IN_SUBJECT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SECONDS = re.compile(r"[0-9]{1,18}")
_TRAILERS = ("Scopes-Message", "Scopes-Kind", "Scopes-To")
_USUAL_COMMIT = re.compile(  # as `format_commit` writes the commit of a message; trailers in this order
    r"tree (?P<tree>[0-9a-f]{40})\n(?:parent (?P<first>[0-9a-f]{40})\n(?:parent (?P<second>[0-9a-f]{40})\n)?)?"
    r"(?P<who>author [^\n<>]*<[^\n<>]*)> (?P<seconds>[0-9]{1,18}) [^\n]*\ncommitter [^\n]*\n\n"
    r"(?P<subject>[^\n]*)\n\n"
    r"(?:Scopes-Message: (?P<message>[^\n]*)\n)?Scopes-Kind: (?P<kind>[^\n]*)\n(?:Scopes-To: (?P<to>[^\n]*)\n)?"
)
CODES = {COMMIT: 1, TREE: 2, BLOB: 3, TAG: 4}
MAX_OBJECT_BYTES = 256 << 20  # zlib expands up to a thousand times, so the size of the file limits nothing
_MAX_STORED_BYTES = MAX_OBJECT_BYTES + (1 << 20)
_MAX_HEADER_BYTES = 32
_HEADER = re.compile(rb"(?P<kind>commit|tree|blob|tag) (?P<size>0|[1-9][0-9]{0,11})")


class TreeEntry(NamedTuple):
    """One entry of a tree."""

    name: str
    oid: Oid
    is_tree: bool


class Identity(NamedTuple):
    """Name and mail address in the header of a commit."""

    name: str
    email: str


class Commit(NamedTuple):
    """A parsed commit; very many may be in memory.

    time: in whole seconds since 1970
    message_id, kind, to: its trailers, as `format_commit` writes those of a message
    other_trailers: all trailers, if there are others or they have another order
    """

    oid: Oid
    tree: Oid
    parents: tuple[Oid, ...]
    author: Identity
    time: int
    subject: str
    message_id: str | None = None
    kind: str | None = None
    to: str | None = None
    other_trailers: Mapping[str, str] | None = None

    @property
    def trailers(self) -> Mapping[str, str]:
        """All trailers, in their order."""
        if self.other_trailers is not None:
            return self.other_trailers
        usual = zip(_TRAILERS, (self.message_id, self.kind, self.to), strict=True)
        return {key: value for key, value in usual if value is not None}


def format_tree(entries: Iterable[TreeEntry]) -> bytes:
    """Format a tree in git's order: a directory sorts as if its name ended in `/`."""
    lines = [(entry.name.encode("utf-8", "surrogateescape"), entry) for entry in entries]
    lines.sort(key=lambda line: line[0] + b"/" if line[1].is_tree else line[0])
    return b"".join(
        [
            b"%s %s\0%s" % (DIRECTORY_MODE if entry.is_tree else FILE_MODE, name, bytes.fromhex(entry.oid))
            for name, entry in lines
        ]
    )


def parse_tree(data: bytes) -> dict[str, TreeEntry]:
    """Parse a tree: its entries by name, in stored order.

    Raises:
        Corrupt: the bytes are not a tree.
    """
    return {entry.name: entry for entry in (_entry(*line) for line in _read_lines(data))}


def compare_trees(old: bytes, new: bytes) -> dict[str, tuple[TreeEntry | None, TreeEntry | None]]:
    """Return the old and the new entry of every name that differs between two trees, sorted by name.

    Only differing entries are parsed: a message changes one of thousands in a directory.

    Raises:
        Corrupt: the bytes are not a tree.
    """
    old_lines, new_lines = _line_set(old), _line_set(new)
    entries = (starmap(_entry, lines) for lines in (old_lines - new_lines, new_lines - old_lines))
    before, after = ({entry.name: entry for entry in side} for side in entries)
    return {name: (before.get(name), after.get(name)) for name in sorted(before.keys() | after.keys())}


def find_in_tree(data: bytes, name: str) -> TreeEntry | None:
    """Return the entry of a tree with this name; None if there is none.

    Raises:
        Corrupt: the bytes are not a tree.
    """
    encoded = name.encode("utf-8", "surrogateescape")
    start = b"%s %s\0" % (FILE_MODE, encoded)
    if data.startswith(start) and len(data) >= len(start) + _RAW_OID_LENGTH:  # the first entry, as a message is
        return TreeEntry(name, Oid(data[len(start) : len(start) + _RAW_OID_LENGTH].hex()), is_tree=False)
    return next((_entry(*line) for line in _read_lines(data) if line[1] == encoded), None)


def list_modes(data: bytes) -> set[bytes]:
    """Return the modes of the entries of a tree: other programs write more than those of files and directories.

    Raises:
        Corrupt: the bytes are not a tree.
    """
    return {mode for mode, _, _ in _read_lines(data)}


def _read_lines(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Return mode, name and raw id of every entry."""
    lines: list[tuple[bytes, bytes, bytes]] = _TREE_LINE.findall(data)
    if sum(map(len, chain.from_iterable(lines))) + 2 * len(lines) != len(data):  # a space and a NUL for each entry
        raise Corrupt("a tree object is damaged", hint="see: scopes verify")
    return lines


@lru_cache(maxsize=8)
def _line_set(data: bytes) -> frozenset[tuple[bytes, bytes, bytes]]:
    """Return the entries as a set; cached, because the state after one message is the state before the next."""
    return frozenset(_read_lines(data))


def _entry(mode: bytes, name: bytes, raw_oid: bytes) -> TreeEntry:
    return TreeEntry(name.decode("utf-8", "surrogateescape"), Oid(raw_oid.hex()), mode == DIRECTORY_MODE)


def format_commit(
    *,
    tree: Oid,
    parents: Iterable[Oid],
    author: Identity,
    time: int,
    subject: str,
    trailers: Iterable[tuple[str, str]] = (),
) -> bytes:
    """Format a commit whose author is its committer, in time zone +0000.

    The time is clamped to the range of git. Names are cleaned so that they cannot forge a header line; subject and
    trailer values are put on one line.
    """
    who = f"{safe_identity(author)} {clamp_time(time)} +0000"
    above = "".join([f"parent {parent}\n" for parent in parents])
    below = "".join([f"{key}: {_escape(value)}\n" for key, value in trailers])
    gap = "\n" if below else ""
    return f"tree {tree}\n{above}author {who}\ncommitter {who}\n\n{one_line(subject)}\n{gap}{below}".encode()


def is_written_so(commit: Commit) -> bool:
    """Return True if the id of a parsed commit is the hash of these fields as `format_commit` writes them.

    Then the commit has nothing else: no signature, no other header or line, and no field that was cleaned.
    """
    oid, tree, parents, (name, email), time, subject, *trailers, others = commit
    above = "".join([f"parent {parent}\n" for parent in parents])
    who = f"{name} <{email}> {time} +0000"
    below = "".join([f"{key}: {value}\n" for key, value in zip(_TRAILERS, trailers, strict=True) if value is not None])
    gap = "\n" if below else ""
    text = f"tree {tree}\n{above}author {who}\ncommitter {who}\n\n{subject}\n{gap}{below}"
    return others is None and object_id(COMMIT, text.encode("utf-8", "surrogatepass")) == oid


def clamp_time(time: int) -> int:
    """Return seconds since 1970 within the range of git."""
    return min(max(time, 0), MAX_TIME_SECONDS)


def parse_commit(oid: Oid, data: bytes) -> Commit:
    """Parse a commit.

    Raises:
        Corrupt: the bytes are not a commit.
    """
    text = data.decode("utf-8", "replace")
    usual = _USUAL_COMMIT.fullmatch(text)
    if usual is None:
        return _parse_any_commit(oid, text)
    fields: Any = usual.groups()  # every call in this function counts: histories are long
    tree, first, second, who, seconds, subject, message, kind, to = fields
    kind = intern(kind)  # there are few, and very many commits may be in memory
    parents = () if first is None else (first,) if second is None else (first, second)
    return Commit(oid, tree, parents, _parse_identity(who), int(seconds), subject, message, kind, to)


def _parse_any_commit(oid: Oid, text: str) -> Commit:
    if not text.startswith("tree "):
        raise Corrupt(f"commit {oid} is damaged", hint="see: scopes verify")
    parents: tuple[Oid, ...] = ()
    position = _AFTER_TREE
    while text.startswith("parent ", position):
        parents += (Oid(text[position + 7 : position + 47]),)
        position += _PARENT_LENGTH
    head, _, body = text[position:].partition("\n\n")
    author, seconds = _parse_author(head)
    subject, _, rest = body.partition("\n")
    trailers = _parse_trailers(rest)
    message, kind, to = map(trailers.get, _TRAILERS)
    others = None if list(trailers) == [key for key in _TRAILERS if key in trailers] else trailers
    return Commit(oid, Oid(text[5:45]), parents, author, seconds, subject, message, kind, to, others)


def is_hash_of(oid: Oid, kind: str, data: bytes) -> bool:
    """Return True if an id is the hash of an object's kind and data."""
    return object_id(kind, data) == oid


def object_id(kind: str, data: bytes) -> Oid:
    """Return the hash of an object's kind and data, which is its id."""
    digest = hashlib.sha1(f"{kind} {len(data)}\0".encode(), usedforsecurity=False)
    digest.update(data)
    return Oid(digest.hexdigest())


def parse_tree_id(oid: Oid, data: bytes) -> Oid:
    """Parse only the id of the tree of a commit.

    Raises:
        Corrupt: the bytes are not a commit.
    """
    if not data.startswith(b"tree "):
        raise Corrupt(f"commit {oid} is damaged", hint="see: scopes verify")
    return Oid(data[5:45].decode("ascii", "replace"))


def one_line(text: str, limit: int | None = SUBJECT_LENGTH) -> str:
    r"""Put a text on one line: collapse blanks, escape control characters as `\xNN`, cut at `limit` code points."""
    if limit is None:
        return _escape(text)
    line = _escape(text[: 2 * limit])
    if len(line) < limit < len(text):  # many blanks
        line = _escape(text[: 20 * limit])
    return line[:limit].rstrip()


def _escape(text: str) -> str:
    line = " ".join(text.split())
    return line if line.isprintable() else _UNSAFE_IN_SUBJECT.sub(_visible, line)


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


@lru_cache(maxsize=1000)
def header_safe(text: str) -> str:
    """Clean a name for a header line: git refuses `<`, `>`, newlines and empty names."""
    return _UNSAFE_IN_HEADER.sub(" ", text).strip(" .,:;\"'\\") or "unknown"


@lru_cache(maxsize=1000)
def safe_identity(author: Identity) -> str:
    """Return name and mail address as they are in a header line."""
    return f"{header_safe(author.name)} <{header_safe(author.email)}>"


def _parse_author(head: str) -> tuple[Identity, int]:
    """Parse the author line; it normally comes first after the parents."""
    line = head if head.startswith("author ") else head.partition("\nauthor ")[2]
    who, _, when = line.partition("\n")[0].partition("> ")
    seconds = when.partition(" ")[0]
    return _parse_identity(who), int(seconds) if _SECONDS.fullmatch(seconds) else 0


@lru_cache(maxsize=1000)
def _parse_identity(who: str) -> Identity:
    name, _, email = who.removeprefix("author ").partition("<")
    return Identity(name.removesuffix(" "), email)


def _parse_trailers(rest: str) -> dict[str, str]:
    """Parse the `Scopes-Key: value` lines of the last paragraph; the first value of a repeated key counts."""
    trailers: dict[str, str] = {}
    for line in rest.rpartition("\n\n")[2].split("\n"):
        if line.startswith("Scopes-"):
            key, colon, value = line.partition(": ")
            if colon:
                trailers.setdefault(key, value)
    return trailers


def find_loose(objects_directory: str, oid: Oid) -> tuple[str, bytes] | None:
    """Return kind and bytes of a loose object; None if there is no such file.

    Raises:
        Corrupt: the file is damaged.
        OSError: the file cannot be read.
    """
    try:
        stored = read_regular(f"{objects_directory}/{oid[:2]}/{oid[2:]}", _MAX_STORED_BYTES)
    except FileNotFoundError:
        return None
    except UnusableFile as error:
        raise _damaged(oid) from error
    try:
        kind, body = _inflate(stored)
    except (ValueError, zlib.error) as error:
        raise _damaged(oid) from error
    if not is_hash_of(oid, kind, body):
        raise _damaged(oid)
    return kind, body


def _inflate(stored: bytes) -> tuple[str, bytes]:
    """Return kind and content of a compressed object; never decompress more than the size that its header gives.

    Raises:
        ValueError, zlib.error: it is damaged, or larger than MAX_OBJECT_BYTES.
    """
    stream = zlib.decompressobj()
    header, end, start = stream.decompress(stored, _MAX_HEADER_BYTES).partition(b"\0")
    match = _HEADER.fullmatch(header)
    if not end or match is None or (size := int(match["size"])) > MAX_OBJECT_BYTES or len(start) > size:
        raise ValueError("invalid header")
    body = start + stream.decompress(stream.unconsumed_tail, size - len(start) + 1)
    if len(body) != size or not stream.eof:
        raise ValueError("wrong size")
    return match["kind"].decode(), body


class LooseReader(pygit2.OdbBackend):
    """A read-only libgit2 backend for loose objects, used by libgit2's own walks before its built-in backend."""

    def __init__(self, objects_directory: str) -> None:
        super().__init__()
        self._directory = objects_directory

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        """Return type code and bytes of an object; on KeyError libgit2 tries the packs.

        Raises:
            Corrupt, Inaccessible: the file is damaged or cannot be read.
        """
        try:
            found = find_loose(self._directory, Oid(str(oid)))
        except OSError as error:
            raise refusal(f"read object {oid}", self._directory, error) from error
        if found is None:
            raise KeyError(str(oid))
        return CODES[found[0]], found[1]

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        """Return True if the object has a file."""
        name = str(oid)
        return os.path.exists(f"{self._directory}/{name[:2]}/{name[2:]}")

    def refresh_cb(self) -> None:
        """Do nothing: files are looked up each time. Without this method libgit2 would not look for new packs."""


def _damaged(oid: Oid) -> Corrupt:
    return Corrupt(f"object {oid} is damaged", hint="see: scopes verify")


def try_write(objects_directory: str, size: int) -> None:
    """Write a file as large as a small message where objects are written, and take it away again.

    Raises:
        OSError: the disk is full, or the directory cannot be written.
    """
    path = os.path.join(objects_directory, f"tmp_obj_{os.getpid()}_{random_bytes(8).hex()}")
    try:
        with open(path, "xb") as file:
            file.write(random_bytes(size))  # a disk that compresses needs all of it too
            file.flush()
            os.fsync(file.fileno())
    finally:
        with suppress(OSError):
            os.unlink(path)


class CommitChunks(Protocol):
    """Kept chunks of commits, each by its first one; without them everything works, but slower. No method raises."""

    def __contains__(self, key: object) -> bool:
        """Return True if there is a chunk with this key."""

    def find(self, key: Oid) -> Sequence[Commit]:
        """Return the commits of a chunk, none if it is not there or damaged."""

    def add(self, commits: Sequence[Commit]) -> None:
        """Keep a chunk; its first commit is the key."""
