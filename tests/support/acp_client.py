"""An editor for tests: it starts `scopes acp` before an agent, sends lines, and keeps every line of both directions."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from queue import Empty, Queue

from tests.support.fork_server import StartedProgram
from tests.support.store import ROOT

STUB = os.path.join(ROOT, "tests", "support", "stub_agent.py")
SCOPES = [sys.executable, "-m", "scopes"]
MAIN = "from scopes.cli.main import main; main()"
# A proxy that waits only a moment for a store which a test keeps locked or broken, before it uses the spool.
IMPATIENT = f"""
from scopes.server.acp import recorder, store_writer, take_spool
recorder.STORE_SECONDS, take_spool._LOCK_SECONDS = 0.05, 0
store_writer._FIRST_FAILURE_SECONDS = store_writer._LAST_TRY_SECONDS = 0.05
{MAIN}
"""
_SECONDS = 30


class AcpError(Exception):
    """An error response."""


def _permit(params):
    """Return the answer of a user who allows a call once: agents have ids of their own for that."""
    options = [option["optionId"] for option in params["options"] if option["kind"] == "allow_once"]
    return {"outcome": {"outcome": "selected", "optionId": options[0]} if options else {"outcome": "cancelled"}}


class Editor:
    """A process of an agent, with or without the proxy, and a thread that reads what it writes."""

    def __init__(self, command, cwd=None, stderr=None, program=None):
        path = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path}
        if command[: len(SCOPES)] == SCOPES:
            self.process = StartedProgram(
                program or MAIN, command[len(SCOPES) :], environment, stderr=stderr, cwd=os.fspath(cwd or os.getcwd())
            )
        else:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, cwd=cwd, env=environment
            )
        self.sent, self.received = [], []
        self.after_line = lambda number: None  # called in the thread that reads
        self.notifications, self.requests = [], []
        self._answers: dict[str, Queue] = {}
        self._numbers = itertools.count(1)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.received.append(line)
            self.after_line(len(self.received))
            document = json.loads(line)
            for message in document if isinstance(document, list) else [document]:
                self._handle(message)
        for answers in list(self._answers.values()):
            answers.put(None)

    def _handle(self, message):
        if "method" not in message:
            self._answers.setdefault(json.dumps(message["id"]), Queue()).put(message)
        elif "id" in message:
            self.requests.append(message)
            result = _permit(message["params"]) if message["method"] == "session/request_permission" else {}
            with suppress(BrokenPipeError, ValueError):  # the stream was closed meanwhile
                self.send({"id": message["id"], "result": result})
        else:
            self.notifications.append(message)

    def send_raw(self, line):
        self.sent.append(line)
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def send(self, document):
        self.send_raw(json.dumps({"jsonrpc": "2.0", **document}).encode() + b"\n")

    def begin(self, method, params, message_id=None, seconds=_SECONDS):
        """Send a request and return a function that waits for its answer."""
        given = next(self._numbers) if message_id is None else message_id
        answers = self._answers.setdefault(json.dumps(given), Queue())
        self.send({"id": given, "method": method, "params": params})
        return lambda: self._result(answers, method, seconds)

    def _result(self, answers, method, seconds):
        try:
            message = answers.get(timeout=seconds)
        except Empty:
            raise AssertionError(f"no answer to {method}; received: {self.received[-5:]}") from None
        if message is None:
            raise EOFError(method)
        if "error" in message:
            raise AcpError(message["error"])
        return message["result"]

    def ask(self, method, params, message_id=None, seconds=_SECONDS):
        return self.begin(method, params, message_id, seconds)()

    def initialize(self):
        return self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    def open(self, cwd, **params):
        """Open a session and return its id."""
        return self.ask("session/new", {"cwd": str(cwd), "mcpServers": [], **params})["sessionId"]

    def prompt(self, session, text):
        return self.ask("session/prompt", prompt_params(session, text))

    def chunks(self, session):
        """Return the texts of the agent's chunks in a session."""
        updates = [
            n["params"]["update"]
            for n in self.notifications
            if n["params"].get("sessionId") == session and "update" in n["params"]
        ]
        return [u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_message_chunk"]

    def close(self):
        """Close the streams, as an editor that quits, and return the exit code."""
        with suppress(BrokenPipeError):  # a line for a process that was killed
            self.process.stdin.close()
        code = self.process.wait(timeout=_SECONDS)
        self._reader.join(_SECONDS)
        self.process.stdout.close()
        return code

    def kill(self):
        """Kill the proxy, and wait until the agent has ended too."""
        self.process.kill()
        return self.close()


def prompt_params(session, text):
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


def stub_command(folder, **profile):
    """Return the command that starts the stub agent."""
    os.makedirs(folder, exist_ok=True)
    return [sys.executable, "-I", "-S", STUB, str(folder), json.dumps({"name": "stub", **profile})]


def proxy_command(*options, agent):
    """Return the command that starts an agent behind the proxy."""
    return [*SCOPES, "-c", "scopes.durability=fast", "acp", *options, "--", *agent]


def lines_of(folder, name):
    """Return the lines that the stub agent has read or written."""
    with open(os.path.join(folder, name), "rb") as file:
        return file.read().splitlines(keepends=True)
