"""libgit2 and its errors; the bytes of git's objects; trees as flat maps from path to blob.

Every module of this package imports pygit2 from here, where it is imported without `ssl`: loading all certificates of
the system takes 18 ms of each command, and scopes uses no network through libgit2. While pygit2 is imported, a stub of
`ssl` answers the one question that pygit2 asks, where the certificates are, with a directory that is read only when
needed. A test checks in a fresh process that `ssl` is not imported.

Parsing the raw bytes of trees and commits is as fast as libgit2's own walk and needs no call per field. Formatting them
lets the bulk writer work without an object database. Tests compare the results with those of git.

Loose objects are read without libgit2: version 1.9.7 loops forever on a truncated one (libgit2 issue 7342), which a
power cut can leave, and writes beyond its buffer if the header gives too small a size (issue 7177).

An unchanged subtree keeps its object, so a new state costs one tree object for each level that changed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain, starmap
from sys import intern
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from scopes.clock import random_bytes
from scopes.errors import Busy, Corrupt, Inaccessible, ScopesError
from scopes.ids import Oid
from scopes.regular_file import UnusableFile, read_regular
from scopes.sanitize import SUBJECT_LENGTH

__all__ = ["pygit2"]
REPAIR = "repair it: scopes verify --repair"
REMOVE = "remove it, and see: scopes verify"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM}
# libgit2 puts paths between quotes, and a path may contain any of these words.
_QUOTED = re.compile(r"'.*'", re.DOTALL)
_MOVED = ("old reference value does not match", "already exists", "reference '' not found")
_MALFORMED_CONFIGURATION = re.compile(r"failed to parse config file: .*\(in (?P<file>.*):(?P<line>[0-9]+)\)")
# libgit2 looks for a lock file first and then creates one, so there are two texts for a held lock. Its text "is locked"
# means that it lacks the permission to look at the file.
_LOCKED = re.compile(r"failed to lock file|failed to create locked file .*: file exists")
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
KINDS = {code: kind for kind, code in CODES.items()}
_MAX_STORED_BYTES = 257 << 20
BlobChange = bytes | Oid | None
"""The new content of a path: bytes, the id of a stored blob, or None to delete the path."""


class DefaultVerifyPaths(NamedTuple):
    """The two fields of `ssl.DefaultVerifyPaths` that pygit2 reads."""

    cafile: str | None = None
    capath: str | None = "/etc/ssl/certs"


class _Stub(ModuleType):
    DefaultVerifyPaths = DefaultVerifyPaths
    get_default_verify_paths = DefaultVerifyPaths


_ssl = sys.modules.setdefault("ssl", _Stub("ssl"))
try:
    import pygit2
finally:
    if isinstance(_ssl, _Stub):
        del sys.modules["ssl"]

# Otherwise libgit2 prefers a repository `.git` inside the store.
OPEN_EXACTLY_HERE = pygit2.enums.RepositoryOpenFlag.NO_SEARCH | pygit2.enums.RepositoryOpenFlag.NO_DOTGIT


def skip_unreadable_home() -> None:
    """Keep libgit2 from failing if this process may not read the home directory."""
    level = pygit2.enums.ConfigLevel.GLOBAL
    home = pygit2.settings.search_path[level]
    if any(part and os.path.isdir(part) and not os.access(part, os.X_OK) for part in home.split(os.pathsep)):
        pygit2.settings.search_path[level] = ""


def limit_mapped_packs() -> None:
    """Limit how much of each pack libgit2 maps into the memory of this process from now on: by default whole packs."""
    pygit2.settings.mwindow_size, pygit2.settings.mwindow_mapped_limit = 1 << 20, 8 << 20


def limit_memory() -> None:
    """Limit the memory of libgit2 for a command that reads the whole store, once: no copies of commits and trees."""
    limit_mapped_packs()
    pygit2.settings.enable_caching(False)


def is_moved(error: BaseException) -> bool:
    """Return True if a ref update failed because another process moved the ref first."""
    text = _normalized(error)
    return any(phrase in text for phrase in _MOVED)


def is_locked(error: BaseException) -> bool:
    """Return True if a ref update failed because the ref's lock file exists."""
    return _LOCKED.search(_normalized(error)) is not None


def is_missing(error: BaseException) -> bool:
    """Return True if a call failed because a file or directory does not exist."""
    return _normalized(error).endswith(os.strerror(errno.ENOENT).lower())


