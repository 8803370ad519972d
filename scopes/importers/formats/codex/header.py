"""Whose history a rollout is: told by its first session record, and where that is damaged by the file's own name."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from scopes.importers.formats.codex.fork_copies import parent_thread
from scopes.importers.formats.codex.record import NAME, SESSION, RolloutRecord, object_field, text_field
from scopes.importers.formats.events import Session

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_FILE_NAME = re.compile(rf"rollout-.*?-({_UUID})(?:_({_UUID}))?\.jsonl(?:\.zst)?")


@dataclass(frozen=True, slots=True)
class Header:
    """What a rollout says about itself; `agent` names a sub-agent, `parent` the thread that it works for."""

    session: Session
    agent: str | None
    parent: str | None
    git_branch: str | None


def read_header(lines: Sequence[RolloutRecord], path: str, beginning: bytes) -> Header:
    """Read whose history it is from the first lines; `beginning` names a session that nothing else names."""
    line = next((line for line in lines if line.kind == SESSION), None)
    file_name = _FILE_NAME.fullmatch(os.path.basename(path))
    if line is None:
        name = file_name[1] if file_name else sha256(beginning).hexdigest()
        created = next((line.time for line in lines if line.time), None)
        return Header(Session(format=NAME, native_id=name, created=created), None, None, None)
    payload = line.payload
    thread = text_field(payload, "id") or text_field(payload, "session_id") or sha256(beginning).hexdigest()
    part = file_name[2] if file_name and file_name[1] == thread else None
    if part is None and _is_page(line, thread):
        part = sha256(beginning).hexdigest()[:16]
    base = object_field(payload, "history_base")
    parent = parent_thread(line)
    agent = _agent(line)
    git = object_field(payload, "git")
    session = Session(
        format=NAME,
        native_id=thread,
        part=part,
        created=text_field(payload, "timestamp") or line.time,
        cwd=text_field(payload, "cwd"),
        base=text_field(base, "thread_id") or text_field(payload, "forked_from_id") or parent,
        spawned_by=_spawner(line, parent) if agent else None,
        details=_details(line, agent) | ({"line": "page"} if part is not None else {}),
    )
    return Header(session, agent, parent, text_field(git, "branch"))


def _is_page(line: RolloutRecord, thread: str) -> bool:
    """Tell whether a rollout goes on with its own thread, from an earlier file of it."""
    base = text_field(object_field(line.payload, "history_base"), "thread_id")
    elsewhere = text_field(line.payload, "forked_from_id") or parent_thread(line)
    return base is not None and (base == thread or elsewhere is None)


def _agent(line: RolloutRecord) -> str | None:
    """Name the sub-agent that a thread is: its nickname, its role, or what it is for."""
    subagent = object_field(line.payload, "source").get("subagent")
    spawn = object_field(subagent, "thread_spawn") if isinstance(subagent, dict) else {}
    names = [text_field(found, name) for name in ("agent_nickname", "agent_role") for found in (spawn, line.payload)]
    if isinstance(subagent, str) and subagent:
        names.append(subagent)
    if subagent is not None or text_field(line.payload, "thread_source") == "subagent":
        names.append("agent")
    return next((name for name in names if name), None)


def _spawner(line: RolloutRecord, parent: str | None) -> dict[str, str]:
    spawn = object_field(object_field(object_field(line.payload, "source"), "subagent"), "thread_spawn")
    known = {"thread": parent, "path": text_field(spawn, "agent_path"), "role": text_field(spawn, "agent_role")}
    return {name: value for name, value in known.items() if value is not None}


def _details(line: RolloutRecord, agent: str | None) -> dict[str, Any]:
    payload = line.payload
    base, git = object_field(payload, "history_base"), object_field(payload, "git")
    details = {
        "agent": agent,
        "version": text_field(payload, "cli_version"),
        "originator": text_field(payload, "originator"),
        "forked_from": text_field(payload, "forked_from_id"),
        "commit": text_field(git, "commit_hash"),
        "repository": text_field(git, "repository_url"),
        "end_byte_offset": _position(base.get("end_byte_offset")),
        "end_ordinal": _position(base.get("end_ordinal_exclusive")),
    }
    return {name: value for name, value in details.items() if value is not None}


def _position(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
