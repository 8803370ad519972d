"""What each agent waits for at the end of a turn of a long session: its hook, with a store of many conversations.

The session has 50 MB and grows by a turn before each hook. Three agents give their hook the path of a file, the plugin
of OpenCode writes the whole session into one, and the hooks of Cursor keep one themselves. The limit is a tenth of a second,
which people do not notice.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from scopes.hosts.program import program_words
from scopes.live.event_log import HOOK_LOG, read_events
from scopes.live.exported_sessions import FOLDER
from scopes.store.projects import state_directory
from tests.benchmarks.stores import Speech
from tests.benchmarks.timing import Row, Samples, by_turns, children_cpu
from tests.benchmarks.workspace import Workspace

_LIMIT = Samples((0.1,))
_TURN_BYTES = 100_000
_SESSION_BYTES = 50_000_000
_RUNS = 10
_RECORD_SECONDS = 120
_NUMBER = "6f1c9f5e-0000-4000-8000-000000000000"

Document = dict[str, Any]


class _TurnEnd(NamedTuple):
    """The processor seconds of a hook, and the seconds until the turn was recorded."""

    cpu: float
    recorded: float


class _Session:
    """A session of an agent: a file that grows, and what the agent gives its hook at the end of a turn."""

    def __init__(self, work: Workspace, text: str) -> None:
        self.turns = 0
        self._text = text
        self._directory = work.directory
        self.path = self._place(work)
        self._write(self._head())

    def grow(self) -> None:
        """Add a turn: a prompt, and an answer of a hundred kilobytes."""
        self.turns += 1
        number = self.turns
        time_of = f"2026-01-01T{number // 60:02}:{number % 60:02}:00.000Z"
        self._write(self._turn(f"{number:06}", time_of, f"{number} {self._text}"))

    def given(self) -> bytes:
        """Return what the hook reads."""
        document = {"session_id": _NUMBER, "transcript_path": self.path, "hook_event_name": "Stop"}
        return json.dumps({**document, "cwd": self._directory}).encode()

    def hand_over(self) -> None:
        """Write what the hook reads elsewhere, if the agent has not written it before."""

    def _place(self, work: Workspace) -> str:
        return f"{work.new_path('session')}.jsonl"

    def _write(self, records: list[Document]) -> None:
        with open(self.path, "ab") as file:
            file.writelines(json.dumps(record).encode() + b"\n" for record in records)

    def _head(self) -> list[Document]:
        return []

    def _turn(self, number: str, time_of: str, answer: str) -> list[Document]:
        raise NotImplementedError


class _ClaudeCode(_Session):
    def _turn(self, number: str, time_of: str, answer: str) -> list[Document]:
        common: Document = {"sessionId": _NUMBER, "cwd": self._directory, "timestamp": time_of}
        common |= {"isSidechain": False, "version": "2.1.32"}
        names = [f"{step}0000000-0000-4000-8000-000000{number}" for step in range(2)]
        before = f"10000000-0000-4000-8000-000000{int(number) - 1:06}" if int(number) > 1 else None
        prompt = {"role": "user", "content": f"prompt {number}"}
        answered = {"role": "assistant", "id": f"msg_{number}", "content": [{"type": "text", "text": answer}]}
        return [
            {**common, "type": "user", "uuid": names[0], "parentUuid": before, "message": prompt},
            {**common, "type": "assistant", "uuid": names[1], "parentUuid": names[0], "message": answered},
        ]


class _Codex(_Session):
    def _place(self, work: Workspace) -> str:
        return os.path.join(work.directory, f"rollout-2026-01-01T00-00-00-{_NUMBER}.jsonl")

    def _head(self) -> list[Document]:
        fields = {"id": _NUMBER, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": self._directory}
        meta = {**fields, "cli_version": "0.169.0", "source": "cli"}
        return [{"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta", "payload": meta}]

    def _turn(self, number: str, time_of: str, answer: str) -> list[Document]:
        items = [("user", "input_text", f"prompt {number}"), ("assistant", "output_text", answer)]
        payloads = [
            {"type": "message", "role": role, "content": [{"type": kind, "text": text}]} for role, kind, text in items
        ]
        return [{"timestamp": time_of, "type": "response_item", "payload": payload} for payload in payloads]


class _Gemini(_Session):
    def _head(self) -> list[Document]:
        begin = "2026-01-01T00:00:00.000Z"
        return [{"sessionId": _NUMBER, "projectHash": "1afb", "startTime": begin, "lastUpdated": begin}]

    def _turn(self, number: str, time_of: str, answer: str) -> list[Document]:
        return [
            {"id": f"p{number}", "timestamp": time_of, "type": "user", "content": [{"text": f"prompt {number}"}]},
            {"id": f"a{number}", "timestamp": time_of, "type": "gemini", "content": answer},
        ]


class _Cursor(_Session):
    """Its file is the one that the hooks of earlier events wrote."""

    def _place(self, work: Workspace) -> str:
        folder = os.path.join(_state(work), "scopes", "cursor")
        os.makedirs(folder)
        return os.path.join(folder, f"{_NUMBER}.jsonl")

    def given(self) -> bytes:
        return json.dumps(self._input(f"{self.turns:06}", "stop", status="completed", loop_count=0)).encode()

    def _turn(self, number: str, time_of: str, answer: str) -> list[Document]:
        answered = [
            self._input(number, "beforeSubmitPrompt", prompt=f"prompt {number}", attachments=[]),
            self._input(number, "afterAgentResponse", text=answer),
        ]
        return [{"scopes_hook": "cursor", "time": time_of, "input": each} for each in answered]

    def _input(self, number: str, event: str, **fields: object) -> Document:
        common = {"conversation_id": _NUMBER, "generation_id": f"g{number}", "hook_event_name": event}
        return {**common, "workspace_roots": [self._directory], "cursor_version": "2.0.77", **fields}


class _OpenCode(_Session):
    """Only it reads its database: its plugin writes the session itself."""

    def __init__(self, work: Workspace, text: str) -> None:
        self._messages: list[bytes] = []
        self._export = b""
        super().__init__(work, text)

    def hand_over(self) -> None:
        with open(self.path, "wb") as file:
            file.write(self._export)

    def _place(self, work: Workspace) -> str:
        folder = os.path.join(_state(work), "scopes", FOLDER)
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, "opencode-1-1-1.json")

    def _write(self, records: list[Document]) -> None:
        self._messages += [json.dumps(record).encode() for record in records]

    def given(self) -> bytes:
        info = {"id": "ses_1", "directory": self._directory, "title": "x", "time": {"created": 1767225600000}}
        turn = {"hook_event_name": "session.idle", "session_id": "ses_1", "cwd": self._directory}
        head = json.dumps({"info": info}).encode().removesuffix(b"}")
        self._export = head + b', "messages": [' + b",".join(self._messages) + b"]}"
        return json.dumps({**turn, "export_file": self.path}).encode()

    def _turn(self, number: str, time_of: str, answer: str) -> list[Document]:
        texts = {"user": f"prompt {number}", "assistant": answer}
        created = 1767225600000 + 60_000 * int(number)
        return [
            {
                "info": {"id": f"msg_{number}{role}", "sessionID": "ses_1", "role": role, "time": {"created": created}},
                "parts": [{"id": f"prt_{number}{role}", "type": "text", "text": text}],
            }
            for role, text in texts.items()
        ]


_SESSIONS: dict[str, Callable[[Workspace, str], _Session]] = {
    "claude-code": _ClaudeCode,
    "codex": _Codex,
    "cursor": _Cursor,
    "gemini": _Gemini,
    "opencode": _OpenCode,
}


def measure(work: Workspace, conversations: int) -> Iterator[Row]:
    """Yield the wall time that each agent waits for its hook, compared with the limit."""
    text = (Speech("turn ends", 2000).text() * _TURN_BYTES)[:_TURN_BYTES]
    for agent, make in _SESSIONS.items():
        session = make(work, text)
        while session.turns * _TURN_BYTES < work.amount(_SESSION_BYTES):
            session.grow()
        environment = work.using(work.copy(work.store_of(conversations, 1))) | {"XDG_STATE_HOME": _state(work)}
        command = [*program_words(), "hooks", "run", agent]
        turns: list[_TurnEnd] = []
        (ours,) = by_turns(work.repetitions(_RUNS), partial(_end_turn, session, command, environment, turns))
        size = f"{work.amount(conversations):,} conversations, a session of {work.amount(_SESSION_BYTES) / 1e6:.0f} MB"
        work.notes.append(
            f"hooks run {agent}: the agent waits {1000 * ours.median:.0f} ms, {1000 * max(ours.values):.0f} at most; its "
            f"hook takes {1000 * min(turn.cpu for turn in turns):.0f} ms of processor time; "
            f"the turn is recorded after {min(turn.recorded for turn in turns):.1f} s"
        )
        yield Row(operation=f"hooks run {agent}, {size}, wall", ours=ours, reference=_LIMIT, against="100 ms", budget=1)


def _state(work: Workspace) -> str:
    return work.path("turn-ends")


def _end_turn(session: _Session, command: list[str], environment: Mapping[str, str], turns: list[_TurnEnd]) -> float:
    """Return how long the agent waits for the end of its hook and of what that prints; the turn is recorded then."""
    session.grow()
    given, log = session.given(), state_directory(environment)
    before = len(read_events(log, HOOK_LOG).events)
    used, begin = children_cpu(), time.perf_counter()
    session.hand_over()
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given)
        process.stdin.close()
        process.stdout.read()
    taken, used = time.perf_counter() - begin, children_cpu() - used
    while len(events := read_events(log, HOOK_LOG).events) == before:
        assert time.perf_counter() < begin + _RECORD_SECONDS, "the turn is not recorded"
        time.sleep(0.02)
    assert events[-1].name == "recorded", events[-1]
    turns.append(_TurnEnd(used, time.perf_counter() - begin))
    return taken
