"""Write sessions of Qwen Code 0.15: a chain of records with messages as the Gemini interface has them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from scopes.handover.native.session import FileWriter, NativeRecord, NativeSession, format_milliseconds
from scopes.handover.native.turns import Turn

NAME = "qwen"
_VERSION = "0.15.10"
_NOT_IN_FOLDER = re.compile(r"[^a-zA-Z0-9]")


class Qwen(FileWriter):
    """Qwen Code, which looks for a session in the folder of its directory."""

    name = NAME
    window = 256_000

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return the path of the session."""
        folder = _NOT_IN_FOLDER.sub("-", session.directory)
        return os.path.join(top, "projects", folder, "chats", f"{session.id}.jsonl")

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the records of the session."""
        records: list[NativeRecord] = []
        parent: str | None = None
        for turn, time in zip(session.turns, session.times(), strict=True):
            for kind, fields in _walk_fields(turn):
                name = session.uuid_of(len(records))
                value = {
                    "uuid": name, "parentUuid": parent, "sessionId": session.id,
                    "timestamp": format_milliseconds(time), "type": kind, "cwd": session.directory,
                    "version": _VERSION, **fields,
                }  # fmt: skip
                records.append(NativeRecord(value, turn.message))
                parent = name
        return records


def _walk_fields(turn: Turn) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the type of each record of a turn, and what it has of its own."""
    if turn.role == "user":
        yield "user", {"message": {"role": "user", "parts": [{"text": part} for part in turn.parts]}}
    for result in turn.results:
        field = "error" if result.is_error else "output"
        response = {"id": result.id, "name": result.name, "response": {field: result.text}}
        status = "error" if result.is_error else "success"
        yield (
            "tool_result",
            {
                "message": {"role": "user", "parts": [{"functionResponse": response}]},
                "toolCallResult": {"callId": result.id, "status": status, "resultDisplay": result.text},
            },
        )
    if turn.role == "assistant":
        parts = [
            {"text": part}
            if isinstance(part, str)
            else {"functionCall": {"id": part.id, "name": part.name, "args": dict(part.input)}}
            for part in turn.parts
        ]
        yield "assistant", {"model": turn.model or "unknown", "message": {"role": "model", "parts": parts}}
