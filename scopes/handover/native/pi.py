"""Write sessions of pi 0.73: a header, and messages that name the one before.

It crashes on an answer without usage.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from scopes.handover.native.session import FileWriter, NativeRecord, NativeSession, format_milliseconds, uuid_of
from scopes.handover.native.turns import Turn

NAME = "pi"
_VERSION = 3
_SEPARATORS = re.compile(r"[/\\:]")
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": _NO_COST}
_API, _PROVIDER, _NO_MODEL = "openai-completions", "unknown", "unknown"


class Pi(FileWriter):
    """pi, which looks for a session in the folder of its directory."""

    name = NAME
    window = 128_000

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return the path of the session."""
        folder = _SEPARATORS.sub("-", session.directory.removeprefix("/"))
        time = re.sub(r"[:.]", "-", format_milliseconds(session.milliseconds))
        return os.path.join(top, "sessions", f"--{folder}--", f"{time}_{session.id}.jsonl")

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the records of the session."""
        created = format_milliseconds(session.milliseconds)
        header = {
            "type": "session", "version": _VERSION, "id": session.id, "timestamp": created, "cwd": session.directory,
        }  # fmt: skip
        records = [NativeRecord(header)]
        parent: str | None = None
        for turn, time in zip(session.turns, session.times(), strict=True):
            for message in _walk_messages(turn, time):
                name = uuid_of(session.id, str(len(records)))[:8]
                value = {
                    "type": "message", "id": name, "parentId": parent, "timestamp": format_milliseconds(time),
                    "message": message,
                }  # fmt: skip
                records.append(NativeRecord(value, turn.message))
                parent = name
        return records


def _walk_messages(turn: Turn, time: int) -> Iterator[dict[str, Any]]:
    if turn.role == "user":
        yield {"role": "user", "content": _blocks(turn), "timestamp": time}
    for result in turn.results:
        yield {
            "role": "toolResult", "toolCallId": result.id, "toolName": result.name,
            "content": [{"type": "text", "text": result.text}], "isError": result.is_error, "timestamp": time,
        }  # fmt: skip
    if turn.role == "assistant":
        yield {
            "role": "assistant", "content": _blocks(turn), "api": _API, "provider": _PROVIDER,
            "model": turn.model or _NO_MODEL, "usage": _USAGE, "stopReason": "toolUse" if turn.calls else "stop",
            "timestamp": time,
        }  # fmt: skip


def _blocks(turn: Turn) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "toolCall", "id": part.id, "name": part.name, "arguments": dict(part.input)}
        for part in turn.parts
    ]
