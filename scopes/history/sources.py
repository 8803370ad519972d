"""Stored sources: the exact bytes of imported transcripts, in chunks, their descriptions, and sets of them on remotes.

Importers write them, exporters and `cat` read them. A stored source has no path, so that it is the same on every
machine: where its file was last is in a ref of this machine alone. The original files of a conversation go to a remote
as one commit, whose parents are the sources, sorted by key and without their earlier versions:

    refs/scopes/v1/s/<project>/<yyyymm>/<root>     on a remote, beside the manifest of the conversation
    refs/scopes/remote-sources/<remote>/<root>     here: what the remote had when it was last seen
    refs/scopes/fetched-sources/<root>             here: what came from remotes, all of it together

What was purged is listed, so that nothing brings it back: a ref with a file for each message and conversation.

    refs/scopes/purged                  messages/<2 hex>/<hash of the id>=     a message, or the numbers of its parts
                                        conversations/<2 hex>/<hash>=          by the id of the root commit, and by
                                                                               what its sessions are known by;
                                                                               a record that became no message, too
    refs/scopes/local/purge-offers/<remote>/<machine>   the list of another machine: nothing is removed by it
    refs/scopes/local/purged-elsewhere                  what such lists had, and have no more
    refs/scopes/local/purge-declined                    what of it the user wants to keep

The ids are hashed, so that the list tells nobody what there was. Two lists are joined by their union. The commit is a
function of the list, so machines with the same list have the same commit, unless the git of a user signs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

from scopes.errors import Corrupt, NotFound
from scopes.ids import BranchName, MessageId, Oid, is_message_id, is_name
from scopes.lazy_patterns import compile_lazily
from scopes.model import canonical_json
from scopes.store import refs
from scopes.store.objects import (
    COMMIT,
    BlobChange,
    Identity,
    Objects,
    find_blob,
    format_commit,
    read_blob,
    read_commit,
    update_tree,
    walk_blobs,
)
from scopes.store.refs import FETCHED_SOURCES
from scopes.store.repository import Repository

SOURCES = "refs/scopes/sources/"
TRACKING = "refs/scopes/tracking/"  # where the last import left the branches of a source: <key>/<branch>
DESCRIPTION_FILE = "source.json"
CHUNKS = "chunks/"
SEGMENTS = "segments/"
HANDOVER_FIELD = "handover"  # of the description: the tip and the branch of a session that scopes has written
PURGED_FIELD = "purged"  # of the description: bytes of it were overwritten
_MESSAGE = re.compile(rb'"message":"([^"]+)"')
_FILE_NAMES = {  # of agents whose formats read the name of a file: of the main file of a session, and of a sub file
    ("claude-code", True): "{id}.jsonl",
    ("claude-code", False): "{id}/subagents/agent-{part}.jsonl",
    ("codex", True): "rollout-source-{id}.jsonl",
    ("codex", False): "rollout-source-{id}_{part}.jsonl",
}


class Handover(NamedTuple):
    """Where a session belongs that `checkout` has written for an agent: below which message, and on which branch."""

    tip: MessageId
    branch: BranchName


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """The description of a stored source.

    Attributes:
        digest: The SHA-256 of its bytes.
        parser: The version of the parser that imported it.
        path: Where the file was last on this machine, empty if that is not known: `source_paths` has it.
        root: The root commit of the conversation that it was imported into.
        base: The version of the source that it continues.
        sessions: The keys and root commits of the sessions after the first, if it has several.
        joined: The key of the source that it begins like, if it was imported into the conversation of that one.
        purged: Whether records of it were overwritten, so that its bytes no longer have the digest.
        handover: Set for a session that `checkout` has written: its first messages are those up to the tip.
    """

    format: str
    native_id: str
    part: str | None
    size: int
    digest: str
    parser: int
    root: Oid
    path: str = ""
    base: str | None = None
    sessions: tuple[tuple[str, Oid], ...] = ()
    joined: str | None = None
    purged: bool = False
    handover: Handover | None = None

    @property
    def more_roots(self) -> tuple[Oid, ...]:
        """Return the root commits of the other conversations that it was imported into."""
        return tuple(dict.fromkeys(root for _, root in self.sessions if root != self.root))

    @property
    def file_name(self) -> str:
        """The path, or else a name from which the format reads the same session and sub file."""
        return self.path or _FILE_NAMES.get((self.format, self.part is None), "{id}").format(
            id=self.native_id, part=self.part
        )

    @property
    def version(self) -> str:
        """Return a hash of these bytes and of all sources that they continue."""
        return self.digest if self.base is None else sha256(f"{self.digest} {self.base}".encode()).hexdigest()


def source_key(format_name: str, native_id: str, part: str | None) -> str:
    """Return the key of a source: a hash of its format, native id and part."""
    names = (text.encode("utf-8", "surrogatepass") for text in (format_name, native_id, part or ""))
    return sha256(b"\0".join((b"source", *names))).hexdigest()[:32]


def find_source_record(repository: Repository, key: str) -> SourceRecord | None:
    """Return the description of the stored source with a key; None if there is none, or it is damaged."""
    commit = repository.find_ref(f"{SOURCES}{key}")
    try:
        return None if commit is None else read_source_record(repository, Oid(commit))
    except (Corrupt, NotFound):
        return None


def read_source_record(objects: Objects, commit: Oid) -> SourceRecord:
    """Read the description of a stored source.

    Raises:
        Corrupt: it is damaged.
    """
    document: Any = canonical_json.load(
        find_blob(objects, read_commit(objects, commit).tree, DESCRIPTION_FILE) or b"{}"
    )
    try:
        return SourceRecord(
            format=document["format"],
            native_id=document["native_id"],
            part=document.get("part"),
            size=document["size"],
            digest=document["sha256"],
            parser=document.get("parser", 0),
            root=Oid(document["root"]),
            base=document.get("base"),
            sessions=tuple((key, Oid(root)) for key, root in document.get("sessions", ())),
            joined=document.get("joined"),
            purged=document.get(PURGED_FIELD) is True,
            handover=read_handover(document.get(HANDOVER_FIELD)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Corrupt("the record of an imported source is damaged", hint="see: scopes verify") from error


def read_handover(value: object) -> Handover | None:
    """Return what the description of a source says about a session that `checkout` has written; None if nothing."""
    match value:
        case {"tip": str(tip), "branch": str(branch), **rest} if is_message_id(tip) and is_name(branch) and not rest:
            return Handover(MessageId(tip), BranchName(branch))
    return None


def walk_spans(objects: Objects, commit: Oid, messages: Container[str]) -> Iterator[tuple[int, int, str]]:
    """Yield offset, length and message of the segments of a stored source that became one of some messages."""
    for path, oid in walk_blobs(objects, read_commit(objects, commit).tree):
        page = read_blob(objects, oid) if path.startswith(SEGMENTS) else b""
        known = any(name.decode("ascii", "replace") in messages for name in _MESSAGE.findall(page))
        for line in page.splitlines() if known else ():
            match canonical_json.load(line):
                case {"offset": int(offset), "length": int(length), "message": str(message)} if message in messages:
                    yield offset, length, message


def read_spans(chunks: Iterable[bytes], spans: list[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the bytes of ascending (offset, length) spans of a stream; at most two chunks and a span are in memory."""
    buffer, start, remaining = b"", 0, iter(chunks)
    for offset, length in spans:
        while start + len(buffer) < offset + length:
            kept = buffer[max(offset - start, 0) :]
            start += len(buffer) - len(kept)
            buffer = kept
            chunk = next(remaining, None)
            if chunk is None:
                break
            buffer += chunk
        yield buffer[offset - start : offset - start + length]


