"""Parse what other programs keep about commits: notes of git-ai, and records of Agent Trace.

git-ai (authorship/3.0.0) writes `refs/notes/ai`: lines `<path>` and, indented, `<id> 1-4,7`, then `---` and JSON with
the sessions by id. An id is the beginning of the SHA-256 of `tool:session id`, 16 digits or `s_` and 14. Agent Trace
(0.1) is a JSON object for each commit. Both are foreign: what has another form is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from scopes.hosts.agents import AGENTS, find_agent_named

MAX_BYTES: Final = 1 << 20  # of a note, and of a record
SCOPES_TOOL: Final = "scopes"  # of conversations that no agent has kept as a session
_GIT_AI_NAMES: Final = {"claude-code": "claude"}
_MAX_SESSIONS = 200
_NOTE_LINE = re.compile(r"[ \t]+(?P<id>[0-9A-Za-z_]{1,64})(?:::[0-9A-Za-z_]{1,64})?[ \t]+(?P<ranges>[0-9,-]{1,4000})")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_SESSION = re.compile(r"[0-9A-Za-z_.:-]{4,128}")
_LAST_WORD = re.compile(r"([0-9A-Za-z_.-]{4,128})/?$")


class SessionClaim(NamedTuple):
    """That a session wrote lines of a commit, as another program says.

    program: who says it
    tool: the format of the session; None if it is not known
    session: the agent's own id of it, if the program says it
    key: what git-ai calls the session, if it has no id
    uuid: the conversation of scopes
    lines: how many lines of the commit
    """

    program: str
    tool: str | None
    session: str | None = None
    key: str | None = None
    uuid: str | None = None
    lines: int = 0


def parse_note(data: bytes) -> list[SessionClaim]:
    """Return what a note of git-ai says about its commit; none if it is no such note."""
    if len(data) > MAX_BYTES:
        return []
    attestations, _, rest = f"\n{data.decode('utf-8', 'replace')}".partition("\n---\n")  # without lines, `---` is first
    document = _load(rest)
    version = document.get("schema_version")
    if not isinstance(version, str) or not version.startswith("authorship/"):
        return []
    lines = _count_lines(attestations)
    found = []
    for field in ("sessions", "prompts"):
        sessions = document.get(field)
        for key, session in list(sessions.items())[:_MAX_SESSIONS] if isinstance(sessions, dict) else ():
            agent = session.get("agent_id") if isinstance(session, dict) else None
            if isinstance(agent, dict) and isinstance(agent.get("tool"), str):
                found.append(_note_claim(agent["tool"], agent.get("id"), str(key)[:64], lines.get(key, 0)))
    return found


def _note_claim(tool: str, native: object, key: str, lines: int) -> SessionClaim:
    named = native if isinstance(native, str) and _SESSION.fullmatch(native) else None
    if tool == SCOPES_TOOL:
        return SessionClaim("git-ai", None, uuid=named, lines=lines)
    return SessionClaim("git-ai", format_of(tool), named, key, lines=lines)


def describe_claim(claim: SessionClaim) -> str:
    """Return what a claim names, with what somebody else wrote in it in a form that is safe to print."""
    if claim.uuid is not None:
        return f"the conversation {claim.uuid!a}"
    name = "" if claim.session is None and claim.key is None else f" {(claim.session or claim.key)!a}"
    return f"the session{name} of {claim.tool or 'an agent'}"


def git_ai_name(format_name: str) -> str | None:
    """Return what git-ai calls the agent of a format; None if it has no agent."""
    agent = AGENTS.get(format_name)
    return None if agent is None else _GIT_AI_NAMES.get(agent.name, agent.name)


def note_keys(tool: str, session: str) -> list[str]:
    """Return what git-ai may call a session of a format."""
    agent = AGENTS.get(tool)
    names = () if agent is None else (agent.name, *agent.others)
    digests = [sha256(f"{name}:{session}".encode("utf-8", "replace")).hexdigest() for name in names]
    return [key for digest in digests for key in (digest[:16], f"s_{digest[:14]}")]


def parse_trace(line: bytes) -> tuple[str, list[SessionClaim]] | None:
    """Return the commit of a record of Agent Trace and what it says about it; None if it is no such record."""
    document = _load(line.decode("utf-8", "replace")) if len(line) <= MAX_BYTES else {}
    vcs, files = document.get("vcs"), document.get("files")
    revision = vcs.get("revision") if isinstance(vcs, dict) and vcs.get("type", "git") == "git" else None
    if not isinstance(revision, str) or not isinstance(files, list):
        return None
    tool = document.get("tool")
    name = tool.get("name") if isinstance(tool, dict) else None
    lines: dict[str, int] = {}
    for conversation in _conversations(files):
        url = conversation.get("url")
        if isinstance(url, str):
            lines[url] = lines.get(url, 0) + _count_ranges(conversation.get("ranges"))
    tool_format = format_of(name) if isinstance(name, str) else None
    return revision, [_trace_claim(url, tool_format, count) for url, count in list(lines.items())[:_MAX_SESSIONS]]


def format_of(tool: str) -> str | None:
    """Return the format of an agent that another program names; None if it has none here."""
    agent = find_agent_named(tool)
    return None if agent is None else agent.name


def _trace_claim(url: str, tool: str | None, lines: int) -> SessionClaim:
    if url.startswith("urn:uuid:"):
        return SessionClaim("Agent Trace", tool, uuid=url.removeprefix("urn:uuid:")[:64], lines=lines)
    word = _LAST_WORD.search(url[-200:])
    return SessionClaim("Agent Trace", tool, None if word is None else word[1], lines=lines)


def _conversations(files: list[Any]) -> Iterator[Mapping[str, Any]]:
    for file in files:
        conversations = file.get("conversations") if isinstance(file, dict) else None
        for conversation in conversations if isinstance(conversations, list) else ():
            if isinstance(conversation, dict):
                yield conversation


def _count_ranges(ranges: Any) -> int:
    total = 0
    for each in ranges if isinstance(ranges, list) else ():
        match each:
            case {"start_line": int(start), "end_line": int(end)} if 0 < start <= end:
                total += end - start + 1
    return total


def _count_lines(text: str) -> dict[str, int]:
    """Return the numbers of lines by the id of a session in the first part of a note."""
    found: dict[str, int] = {}
    for line in text.split("\n"):
        match = _NOTE_LINE.fullmatch(line)
        for start, end in _RANGE.findall(match["ranges"]) if match is not None else ():
            name = match["id"] if match is not None else ""
            found[name] = found.get(name, 0) + max(0, int(end or start) - int(start) + 1)
    return found


def _load(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
