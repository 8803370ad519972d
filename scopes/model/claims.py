"""What a message claims: the blobs that it writes into `state/`, which is the part that git merges.

A blob holds the claim alone, so that equal claims of two agents are equal blobs; who said it and when is what history
knows. Claims go by subject (`decisions/<topic>=`), and by agent below the subject where several may stand beside each
other (`analyses/<subject>/<aspect>/<agent>=`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from scopes.model import canonical
from scopes.model.message import FILE_WRITES, FileTouch, Message, Part
from scopes.model.path_encoding import file_leaf, leaf

PARTICIPANT_KINDS = frozenset({"human", "agent"})
Previous = Callable[[str], bytes | None]


def claims_of(message: Message, previous: Previous, base: str | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield every path below `state/` that the message writes, with its blob.

    `previous` reads a path as it was before the message; `base` is the conversation's first working directory.
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
        yield leaf("messages", message.retracts), canonical.dump({"retracted": True})
    if message.amends is not None:
        yield leaf("messages", message.amends), canonical.dump({"amended": content_hash(message)})


def participant_claim(name: str, kind: str) -> tuple[str, bytes]:
    """Return path and blob that make somebody a participant."""
    return leaf("participants", name), canonical.dump({"kind": kind})


def content_hash(message: Message) -> str:
    """Hash what a message says, without who, when and under which id; equal amendments are equal claims."""
    return parts_hash(message.parts)


def parts_hash(parts: Iterable[Part]) -> str:
    """Hash the parts of a message."""
    said: list[Any] = [{**part.fields, "type": part.type} for part in parts]
    return "sha256:" + hashlib.sha256(canonical.dump(said)).hexdigest()


def content_of(message: Message) -> tuple[Any, ...]:
    """Return everything by which two messages of one id may differ and be told apart: who, what kind, and what."""
    return content_hash(message), message.author, message.kind, message.payload


def _typed_claims(kind: str, agent: str, payload: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Claim what a payload says; one from elsewhere that is not as `schema` wants it claims nothing."""
    match kind, payload:
        case "proposal", {"entity_type": str(entity), "entity_id": str(name), "changes": list(changes)}:
            for change in changes:
                yield from _change_claim(entity, name, change, agent)
        case "analysis", {"subject": str(subject), "aspect": str(aspect), "finding": finding}:
            yield leaf("analyses", subject, aspect, agent), canonical.dump({"finding": finding})
        case "decision", {"topic": str(topic), "decision": decision}:
            yield leaf("decisions", topic), canonical.dump({"decision": decision})
        case "priority", {"task": str(task), "urgency": urgency}:
            yield leaf("priorities", task, agent), canonical.dump({"urgency": urgency})
        case "method", {"goal": str(goal), "approach": approach}:
            yield leaf("methods", goal, agent), canonical.dump({"approach": approach})


def _change_claim(entity: str, name: str, change: Any, agent: str) -> Iterator[tuple[str, bytes]]:
    match change:
        case {"field_path": str(field), "operation": str(operation), **rest}:
            claim: dict[str, Any] = {"operation": operation, "after": rest.get("after")}
            yield leaf("proposals", entity, name, field, agent), canonical.dump(claim)


def _find_touch(part: Part) -> FileTouch | None:
    """Return what a part says about a file; None for every other part."""
    fields = {key: part.fields.get(key) for key in ("path", "op", "content_hash", "from")}
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    if part.type != "file_ref" or not {"path", "op"} <= texts.keys():
        return None
    return FileTouch(texts["path"], texts["op"], texts.get("content_hash"), texts.get("from"))


def _file_claims(
    touch: FileTouch, message: Message, previous: Previous, base: str | None, patch: object = None
) -> Iterator[tuple[str, bytes]]:
    """Claim the outcome of a write: its content, or what it was made from where the content is unknown."""
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
        claim["unknown"] = message.id  # an outcome that nobody can compare differs from every other
    yield "files/" + path, canonical.dump(claim)
    if touch.op == "rename" and touch.source is not None:
        yield "files/" + file_leaf(touch.source, base), canonical.dump({"operation": "delete"})
