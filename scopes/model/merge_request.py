"""A merge request: somebody asks that a branch is merged into another one. It is stored in the metadata (S4-21)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scopes.errors import Corrupt
from scopes.ids import BranchName, Oid, is_oid
from scopes.model import encoding

OPEN, MERGED, CLOSED = "open", "merged", "closed"
REQUEST_STATES = (OPEN, MERGED, CLOSED)
_VERSION = 1


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
    message: str = ""
    requester: str
    requester_kind: str = "human"
    state: str = OPEN
    source_tip: Oid
    opened: str
    ended: str | None = None
    ended_by: str | None = None
    reason: str | None = None
    merge: Oid | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


_TEXTS = "id", "source", "target", "title", "requester", "source_tip", "opened"  # required
_OPTIONAL = "message", "requester_kind", "state", "ended", "ended_by", "reason", "merge"


def encode_merge_request(request: MergeRequest) -> bytes:
    """Encode the document of a merge request."""
    known = {name: getattr(request, name) for name in (*_TEXTS, *_OPTIONAL, "number")}
    return encoding.dump({"v": _VERSION, **{k: v for k, v in known.items() if v not in {None, ""}}, **request.extra})


def decode_merge_request(data: bytes) -> MergeRequest:
    """Decode the document of a merge request; unknown fields are kept in `extra`.

    Raises:
        Corrupt: the data is not the document of a merge request.
    """
    document: Any = encoding.load(data)
    if not isinstance(document, dict):
        raise Corrupt("a merge request is damaged", hint="see: scopes verify")
    known: dict[str, Any] = {name: document.pop(name) for name in _TEXTS if isinstance(document.get(name), str)}
    number = document.pop("number", None)
    if len(known) < len(_TEXTS) or type(number) is not int or number < 1 or not is_oid(known["source_tip"]):
        raise Corrupt("a merge request is damaged", hint="see: scopes verify")
    known |= {name: document.pop(name) for name in _OPTIONAL if isinstance(document.get(name), str)}
    if document.get("v") == _VERSION:
        del document["v"]
    return MergeRequest(number=number, **known, extra=document)
