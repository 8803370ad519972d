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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, TypeAlias

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.lazy_patterns import compile_lazily
from scopes.model import encoding
from scopes.store import refs
from scopes.store.objects import COMMIT, Identity, format_commit
from scopes.store.repository import Objects, Repository, read_commit_stub
from scopes.store.trees import BlobChange, read_blob, update_tree, walk_blobs

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
    return NOTHING if value is None else read_purged_tree(repository, read_commit_stub(repository, Oid(value)).tree)


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
