"""Write rollouts of Codex 0.73 to 0.169: the items that the model gets, and the events that its screen shows.

Items have no ids, which the service would look up, and no ordinals. Without `originator` and `cli_version` a rollout is
refused; without `source` it is listed as one of an editor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from scopes.handover.native.session import FileWriter, NativeRecord, NativeSession, dump, format_milliseconds
from scopes.handover.native.turns import Turn

NAME = "codex"
_VERSION = "0.169.0"


class Codex(FileWriter):
    """Codex, which looks for a session by its id below the directory of its day."""

    name = NAME
    window = 272_000

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return the path of the rollout."""
        day, _, time = session.created.rstrip("Z").partition("T")
        folder = os.path.join(top, "sessions", *day.split("-"))
        return os.path.join(folder, f"rollout-{day}T{time.replace(':', '-')}-{session.id}.jsonl")

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the records of the rollout."""
        created = format_milliseconds(session.milliseconds)
        meta = {
            "id": session.id, "timestamp": created, "cwd": session.directory, "originator": "codex_cli_rs",
            "cli_version": _VERSION, "instructions": None, "source": "cli",
        }  # fmt: skip
        records = [NativeRecord({"timestamp": created, "type": "session_meta", "payload": meta})]
        for turn, time in zip(session.turns, session.times(), strict=True):
            for kind, payload in _walk_payloads(turn):
                value = {"timestamp": format_milliseconds(time), "type": kind, "payload": payload}
                records.append(NativeRecord(value, turn.message))
        return records


def _walk_payloads(turn: Turn) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the type and payload of each record of a turn."""
    for result in turn.results:
        output = {"type": "function_call_output", "call_id": result.id, "output": result.text}
        yield "response_item", output
    if turn.role == "user":
        content = [{"type": "input_text", "text": part} for part in turn.parts]
        yield "response_item", {"type": "message", "role": "user", "content": content}
        yield "event_msg", {"type": "user_message", "message": turn.text, "images": []}
        return
    for part in turn.parts:
        if isinstance(part, str):
            content = [{"type": "output_text", "text": part}]
            yield "response_item", {"type": "message", "role": "assistant", "content": content}
            yield "event_msg", {"type": "agent_message", "message": part}
        else:
            call = {"type": "function_call", "name": part.name, "arguments": dump(part.input), "call_id": part.id}
            yield "response_item", call