def _normalized(error: BaseException) -> str:
    return _QUOTED.sub("''", str(error)).lower()


@contextmanager
def translated(what: str, directory: str) -> Iterator[None]:
    """Translate errors of libgit2 and the system that occur in the block; `what` completes "cannot ..."."""
    try:
        yield
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise refusal(what, directory, error) from error


def refusal(what: str, directory: str, error: BaseException, *, writing: bool = False) -> ScopesError:
    """Return the exception for a foreign error; `what` completes "cannot ...", `directory` is the store.

    If the cause is unknown, stored data is damaged; while `writing`, the disk is at fault.
    """
    if isinstance(error, UnusableFile):
        where = os.path.relpath(error.filename, directory)
        return Corrupt(f"cannot {what}: {where} in {directory} cannot be read: {error.strerror}", hint=REMOVE)
    malformed = _MALFORMED_CONFIGURATION.search(str(error))
    if malformed is not None:
        hint = f"correct it: git config --file {malformed['file']} --edit"
        return Corrupt(
            f"the configuration file {malformed['file']} is malformed in line {malformed['line']}", hint=hint
        )
    if is_locked(error):
        return Busy(f"cannot {what}: another program is writing there", hint="try again in a moment")
    code = error.errno if isinstance(error, OSError) and error.errno else _guess(error, directory)
    if code in _FULL:
        return Inaccessible(f"cannot {what}: the disk is full", hint=f"free some space on the disk of {directory}")
    if code == errno.EROFS:
        return Inaccessible(f"cannot {what}: the file system is read-only", hint="reading still works")
    if code in _DENIED:
        return Inaccessible(f"cannot {what}: permission denied", hint=f"check who owns {directory} and its files")
    missing = isinstance(error, KeyError)
    if not missing and (code or writing):
        reason = os.strerror(code) if code else "a disk error, or a limit on the size of files"
        return Inaccessible(f"cannot {what}: {reason}", hint=f"check the disk of {directory}")
    damage = "an object is missing from the store" if missing else "stored data is damaged or the disk failed"
    return Corrupt(f"cannot {what}: {damage}", hint="see: scopes verify")


