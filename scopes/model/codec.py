"""Encode and decode stored messages.

Decoding is tolerant: fields that another version wrote differently are kept in `extra` and written back unchanged.
Messages from users and programs are checked by `validation`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from json import decoder, encoder
from operator import attrgetter, itemgetter
from typing import Any, Final

from scopes.errors import Corrupt, Invalid
from scopes.ids import MessageId
from scopes.lazy_patterns import compile_lazily
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
from scopes.unfrozen import unfrozen

MAX_MESSAGE_BYTES = 64 << 20
_TEXTS: Final = frozenset({
    "time", "reply_to", "amends", "retracts", "work_item", "task", "activity", "tool", "model", "status", "stop_reason",
})  # fmt: skip
_USUAL: Final = frozenset({"author", "id", "kind", "parts", "time", "v"})
_usual_values: Final = itemgetter(*sorted(_USUAL))
_unusual_values: Final = attrgetter("extra", "to", "files", "payload", *sorted(_TEXTS - _USUAL))
_NOTHING_UNUSUAL: Final[tuple[object, ...]] = ({}, (), (), None, *(None for _ in _TEXTS - _USUAL))
_PLAIN_BEGIN: Final = compile_lazily(
    rb'\{"author":\{"kind":"([a-z]+)","name":"([ !#-\[\]-~]*)"\},"id":"([a-z0-9]+)","kind":"([a-z-]+)",'
    rb'"parts":\[\{"text":"'
)
_PLAIN_END: Final = compile_lazily(rf',"type":"text"\}}\],"time":"([ !#-\[\]-~]*)","v":{FORMAT_VERSION}\}}\n')
_write_string: Final[Callable[[Any], str]] = encoder.encode_basestring
_read_string: Final[Callable[[str, int], tuple[str, int]]] = vars(decoder)["scanstring"]  # typeshed has no such name
_Unfrozen: Final = unfrozen(Message)
_new: Final = object.__new__
_FILE_FIELDS: Final = frozenset({"path", "op", "content_hash", "from"})


def encode(message: Message, foreign: Callable[[Any], encoding.Foreign] = encoding.Foreign) -> bytes:
    """Encode a message as one line of canonical JSON; `foreign` makes foreign values, perhaps known ones.

    Raises:
        Invalid: the message is larger than 64 MiB or nested deeper than 200 levels.
    """
    data = _encode_plain(message) or encoding.dump(_document_of(message, foreign))
    if len(data) > MAX_MESSAGE_BYTES:
        raise Invalid(
            f"the message is {len(data) >> 20} MiB large; the limit is {MAX_MESSAGE_BYTES >> 20} MiB",
            hint="store the large part as a file and mention it",
        )
    return data


def _encode_plain(message: Message) -> bytes | None:
    """Encode a message of one text that has no fields but those of `_USUAL`, in a third of the time.

    None if it is another message, or has a value that is not text or that UTF-8 cannot encode.
    """
    if len(message.parts) != 1 or _unusual_values(message) != _NOTHING_UNUSUAL:
        return None
    [(part_type, fields)] = message.parts
    if part_type != "text" or len(fields) != 1:
        return None
    (name, author_kind), write = message.author, _write_string
    try:
        return (
            f'{{"author":{{"kind":{write(author_kind)},"name":{write(name)}}},"id":{write(message.id)},'
            f'"kind":{write(message.kind)},"parts":[{{"text":{write(fields["text"])},"type":"text"}}],'
            f'"time":{write(message.time)},"v":{FORMAT_VERSION}}}\n'
        ).encode()
    except (KeyError, TypeError, UnicodeEncodeError):
        return None


def _document_of(message: Message, foreign: Callable[[Any], encoding.Foreign]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "v": FORMAT_VERSION,
        "id": message.id,
        "kind": message.kind,
        "author": {"name": message.author.name, "kind": message.author.kind},
        "parts": [_part_document(part, foreign) for part in message.parts],
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
    plain = decode_plain(data)
    return decode_document(encoding.load(data)) if plain is None else plain


def decode_plain(data: bytes) -> Message | None:
    """Decode a message of one text without other fields, in two thirds of the time; None for another message."""
    found = read_plain(data)
    if found is None:
        return None
    author, message_id, kind, text, time = found
    made = _begin_message(message_id, author, (Part("text", {"text": text}),), kind, {})
    made.time = time
    return _as_message(made)


def read_plain(data: bytes) -> tuple[Author, MessageId, str, str, str] | None:
    """Return author, id, kind, text and time of a message of one text without other fields; None for another message.

    Its document has no key twice and only the levels that such a message has.
    """
    begin = _PLAIN_BEGIN.match(data)
    if begin is None:
        return None
    try:
        line = data.decode()
        text, end = _read_string(line, begin.end())
    except ValueError:
        return None
    rest = _PLAIN_END.fullmatch(line, end)
    if rest is None:
        return None
    author_kind, name, message_id, kind = begin.groups()
    return _author(name, author_kind), MessageId(message_id.decode()), kind.decode(), text, rest[1]


@lru_cache(maxsize=1000)
def _author(name: bytes, kind: bytes) -> Author:
    return Author(name.decode(), kind.decode())


def decode_document(document: Any) -> Message:
    """Decode the document of a stored message, which is changed by it; raises as `decode` does."""
    if not isinstance(document, dict) or not isinstance(document.get("id"), str):
        raise Corrupt("a stored message is damaged", hint="see: scopes verify")
    usual = _decode_usual(document)
    if usual is not None:
        return usual
    has_kind = isinstance(document.get("kind"), str) and document["kind"]
    kind = document.pop("kind") if has_kind else "plain"
    message_id = MessageId(document.pop("id"))
    author, parts = _take_author(document), _take_parts(document)
    if document.get("v") == FORMAT_VERSION:
        del document["v"]
    texts = {name: document.pop(name) for name in _TEXTS.intersection(document) if isinstance(document[name], str)}
    has_payload = kind in TYPED_KINDS and isinstance(document.get(payload_key(kind)), dict)
    made = _begin_message(message_id, author, parts, kind, document)
    made.to, made.files = _take_names(document), _take_files(document)
    if has_payload:
        made.payload = document.pop(payload_key(kind))
    for name, value in texts.items():
        setattr(made, name, value)
    return _as_message(made)


def _decode_usual(document: dict[str, Any]) -> Message | None:
    """Decode a message that has only the fields of `_USUAL`, as most have; None for another one, which is unchanged."""
    if len(document) != len(_USUAL) or not _USUAL.issuperset(document):
        return None
    author, message_id, kind, parts, time, version = _usual_values(document)
    if not kind or type(kind) is not str or type(time) is not str or version != FORMAT_VERSION:
        return None
    if type(author) is not dict or len(author) != len(("name", "kind")) or type(parts) is not list:
        return None
    name, author_kind = author.get("name"), author.get("kind")
    if type(name) is not str or type(author_kind) is not str:
        return None
    for part in parts:
        if type(part) is not dict or type(part.get("type")) is not str:
            return None
    found = tuple([Part(part.pop("type"), part) for part in parts])
    made = _begin_message(message_id, Author(name, author_kind), found, kind, {})
    made.time = time
    return _as_message(made)


def _begin_message(
    message_id: MessageId, author: Author, parts: tuple[Part, ...], kind: str, extra: dict[str, Any]
) -> Any:
    """Return an instance of `_Unfrozen` with these attributes; the others say that nothing is known."""
    made = _new(_Unfrozen)
    made.id, made.author, made.parts, made.kind, made.extra = message_id, author, parts, kind, extra
    made.to = made.files = ()
    made.payload = made.time = made.reply_to = made.amends = made.retracts = made.work_item = made.task = None
    made.activity = made.tool = made.model = made.status = made.stop_reason = None
    return made


def _as_message(made: Any) -> Message:
    made.__class__ = Message
    message: Message = made
    return message


def _part_document(part: Part, foreign: Callable[[Any], encoding.Foreign]) -> dict[str, Any]:
    """Return a part as a JSON object; input and output of tools are foreign and keep their key order."""
    fields = {key: foreign(value) if key in FOREIGN_FIELDS else value for key, value in part.fields.items()}
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
