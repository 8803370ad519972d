"""What an agent tells its hook at the end of a turn: which files have the session.

Shapes, all JSON on standard input: Claude Code and Codex `{session_id, transcript_path, cwd, hook_event_name, ...}`,
with `agent_transcript_path` for a sub-agent (code.claude.com/docs/en/hooks, developers.openai.com/codex/hooks, and
codex-rs/hooks/schema/generated; `transcript_path` may be null); Gemini CLI the same with `timestamp`
(docs/hooks/reference.md); our plugin for OpenCode `{session_id, cwd, hook_event_name, export}`. Codex gives the program
of its older setting `notify` one argument: `{"type": "agent-turn-complete", "thread-id", "cwd", ...}`. Cursor
`{conversation_id, generation_id, workspace_roots, hook_event_name, ...}` (cursor.com/docs/agent/hooks, documented and
not run): what its hooks were told is in the file of `cursor_journal`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from scopes.errors import Invalid
from scopes.server.cursor_journal import journal_of

_THREAD = re.compile(r"[0-9A-Za-z-]{8,64}")
_DATE = re.compile(r"\d{2}|\d{4}")
_SUB_AGENTS = "subagents"


class HookTurn(NamedTuple):
    """The end of a turn.

    cwd: the directory of the session, if it was told
    paths: the files with the session, and with those of its sub-agents; they need not exist
    exported: the session itself, for an agent whose files only it can read
    """

    event: str
    session: str
    cwd: str | None
    paths: tuple[str, ...]
    exported: bytes | None = None


def read_turn(target: str, data: bytes, environ: Mapping[str, str], home: str) -> HookTurn:
    """Return what the hook of an agent was told.

    Raises:
        Invalid: there is no such agent, or the input has no session.
    """
    read = _READERS.get(target)
    if read is None:
        raise Invalid(f"{target!a} has no hooks", hint=f"it is one of {', '.join(_READERS)}")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"the input of the hook is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise Invalid("the input of the hook is not a JSON object")
    turn = read(document, environ, home)
    if not turn.paths and turn.exported is None:
        raise Invalid(f"the input of the hook names no transcript (event {turn.event!a}, session {turn.session!a})")
    return turn


def _read_transcripts(document: Mapping[str, Any], _environ: Mapping[str, str], _home: str) -> HookTurn:
    paths = list(filter(None, (_path(document, "transcript_path"), _path(document, "agent_transcript_path"))))
    for path in paths[:1]:
        folder = os.path.join(os.path.splitext(path)[0], _SUB_AGENTS)
        paths += sorted(entry.path for entry in _scan(folder) if entry.name.endswith(".jsonl"))
    return _turn(document, tuple(dict.fromkeys(paths)))


def _read_codex(document: Mapping[str, Any], environ: Mapping[str, str], home: str) -> HookTurn:
    turn = _read_transcripts(document, environ, home)
    if turn.paths:
        return turn
    thread = _text(document, "session_id") or _text(document, "thread-id")
    top = os.path.join(environ.get("CODEX_HOME") or os.path.join(home, ".codex"), "sessions")
    found = _find_rollout(top, thread) if _THREAD.fullmatch(thread) else None
    return turn._replace(session=thread, paths=() if found is None else (found,))


def _read_opencode(document: Mapping[str, Any], _environ: Mapping[str, str], _home: str) -> HookTurn:
    exported = document.get("export")
    data = json.dumps(exported).encode("ascii") if isinstance(exported, dict) else None
    return _turn(document, ())._replace(exported=data)


def _read_cursor(document: Mapping[str, Any], environ: Mapping[str, str], _home: str) -> HookTurn:
    conversation, roots = _text(document, "conversation_id"), document.get("workspace_roots")
    cwd = _path({"cwd": roots[0]}, "cwd") if isinstance(roots, list) and roots else None
    turn = _turn(document, (journal_of(conversation, environ),))
    return turn._replace(session=conversation, cwd=cwd)


_READERS: dict[str, Callable[[Mapping[str, Any], Mapping[str, str], str], HookTurn]] = {
    "claude-code": _read_transcripts,
    "codex": _read_codex,
    "cursor": _read_cursor,
    "gemini": _read_transcripts,
    "opencode": _read_opencode,
}


def _turn(document: Mapping[str, Any], paths: tuple[str, ...]) -> HookTurn:
    cwd = _path(document, "cwd")
    event = _text(document, "hook_event_name") or _text(document, "type")
    return HookTurn(event, _text(document, "session_id"), cwd, paths)


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""


def _path(document: Mapping[str, Any], key: str) -> str | None:
    """Return an absolute path; None for anything else."""
    value = os.path.expanduser(_text(document, key))
    return value if os.path.isabs(value) and "\0" not in value else None


def find_session_file(target: str, session: str, environ: Mapping[str, str], home: str) -> str | None:
    """Return the file in which an agent keeps a session, by its standard places; None if it is not there."""
    if not _THREAD.fullmatch(session):
        return None
    if target == "codex":
        return _find_rollout(
            os.path.join(environ.get("CODEX_HOME") or os.path.join(home, ".codex"), "sessions"), session
        )
    if target == "claude-code":
        top = os.path.join(environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "projects")
        paths = (os.path.join(entry.path, f"{session}.jsonl") for entry in _scan(top))
        return next((path for path in paths if os.path.isfile(path)), None)
    return None


def _find_rollout(top: str, thread: str) -> str | None:
    """Return the newest file of a thread below the folders of years, months and days, the newest of them first."""
    for folder in _newest_days(top, 3):
        names = [entry.name for entry in _scan(folder) if entry.name.endswith(f"-{thread}.jsonl")]
        if names:
            return os.path.join(folder, max(names))
    return None


def _newest_days(folder: str, depth: int) -> Iterator[str]:
    if depth == 0:
        yield folder
        return
    names = sorted((entry.name for entry in _scan(folder) if _DATE.fullmatch(entry.name)), reverse=True)
    for name in names:
        yield from _newest_days(os.path.join(folder, name), depth - 1)


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
