"""The records of the operation log, one for every command that moved refs, and git's verdict about a signed commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scopes.errors import Corrupt
from scopes.ids import OperationId
from scopes.model import canonical_json
from scopes.result import OMIT_EMPTY, named, short_id

VERSION = 1
SAME_COMMAND = "same_command"
"""The key of an operation's details with the ids of the operations that the same command recorded before."""
_TEXTS = ("id", "kind", "summary", "command", "actor", "time")


class RefChange(NamedTuple):
    """The move of one ref. A value is an object id, `ref: <name>` for a symbolic ref, or None for a missing ref."""

    ref: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation; `undoes` is the operation that an undo or redo reverts."""

    id: OperationId
    kind: str
    summary: str
    command: str
    actor: str
    time: str
    changes: tuple[RefChange, ...] = field(metadata=named("refs"))
    undoes: OperationId | None = None
    details: Mapping[str, Any] = field(default_factory=dict, metadata=OMIT_EMPTY)

    @property
    def earlier(self) -> list[str]:
        """The ids of the operations that the same command recorded before."""
        found = self.details.get(SAME_COMMAND)
        return [str(each) for each in found] if isinstance(found, list) else []

    @property
    def story(self) -> str:
        """The summary, with the operations that are one step of undo with it."""
        same = ", ".join(map(short_id, self.earlier))
        return f"{self.summary} (one step with {same})" if same else self.summary

    @property
    def moves(self) -> list[str]:
        """What the operation did to each ref: `main: 1a2b3c4d -> 5e6f7a8b`."""
        return [f"{_short_ref(each.ref)}: {_ref_value(each.old)} -> {_ref_value(each.new)}" for each in self.changes]


def _ref_value(value: str | None) -> str:
    """Return the value of a ref for people: a commit, another ref, or none."""
    if value is None:
        return "none"
    return _short_ref(value.removeprefix("ref: ")) if value.startswith("ref: ") else value


def _short_ref(ref: str) -> str:
    """Return the short name of a ref, as git shortens it."""
    prefix = next((prefix for prefix in ("refs/heads/", "refs/scopes/", "refs/") if ref.startswith(prefix)), "")
    return ref.removeprefix(prefix)


def encode_operation(operation: Operation) -> bytes:
    """Encode an operation as one line of canonical JSON."""
    document: dict[str, Any] = {
        "v": VERSION,
        **{name: getattr(operation, name) for name in _TEXTS},
        "refs": [change._asdict() for change in operation.changes],
    }
    if operation.undoes is not None:
        document["undoes"] = operation.undoes
    if operation.details:
        document["details"] = dict(operation.details)
    return canonical_json.dump(document)


def decode_operation(data: bytes) -> Operation:
    """Decode an operation.

    Raises:
        Corrupt: the data is not an operation record.
    """
    document: Any = canonical_json.load(data)
    match document:
        case {"refs": list(refs), **rest} if (
            all(isinstance(rest.get(name), str) for name in _TEXTS)
            and isinstance(rest.get("undoes"), str | None)
            and isinstance(rest.get("details", {}), dict)
            and all(map(_is_change, refs))
        ):
            known: dict[str, Any] = {name: rest[name] for name in (*_TEXTS, "undoes", "details") if name in rest}
            changes = tuple(RefChange(change["ref"], change["old"], change["new"]) for change in refs)
            return Operation(changes=changes, **known)
    raise Corrupt("a record of the operation log is damaged", hint="see: scopes verify")


def _is_change(value: object) -> bool:
    """Return True for the move of a ref whose file is below `refs/`, wherever the record comes from."""
    match value:
        case {"ref": str(ref), "old": str() | None, "new": str() | None}:
            first, *others = ref.split("/")
            return first == "refs" and bool(others) and "\0" not in ref and not {"", ".", ".."} & set(others)
    return False


GOOD, UNTRUSTED, UNKNOWN_KEY, BAD = "good", "untrusted key", "unknown key", "bad"
EXPIRED, EXPIRED_KEY, REVOKED_KEY, UNCHECKED = "expired", "expired key", "revoked key", "not checked"


class Signature(NamedTuple):
    """Git's verdict about the signature of a commit; the other fields are only reliable if it is `good`.

    state: one of the words above
    signer: the owner of the key, from the user's own keys; None if they do not have it
    key: the key that the signature claims to be made with
    """

    state: str
    signer: str | None = None
    key: str | None = None