def walk_chunks(objects: Objects, commit: Oid) -> Iterator[bytes]:
    """Yield the bytes of a stored source in order."""
    for path, oid in walk_blobs(objects, read_commit(objects, commit).tree):
        if path.startswith(CHUNKS):
            yield read_blob(objects, oid)


SUBJECT = "paths of sources"


def with_last_path(repository: Repository, record: SourceRecord) -> SourceRecord:
    """Return the record of a source with the path where its file was last; it is empty if it was never imported here.

    Raises:
        Corrupt, NotFound: the record of the paths is damaged.
    """
    commit = repository.find_ref(refs.SOURCE_PATHS)
    if commit is None:
        return record
    tree = read_commit(repository, Oid(commit)).tree
    data = find_blob(repository, tree, file_of(source_key(record.format, record.native_id, record.part)))
    match canonical_json.load(data or b"null"):
        case {"path": str(path)}:
            return replace(record, path=path)
    return record


def write_source_paths(objects: Objects, previous: Oid | None, paths: Mapping[str, str]) -> Oid:
    """Write the paths of sources, by key, over the previous ones; return the new commit, the same if none changes."""
    tree = None if previous is None else read_commit(objects, previous).tree
    changes: dict[str, BlobChange] = {file_of(key): canonical_json.dump({"path": path}) for key, path in paths.items()}
    new = update_tree(objects, tree, changes)
    if previous is not None and new == tree:
        return previous
    return objects.write(
        COMMIT,
        format_commit(
            tree=new,
            parents=(),
            author=Identity("scopes", "scopes@systems.scopes"),
            time=0,  # it is a state without a history, the same whenever it was written
            subject=SUBJECT,
        ),
    )


def file_of(key: str) -> str:
    """Return the file of the path of a source."""
    return f"{key[:2]}/{key[2:]}"


SET_FILE: Final = "sources.json"
SET_SUBJECT: Final = "original files"
_AUTHOR: Final = Identity("scopes", "scopes@systems.scopes")


class SourceInSet(NamedTuple):
    """A source: the commit with its bytes, and its description."""

    commit: Oid
    record: SourceRecord

    @property
    def key(self) -> str:
        """The key of the source."""
        return source_key(self.record.format, self.record.native_id, self.record.part)


