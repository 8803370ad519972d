"""Write results and errors as JSON, on one line as a rule, with control and invisible characters as escapes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.lazy_list import LazyList
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.result import Result
from scopes.sanitize import escape_json

SCHEMA_VERSION = 1
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))


def result_line(result: Result, options: ViewOptions = DEFAULT_OPTIONS, fields: Sequence[str] = ()) -> str:
    """Return a result as a line of JSON: the schema version, the object of the result, and its notes if any.

    With `fields`, the object or its rows have only these.
    """
    return "".join(walk_result_line(result, options, fields))


def walk_result_line(
    result: Result, options: ViewOptions = DEFAULT_OPTIONS, fields: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the line of a result in pieces, so that a long list need not be in memory."""
    document: dict[str, object] = {"scopes": SCHEMA_VERSION, **to_wire(result, options)}
    if result.notes:
        document["notes"] = [without_none(text=note.text, hint=note.hint) for note in result.notes]
    if fields:
        from scopes.render.fields import reduce_document

        document = reduce_document(document, result, options, fields)
    if not any(isinstance(value, LazyList) for value in document.values()):
        yield json_line(document)
        return
    for number, (name, value) in enumerate(document.items()):
        yield ("," if number else "{") + _encode(name) + ":"
        if isinstance(value, LazyList):
            for position, item in enumerate(value):
                yield ("," if position else "[") + _encode(item)
            yield "]" if value else "[]"
        else:
            yield _encode(value)
    yield "}\n"


def error_line(kind: str, message: str, hint: str | None, *, retryable: bool) -> str:
    """Return an error as a line of JSON."""
    error: dict[str, object] = without_none(kind=kind, message=message, hint=hint, retryable=retryable)
    return json_line({"error": error})


def json_line(document: Mapping[str, object]) -> str:
    """Return JSON values as one line that ends in a newline."""
    return _encode(document) + "\n"


def _encode(value: object) -> str:
    return escape_json(_ENCODER.encode(value))  # the encoder has escaped the control characters up to U+001F
