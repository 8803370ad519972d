"""Write sessions of OpenCode 1.2 to 1.18 as its export has them, and give them to its own import.

The ids of messages are their order: each has a number before its random part, and those of new messages are times. Ours
count from 1, so that no new message comes before them. OpenCode goes on with the model that the last prompt names, and
that is the one that it is set to.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from tempfile import NamedTemporaryFile
from typing import Any

from scopes.child_process import CommandFailed, CommandLimits, run_command
from scopes.errors import NotFound, Refused
from scopes.handover.session import Call, NativeRecord, NativeSession, Turn, Writer, uuid_of
from scopes.hosts.agents import AGENTS, find_program
from scopes.regular_file import MAX_CONFIG_BYTES, open_regular
from scopes.secret_scan.clearance import Cleared

NAME = "opencode"
_VERSION = "1.18.33"
_AGENT = "build"
_PROJECT = "global"
_RANDOM = 14
_TOKENS = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
_PROVIDERS = {"claude": "anthropic", "gpt": "openai", "gemini": "google"}
_LIMITS = CommandLimits(300, 1 << 20)
_CONFIGURATION = "opencode.json"
_DATABASE = "opencode.db"


class OpenCode(Writer):
    """OpenCode, which keeps its sessions in a database."""

    name = NAME
    window = 128_000
    keeps_files = False

    def name_session(self, uuid: str) -> str:
        """Return the id of the session with a UUID."""
        digits = uuid.replace("-", "")
        return f"ses_{digits[:12]}{digits[-_RANDOM:]}"

    def configured_model(self, directory: str) -> str:
        """Return the model of the configuration, if that is plain JSON."""
        with suppress(OSError, ValueError, AttributeError):
            with open_regular(os.path.join(directory, _CONFIGURATION)) as file:
                model = json.loads(file.read(MAX_CONFIG_BYTES)).get("model")
            return model if isinstance(model, str) else ""
        return ""

    def path_of(self, session: NativeSession, top: str) -> str:
        """Return the session in the database."""
        return f"{os.path.join(top, _DATABASE)}#{session.id}"

    def assemble(self, lines: Sequence[bytes]) -> bytes:
        """Return the document of the records: the session, and a list of its messages."""
        first, *rest = (line.rstrip(b"\n") for line in lines)
        return b'{"info":%s,"messages":[\n%s\n]}\n' % (first, b",\n".join(rest))

    def write(self, session: NativeSession) -> list[NativeRecord]:
        """Return the session and its messages."""
        time = session.milliseconds
        info = {
            "id": session.id, "slug": f"hand-over-{session.id[-8:]}", "projectID": _PROJECT,
            "directory": session.directory,
            "title": session.title or session.opening or "hand-over", "version": _VERSION,
            "time": {"created": time, "updated": time},
        }  # fmt: skip
        records = [NativeRecord(info)]
        parent = ""
        for number, (turn, results, time) in enumerate(session.answered_turns()):
            name = _name(session, "msg", number + 1)
            parent = name if turn.role == "user" else parent
            described = _describe(session, turn, parent, time)
            parts = [
                {"id": _name(session, "prt", (number + 1 << 16) + place + 1), "sessionID": session.id,
                 "messageID": name, **part}
                for place, part in enumerate(_walk_parts(turn, results, time))
            ]  # fmt: skip
            value = {"info": {"id": name, "sessionID": session.id, **described}, "parts": parts}
            records.append(NativeRecord(value, turn.message if results is None else results.message, name))
        return records


def _name(session: NativeSession, kind: str, number: int) -> str:
    return f"{kind}_{number:012x}{uuid_of(session.id, kind, str(number)).replace('-', '')[:_RANDOM]}"


def _model_of(session: NativeSession) -> dict[str, str]:
    """Return the model to go on with: the configured one, else the one of the last answer at its own provider."""
    provider, slash, model = session.model.partition("/")
    if slash:
        return {"providerID": provider, "modelID": model}
    answered = next((turn.model for turn in reversed(session.turns) if turn.model), "unknown")
    known = (provider for beginning, provider in _PROVIDERS.items() if answered.startswith(beginning))
    return {"providerID": next(known, "opencode"), "modelID": answered}


def _describe(session: NativeSession, turn: Turn, parent: str, time: int) -> dict[str, Any]:
    if turn.role == "user":
        return {"role": "user", "time": {"created": time}, "agent": _AGENT, "model": _model_of(session)}
    return {
        "role": "assistant", "parentID": parent, "mode": _AGENT, "agent": _AGENT,
        "path": {"cwd": session.directory, "root": session.directory}, "cost": 0, "tokens": _TOKENS,
        "modelID": turn.model or "unknown", "providerID": "unknown", "time": {"created": time, "completed": time},
        "finish": "tool-calls" if turn.calls else "stop",
    }  # fmt: skip


def _walk_parts(turn: Turn, results: Turn | None, time: int) -> Iterator[dict[str, Any]]:
    found = {result.id: result for result in (() if results is None else results.results)}
    for part in turn.parts:
        if not isinstance(part, Call):
            yield {"type": "text", "text": part}
            continue
        result, span = found[part.id], {"start": time, "end": time}
        state: dict[str, Any] = {"input": dict(part.input), "time": span}
        if result.is_error:
            state |= {"status": "error", "error": result.text}
        else:
            state |= {"status": "completed", "output": result.text, "title": part.name, "metadata": {}}
        yield {"type": "tool", "tool": part.name, "callID": part.id, "state": state}


def import_with_program(content: Cleared, directory: str, environ: Mapping[str, str]) -> None:
    """Run the import of OpenCode on a session, in the directory where it is to work; repeated it changes nothing.

    Raises:
        NotFound: its program is not in PATH.
        Refused: the import fails.
    """
    agent = AGENTS[NAME]
    program = find_program(agent.program or NAME, environ.get("PATH"))
    if program is None:
        raise NotFound(
            f"{agent.program or NAME} is not in PATH", hint="its own import puts the session into its database"
        )
    with NamedTemporaryFile(prefix="scopes-", suffix=".json") as file:
        file.write(content.data)
        file.flush()
        command = f"cd {shlex.quote(directory)} && exec {shlex.join([program, 'import', file.name])}"
        try:
            run_command(command, b"", _LIMITS, environ=dict(environ) if environ is not os.environ else None)
        except CommandFailed as error:
            raise Refused(f"the import of {agent.title} {error}", hint="repeat it, or see it: --print") from error
