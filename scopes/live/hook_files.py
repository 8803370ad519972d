"""Why the file that a hook named is no session of its agent: what it begins with, and what a session has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from scopes.errors import CannotImport, ScopesError
from scopes.importers.formats.base import UNKNOWN_FORMAT
from scopes.regular_file import open_regular

RECORDS: Mapping[str, str] = MappingProxyType(
    {
        "claude-code": "type, sessionId, uuid and isSidechain (true or false)",
        "codex": "timestamp, type and payload, first one of the type session_meta",
        "gemini": "sessionId, projectHash and startTime in the first one, then id, timestamp and type",
    }
)  # by agent: the keys of the JSON objects in a session file
_FIRST_BYTES = 64 << 10
_MAX_KEYS = 12


def explain_format(agent: str, paths: Sequence[str], error: ScopesError | OSError) -> ScopesError | OSError:
    """Return the error of a session file; one of an unknown format with what is known about the file and the agent."""
    if not isinstance(error, CannotImport) or UNKNOWN_FORMAT not in error.message or not paths:
        return error
    keys = RECORDS.get(agent)
    hint = error.hint if keys is None else f"a line of a session of {agent} is a JSON object with {keys}"
    return CannotImport(f"{error.message}: {_describe_beginning(paths[0])}", hint)


def _describe_beginning(path: str) -> str:
    """Return what the first line of a file is."""
    data = b""
    with suppress(OSError), open_regular(path) as file:
        data = file.read(_FIRST_BYTES)
    line = data.lstrip().partition(b"\n")[0]
    if not line:
        return "it is empty"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return "its first line is no JSON"
    if not isinstance(record, dict):
        return "its first line is no JSON object"
    names = ", ".join(name[:40] for name in list(record)[:_MAX_KEYS])
    return f"its first line has {names or 'no keys'}"
