"""The root of a conversation, which never changes, and the metadata of a branch, which may."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from scopes.errors import Corrupt, Invalid
from scopes.ids import MAX_NAME_BYTES, AgentName, BranchName, Oid, OperationId, is_name, is_oid
from scopes.lazy_patterns import compile_lazily
from scopes.model import encoding

FORMAT_VERSION = 1
ACP = "acp"  # the format of roots that `scopes acp` writes, and its key in the entry of a branch and in a message
ABANDONED, MERGED = "abandoned", "merged"
CONFLICT_RESOLUTION = "conflict-resolution"
WAITING = "waiting"  # in the entry of a branch: what is in progress on it
_DERIVED = "name:"  # begins the id of a branch that has none of its own
_ID_DIGITS = 12
_BRANCH_ID = compile_lazily(rf"{_DERIVED}.{{0,1000}}|[0-9a-f]{{{_ID_DIGITS}}}")
PURPOSES = ("analysis", "alternative-solution", "verification", "collaboration", CONFLICT_RESOLUTION)


class Root(NamedTuple):
    """The content of a root commit, which identifies a conversation; `cwd` is as in the imported source."""

    uuid: str
    created: str
    format: str | None = None
    native_id: str | None = None
    cwd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchEntry:
    """The metadata of a branch; `fork` is the commit at which it began.

    `id` identifies the branch on every machine. Without one, its name does: see `branch_id`. `name` is what other
    machines call the branch, if a branch of that name was here before.
    """

    purpose: str | None = None
    agent: AgentName | None = None
    parent: BranchName | None = None
    fork: Oid | None = None
    created: str = ""
    status: str = "active"
    id: str | None = None
    name: BranchName | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_hidden(self) -> bool:
        """Whether lists leave out the branch (S4-8)."""
        return is_hidden(self.purpose, self.status)


def is_hidden(purpose: str | None, status: str) -> bool:
    """Return True for an abandoned branch, and for a conflict-resolution branch whose conflicts have ended."""
    return status == ABANDONED or (purpose == CONFLICT_RESOLUTION and status == MERGED)


def branch_id(name: BranchName, entry: BranchEntry | None) -> str:
    """Return the id of a branch: that of its entry, else `name:` and its name; an entry that is renamed keeps that."""
    return entry.id if entry is not None and entry.id is not None else f"{_DERIVED}{name}"


def random_branch_id(operation: OperationId, name: BranchName) -> str:
    """Return the id of a branch that an operation creates: as random as the id of the operation."""
    return sha256(f"branch {operation} {name}".encode()).hexdigest()[:_ID_DIGITS]


def is_random_branch_id(branch: str) -> bool:
    """Return True for an id that was made for one branch, and does not come from a name."""
    return not branch.startswith(_DERIVED)


def parse_purpose(text: str) -> str:
    """Parse one of the five purposes, in any case, with `_` or `-` (S4-3).

    Raises:
        Invalid: there is no such purpose; the hint lists them.
    """
    purpose = text.strip().lower().replace("_", "-")
    if purpose not in PURPOSES:
        raise Invalid(f"{text!a} is not a valid branch purpose", hint="purposes: " + ", ".join(PURPOSES))
    return purpose


def encode_root(root: Root) -> bytes:
    """Encode the document of a root commit."""
    known = {"uuid": root.uuid, "created": root.created, "format": root.format, "native_id": root.native_id}
    document: dict[str, Any] = {key: value for key, value in {**known, "cwd": root.cwd}.items() if value is not None}
    return encoding.dump({"v": FORMAT_VERSION, "kind": "root", "conversation": document})


def decode_root(data: bytes) -> Root:
    """Decode the document of a root commit.

    Raises:
        Corrupt: the data is not the document of a root.
    """
    match encoding.load(data):
        case {"kind": "root", "conversation": {"uuid": str(uuid), "created": str(created), **rest}}:
            known = {key: value for key in ("format", "native_id", "cwd") if isinstance(value := rest.get(key), str)}
            return Root(uuid=uuid, created=created, **known)
    raise Corrupt("the root of a conversation is damaged", hint="see: scopes verify")


def encode_branch_entry(entry: BranchEntry) -> bytes:
    """Encode the metadata of a branch."""
    known = {
        "purpose": entry.purpose,
        "agent": entry.agent,
        "parent": entry.parent,
        "fork": entry.fork,
        "created": entry.created,
        "status": entry.status,
        "id": entry.id,
        "name": entry.name,
    }
    return encoding.dump({"v": FORMAT_VERSION, **{k: v for k, v in known.items() if v is not None}, **entry.extra})


def decode_branch_entry(data: bytes) -> BranchEntry:
    """Decode the metadata of a branch; unknown fields, and a fork, id or name that is not valid, are kept in `extra`.

    Raises:
        Corrupt: the data is not a JSON object.
    """
    document: Any = encoding.load(data)
    if not isinstance(document, dict):
        raise Corrupt("the metadata of a branch is damaged", hint="see: scopes verify")
    names = ("purpose", "agent", "parent", "fork", "created", "status", "id", "name")
    known = {name: document.pop(name) for name in names if isinstance(document.get(name), str)}
    if not is_oid(known.get("fork", "0" * 40)):
        document["fork"] = known.pop("fork")
    if "name" in known and not (is_name(known["name"]) and len(known["name"].encode()) <= MAX_NAME_BYTES):
        document["name"] = known.pop("name")
    if "id" in known and not _BRANCH_ID.fullmatch(known["id"]):
        document["id"] = known.pop("id")
    if document.get("v") == FORMAT_VERSION:
        del document["v"]
    return BranchEntry(**known, extra=document)
