"""Find the files that a change touches: from Codex's report of it, or from the patch that the model wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.fields import file_content_hash, text_field
from scopes.model.message import FileTouch, Part

_HEADING = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$")
_BEGINNING = "*** Begin Patch"
_MOVED = "*** Move to: "
_NOT_CONTENT = ("*** End of File", "*** End Patch")
_OPERATIONS = {"Add": "create", "Update": "edit", "Delete": "delete"}


def touched_by_call(part: Part) -> tuple[FileTouch, ...]:
    """Return the files of the patch in a tool call; empty if it has no patch."""
    for text in _texts(part.fields.get("input", part.fields.get("input_text"))):
        start = text.find(_BEGINNING)
        if start >= 0:
            return touched_by_patch(text[start:])
    return ()


def touched_by_patch(patch: str) -> tuple[FileTouch, ...]:
    """Return the files of a patch in the `apply_patch` notation, in order."""
    touches: list[FileTouch] = []
    added: list[str] = []
    complete = False
    for line in patch.split("\n"):
        heading = _HEADING.match(line.rstrip("\r"))
        if heading or line.startswith(_NOT_CONTENT):
            _set_content_hash(touches, added if complete else None)
            complete = False
        if heading:
            touches.append(FileTouch(heading[2].strip(), _OPERATIONS[heading[1]]))
            added, complete = [], heading[1] == "Add"
        elif line.startswith(_MOVED) and touches:
            before = touches.pop()
            touches.append(FileTouch(line.removeprefix(_MOVED).strip(), "rename", source=before.path))
        elif complete and line.startswith("+"):
            added.append(line[1:])
        elif complete:
            complete = False
    return tuple(touches)


def touched_by_changes(changes: Mapping[str, Any]) -> tuple[FileTouch, ...]:
    """Return the files of a reported change, which maps paths to what was done."""
    found = (_read_change(path, change) for path, change in changes.items() if isinstance(change, dict))
    return tuple(touch for touch in found if touch is not None)


def _hash(content: str) -> str | None:
    """Return the hash of a file's content, which may have lone surrogates."""
    return file_content_hash(content, "surrogatepass")


def _texts(given: object) -> Iterator[str]:
    """Yield the strings of a tool's input, and of lists in it."""
    for value in given.values() if isinstance(given, dict) else [given]:
        yield from (word for word in (value if isinstance(value, list) else [value]) if isinstance(word, str))


def _set_content_hash(touches: list[FileTouch], added: list[str] | None) -> None:
    """Set the hash of the last file if it was added with complete content (`added`)."""
    if added is not None:
        content = "".join(f"{line}\n" for line in added)
        touches[-1] = FileTouch(touches[-1].path, touches[-1].op, _hash(content))


def _read_change(path: str, change: Mapping[str, Any]) -> FileTouch | None:
    match change:
        case {"type": "add", "content": str(content)}:
            return FileTouch(path, "create", _hash(content))
        case {"type": "add"}:
            return FileTouch(path, "create")
        case {"type": "delete"}:
            return FileTouch(path, "delete")
        case {"type": "update"}:
            moved = text_field(change, "move_path")
            return FileTouch(path, "edit") if moved is None else FileTouch(moved, "rename", source=path)
    return None
