"""Write sessions of Claude Code 2.1: a chain of records, the results of calls in records of the user.

It hangs on a record without the fields around the message, and on an id that is no UUID. The last record names
the leaf.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from scopes.handover.native.session import FileWriter, NativeRecord, NativeSession, format_milliseconds
from scopes.handover.native.turns import Turn

NAME = "claude-code"
_VERSION = "2.1.159"
_NOT_IN_FOLDER = re.compile(r"[^A-Za-z0-9]")
_NO_MODEL = "unknown"
_USAGE = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}


class ClaudeCode(FileWriter):
    """Claude Code, which looks for a session in the folder of its directory."""

    name = NAME
    window = 200_000

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return the path of the session."""
        folder = _NOT_IN_FOLDER.sub("-", session.directory)
        return os.path.join(top, "projects", folder, f"{session.id}.jsonl")

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the records of the session."""
        records: list[NativeRecord] = []
        parent: str | None = None
        prompt = ""
        for turn, time in zip(session.turns, session.times(), strict=True):
            prompt = turn.text if turn.role == "user" else prompt
            for message in _walk_messages(turn, session.uuid_of(len(records))):
                name = session.uuid_of(len(records))
                kind = "assistant" if message["role"] == "assistant" else "user"
                value = {
                    "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": session.directory,
                    "sessionId": session.id, "version": _VERSION, "gitBranch": "", "type": kind, "message": message,
                    "uuid": name, "timestamp": format_milliseconds(time),
                }  # fmt: skip
                records.append(NativeRecord(value, turn.message))
                parent = name
        if session.title:
            title = {"type": "custom-title", "customTitle": session.title, "sessionId": session.id}
            records.append(NativeRecord(title))
        leaf = {"type": "last-prompt", "lastPrompt": prompt, "leafUuid": parent, "sessionId": session.id}
        return [*records, NativeRecord(leaf)]


def _walk_messages(turn: Turn, name: str) -> Iterator[dict[str, Any]]:
    """Yield the messages of a turn, as the interface of the model has them; an answer is named after its record."""
    if turn.role == "user":
        yield {"role": "user", "content": turn.text}
        return
    for result in turn.results:
        block: dict[str, Any] = {"tool_use_id": result.id, "type": "tool_result", "content": result.text}
        yield {"role": "user", "content": [{**block, "is_error": True} if result.is_error else block]}
    if turn.role == "assistant":
        content: list[dict[str, Any]] = []
        for part in turn.parts:
            if isinstance(part, str):
                content.append({"type": "text", "text": part})
            else:
                content.append({"type": "tool_use", "id": part.id, "name": part.name, "input": dict(part.input)})
        yield {
            "id": f"msg_{name.replace('-', '')[:24]}", "type": "message", "role": "assistant",
            "model": turn.model or _NO_MODEL,
            "content": content, "stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None,
            "usage": _USAGE,
        }  # fmt: skip
