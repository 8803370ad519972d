"""The root of a conversation, which never changes; metadata of branches and merge requests; a manifest on a remote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, NamedTuple

from scopes.errors import Corrupt, Invalid, TooNew
from scopes.ids import MAX_NAME_BYTES, AgentName, BranchName, Oid, OperationId, is_name, is_oid, parse_branch_name
from scopes.lazy_patterns import compile_lazily
from scopes.model import canonical_json
from scopes.result import HIDDEN, OMIT_EMPTY

FORMAT_VERSION = 1
ACP = "acp"  # the format of roots that `scopes acp` writes, and its key in the entry of a branch and in a message
ABANDONED, MERGED = "abandoned", "merged"
CONFLICT_RESOLUTION = "conflict-resolution"
WAITING = "waiting"  # in the entry of a branch: what is in progress on it
_DERIVED = "name:"  # begins the id of a branch that has none of its own
_ID_DIGITS = 12
_BRANCH_ID = compile_lazily(rf"{_DERIVED}.{{0,1000}}|[0-9a-f]{{{_ID_DIGITS}}}")
_RANDOM_ID = compile_lazily(rf"[0-9a-f]{{{_ID_DIGITS}}}")  # of a branch, or of a project
_ENTRY_FIELDS: Final = ("purpose", "agent", "parent", "fork", "created", "status", "id", "name")
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
        """Whether lists leave out the branch: it is abandoned, or of conflicts that have ended (S4-8)."""
        return self.status == ABANDONED or (self.purpose == CONFLICT_RESOLUTION and self.status == MERGED)


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
    document: dict[str, Any] = canonical_json.without_none(**root._asdict())
    return canonical_json.dump({"v": FORMAT_VERSION, "kind": "root", "conversation": document})


def decode_root(data: bytes) -> Root:
    """Decode the document of a root commit.

    Raises:
        Corrupt: the data is not the document of a root.
    """
    match canonical_json.load(data):
        case {"kind": "root", "conversation": {"uuid": str(uuid), "created": str(created), **rest}}:
            known = {key: value for key in ("format", "native_id", "cwd") if isinstance(value := rest.get(key), str)}
            return Root(uuid=uuid, created=created, **known)
    raise Corrupt("the root of a conversation is damaged", hint="see: scopes verify")


def encode_branch_entry(entry: BranchEntry) -> bytes:
    """Encode the metadata of a branch."""
    known = {name: value for name in _ENTRY_FIELDS if (value := getattr(entry, name)) is not None}
    return canonical_json.dump({"v": FORMAT_VERSION, **known, **entry.extra})


def decode_branch_entry(data: bytes) -> BranchEntry:
    """Decode the metadata of a branch; unknown fields, and a fork, id or name that is not valid, are kept in `extra`.

    Raises:
        Corrupt: the data is not a JSON object.
    """
    document = _load_record(data, "the metadata of a branch")
    known = _take_texts(document, _ENTRY_FIELDS)
    if not is_oid(known.get("fork", "0" * 40)):
        document["fork"] = known.pop("fork")
    if "name" in known and not (is_name(known["name"]) and len(known["name"].encode()) <= MAX_NAME_BYTES):
        document["name"] = known.pop("name")
    if "id" in known and not _BRANCH_ID.fullmatch(known["id"]):
        document["id"] = known.pop("id")
    return BranchEntry(**known, extra=document)


def _load_record(data: bytes, what: str) -> dict[str, Any]:
    """Decode a record of the metadata; its version, if that is ours, is left out."""
    document: Any = canonical_json.load(data)
    if not isinstance(document, dict):
        raise Corrupt(f"{what} is damaged", hint="see: scopes verify")
    if document.get("v") == FORMAT_VERSION:
        del document["v"]
    return document


def _take_texts(document: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Take the fields that are texts out of a document."""
    return {name: document.pop(name) for name in names if isinstance(document.get(name), str)}


OPEN, MERGED_REQUEST, CLOSED = "open", "merged", "closed"
REQUEST_STATES = (OPEN, MERGED_REQUEST, CLOSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """A merge request as it is stored.

    Attributes:
        id: The same on every machine; `number` counts the requests of a conversation, from 1.
        source_tip: The tip of the source when the request was opened.
        opened, ended: RFC 3339 times; `ended_by` merged or closed it, for the `reason`.
        merge: The tip of the target after the merge.
        extra: Fields of later versions.
    """

    id: str
    number: int
    source: BranchName
    target: BranchName
    title: str
    message: str = field(default="", metadata=OMIT_EMPTY)
    requester: str
    requester_kind: str = "human"
    state: str = OPEN
    source_tip: Oid
    opened: str
    ended: str | None = None
    ended_by: str | None = None
    reason: str | None = None
    merge: Oid | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, metadata=HIDDEN)


_TEXTS = "id", "source", "target", "title", "requester", "source_tip", "opened"  # required
_OPTIONAL = "message", "requester_kind", "state", "ended", "ended_by", "reason", "merge"


