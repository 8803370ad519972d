"""Read which thread a rollout belongs to: from its first session record, else from the file name."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from scopes.importers.formats.codex.fork_copies import parent_thread
from scopes.importers.formats.codex.record import NAME, SESSION, RolloutRecord
from scopes.importers.formats.events import Session
from scopes.importers.formats.fields import object_field, text_field

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_FILE_NAME = re.compile(rf"rollout-.*?-({_UUID})(?:_({_UUID}))?\.jsonl(?:\.zst)?")


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a rollout; `agent` is the name of a sub-agent, `parent` the thread that started it."""

    session: Session
    agent: str | None
    parent: str | None
    git_branch: str | None


def read_header(records: Sequence[RolloutRecord], path: str, first_line: bytes) -> Header:
    """Read the header from the first records; without any id, a hash of `first_line` identifies the session."""
    record = next((record for record in records if record.kind == SESSION), None)
    name_match = _FILE_NAME.fullmatch(os.path.basename(path))
    if record is None:
        name = name_match[1] if name_match else sha256(first_line).hexdigest()
        created = next((record.time for record in records if record.time), None)
        return Header(Session(format=NAME, native_id=name, created=created), None, None, None)
    payload = record.payload
    thread = text_field(payload, "id") or text_field(payload, "session_id") or sha256(first_line).hexdigest()
    sub_file = name_match[2] if name_match and name_match[1] == thread else None
    if sub_file is None and _is_page(record, thread):
        sub_file = sha256(first_line).hexdigest()[:16]
    base = object_field(payload, "history_base")
    parent = parent_thread(record)
    agent = _agent_name(record)
    git = object_field(payload, "git")
    session = Session(
        format=NAME,
        native_id=thread,
        sub_file=sub_file,
        created=text_field(payload, "timestamp") or record.time,
        cwd=text_field(payload, "cwd"),
        base=text_field(base, "thread_id") or text_field(payload, "forked_from_id") or parent,
        spawned_by=_spawned_by(record, parent) if agent else None,
        details=_details(record, agent) | ({"line": "page"} if sub_file is not None else {}),
    )
    return Header(session, agent, parent, text_field(git, "branch"))


def _is_page(record: RolloutRecord, thread: str) -> bool:
    """Return True if a rollout continues an earlier file of its own thread."""
    base = text_field(object_field(record.payload, "history_base"), "thread_id")
    elsewhere = text_field(record.payload, "forked_from_id") or parent_thread(record)
    return base is not None and (base == thread or elsewhere is None)


def _agent_name(record: RolloutRecord) -> str | None:
    """Return the name of a sub-agent: its nickname, its role, or its purpose; None if the thread is not a sub-agent."""
    subagent = object_field(record.payload, "source").get("subagent")
    spawn = object_field(subagent, "thread_spawn") if isinstance(subagent, dict) else {}
    names = [text_field(found, name) for name in ("agent_nickname", "agent_role") for found in (spawn, record.payload)]
    if isinstance(subagent, str) and subagent:
        names.append(subagent)
    if subagent is not None or text_field(record.payload, "thread_source") == "subagent":
        names.append("agent")
    return next((name for name in names if name), None)


def _spawned_by(record: RolloutRecord, parent: str | None) -> dict[str, str]:
    spawn = object_field(object_field(object_field(record.payload, "source"), "subagent"), "thread_spawn")
    known = {"thread": parent, "path": text_field(spawn, "agent_path"), "role": text_field(spawn, "agent_role")}
    return {name: value for name, value in known.items() if value is not None}


def _details(record: RolloutRecord, agent: str | None) -> dict[str, Any]:
    payload = record.payload
    base, git = object_field(payload, "history_base"), object_field(payload, "git")
    details = {
        "agent": agent,
        "version": text_field(payload, "cli_version"),
        "originator": text_field(payload, "originator"),
        "forked_from": text_field(payload, "forked_from_id"),
        "commit": text_field(git, "commit_hash"),
        "repository": text_field(git, "repository_url"),
        "end_byte_offset": _offset(base.get("end_byte_offset")),
        "end_ordinal": _offset(base.get("end_ordinal_exclusive")),
    }
    return {name: value for name, value in details.items() if value is not None}


def _offset(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