def walk_set(objects: Objects, commit: Oid) -> Iterator[SourceInSet]:
    """Yield the sources of a set.

    Raises:
        Corrupt, NotFound: one is damaged.
    """
    for parent in read_commit(objects, commit).parents:
        yield SourceInSet(parent, read_source_record(objects, parent))


def choose_newest(*groups: Iterable[SourceInSet]) -> dict[str, SourceInSet]:
    """Return the newest of the sources with the same key: one from which records were purged, else the longest.

    Of two with the same length that differ, every machine takes the same one; of equal ones the first.
    """
    found: dict[str, SourceInSet] = {}
    for group in groups:
        for source in group:
            known = found.get(source.key)
            if known is None or _rank(source.record) > _rank(known.record):
                found[source.key] = source
    return found


def _rank(record: SourceRecord) -> tuple[bool, int, str]:
    return record.purged, record.size, record.digest


def list_stored_sources(repository: Repository) -> list[Oid]:
    """Return the commits of all stored sources, by key: of those that were imported here and fetched, the newest.

    A description is read only where something was fetched.
    """
    own = {ref.removeprefix(SOURCES): Oid(value) for ref, value in repository.list_refs(SOURCES).items()}
    fetched = repository.list_refs(FETCHED_SOURCES)
    if not fetched:
        return [own[key] for key in sorted(own)]
    there = choose_newest(*(walk_set(repository, Oid(value)) for value in fetched.values()))
    for key, source in there.items():
        known = own.get(key)
        if known is None:
            own[key] = source.commit
            continue
        mine = SourceInSet(known, read_source_record(repository, known))
        own[key] = choose_newest([mine], [source])[key].commit
    return [own[key] for key in sorted(own)]


MESSAGES: Final = "messages/"
CONVERSATIONS: Final = "conversations/"
MAX_ENTRY_BYTES: Final = 1 << 16
_MAX_PART: Final = 1_000_000
_ENTRY = compile_lazily(r"(messages|conversations)/([0-9a-f]{2})/([0-9a-f]{62})=")

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


def _join_parts(one: Parts, other: Parts) -> Parts:
    return None if one is None or other is None else one | other


def join_all(lists: Iterable[Purged]) -> Purged:
    """Return everything that is in one of some lists."""
    return reduce(Purged.join, lists, NOTHING)


def name_of_live_session(native_id: str) -> str:
    """Return what a session is listed by that was recorded live in a purged conversation."""
    return f"session {native_id}"


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
    """Return the list in a tree; what is no entry, or a damaged one, is left out."""
    messages: dict[str, Parts] = {}
    conversations: set[str] = set()
    decoded: dict[Oid, Parts] = {}  # nearly all entries are one and the same blob
    for path, oid in walk_blobs(objects, tree):
        match = _ENTRY.fullmatch(path)
        if match is None:
            continue
        name = match[2] + match[3]
        if match[1] == "conversations":
            conversations.add(name)
            continue
        if oid not in decoded:
            with suppress(Corrupt):
                decoded[oid] = decode_parts(read_blob(objects, oid))
        if oid in decoded:
            messages[name] = decoded[oid]
    return Purged(messages, frozenset(conversations))


def is_entry(path: str) -> bool:
    """Return True if a path is that of an entry."""
    return _ENTRY.fullmatch(path) is not None


def decode_parts(data: bytes) -> Parts:
    """Decode an entry of a message.

    Raises:
        Corrupt: it is damaged.
    """
    match canonical_json.load_distinct(data) if len(data) <= MAX_ENTRY_BYTES else None:
        case {"v": 1, "parts": list(numbers)} if numbers and all(
            type(each) is int and 0 <= each <= _MAX_PART for each in numbers
        ):
            return frozenset(numbers)
        case {"v": 1, **rest} if "parts" not in rest:
            return None
    raise Corrupt("an entry of the list of what was purged is damaged", hint="see: scopes verify")


def write_purged(objects: Objects, purged: Purged, sign: Callable[[bytes], bytes] = bytes) -> Oid:
    """Write a list as a commit, which is the same on every machine, but for what `sign` adds."""
    files: dict[str, BlobChange] = {_path_of(MESSAGES, name): _encode(parts) for name, parts in purged.messages.items()}
    files |= {_path_of(CONVERSATIONS, name): _encode(None) for name in purged.conversations}
    return objects.write(COMMIT, sign(format_list_commit(update_tree(objects, None, files))))


def format_list_commit(tree: Oid) -> bytes:
    """Format the commit of a list."""
    return format_commit(tree=tree, parents=(), author=_AUTHOR, time=0, subject="what was purged")


def _encode(parts: Parts) -> bytes:
    numbers: dict[str, Any] = {} if parts is None else {"parts": sorted(parts)}
    return canonical_json.dump({"v": 1, **numbers})


def _path_of(folder: str, name: str) -> str:
    return f"{folder}{name[:2]}/{name[2:]}="
