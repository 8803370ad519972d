"""Read what an agent gives its hook at the end of a turn: which files have the session.

Shapes, all JSON on standard input: Claude Code and Codex `{session_id, transcript_path, cwd, hook_event_name, ...}`,
with `agent_transcript_path` for a sub-agent (code.claude.com/docs/en/hooks, developers.openai.com/codex/hooks, and
codex-rs/hooks/schema/generated; `transcript_path` may be null); Gemini CLI the same with `timestamp`
(docs/hooks/reference.md); our plugin for OpenCode `{session_id, cwd, hook_event_name, export}`, or `export_file`
with the path of a file that has the export. Codex gives the program
of its older setting `notify` one argument: `{"type": "agent-turn-complete", "thread-id", "cwd", ...}`. Cursor
`{conversation_id, generation_id, workspace_roots, hook_event_name, ...}` (cursor.com/docs/agent/hooks, documented and
not run): the inputs of its hooks are in the file of `cursor_journal`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from scopes.errors import Invalid
from scopes.importers.discovery import find_session_file
from scopes.importers.formats.base import list_entries
from scopes.importers.formats.registry import FORMATS
from scopes.live.cursor_journal import journal_of
from scopes.live.exported_sessions import take_session

_SUB_AGENTS = "subagents"
_OPENCODE_HINT = "opencode export {} > FILE, and then: scopes import FILE"


class HookTurn(NamedTuple):
    """The end of a turn.

    cwd: the directory of the session, if the input has it
    paths: the files with the session, and with those of its sub-agents; they need not exist
    exported: the session itself, for an agent whose files only it can read
    """

    event: str
    session: str
    cwd: str | None
    paths: tuple[str, ...]
    exported: bytes | None = None


def read_turn(target: str, data: bytes, environ: Mapping[str, str], home: str) -> HookTurn:
    """Return the turn that the input of a hook names.

    Raises:
        Invalid: the agent has no hooks, or the input has no session.
    """
    read = _READERS.get(target)
    if read is None:
        raise Invalid(f"{target!a} is not an agent with hooks", hint=f"targets: {', '.join(_READERS)}")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        hint = _OPENCODE_HINT.format("SESSION") if target == "opencode" else None  # it ended while it wrote
        raise Invalid(f"the input of the hook is not JSON: {error}", hint=hint) from error
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
        paths += sorted(entry.path for entry in list_entries(folder) if entry.name.endswith(".jsonl"))
    return _turn(document, tuple(dict.fromkeys(paths)))


def _read_codex(document: Mapping[str, Any], environ: Mapping[str, str], home: str) -> HookTurn:
    turn = _read_transcripts(document, environ, home)
    if turn.paths:
        return turn
    thread = _text(document, "session_id") or _text(document, "thread-id")
    found = find_session_file(FORMATS, "codex", thread, environ, home)
    return turn._replace(session=thread, paths=() if found is None else (found,))


def _read_opencode(document: Mapping[str, Any], environ: Mapping[str, str], _home: str) -> HookTurn:
    exported = document.get("export")
    turn = _turn(document, ())
    hint = _OPENCODE_HINT.format(turn.session or "SESSION")
    path = _path(document, "export_file")
    if path is not None:
        with suppress(ValueError, RecursionError):  # it ended while it wrote
            exported = json.loads(take_session(path, environ, hint))
    if not isinstance(exported, dict):
        raise Invalid(f"OpenCode ended before it had given the session {turn.session!a} to its hook", hint=hint)
    return turn._replace(exported=json.dumps(exported).encode("ascii"))


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
