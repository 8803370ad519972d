"""Read the records of an event stream: JSON lines, an indented JSON array, or one object, also between lines of text.

A headless agent prints its events to standard output, where other programs write too. Text between the records becomes
records with a problem. Whole documents are parsed, so a record may span lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO

from scopes.importers.formats.events import ByteRange
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.json_stream import JsonDocument, walk_documents
from scopes.importers.formats.lossless_json import decode, describe_error

SHORT_ID = 8
_SNIFFED = 40  # documents at the beginning of a source that may come before its first known record


def walk_stream(stream: BinaryIO, size: int) -> Iterator[Record]:
    """Yield the records of the first `size` bytes; their spans are adjacent. Those with a value hold an object."""
    for number, document in enumerate(walk_documents(stream, size, _is_object)):
        value, problem = _decode(document)
        span = ByteRange(document.begin, document.end - document.begin)
        yield Record(number + 1, number, span, value, problem)


def first_records(head: bytes) -> list[dict[str, Any]]:
    """Return the objects among the first documents of a source, to recognize its format."""
    records = islice(walk_stream(BytesIO(head), len(head)), _SNIFFED)
    return [record.value for record in records if record.value is not None]


def digest_of_record(value: Any) -> str:
    """Return a short hash of a record, which names the stream that begins with it."""
    return sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:SHORT_ID]


def name_stream(first: Iterable[Any]) -> str:
    """Return the sub file of a stream, given its first record with content; it stays the same while the file grows."""
    return f"stream-{digest_of_record(next(iter(first), None))}"


def _is_object(text: str, position: int) -> bool:
    return text.startswith("{", position)


def _decode(document: JsonDocument) -> tuple[dict[str, Any] | None, str | None]:
    try:
        document.text.encode()
        value = decode(document.text)
    except UnicodeEncodeError:
        return None, "not valid UTF-8"
    except (ValueError, RecursionError) as error:
        return None, describe_error(error)
    return (value, None) if isinstance(value, dict) else (None, "not an object")
