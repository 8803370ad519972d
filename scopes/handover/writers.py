"""Write sessions as agents keep them, and find the one that writes for an agent.

Each class names the versions that read its sessions. Agents with a file of JSON lines for each session are here;
`opencode` and `llm` are agents with a database.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from itertools import count
from typing import Any

from scopes.clock import now_milliseconds
from scopes.errors import Invalid
from scopes.handover.llm import Llm
from scopes.handover.opencode import OpenCode
from scopes.handover.session import NativeRecord, NativeSession, Turn, Writer, dump, format_milliseconds, uuid_of
from scopes.hosts.agents import find_agent_named
from scopes.regular_file import MAX_CONFIG_BYTES, open_regular

_UNKNOWN = "unknown"
_NOT_IN_FOLDER = re.compile(r"[^A-Za-z0-9]")
_CLAUDE_USAGE = {
    "input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0,
}  # fmt: skip
_GEMINI_COMMANDS = ("/", "?", "<session_context")
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")
_OWNER = ".project_root"
_PI_SEPARATORS = re.compile(r"[/\\:]")
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
_PI_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": _NO_COST}


class ClaudeCode(Writer):
    """Claude Code 2.1, which looks for a session in the folder of its directory.

    A session is a chain of records, with the results of calls in records of the user; the last record names the leaf.
    It hangs on a record without the fields around the message, and on an id that is no UUID.
    """

    name = "claude-code"
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
            for message in _claude_messages(turn, session.uuid_of(len(records))):
                name = session.uuid_of(len(records))
                kind = "assistant" if message["role"] == "assistant" else "user"
                value = {
                    "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": session.directory,
                    "sessionId": session.id, "version": "2.1.159", "gitBranch": "", "type": kind, "message": message,
                    "uuid": name, "timestamp": format_milliseconds(time),
                }  # fmt: skip
                records.append(NativeRecord(value, turn.message))
                parent = name
        if session.title:
            title = {"type": "custom-title", "customTitle": session.title, "sessionId": session.id}
            records.append(NativeRecord(title))
        leaf = {"type": "last-prompt", "lastPrompt": prompt, "leafUuid": parent, "sessionId": session.id}
        return [*records, NativeRecord(leaf)]


def _claude_messages(turn: Turn, name: str) -> Iterator[dict[str, Any]]:
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
            "model": turn.model or _UNKNOWN,
            "content": content, "stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None,
            "usage": _CLAUDE_USAGE,
        }  # fmt: skip


class Codex(Writer):
    """Codex 0.73 to 0.169, which looks for a session by its id below the directory of its day.

    A rollout has the items that the model gets, and the events that its screen shows. Items have no ids, which the
    service would look up, and no ordinals. Without `originator` and `cli_version` a rollout is refused; without
    `source` it is listed as one of an editor.
    """

    name = "codex"
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
            "cli_version": "0.169.0", "instructions": None, "source": "cli",
        }  # fmt: skip
        records = [NativeRecord({"timestamp": created, "type": "session_meta", "payload": meta})]
        for turn, time in zip(session.turns, session.times(), strict=True):
            for kind, payload in _codex_payloads(turn):
                value = {"timestamp": format_milliseconds(time), "type": kind, "payload": payload}
                records.append(NativeRecord(value, turn.message))
        return records


def _codex_payloads(turn: Turn) -> Iterator[tuple[str, dict[str, Any]]]:
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


class Gemini(Writer):
    """The Gemini CLI 0.61, which looks for a session in the folder of the project.

    Sessions are JSON lines with the results of calls in the answer with the calls. A prompt that begins like a command
    is left out of the history, so that such a prompt gets a word before it. At its start it deletes sessions whose last
    update is old, so that the update of one that is written is the present time.
    """

    name = "gemini"
    window = 1_048_576

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return the path of the session."""
        time = session.created[: len("2026-01-01T00:00")].replace(":", "-")
        folder = os.path.join(top, "tmp", find_gemini_folder(session.directory, top), "chats")
        return os.path.join(folder, f"session-{time}-{session.id[:8]}.jsonl")

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the records of the session."""
        header = {
            "sessionId": session.id, "projectHash": sha256(session.directory.encode("utf-8", "replace")).hexdigest(),
            "startTime": format_milliseconds(session.milliseconds),
            "lastUpdated": format_milliseconds(max(now_milliseconds(), session.milliseconds)),
            "kind": "main",
        }  # fmt: skip
        records = [NativeRecord(header)]
        for turn, results, time in session.answered_turns():
            fields = {
                "id": session.uuid_of(len(records)), "timestamp": format_milliseconds(time),
                **_gemini_fields(turn, results, format_milliseconds(time)),
            }  # fmt: skip
            records.append(NativeRecord(fields, turn.message if results is None else results.message))
        return records


def _gemini_fields(turn: Turn, results: Turn | None, time: str) -> dict[str, Any]:
    if turn.role == "user":
        text = turn.text
        text = f"User: {text}" if text.lstrip().startswith(_GEMINI_COMMANDS) else text
        return {"type": "user", "content": [{"text": text}]}
    answer = {"type": "gemini", "content": turn.text, "thoughts": [], "model": turn.model or _UNKNOWN}
    calls = list(_gemini_calls(turn, results, time))
    return {**answer, "toolCalls": calls} if calls else answer


def _gemini_calls(turn: Turn, results: Turn | None, time: str) -> Iterator[dict[str, Any]]:
    found = {result.id: result for result in (() if results is None else results.results)}
    for call in turn.calls:
        result = found[call.id]
        field = "error" if result.is_error else "output"
        response = {"id": call.id, "name": call.name, "response": {field: result.text}}
        yield {
            "id": call.id, "name": call.name, "args": dict(call.input), "result": [{"functionResponse": response}],
            "status": "error" if result.is_error else "success", "timestamp": time, "resultDisplay": result.text,
        }  # fmt: skip


def find_gemini_folder(directory: str, top: str) -> str:
    """Return the name of the folder of a project: the one that it has, or the one that Gemini CLI will give it."""
    listed = _gemini_projects(os.path.join(top, "projects.json"))
    folders = os.path.join(top, "tmp")
    own = listed.get(directory)
    if own is not None and _gemini_owner(folders, own) in {None, directory}:
        return own
    with suppress(OSError):
        for name in sorted(os.listdir(folders)):
            if _gemini_owner(folders, name) == directory:
                return name
    slug = _NOT_IN_SLUG.sub("-", os.path.basename(directory).lower()).strip("-") or "project"
    taken = set(listed.values())
    candidates = (slug if not number else f"{slug}-{number}" for number in count())
    return next(name for name in candidates if name not in taken and _gemini_owner(folders, name) in {None, directory})


def _gemini_projects(path: str) -> dict[str, str]:
    """Return the folders of projects by their directories."""
    with suppress(OSError, ValueError):
        with open_regular(path) as file:
            projects = json.loads(file.read(MAX_CONFIG_BYTES)).get("projects")
        if isinstance(projects, dict):
            return {path: name for path, name in projects.items() if isinstance(name, str) and "/" not in name}
    return {}


def _gemini_owner(folders: str, name: str) -> str | None:
    """Return the directory that a folder is of; None if it does not say."""
    try:
        with open_regular(os.path.join(folders, name, _OWNER)) as file:
            return file.read(MAX_CONFIG_BYTES).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return None


class Pi(Writer):
    """pi 0.73, which looks for a session in the folder of its directory.

    A session is a header, and messages that name the one before. It crashes on an answer without usage.
    """

    name = "pi"
    window = 128_000

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return the path of the session."""
        folder = _PI_SEPARATORS.sub("-", session.directory.removeprefix("/"))
        time = re.sub(r"[:.]", "-", format_milliseconds(session.milliseconds))
        return os.path.join(top, "sessions", f"--{folder}--", f"{time}_{session.id}.jsonl")

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the records of the session."""
        created = format_milliseconds(session.milliseconds)
        header = {
            "type": "session", "version": 3, "id": session.id, "timestamp": created, "cwd": session.directory,
        }  # fmt: skip
        records = [NativeRecord(header)]
        parent: str | None = None
        for turn, time in zip(session.turns, session.times(), strict=True):
            for message in _pi_messages(turn, time):
                name = uuid_of(session.id, str(len(records)))[:8]
                value = {
                    "type": "message", "id": name, "parentId": parent, "timestamp": format_milliseconds(time),
                    "message": message,
                }  # fmt: skip
                records.append(NativeRecord(value, turn.message))
                parent = name
        return records


def _pi_messages(turn: Turn, time: int) -> Iterator[dict[str, Any]]:
    if turn.role == "user":
        yield {"role": "user", "content": _pi_blocks(turn), "timestamp": time}
    for result in turn.results:
        yield {
            "role": "toolResult", "toolCallId": result.id, "toolName": result.name,
            "content": [{"type": "text", "text": result.text}], "isError": result.is_error, "timestamp": time,
        }  # fmt: skip
    if turn.role == "assistant":
        yield {
            "role": "assistant", "content": _pi_blocks(turn), "api": "openai-completions", "provider": _UNKNOWN,
            "model": turn.model or _UNKNOWN, "usage": _PI_USAGE, "stopReason": "toolUse" if turn.calls else "stop",
            "timestamp": time,
        }  # fmt: skip


def _pi_blocks(turn: Turn) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "toolCall", "id": part.id, "name": part.name, "arguments": dict(part.input)}
        for part in turn.parts
    ]


class Qwen(Writer):
    """Qwen Code 0.15, which looks for a session in the folder of its directory.

    A session is a chain of records with messages as the Gemini interface has them.
    """

    name = "qwen"
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
            for kind, fields in _qwen_fields(turn):
                name = session.uuid_of(len(records))
                value = {
                    "uuid": name, "parentUuid": parent, "sessionId": session.id,
                    "timestamp": format_milliseconds(time), "type": kind, "cwd": session.directory,
                    "version": "0.15.10", **fields,
                }  # fmt: skip
                records.append(NativeRecord(value, turn.message))
                parent = name
        return records


def _qwen_fields(turn: Turn) -> Iterator[tuple[str, dict[str, Any]]]:
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
        yield "assistant", {"model": turn.model or _UNKNOWN, "message": {"role": "model", "parts": parts}}


WRITERS: Mapping[str, Writer] = {
    writer.name: writer for writer in (ClaudeCode(), Codex(), Gemini(), Llm(), OpenCode(), Pi(), Qwen())
}


def find_writer(name: str) -> Writer | None:
    """Return what writes sessions for an agent, by one of its names; None if there is nothing."""
    agent = find_agent_named(name)
    return None if agent is None else WRITERS.get(agent.name)


def read_writer(name: str) -> Writer:
    """Return what writes sessions for an agent, by one of its names.

    Raises:
        Invalid: there is nothing; the hint lists the agents.
    """
    found = find_writer(name)
    if found is None:
        hint = f"agents: {', '.join(WRITERS)}; for any other one: scopes context CONV --for-prompt"
        raise Invalid(f"no session can be written for {name!a}", hint=hint)
    return found
