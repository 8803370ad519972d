"""The claims of a message: the blobs that it writes into the state, the tree that is merged.

A blob contains the claim alone, so that equal claims of two agents are equal blobs; author and time are in the message.
The path is the key (`decisions/<topic>=`), followed by the agent if each agent may have a claim of its own
(`analyses/<subject>/<aspect>/<agent>=`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from scopes.model import encoding
from scopes.model.message import FILE_WRITES, FileTouch, Message, Part
from scopes.model.path_encoding import file_leaf, leaf

# The first components of keys.
FILES: Final = "files"
MESSAGES: Final = "messages"
PROPOSALS: Final = "proposals"
ENTITIES: Final = "entities"  # accepted values of proposals
REVIEWS: Final = "reviews"  # states of proposals that were reviewed
APPROVALS: Final = "approvals"  # of proposals that need several
ANALYSES: Final = "analyses"
DECISIONS: Final = "decisions"
METHODS: Final = "methods"
PRIORITIES: Final = "priorities"
CONFLICTS: Final = "conflicts"
PARTICIPANTS: Final = "participants"
PARTICIPANT_KINDS = frozenset({"human", "agent"})
Previous = Callable[[str], bytes | None]


def claims_of(message: Message, previous: Previous, base: str | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield path (below `state/`) and blob of every claim of a message.

    `previous` returns the blob of a path before the message; `base` is the first working directory of the conversation.
    """
    author = message.author
    if author.kind in PARTICIPANT_KINDS:
        yield participant_claim(author.name, author.kind)
    if message.payload is not None:
        yield from _typed_claims(message.kind, author.name, message.payload)
    for touch in message.files:
        yield from _file_claims(touch, message, previous, base)
    for part in message.parts:
        touch_of_part = _find_touch(part)
        if touch_of_part is not None:
            yield from _file_claims(touch_of_part, message, previous, base, part.fields.get("patch"))
    if message.retracts is not None:
        yield leaf(MESSAGES, message.retracts), encoding.dump({"retracted": True})
    if message.amends is not None:
        yield leaf(MESSAGES, message.amends), encoding.dump({"amended": content_hash(message)})


@lru_cache(maxsize=256)
def participant_claim(name: str, kind: str) -> tuple[str, bytes]:
    """Return path and blob of the claim that makes an author a participant."""
    return leaf(PARTICIPANTS, name), encoding.dump({"kind": kind})


def content_hash(message: Message) -> str:
    """Hash the parts of a message, without author, time and id, so that equal amendments are equal claims."""
    return parts_hash(message.parts)


def parts_hash(parts: Iterable[Part]) -> str:
    """Hash parts of a message."""
    documents: list[Any] = [{**part.fields, "type": part.type} for part in parts]
    return "sha256:" + hashlib.sha256(encoding.dump(documents)).hexdigest()


def content_of(message: Message) -> tuple[Any, ...]:
    """Return the fields that must be equal in two messages with the same id: hash of parts, author, kind, payload."""
    return content_hash(message), message.author, message.kind, message.payload


def _typed_claims(kind: str, agent: str, payload: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield the claims of a payload; none if it does not have the form that `validation` requires."""
    match kind, payload:
        case "proposal", {"entity_type": str(entity), "entity_id": str(name), "changes": list(changes)}:
            for change in changes:
                yield from _change_claim(entity, name, change, agent)
        case "analysis", {"subject": str(subject), "aspect": str(aspect), "finding": finding}:
            yield leaf(ANALYSES, subject, aspect, agent), encoding.dump({"finding": finding})
        case "decision", {"topic": str(topic), "decision": decision}:
            yield leaf(DECISIONS, topic), encoding.dump({"decision": decision})
        case "priority", {"task": str(task), "urgency": urgency}:
            yield leaf(PRIORITIES, task, agent), encoding.dump({"urgency": urgency})
        case "method", {"goal": str(goal), "approach": approach}:
            yield leaf(METHODS, goal, agent), encoding.dump({"approach": approach})


def _change_claim(entity: str, name: str, change: Any, agent: str) -> Iterator[tuple[str, bytes]]:
    match change:
        case {"field_path": str(field), "operation": str(operation), **rest}:
            claim: dict[str, Any] = {"operation": operation, "after": rest.get("after")}
            yield leaf(PROPOSALS, entity, name, field, agent), encoding.dump(claim)


def _find_touch(part: Part) -> FileTouch | None:
    """Return the file touch of a `file_ref` part; None for any other part."""
    if part.type != "file_ref":
        return None
    fields = {key: part.fields.get(key) for key in ("path", "op", "content_hash", "from")}
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    if not {"path", "op"} <= texts.keys():
        return None
    return FileTouch(texts["path"], texts["op"], texts.get("content_hash"), texts.get("from"))


def _file_claims(
    touch: FileTouch, message: Message, previous: Previous, base: str | None, patch: object = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the claim of a file write: the hash of its content, or of its patch and base if the content is unknown."""
    if touch.op not in FILE_WRITES:
        return
    path = file_leaf(touch.path, base)
    claim: dict[str, Any] = {"operation": touch.op}
    if touch.content_hash is not None:
        claim["content"] = touch.content_hash
    elif isinstance(patch, str):
        before = previous("files/" + path) or b""
        claim["derived"] = (
            "sha256:" + hashlib.sha256(before + b"\0" + patch.encode("utf-8", "surrogatepass")).hexdigest()
        )
    elif touch.op != "delete":
        claim["unknown"] = message.id  # unknown content differs from any other content
    yield "files/" + path, encoding.dump(claim)
    if touch.op == "rename" and touch.source is not None:
        yield "files/" + file_leaf(touch.source, base), encoding.dump({"operation": "delete"})