def _guess(error: BaseException, directory: str) -> int:
    """Return the errno behind a libgit2 error, from its text or the state of the file system; 0 if unknown."""
    text = _normalized(error)
    for code in (*_FULL, errno.EROFS, *_DENIED, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        if os.strerror(code).lower() in text:
            return code
    try:
        room = os.statvfs(directory)
    except OSError as problem:
        return problem.errno or 0
    if room.f_bavail * room.f_frsize < 1 << 16 or (room.f_files and room.f_favail < 4):
        return errno.ENOSPC
    return errno.EROFS if room.f_flag & os.ST_RDONLY else 0


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
    """Parse a tree: its entries by name, in stored order; or raise Corrupt, as all that read a tree do."""
    return {entry.name: entry for entry in (_entry(*line) for line in _read_lines(data))}


def compare_trees(old: bytes, new: bytes) -> dict[str, tuple[TreeEntry | None, TreeEntry | None]]:
    """Return the old and the new entry of every name that differs between two trees, sorted by name."""
    old_lines, new_lines = _line_set(old), _line_set(new)
    entries = (starmap(_entry, lines) for lines in (old_lines - new_lines, new_lines - old_lines))
    before, after = ({entry.name: entry for entry in side} for side in entries)
    return {name: (before.get(name), after.get(name)) for name in sorted(before.keys() | after.keys())}


def find_in_tree(data: bytes, name: str) -> TreeEntry | None:
    """Return the entry of a tree with this name; None if there is none."""
    encoded = name.encode("utf-8", "surrogateescape")
    return next((_entry(*line) for line in _read_lines(data) if line[1] == encoded), None)


def list_modes(data: bytes) -> set[bytes]:
    """Return the modes of the entries of a tree: other programs write more than those of files and directories."""
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


_REPLACED = (b"tree ", b"parent ", b"gpgsig", b"mergetag")  # a signature would be that of another commit
_KIND = re.compile(rb"^Scopes-Kind: .*$", re.MULTILINE)


def edit_commit(
    data: bytes, tree: Oid, parents: Iterable[Oid], *, subject: str | None = None, kind: str | None = None
) -> bytes:
    """Return the bytes of a commit with another tree and parents, and another subject and kind if they are given."""
    head, gap, body = data.partition(b"\n\n")
    above = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
    if subject is not None:
        body = one_line(subject).encode() + body[len(body.partition(b"\n")[0]) :]
    if kind is not None:
        body = _KIND.sub(b"Scopes-Kind: " + kind.encode(), body)
    return b"\n".join([*above, *_walk_kept(head.split(b"\n"))]) + gap + body


def _walk_kept(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the header lines that stay; a line that begins with a blank belongs to the one before."""
    is_kept = True
    for line in lines:
        if not line.startswith(b" "):
            is_kept = not line.startswith(_REPLACED)
        if is_kept:
            yield line


def clamp_time(time: int) -> int:
    """Return seconds since 1970 within the range of git."""
    return min(max(time, 0), MAX_TIME_SECONDS)


def parse_commit(oid: Oid, data: bytes) -> Commit:
    """Parse a commit, or raise Corrupt."""
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


def object_id(kind: str, data: bytes) -> Oid:
    """Return the hash of an object's kind and data, which is its id."""
    digest = hashlib.sha1(f"{kind} {len(data)}\0".encode(), usedforsecurity=False)
    digest.update(data)
    return Oid(digest.hexdigest())


def parse_tree_id(oid: Oid, data: bytes) -> Oid:
    """Parse only the id of the tree of a commit, or raise Corrupt."""
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
    """Return kind and bytes of a loose object, None if there is no such file; or raise Corrupt or OSError."""
    try:
        stored = read_regular(f"{objects_directory}/{oid[:2]}/{oid[2:]}", _MAX_STORED_BYTES)
    except FileNotFoundError:
        return None
    except UnusableFile as error:
        raise _damaged(oid) from error
    stream = zlib.decompressobj()
    try:
        header, _, body = stream.decompress(stored, _MAX_STORED_BYTES).partition(b"\0")
        kind = header.partition(b" ")[0].decode()
    except (ValueError, zlib.error) as error:
        raise _damaged(oid) from error
    if not stream.eof or object_id(kind, body) != oid:
        raise _damaged(oid)
    return kind, body


class LooseReader(pygit2.OdbBackend):
    """A read-only libgit2 backend for loose objects, used by libgit2's own walks before its built-in backend."""

    def __init__(self, objects_directory: str) -> None:
        super().__init__()
        self._directory = objects_directory

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        """Return type code and bytes of an object; on KeyError libgit2 tries the packs."""
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
    """Write a file as large as a small message where objects are written, and take it away again; or raise OSError."""
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


class Objects(Protocol):
    """An object database: the store itself, or a pack that is being written."""

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound."""

    def write(self, kind: str, data: bytes) -> Oid:
        """Store an object and return its id."""


def read_data(objects: Objects, oid: Oid, kind: str) -> bytes:
    """Return the bytes of an object of this kind, or raise NotFound or Corrupt."""
    found, data = objects.read(oid)
    if found != kind:
        raise Corrupt(f"object {oid} is not a {kind}", hint="see: scopes verify")
    return data


def read_commit(objects: Objects, oid: Oid) -> Commit:
    """Read a commit, or raise NotFound or Corrupt."""
    return parse_commit(oid, read_data(objects, oid, COMMIT))


def read_tree(objects: Objects, oid: Oid) -> dict[str, TreeEntry]:
    """Read a tree's entries by name, or raise NotFound or Corrupt."""
    return parse_tree(read_data(objects, oid, TREE))


def find_entry(objects: Objects, tree: Oid | None, path: str) -> TreeEntry | None:
    """Return the entry at a path; None if there is none, or no tree."""
    entry = None if tree is None else TreeEntry("", tree, is_tree=True)
    for name in path.split("/"):
        if entry is None or not entry.is_tree:
            return None
        entry = find_in_tree(read_data(objects, entry.oid, TREE), name)
    return entry


def find_subtree(objects: Objects, tree: Oid | None, path: str) -> Oid | None:
    """Return the tree at a path; None if there is none."""
    entry = find_entry(objects, tree, path)
    return entry.oid if entry is not None and entry.is_tree else None


def find_blob(objects: Objects, tree: Oid | None, path: str) -> bytes | None:
    """Return the bytes of the file at a path; None if there is no file."""
    entry = find_entry(objects, tree, path)
    return None if entry is None or entry.is_tree else read_blob(objects, entry.oid)


def read_blob(objects: Objects, oid: Oid) -> bytes:
    """Read a blob, or raise NotFound or Corrupt."""
    return read_data(objects, oid, BLOB)


def walk_blobs(objects: Objects, tree: Oid, prefix: str = "") -> Iterator[tuple[str, Oid]]:
    """Yield path and blob id of every file in a tree, in stored order."""
    stack = [(prefix, tree, True)]  # not recursive: a foreign tree may be deeper than Python's recursion limit
    while stack:
        path, oid, is_tree = stack.pop()
        if is_tree:
            children = reversed(read_tree(objects, oid).values())
            stack.extend((f"{path}{e.name}/" if e.is_tree else path + e.name, e.oid, e.is_tree) for e in children)
        else:
            yield path, oid


def diff_blobs(objects: Objects, old: Oid | None, new: Oid | None) -> Iterator[tuple[str, Oid | None, Oid | None]]:
    """Yield path, old blob and new blob of every file that differs between two trees; None for a missing file."""
    stack = [("", old, new)]
    while stack:
        prefix, before, after = stack.pop()
        data = [b"" if tree in {None, EMPTY_TREE} else read_data(objects, tree, TREE) for tree in (before, after)]
        for name, (left, right) in compare_trees(*data).items():
            path = prefix + name
            old_tree, old_blob = _by_kind(left)
            new_tree, new_blob = _by_kind(right)
            if old_tree or new_tree:
                stack.append((f"{path}/", old_tree, new_tree))
            if old_blob or new_blob:
                yield path, old_blob, new_blob


def _by_kind(entry: TreeEntry | None) -> tuple[Oid | None, Oid | None]:
    """Return the id of an entry as that of a tree, or as that of a blob."""
    if entry is None:
        return None, None
    _, oid, is_tree = entry
    return (oid, None) if is_tree else (None, oid)


def _entries(objects: Objects, tree: Oid | None) -> dict[str, TreeEntry]:
    return {} if tree is None or tree == EMPTY_TREE else read_tree(objects, tree)


def update_tree(objects: Objects, tree: Oid | None, changes: Mapping[str, BlobChange]) -> Oid:
    """Write a copy of `tree` (None: the empty tree) with changes at the given paths; return its id."""
    return _update(objects, tree, changes) or objects.write(TREE, b"")


def _update(objects: Objects, tree: Oid | None, changes: Mapping[str, BlobChange]) -> Oid | None:
    """Update one level; return None if it is empty, since git stores no empty directories."""
    entries = _entries(objects, tree)
    subtrees: dict[str, dict[str, BlobChange]] = {}
    for path, change in changes.items():
        name, slash, rest = path.partition("/")
        if slash and name in subtrees:
            subtrees[name][rest] = change
        elif slash:
            subtrees[name] = {rest: change}
        elif change is None:
            if name in entries and not entries[name].is_tree:
                del entries[name]
        else:
            blob = objects.write(BLOB, change) if isinstance(change, bytes) else change
            entries[name] = TreeEntry(name, blob, is_tree=False)
    for name, inner in subtrees.items():
        old = entries.get(name)
        subtree = _update(objects, old.oid if old is not None and old.is_tree else None, inner)
        if subtree is not None:
            entries[name] = TreeEntry(name, subtree, is_tree=True)
        elif old is not None and old.is_tree:
            del entries[name]
    return objects.write(TREE, format_tree(entries.values())) if entries else None


class ObjectsInMemory:
    """Reads the objects of a store; what is written stays in memory, in `written`."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._written: dict[Oid, tuple[str, bytes]] = {}

    @property
    def written(self) -> Mapping[Oid, tuple[str, bytes]]:
        """The objects that were written meanwhile, in their order."""
        return self._written

    def read(self, oid: Oid) -> tuple[str, bytes]:
        """Return kind and bytes of an object, or raise NotFound or Corrupt."""
        found = self._written.get(oid)
        return self._objects.read(oid) if found is None else found

    def write(self, kind: str, data: bytes) -> Oid:
        """Keep an object in memory and return its id."""
        oid = object_id(kind, data)
        self._written[oid] = (kind, data)
        return oid
