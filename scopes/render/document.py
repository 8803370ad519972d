"""Write a Result as JSON: the keys are the fields of its class, in order, and properties that are shown.

None is left out. Dataclasses and NamedTuples in the fields become objects in the same way; a Result or an object that
has a method `document` says itself what its keys are. A document is one line, with control and invisible characters as
escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, overload

from scopes.clock import utc
from scopes.model.canonical_json import without_none
from scopes.render.view import DEFAULT_OPTIONS, ViewOptions
from scopes.result import Result, Stream
from scopes.sanitize import escape_json

SCHEMA_VERSION = 1
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))
Make: TypeAlias = Callable[[Any], Any]
_SCALARS = frozenset({str, int, float, bool, type(None)})
_TIME = re.compile(r"\bTime\b")
_TAKEN = frozenset(name for name in vars(Result) if not name.startswith("_")) - {"kind", "notes"}


class Key(NamedTuple):
    """A key of an object: where its value is, and how that is written.

    Attributes:
        read: Returns the value.
        annotation: The type of the value, as it is written in the source.
        make: Makes the JSON value.
        inline: The keys of the value stand in the place of this one.
        omit_empty: The key is left out if the value is empty, not only if it is None.
        null: The key is there even if the value is None.
    """

    name: str
    read: Callable[[Any], Any]
    annotation: str
    make: Make
    inline: bool = False
    omit_empty: bool = False
    null: bool = False


_KEYS: dict[type, tuple[Key, ...]] = {}


class LazyList(Sequence[Any]):
    """A list whose items a function makes one by one while they are written; equal to a list of the same."""

    def __init__(self, make: Callable[[Any], object], items: Sequence[Any]) -> None:
        self._make = make
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._items)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        found = self._items[index]
        return list(map(self._make, found)) if isinstance(index, slice) else self._make(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (list, LazyList)) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as a list


def make_document(result: Result) -> dict[str, object]:
    """Return the JSON object of a result: its kind, then its keys.

    Rows that are not in memory, because they are no tuple, are made when they are read.
    """
    document: dict[str, object] = {"kind": result.kind}
    own: Callable[[], dict[str, object]] | None = getattr(result, "document", None)
    if own is not None:
        return document | _mapping(own())
    kind = type(result)
    return document | _fill({}, result, keys_of(kind), lazy="" if kind.is_one_row else kind.rows_in)


def plain(value: Any) -> Any:
    """Return a value as JSON knows it, with everything that is in it."""
    return (_MAKERS.get(type(value)) or _maker(type(value)))(value)


def keys_of(kind: type) -> tuple[Key, ...]:
    """Return the keys of the objects of a class, which are found out once.

    Raises:
        TypeError: a field of a Result has the name of something that a Result says about itself.
    """
    if kind not in _KEYS:
        _KEYS[kind] = tuple(_walk_keys(kind))
    return _KEYS[kind]


def _walk_keys(kind: type) -> Iterator[Key]:
    is_result = issubclass(kind, Result)
    for name, annotation, metadata in _walk_fields(kind):
        if is_result and name in _TAKEN:
            raise TypeError(f"{kind.__name__}: {name!r} cannot be a field of a Result; use named({name!r})")
        if (is_result and name in {"kind", "notes"}) or "hidden" in metadata:
            continue
        for key, attribute in metadata.get("spread", {}).items():
            yield Key(key, _reader_within(name, attribute), "", plain)
        if "spread" not in metadata:
            key = kind.rows_in if issubclass(kind, Stream) and name == "items" and kind.rows_in else name
            yield Key(
                metadata.get("key", key),
                attrgetter(name),
                annotation,
                metadata.get("make") or (utc if _TIME.search(annotation) else plain),
                inline="inline" in metadata,
                omit_empty="omit_empty" in metadata,
                null="null" in metadata,
            )
    for each in reversed(kind.__mro__):
        for name, value in vars(each).items():
            function = value.fget if isinstance(value, property) else None
            if hasattr(function, "is_shown"):
                annotation = str(function.__annotations__["return"])
                yield Key(name, attrgetter(name), annotation, utc if _TIME.search(annotation) else plain)


def _reader_within(name: str, attribute: str) -> Callable[[Any], Any]:
    """Return a function that reads an attribute of the value of a field; it returns None if that is None."""
    read = attrgetter(attribute)

    def read_within(value: Any) -> Any:
        found = getattr(value, name)
        return None if found is None else read(found)

    return read_within


def _walk_fields(kind: type) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the name, the type as text and the metadata of the fields of a dataclass or a NamedTuple."""
    if is_dataclass(kind):
        for field in fields(kind):
            yield field.name, str(field.type), field.metadata
    for name in getattr(kind, "_fields", ()):
        annotation = kind.__annotations__.get(name)
        yield name, getattr(annotation, "__forward_arg__", str(annotation)), {}


def _fill(target: dict[str, object], value: Any, keys: tuple[Key, ...], lazy: str = "") -> dict[str, object]:
    """Put the keys of an object into a target."""
    for key in keys:
        item = key.read(value)
        if item is None:
            if key.null:
                target[key.name] = None
        elif key.inline:
            target.update(_fill({}, item, keys_of(type(item))) if isinstance(item, Result) else key.make(item))
        elif not (key.omit_empty and not item):
            is_lazy = key.name == lazy and isinstance(item, Sequence) and not isinstance(item, tuple | list)
            target[key.name] = LazyList(plain, item) if is_lazy else key.make(item)
    return target


def _same(value: Any) -> Any:
    return value


def _list(value: Iterable[Any]) -> list[Any]:
    return [item if type(item) in _SCALARS else plain(item) for item in value]


def _sorted_list(value: AbstractSet[Any]) -> list[Any]:
    return sorted(map(plain, value))


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): item if type(item) in _SCALARS else plain(item) for name, item in value.items()}


def _own(value: Any) -> Any:
    return _mapping(value.document())


def _object_maker(kind: type) -> Make:
    keys = keys_of(kind)
    return lambda value: _fill({}, value, keys)


_MAKERS: dict[type, Make] = {
    str: _same, int: _same, float: _same, bool: _same, type(None): _same, list: _list, tuple: _list, dict: _mapping
}  # fmt: skip


def _maker(kind: type) -> Make:
    """Find out how the values of a class are written, once."""
    bases: tuple[tuple[type, Make], ...] = (
        (str, str), (bool, bool), (int, int), (float, float), (Mapping, _mapping),
        (AbstractSet, _sorted_list), (Iterable, _list),
    )  # fmt: skip
    if issubclass(kind, Result):
        make: Make | None = make_document
    elif hasattr(kind, "document"):
        make = _own
    elif hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields"):
        make = _object_maker(kind)
    else:
        make = next((make for base, make in bases if issubclass(kind, base)), None)
    if make is None:
        raise TypeError(f"{kind.__name__} has no JSON form")
    _MAKERS[kind] = make
    return make


def result_line(result: Result, options: ViewOptions = DEFAULT_OPTIONS, fields: Sequence[str] = ()) -> str:
    """Return a result as a line of JSON: the schema version, the object of the result, and its notes if any.

    With `fields`, the object or its rows have only these.
    """
    return "".join(walk_result_line(result, options, fields))


def walk_result_line(
    result: Result, options: ViewOptions = DEFAULT_OPTIONS, fields: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the line of a result in pieces, so that a long list need not be in memory."""
    document: dict[str, object] = {"scopes": SCHEMA_VERSION, **make_document(result)}
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
