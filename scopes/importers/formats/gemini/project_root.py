"""Find the directory of the project that a session file of Gemini CLI belongs to, which is in no session file.

    ~/.gemini/projects.json                      {"projects": {"/home/carol/shop": "shop"}}
    ~/.gemini/tmp/shop/.project_root             /home/carol/shop
    ~/.gemini/tmp/shop/chats/session-*.jsonl
    ~/.gemini/tmp/shop/chats/<session>/*.jsonl   of the sub-agents of a session

Before there were such names, the folder was named after the SHA-256 hash of the directory.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Final

from scopes.errors import ScopesError
from scopes.importers.formats.fields import object_field
from scopes.importers.formats.lossless_json import decode
from scopes.regular_file import read_regular

CHATS: Final = "chats"
_MARKER = ".project_root"
_REGISTRY = "projects.json"
_MAX_MARKER = 4096  # bytes, the longest path of Linux
_MAX_REGISTRY = 4 << 20


def find_parent_session(path: str) -> str | None:
    """Return the id of the session whose sub-agents the folder of a file has; None if the folder is another one."""
    folder = os.path.dirname(path)
    return os.path.basename(folder) if os.path.basename(os.path.dirname(folder)) == CHATS else None


def find_project_root(path: str) -> str | None:
    """Return the directory of the project of a session file, by the files that Gemini CLI keeps beside it."""
    chats = os.path.dirname(path)
    if os.path.basename(chats) != CHATS:
        chats = os.path.dirname(chats)
    if os.path.basename(chats) != CHATS:
        return None
    folder = os.path.dirname(chats)
    marked = _read(os.path.join(folder, _MARKER), _MAX_MARKER).strip()
    if os.path.isabs(marked) and "\n" not in marked:
        return marked
    return _find_registered(os.path.dirname(os.path.dirname(folder)), os.path.basename(folder))


def _find_registered(top: str, name: str) -> str | None:
    """Return the directory that the list of projects has under the name of a folder, or whose hash that is."""
    try:
        listed = object_field(_object(decode(_read(os.path.join(top, _REGISTRY), _MAX_REGISTRY))), "projects")
    except (ValueError, RecursionError):
        return None
    paths = [path for path in listed if os.path.isabs(path)]
    named = (path for path in paths if listed[path] == name)
    hashed = (path for path in paths if sha256(path.encode("utf-8", "surrogatepass")).hexdigest() == name)
    return next(named, next(hashed, None))


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _read(path: str, limit: int) -> str:
    """Return the text of a file that may be missing or damaged; then it is empty."""
    try:
        return read_regular(path, limit).decode()
    except (OSError, ScopesError, UnicodeDecodeError):
        return ""
