"""Encode and decode stored messages.

Decoding is tolerant: fields that another version wrote differently are kept in `extra` and written back unchanged.
Messages from users and programs are checked by `validation`.
"""

from __future__ import annotations

from typing import Any, Final

from scopes.errors import Corrupt, Invalid
from scopes.ids import MessageId
from scopes.model import encoding
from scopes.model.message import (
    FOREIGN_FIELDS,
    FORMAT_VERSION,
    TYPED_KINDS,
    Author,
    FileTouch,
    Message,
    Part,
    payload_key,
)

MAX_MESSAGE_BYTES = 64 << 20
_TEXTS: Final = frozenset({
    "time", "reply_to", "amends", "retracts", "work_item", "task", "activity", "tool", "model", "status", "stop_reason",
})  # fmt: skip
_FILE_FIELDS: Final = frozenset({"path", "op", "content_hash", "from"})


def encode(message: Message) -> bytes:
    """Encode a message as one line of canonical JSON.

    Raises:
        Invalid: the message is larger than 64 MiB or nested deeper than 200 levels.
    """
    data = encoding.dump(_document_of(message))
    if len(data) > MAX_MESSAGE_BYTES:
        raise Invalid(
            f"the message is {len(data) >> 20} MiB large; the limit is {MAX_MESSAGE_BYTES >> 20} MiB",
            hint="store the large part as a file and mention it",
        )
    return data


def _document_of(message: Message) -> dict[str, Any]:
    document: dict[str, Any] = {
        "v": FORMAT_VERSION,
        "id": message.id,
        "kind": message.kind,
        "author": {"name": message.author.name, "kind": message.author.kind},
        "parts": [_part_document(part) for part in message.parts],
    }
    document |= {name: value for name in _TEXTS if (value := getattr(message, name)) is not None}
    if message.to:
        document["to"] = list(message.to)
    if message.files:
        document["files"] = [_file_document(touch) for touch in message.files]
    if message.payload is not None:
        document[payload_key(message.kind)] = message.payload
    document |= message.extra  # last: it overrides fields that could not be decoded
    return document


def decode(data: bytes) -> Message:
    """Decode a stored message.

    Raises:
        Corrupt: the bytes are not a message.
    """
    return decode_document(encoding.load(data))


def decode_document(document: Any) -> Message:
    """Decode the document of a stored message, which is changed by it; raises as `decode` does."""
    if not isinstance(document, dict) or not isinstance(document.get("id"), str):
        raise Corrupt("a stored message is damaged", hint="see: scopes verify")
    has_kind = isinstance(document.get("kind"), str) and document["kind"]
    kind = document.pop("kind") if has_kind else "plain"
    message_id = MessageId(document.pop("id"))
    author, parts = _take_author(document), _take_parts(document)
    if document.get("v") == FORMAT_VERSION:
        del document["v"]
    texts = {name: document.pop(name) for name in _TEXTS.intersection(document) if isinstance(document[name], str)}
    has_payload = kind in TYPED_KINDS and isinstance(document.get(payload_key(kind)), dict)
    payload = document.pop(payload_key(kind)) if has_payload else None
    to, files = _take_names(document), _take_files(document)
    return Message(
        id=message_id,
        author=author,
        parts=parts,
        kind=kind,
        to=to,
        files=files,
        payload=payload,
        extra=document,
        **texts,
    )


def _part_document(part: Part) -> dict[str, Any]:
    """Return a part as a JSON object; input and output of tools are foreign and keep their key order."""
    fields = {key: encoding.Foreign(value) if key in FOREIGN_FIELDS else value for key, value in part.fields.items()}
    return {**fields, "type": part.type}


def _file_document(touch: FileTouch) -> dict[str, Any]:
    document = {"path": touch.path, "op": touch.op, "content_hash": touch.content_hash, "from": touch.source}
    return {key: value for key, value in document.items() if value is not None}


def _take_author(document: dict[str, Any]) -> Author:
    author = document.get("author")
    name = author.get("name") if isinstance(author, dict) else None
    if not isinstance(author, dict) or not isinstance(name, str):
        return Author("unknown", "system")
    kind = author.get("kind")
    if len(author) > len(("name", "kind")) or not isinstance(kind, str):
        return Author(name)
    del document["author"]
    return Author(name, kind)


def _take_parts(document: dict[str, Any]) -> tuple[Part, ...]:
    parts = document.get("parts")
    if not isinstance(parts, list):
        return ()
    for part in parts:
        if type(part) is not dict or type(part.get("type")) is not str:
            return ()
    del document["parts"]
    return tuple([Part(part.pop("type"), part) for part in parts])


def _take_files(document: dict[str, Any]) -> tuple[FileTouch, ...]:
    files = document.get("files")
    if not isinstance(files, list) or not all(isinstance(file, dict) and _is_touch(file) for file in files):
        return ()
    del document["files"]
    return tuple(FileTouch(f["path"], f["op"], f.get("content_hash"), f.get("from")) for f in files)


def _is_touch(file: dict[str, Any]) -> bool:
    return {"path", "op"} <= file.keys() <= _FILE_FIELDS and all(isinstance(value, str) for value in file.values())


def _take_names(document: dict[str, Any]) -> tuple[str, ...]:
    to = document.get("to")
    if not isinstance(to, list) or not all(isinstance(name, str) for name in to):
        return ()
    del document["to"]
    return tuple(to)
