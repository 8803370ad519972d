"""Write sessions of the Gemini CLI 0.61: JSON lines, the results of calls in the answer with the calls.

It leaves a prompt out of the history that begins like a command, so that such a prompt gets a word before it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import count
from typing import Any

from scopes.handover.native.session import FileWriter, NativeRecord, NativeSession, format_milliseconds
from scopes.handover.native.turns import Turn
from scopes.regular_file import MAX_CONFIG_BYTES, open_regular

NAME = "gemini"
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")
_IGNORED = ("/", "?", "<session_context")
_OWNER = ".project_root"


class Gemini(FileWriter):
    """The Gemini CLI, which looks for a session in the folder of the project."""

    name = NAME
    window = 1_048_576

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return the path of the session."""
        time = session.created[: len("2026-01-01T00:00")].replace(":", "-")
        folder = os.path.join(top, "tmp", find_slug(session.directory, top), "chats")
        return os.path.join(folder, f"session-{time}-{session.id[:8]}.jsonl")

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the records of the session."""
        created = format_milliseconds(session.milliseconds)
        header = {
            "sessionId": session.id, "projectHash": sha256(session.directory.encode("utf-8", "replace")).hexdigest(),
            "startTime": created, "lastUpdated": created, "kind": "main",
        }  # fmt: skip
        records = [NativeRecord(header)]
        turns = list(session.turns)
        for number, time in enumerate(session.times()):
            turn = turns[number]
            if turn.role == "results":
                continue
            following = turns[number + 1] if number + 1 < len(turns) else None
            results = following if following is not None and following.role == "results" else None
            fields = {
                "id": session.uuid_of(len(records)), "timestamp": format_milliseconds(time),
                **_fields_of(turn, results, format_milliseconds(time)),
            }  # fmt: skip
            records.append(NativeRecord(fields, turn.message if results is None else results.message))
        return records


def _fields_of(turn: Turn, results: Turn | None, time: str) -> dict[str, Any]:
    if turn.role == "user":
        text = turn.text
        text = f"User: {text}" if text.lstrip().startswith(_IGNORED) else text
        return {"type": "user", "content": [{"text": text}]}
    answer = {"type": "gemini", "content": turn.text, "thoughts": [], "model": turn.model or "unknown"}
    calls = list(_walk_calls(turn, results, time))
    return {**answer, "toolCalls": calls} if calls else answer


def _walk_calls(turn: Turn, results: Turn | None, time: str) -> Iterator[dict[str, Any]]:
    found = {result.id: result for result in (() if results is None else results.results)}
    for call in turn.calls:
        result = found[call.id]
        field = "error" if result.is_error else "output"
        response = {"id": call.id, "name": call.name, "response": {field: result.text}}
        yield {
            "id": call.id, "name": call.name, "args": dict(call.input), "result": [{"functionResponse": response}],
            "status": "error" if result.is_error else "success", "timestamp": time, "resultDisplay": result.text,
        }  # fmt: skip


def find_slug(directory: str, top: str) -> str:
    """Return the name of the folder of a project: the one that it has, or the one that Gemini CLI will give it."""
    listed = _read_projects(os.path.join(top, "projects.json"))
    folders = os.path.join(top, "tmp")
    own = listed.get(directory)
    if own is not None and _owner_of(folders, own) in {None, directory}:
        return own
    with suppress(OSError):
        for name in sorted(os.listdir(folders)):
            if _owner_of(folders, name) == directory:
                return name
    slug = _NOT_IN_SLUG.sub("-", os.path.basename(directory).lower()).strip("-") or "project"
    taken = set(listed.values())
    candidates = (slug if not number else f"{slug}-{number}" for number in count())
    return next(name for name in candidates if name not in taken and _owner_of(folders, name) in {None, directory})


def _read_projects(path: str) -> dict[str, str]:
    """Return the folders of projects by their directories."""
    with suppress(OSError, ValueError):
        with open_regular(path) as file:
            projects = json.loads(file.read(MAX_CONFIG_BYTES)).get("projects")
        if isinstance(projects, dict):
            return {path: name for path, name in projects.items() if isinstance(name, str) and "/" not in name}
    return {}


def _owner_of(folders: str, name: str) -> str | None:
    """Return the directory that a folder is of; None if it does not say."""
    try:
        with open_regular(os.path.join(folders, name, _OWNER)) as file:
            return file.read(MAX_CONFIG_BYTES).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return None