def encode_merge_request(request: MergeRequest) -> bytes:
    """Encode the document of a merge request."""
    known = {name: getattr(request, name) for name in (*_TEXTS, *_OPTIONAL, "number")}
    return canonical_json.dump(
        {"v": FORMAT_VERSION, **{k: v for k, v in known.items() if v not in {None, ""}}, **request.extra}
    )


def decode_merge_request(data: bytes) -> MergeRequest:
    """Decode the document of a merge request; unknown fields are kept in `extra`.

    Raises:
        Corrupt: the data is not the document of a merge request.
    """
    document = _load_record(data, "a merge request")
    known = _take_texts(document, _TEXTS)
    number = document.pop("number", None)
    if len(known) < len(_TEXTS) or type(number) is not int or number < 1 or not is_oid(known["source_tip"]):
        raise Corrupt("a merge request is damaged", hint="see: scopes verify")
    return MergeRequest(number=number, **known, **_take_texts(document, _OPTIONAL), extra=document)


MANIFEST_FILE: Final = "manifest.json"
MAX_BRANCHES: Final = 9_999  # with the manifest before them, ten thousand parents
MAX_TITLE: Final = 10_000  # characters
MAX_PROMPT: Final = 200  # characters; scopes writes fewer
_MAX_COUNT: Final = 10**9
_MAX_TIME: Final = 64  # characters


class ManifestBranch(NamedTuple):
    """A branch in a manifest, with the number of its messages."""

    name: BranchName
    tip: Oid
    messages: int


class Manifest(NamedTuple):
    """What a manifest says; branches by id. Earlier versions wrote neither a prompt nor the number of all messages.

    prompt: the beginning of the first prompt, if there is no title
    messages: those of all branches, each once
    """

    title: str | None
    project: str
    created: str
    newest: str
    branches: Mapping[str, ManifestBranch]
    prompt: str | None = None
    messages: int | None = None


def tips_of(branches: Mapping[str, ManifestBranch]) -> tuple[Oid, ...]:
    """Return the tips of branches, each once, sorted by the ids of the branches."""
    return tuple(dict.fromkeys(branches[key].tip for key in sorted(branches)))


def encode_manifest(manifest: Manifest) -> bytes:
    """Encode a manifest as canonical JSON."""
    document: dict[str, Any] = {
        "v": FORMAT_VERSION,
        "project": manifest.project,
        "created": manifest.created,
        "newest": manifest.newest,
        "branches": {
            key: {"name": branch.name, "tip": branch.tip, "count": branch.messages}
            for key, branch in manifest.branches.items()
        },
    }
    optional = {"title": manifest.title, "prompt": manifest.prompt, "count": manifest.messages}
    return canonical_json.dump({**document, **{name: value for name, value in optional.items() if value is not None}})


def decode_manifest(data: bytes) -> Manifest:
    """Decode a manifest, which somebody else may have written; every field is checked.

    Raises:
        TooNew: a newer version of scopes wrote it.
        Corrupt: it is damaged, or a name in it is not allowed.
    """
    document: Any = canonical_json.load_distinct(data)
    if isinstance(document, dict) and isinstance(document.get("v"), int) and document["v"] > FORMAT_VERSION:
        raise TooNew("a newer version of scopes wrote the manifest of a conversation", hint="update scopes")
    match document:
        case {
            "v": 1,
            "project": str(project),
            "created": str(created),
            "newest": str(newest),
            "branches": dict(branches),
            **rest,
        } if (
            _RANDOM_ID.fullmatch(project)
            and max(len(created), len(newest)) <= _MAX_TIME
            and 0 < len(branches) <= MAX_BRANCHES
            and _is_text(rest.get("title"), MAX_TITLE)
            and _is_text(rest.get("prompt"), MAX_PROMPT)
            and (rest.get("count") is None or _is_count(rest["count"]))
            and all(map(_is_branch, branches.values()))
        ):
            found = {
                _check_id(key): ManifestBranch(_check_name(each["name"]), Oid(each["tip"]), each["count"])
                for key, each in branches.items()
            }
            title, prompt, count = (document.get(name) for name in ("title", "prompt", "count"))
            return Manifest(title, project, created, newest, found, prompt, count)
    raise Corrupt("the manifest of a conversation is damaged", hint="see who wrote it to the remote")


def _is_text(value: object, limit: int) -> bool:
    return value is None or (isinstance(value, str) and len(value) <= limit)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_COUNT


def _is_branch(value: object) -> bool:
    match value:
        case {"name": str(), "tip": str(tip), "count": count}:
            return is_oid(tip) and _is_count(count)
    return False


def _check_id(key: str) -> str:
    """Check the id of a branch: random digits, or the name that it had first."""
    if not _RANDOM_ID.fullmatch(key):
        _check_name(key.removeprefix(_DERIVED) if key.startswith(_DERIVED) else "")
    return key


@lru_cache(maxsize=1000)  # most branches have one of a few names
def _check_name(name: str) -> BranchName:
    try:
        return parse_branch_name(name)
    except Invalid as error:
        raise Corrupt(f"a branch of the conversation has a name that is not allowed: {error.message}") from error
