"""Who a message, a session and a source are, on every machine: hashes of what they say, never of where they were found.

A message's id is the hash of its parent's id and of its essence, so that histories which say the same have the same ids
whatever conversation they come from (storage format, message ids).
"""

from __future__ import annotations

from base64 import b32encode
from hashlib import sha256
from typing import Any

from scopes.ids import MessageId
from scopes.importers.formats.events import Draft, Session
from scopes.model import canonical
from scopes.model.message import FOREIGN_FIELDS, Part

ESSENCE_VERSION = "h1"
PARSER_VERSION = 1
_SAID = (
    "text",
    "name",
    "input",
    "input_text",
    "output",
    "output_text",
    "media_type",
    "data",
    "path",
    "json",
    "json_text",
)


def content_bytes(draft: Draft) -> bytes:
    """Write what a message says: author kind, part types, texts, tool names, inputs and outputs.

    Times, native ids, usage and directories are left out, since copies of a history differ in them.
    """
    said: list[Any] = [[part.type, *_said(part)] for part in draft.parts]
    return canonical.dump([ESSENCE_VERSION, draft.author.kind, said])


def message_id(parent: MessageId | None, said: bytes) -> MessageId:
    """Hash a message into its place: 26 lower-case base32 characters."""
    digest = sha256(b"\0".join((b"message", (parent or "").encode(), said))).digest()
    return MessageId(b32encode(digest[:20]).decode("ascii").lower()[:26])


def session_uuid(format_name: str, native_id: str) -> str:
    """Make the uuid of an imported conversation (version 8, RFC 9562) from what its source calls it."""
    octets = bytearray(sha256(b"\0".join((b"session", format_name.encode(), _text(native_id)))).digest()[:16])
    octets[6] = octets[6] & 0x0F | 0x80
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def source_key(format_name: str, native_id: str, part: str | None) -> str:
    """Name a source: a hash of its format and its native id, never of its path."""
    return sha256(b"\0".join((b"source", format_name.encode(), _text(native_id), _text(part or "")))).hexdigest()[:32]


def _text(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _said(part: Part) -> list[Any]:
    found: list[Any] = []
    for name in _SAID:
        if name in part.fields:
            value = part.fields[name]
            found += [name, canonical.Foreign(value) if name in FOREIGN_FIELDS else value]
    return found


def source_key_of(session: Session) -> str:
    """Name the source of a session."""
    return source_key(session.format, session.native_id, session.part)


def parent_source_keys(session: Session) -> list[str]:
    """Name the sources that a session may go on from, the likeliest first.

    A base is a session, or a part of one: of this session, or of the one that `details.forked_from` names. A part
    otherwise belongs to its session's own source.
    """
    names: list[tuple[str, str | None]] = []
    if session.base is not None:
        forked_from = session.details.get("forked_from", session.native_id)
        names = [(session.base, None), (session.native_id, session.base), (str(forked_from), session.base)]
    if session.part is not None:
        names.append((session.native_id, None))
    keys = dict.fromkeys(source_key(session.format, native_id, part) for native_id, part in names)
    return [key for key in keys if key != source_key_of(session)]
