"""What a tool gave back: its text, and whether it went well.

Codex has written outputs as JSON around the text, as prose with a header, and as a list of content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scopes.importers.exact_json import decode, foreign

_EXITED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,10})$", re.MULTILINE)
_BODY = re.compile(r"^Output:$", re.MULTILINE)
_FAILED = ("exec_command failed", "apply_patch verification failed", "err: ")
_HEADER = 16_384  # characters in which a header ends, which may quote a long command


def read_output(item: Mapping[str, Any]) -> dict[str, Any]:
    """Lay out the fields of a tool's result, without the call's id."""
    output = item.get("output")
    match output:
        case str():
            return _read_text(output)
        case {"content": str(text), "success": bool(success)}:
            return {**_read_text(text), "is_error": not success}
    return foreign("output", output) if "output" in item else {}


def with_exit_code(code: int) -> dict[str, Any]:
    """Return the fields that say how a process ended."""
    return {"exit_code": code, "is_error": code != 0}


def _read_text(text: str) -> dict[str, Any]:
    wrapped = _unwrap(text) if text.startswith('{"output"') else None
    if wrapped is not None:
        return wrapped
    body = _BODY.search(text, 0, _HEADER)
    exited = _EXITED.search(text, 0, body.start()) if body else None
    if exited:
        return {"output": text, **with_exit_code(int(exited[1]))}
    return {"output": text, "is_error": True} if text.startswith(_FAILED) else {"output": text}


def _unwrap(text: str) -> dict[str, Any] | None:
    """Read an output that is JSON around the text; None when it is something else that only begins so."""
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"output": str(inner), "metadata": {"exit_code": int(code)}}:
            return {"output": inner, **with_exit_code(code)}
    return None
