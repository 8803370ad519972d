"""Encode names as paths of trees: any text becomes a path that git accepts, also under `git fsck --strict`.

A component is percent-encoded: every byte outside `[A-Za-z0-9_-]` is `%XX`, except a `.` inside the name. The result
contains nothing that git refuses or another system interprets (`.git`, `git~1`, `..`, a backslash). The last component,
the leaf, ends in `=`, which no encoded name contains, so a path is never a file and a directory at once.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from scopes.errors import Invalid

MAX_KEY_BYTES: Final = 4095  # `git fsck --strict` still accepts one component of this length with its `=`
MAX_FILE_LEVELS: Final = 200  # git refuses trees of some thousand levels; Python's recursion limit is lower
EMPTY: Final = "%"

_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9_.-]|\A\.|\.\Z")
_ESCAPE: Final = re.compile(rb"%([0-9A-F]{2})")
_WINDOWS: Final = re.compile(r"[A-Za-z]:(?:[\\/]|\Z)|\\\\")
_WINDOWS_ROOT: Final = re.compile(r"\A(?:[A-Za-z]:|//[^/]+(?:/+[^/]+)?)?/*")


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
