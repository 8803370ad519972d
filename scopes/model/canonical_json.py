r"""Canonical JSON: equal values are equal blobs on every machine, so equal histories get equal object ids.

A stored document is one line of UTF-8 without blanks, ending in one newline. The keys of our own documents are sorted
by code point; a subtree from a foreign source (`Foreign`) keeps its key order. Text is stored unchanged, never
normalized. A lone surrogate, which UTF-8 cannot encode, is written as the escape `\udXXX`; two halves of a pair are one
character. Numbers are written as by Python's `repr`, the shortest text that is read as the same number. Foreign JSON is
stored as it is read: of repeated keys the last one, and numbers that are not finite as text.

Names become paths of trees that git accepts: a component is percent-encoded, every byte outside `[A-Za-z0-9_-]` is
`%XX`, except a `.` inside the name. The last component, the leaf, ends in `=`, which no encoded name contains, so a
path is never a file and a directory at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, TypeAlias, TypeVar

from scopes.errors import Corrupt, Invalid
from scopes.lazy_patterns import compile_lazily

MAX_DEPTH: Final = 200
MAX_DIGITS: Final = 4300  # Python's default limit; fixed here, because a process may change it


@dataclass(slots=True)
class Foreign:
    """A JSON subtree from a foreign source; it keeps its key order, and its depth counts from its own root."""

    value: Json


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | Foreign | None"
_Order: TypeAlias = Callable[[Iterable[str]], list[str]]

Value = TypeVar("Value")

_TEXT: Final = frozenset({str})
_FIRST_TOO_LONG: Final = 10**MAX_DIGITS
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))


def dump(value: Json) -> bytes:
    """Encode a value as canonical JSON, ending in one newline.

    Raises:
        Invalid: a key is not text, a value is not JSON, NaN or infinite, an integer has more than 4300 digits, or
            nesting is deeper than 200 levels.
    """
    text = _ENCODER.encode(_arrange(value, MAX_DEPTH, sorted)) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return joined.encode("utf-8", "backslashreplace")


def load_distinct(data: bytes) -> Json:
    """Decode a stored document that another program may have written; raises as `load`, also for a key twice.

    Other readers take another one of the two values, so the document would not say the same to all.
    """
    return load(data, _DISTINCT)


def load(data: bytes, decoder: json.JSONDecoder | None = None) -> Json:
    """Decode a stored document; foreign subtrees keep their key order, but are plain values.

    Raises:
        Corrupt: the bytes are not JSON in UTF-8, or contain a number that `dump` refuses. Key order and blanks are not
            checked.
    """
    try:
        document: Json = (decoder or _STORED).decode(data.decode())
    except json.JSONDecodeError as error:
        raise _damaged(f"invalid JSON at character {error.pos}") from error
    except UnicodeDecodeError as error:
        raise _damaged(f"invalid UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise _damaged("nested too deeply") from error
    except ValueError as error:
        raise _damaged("a number is out of range") from error
    return document


def without_none(**fields: Value | None) -> dict[str, Value]:
    """Return the fields that are not None, in order: unknown fields of a JSON object are absent."""
    return {name: value for name, value in fields.items() if value is not None}


def _arrange(value: Json, levels_left: int, order: _Order) -> Json:
    """Copy a value with its keys in order, and check what the encoder does not check.

    This uses loops: a comprehension would be a second Python frame on every level.
    """
    match value:
        case dict() | list() if levels_left == 0:
            raise Invalid(f"a value is nested deeper than {MAX_DEPTH} levels", hint="store it as text")
        case dict():
            members: dict[str, Json] = {}
            for key in _keys(value, order):
                item = value[key]
                members[key] = item if type(item) is str else _arrange(item, levels_left - 1, order)
            return members
        case list() if value and set(map(type, value)) == _TEXT:
            return value
        case list():
            items: list[Json] = []
            for item in value:
                items.append(item if type(item) is str else _arrange(item, levels_left - 1, order))  # noqa: PERF401
            return items
        case str() | None:
            return value
        case Foreign():
            return _arrange(value.value, MAX_DEPTH if order is sorted else levels_left, list)
    return _number(value)


def _keys(members: dict[str, Json], order: _Order) -> list[str]:
    try:
        "".join(members)  # the fastest way to check that every key is text
    except TypeError as error:
        raise Invalid("an object has a key that is not text") from error
    return order(members)


def _number(value: object) -> float:
    match value:
        case int() if -_FIRST_TOO_LONG < value < _FIRST_TOO_LONG:
            return value
        case float() if isfinite(value):
            return value
        case int() | float():
            what = f"NaN, an infinity or an integer of more than {MAX_DIGITS} digits"
        case _:
            what = f"a value of type {type(value).__name__}"
    raise Invalid(f"{what} cannot be stored as JSON")


def _damaged(reason: str) -> Corrupt:
    return Corrupt(f"stored data cannot be read: {reason}", hint="see: scopes verify")


def _refuse_constant(token: str) -> float:
    raise ValueError(token)


def _read_finite(token: str) -> float:
    number = float(token)
    if not isfinite(number):
        raise ValueError(token)
    return number


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _damaged("an object has a key twice")
    return members


_STORED: Final = json.JSONDecoder(parse_float=_read_finite, parse_constant=_refuse_constant)
_DISTINCT: Final = json.JSONDecoder(
    object_pairs_hook=_refuse_duplicates, parse_float=_read_finite, parse_constant=_refuse_constant
)

MAX_KEY_BYTES: Final = 4095  # `git fsck --strict` still accepts one component of this length with its `=`
MAX_FILE_LEVELS: Final = 200  # git refuses trees of some thousand levels; Python's recursion limit is lower
EMPTY: Final = "%"

_UNSAFE: Final = compile_lazily(rb"[^A-Za-z0-9_.-]|\A\.|\.\Z")
_ESCAPE: Final = compile_lazily(rb"%([0-9A-F]{2})")
_WINDOWS: Final = compile_lazily(r"[A-Za-z]:(?:[\\/]|\Z)|\\\\")
_WINDOWS_ROOT: Final = compile_lazily(r"\A(?:[A-Za-z]:|//[^/]+(?:/+[^/]+)?)?/*")


def encode_component(name: str) -> str:
    """Encode any text as one path component; the empty text becomes `%`. Different texts stay different."""
    if not name:
        return EMPTY
    data = name.encode("utf-8", "surrogatepass")
    return _UNSAFE.sub(lambda match: b"%%%02X" % ord(match[0]), data).decode("ascii")


def decode_component(text: str) -> str:
    """Decode the result of `encode_component`.

    Raises:
        Invalid: the text is not a result of `encode_component`.
    """
    if text == EMPTY:
        return ""
    data = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode("ascii")), text.encode("utf-8", "replace"))
    try:
        name = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise Invalid(f"{text!a} is not a component of a key") from error
    if encode_component(name) != text:
        raise Invalid(f"{text!a} is not a component of a key")
    return name


def names_in_path(path: str) -> list[str]:
    """Return the names in a path; a component that is not encoded is a name as it is."""
    return [_decode_or_keep(component) for component in path.split("/")]


def _decode_or_keep(component: str) -> str:
    try:
        return decode_component(component)
    except Invalid:
        return component


def leaf(*components: str) -> str:
    """Return the path of a key from one or more names: `a/b/c=`.

    Raises:
        Invalid: the key would be longer than 4095 bytes.
    """
    key = "/".join(map(encode_component, components))
    if len(key) > MAX_KEY_BYTES:
        raise Invalid(f"a key of {len(key)} bytes is too long", hint=f"use shorter names: {MAX_KEY_BYTES} bytes in all")
    return key + "="


def split_leaf(path: str) -> tuple[str, ...]:
    """Return the names of a path that `leaf` returned.

    Raises:
        Invalid: the path is not a key.
    """
    if not path.endswith("="):
        raise Invalid(f"{path!a} is not a key: it does not end in '='")
    return tuple(map(decode_component, path[:-1].split("/")))


def file_leaf(path: str, base: str | None) -> str:
    r"""Return the key of a file below `files/`. The file system is not read; links and letter case are ignored.

    Below `base`, an absolute directory, the directories of the path are kept: `src/app.py=`; `base` itself is `.`.
    Outside of `base`, or for an absolute path without a base, the whole path is one component. A relative path begins
    at `base`; a relative `base` counts as none. `.` and empty components are removed. `..` removes the component before
    it; without a base it stays if there is none.

    Windows rules apply if the path or `base` begins with a drive or with `\\`: `/` and `\` are both separators, the
    drive is converted to upper case, a leading `\\?\` is removed, a leading single separator means the root of the
    base, and a path outside the base is written with `/`. Otherwise a backslash is an ordinary character.

    A key that would be longer than 4095 bytes or deeper than 200 levels is replaced by its hash, one component
    `sha256:<hex>`, so every text has a key.
    """
    windows = any(_WINDOWS.match(text) for text in (path, base or ""))
    base_root, base_names = _split(base or "", windows=windows)
    root, names = _split(path, windows=windows)
    if not base_root:
        base_names = []
    if not root:
        names = base_names + names
    if not root or (windows and root == "/"):
        root = base_root
    names, base_names = _resolve(names, root), _resolve(base_names, base_root)
    if root == base_root and names[: len(base_names)] == base_names:
        components = names[len(base_names) :] or ["."]
    else:
        components = [root + "/".join(names)]
    key = "/".join(map(encode_component, components))
    if len(key) > MAX_KEY_BYTES or len(components) > MAX_FILE_LEVELS:
        import hashlib

        key = encode_component("sha256:" + hashlib.sha256(key.encode("ascii")).hexdigest())
    return key + "="


def _split(path: str, *, windows: bool) -> tuple[str, list[str]]:
    """Split a path into its root (ending in `/`, or empty for a relative path) and its names."""
    if not windows:
        return "/" if path.startswith("/") else "", path.split("/")
    path = path.replace("\\", "/").removeprefix("//?/")
    names = _WINDOWS_ROOT.sub("", path)
    root = path.removesuffix(names)
    drive = root.rstrip("/")
    return drive[:2].upper() + drive[2:] + "/" if root else "", names.split("/")


def _resolve(names: list[str], root: str) -> list[str]:
    """Remove empty and `.` components and apply `..`; above the root is the root."""
    resolved: list[str] = []
    for name in names:
        if name == ".." and resolved and resolved[-1] != "..":
            resolved.pop()
        elif name not in {"", "."} and not (name == ".." and root):
            resolved.append(name)
    return resolved


def relative_path(path: str, directory: str | None) -> str:
    """Return a path relative to a directory if it is below that, for people to read; otherwise unchanged."""
    separator = "\\" if directory is not None and "\\" in directory and "/" not in directory else "/"
    start = None if directory is None else directory.rstrip(separator) + separator
    return path if start is None or not path.startswith(start) else path[len(start) :] or path
