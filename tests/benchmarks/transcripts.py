"""Transcripts of any total size: copies of the real ones, each as another session.

Every copy has session ids, message ids and call ids of its own, and a word that differs, so that no message of one is a
message of another. Without the real ones, sessions are drawn.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path

from scopes.clock import format_seconds
from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.store.repository import Repository
from tests.benchmarks.stores import Speech

SHARED = Path(__file__).parents[3] / "shared" / "transcripts"
FOLDER = Path(os.environ.get("SCOPES_TEST_TRANSCRIPTS") or SHARED)
_UUID = rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_IDS = re.compile(rb"\b(?:" + _UUID + rb"|(?:msg|toolu|call|req|ws)_\w{16,}|agent-[0-9a-f]{8,})\b")
_CLAUDE_SESSION = re.compile(rb'"sessionId":"([^"]+)"')
_CODEX_SESSION = re.compile(rb'^\{[^\n]*?"id":"(' + _UUID + rb')"')
_COMMON_WORD = b" the "


@dataclass(frozen=True)
class Original:
    """One session of an agent; `place` is its path below the agent's folder."""

    agent: str
    place: str
    data: bytes


@dataclass(frozen=True)
class Material:
    """Files in the order in which they were written, below one folder for each agent."""

    folder: str
    files: dict[str, int]
    real: bool

    @property
    def size(self) -> int:
        return sum(self.files.values())

    def first(self, size: int) -> list[str]:
        """Return as many of the first files as have that size together."""
        sums = itertools.accumulate(self.files.values())
        return [path for path, total in zip(self.files, sums, strict=True) if total <= size] or list(self.files)[:1]


def make_material(folder: str, size: int) -> Material:
    """Write transcripts of about the given number of bytes."""
    originals = list(_real_sessions()) if FOLDER.is_dir() else [drawn_session(number) for number in range(20)]
    material = Material(folder, {}, real=FOLDER.is_dir())
    total = 0
    for number, original in enumerate(itertools.cycle(originals)):
        copy = number // len(originals)
        if total + len(original.data) // 2 > size:
            break
        path = os.path.join(folder, original.agent, _renew(copy, original.place.encode()).decode())
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = _renew(copy, original.data)
        Path(path).write_bytes(data)
        material.files[path] = len(data)
        total += len(data)
    return material


def real_size() -> int | None:
    """Return the bytes of the real sessions, or None where there are none."""
    return sum(len(original.data) for original in _real_sessions()) if FOLDER.is_dir() else None


def _real_sessions() -> Iterator[Original]:
    """Yield the longest file of every session, shorter sessions first."""
    longest: dict[str, Original] = {}
    for agent, pattern in (("claude-code", _CLAUDE_SESSION), ("codex", _CODEX_SESSION)):
        for path in (FOLDER / agent).rglob("*.jsonl"):
            data = path.read_bytes()
            found = pattern.search(data)
            if found is None or path.name.endswith("session_index.jsonl"):
                continue
            session = found.group(1).decode()
            known = longest.get(session)
            if known is None or len(known.data) < len(data):
                longest[session] = Original(agent, _place(agent, session, path), data)
    yield from sorted(longest.values(), key=lambda original: (len(original.data), original.place))


def _place(agent: str, session: str, path: Path) -> str:
    if agent == "codex":
        return f"2026/01/01/rollout-2026-01-01T00-00-00-{session}.jsonl"
    parts = path.parts
    below = "/".join(parts[parts.index("subagents") - 1 :]) if "subagents" in parts else f"{session}.jsonl"
    return f"-home-carol-shop/{below}"


def _renew(copy: int, text: bytes) -> bytes:
    return _IDS.sub(partial(_other_id, copy), text).replace(_COMMON_WORD, b" the-%d " % copy)


def _other_id(copy: int, match: re.Match[bytes]) -> bytes:
    """Draw an id of the same form; the part before the first separator, or the version of a uuid, stays."""
    old = match.group()
    digits = blake2b(b"%d " % copy + old, digest_size=32).hexdigest()
    if old.startswith(b"agent-") or b"_" in old:
        kind, mark, rest = old.partition(b"-" if b"-" in old else b"_")
        return kind + mark + (digits * 2)[: len(rest)].encode()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}".encode()


def write_sessions(repository: Repository, folder: str) -> None:
    """Write every conversation as a session of Claude Code below `claude-code`, with the text and time of each message."""
    place = os.path.join(folder, "claude-code", "-home-carol-shop")
    os.makedirs(place)
    for number, conversation in enumerate(conversation_ids(repository)):
        session, before = f"{number:08x}-0000-4000-8000-000000000000", None
        tips = list_branch_tips(repository, conversation)
        with open(os.path.join(place, f"{session}.jsonl"), "wb") as file:
            for turn, head in enumerate(walk_headers_oldest_first(repository, [*tips.values()])):
                content = [{"type": "text", "text": read_message(repository, head.oid).text}]
                uuid, role = f"{number:08x}-0000-4000-8000-{turn:012x}", "assistant" if turn % 2 else "user"
                message = {"role": role, "content": content, "id": f"msg_{number:08x}{turn:08x}"}
                file.write(_line(session, before, uuid, format_seconds(head.time), message))
                before = uuid


def _line(session: str, before: str | None, uuid: str, time: str, message: Mapping[str, object]) -> bytes:
    """Write a message the way Claude Code does."""
    record = {
        "parentUuid": before, "isSidechain": False, "cwd": "/home/carol/shop", "sessionId": session,
        "type": message["role"], "version": "2.1.32", "message": message, "uuid": uuid, "timestamp": time,
    }  # fmt: skip
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def drawn_session(number: int) -> Original:
    """Draw a session of Claude Code: prompts, calls of a tool with their results, answers."""
    speech = Speech(f"transcript {number}", 1200)
    session, before = f"{number:08x}-0000-4000-8000-000000000000", None
    lines = []
    for turn in range(150 + 10 * number):
        call = f"toolu_{number:08x}{turn:016x}"
        contents: tuple[tuple[str, list[dict[str, object]]], ...] = (
            ("user", [{"type": "text", "text": f"See the {speech.text()}"}]),
            (
                "assistant",
                [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"See the {speech.text()}"}}],
            ),
            ("user", [{"type": "tool_result", "tool_use_id": call, "content": f"See the {speech.text()}"}]),
            ("assistant", [{"type": "text", "text": f"See the {speech.text()}"}]),
        )
        for step, (role, content) in enumerate(contents):
            uuid = f"{number:08x}-{step:04x}-4000-8000-{turn:012x}"
            message = {"role": role, "content": content, "id": f"msg_{number:08x}{turn:08x}{step:08x}"}
            time = f"2026-01-01T{turn // 60 % 24:02}:{turn % 60:02}:{step:02}.000Z"
            lines.append(_line(session, before, uuid, time, message))
            before = uuid
    return Original("claude-code", f"-home-carol-shop/{session}.jsonl", b"".join(lines))
