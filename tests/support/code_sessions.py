"""A project in a git repository, and sessions of agents that really change it, in the shapes that the agents write.

Edits change the files of the working tree, and commands run there: what a session records is what happened. Time passes
by a step with each record, and git commits at the time of the record.
"""

from __future__ import annotations

import difflib
import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self
from uuid import NAMESPACE_URL, uuid5

BEGIN = datetime(2025, 12, 20, 12, 0, tzinfo=UTC)
CONTEXT_LINES = 3


class Clock:
    """The time in a project; each reading is ten seconds later."""

    def __init__(self, begin: datetime = BEGIN) -> None:
        self.now = begin

    def read(self, seconds: float = 10) -> str:
        """Return the time, and let time pass."""
        text = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.now += timedelta(seconds=seconds)
        return text

    def skip(self, **amount: float) -> None:
        """Let time pass, as `timedelta` counts it."""
        self.now += timedelta(**amount)


class Project:
    """A git repository with a working tree."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self.path = path
        self.clock = clock or Clock()
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, check: bool = True) -> str:
        """Run git and return what it printed, on both streams."""
        return self.run(["git", *words], check=check)

    def run(self, words: list[str], *, check: bool = True) -> str:
        """Run a command in the working tree at the time of the clock."""
        date = self.clock.now.isoformat(timespec="seconds")
        person = {"NAME": "Alice", "EMAIL": "alice@example.org", "DATE": date}
        names = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in person.items()}
        plain = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        done = subprocess.run(
            words,
            cwd=self.path,
            env={**plain, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout
        return done.stdout

    def write(self, name: str, text: str) -> None:
        """Write a file, as a person does."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name: str) -> str:
        """Return the text of a file; empty if there is none."""
        path = self.path / name
        return path.read_text() if path.exists() else ""

    def commit(self, message: str, *options: str) -> str:
        """Commit all changes as a person does, and return the id of the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message, *options)
        self.clock.skip(seconds=10)
        return self.head

    @property
    def head(self) -> str:
        """The id of the last commit."""
        return self.git("rev-parse", "HEAD").strip()


class ClaudeSession:
    """A session file of Claude Code."""

    def __init__(self, project: Project, name: str = "one") -> None:
        self.project = project
        self.id = str(uuid5(NAMESPACE_URL, name))
        self.records: list[dict[str, Any]] = []
        self._count = 0
        self._parent: str | None = None

    def prompt(self, text: str) -> Self:
        """Type a prompt."""
        return self._add("user", {"role": "user", "content": text})

    def say(self, text: str) -> Self:
        """Answer with a text."""
        return self._answer({"type": "text", "text": text})

    def edit(self, name: str, old: str, new: str) -> Self:
        """Replace a text in a file."""
        before = self.project.read(name)
        assert old in before, (name, old)
        after = before.replace(old, new, 1)
        path = str(self.project.path / name)
        result = {
            "filePath": path, "oldString": old, "newString": new, "originalFile": before,
            "structuredPatch": hunks(before, after), "userModified": False, "replaceAll": False,
        }  # fmt: skip
        arguments = {"file_path": path, "old_string": old, "new_string": new}
        self._call("Edit", arguments)
        self.project.write(name, after)
        return self._result(f"The file {path} has been updated.", result)

    def replace(self, name: str, old: str, new: str) -> Self:
        """Replace a text in a file; the session has no hunks, like those of many other agents."""
        before = self.project.read(name)
        assert old in before, (name, old)
        path = str(self.project.path / name)
        self._call("Edit", {"file_path": path, "old_string": old, "new_string": new})
        self.project.write(name, before.replace(old, new, 1))
        return self._result("done", "done")

    def write(self, name: str, text: str) -> Self:
        """Write a whole file."""
        before = self.project.read(name)
        path = str(self.project.path / name)
        self._call("Write", {"file_path": path, "content": text})
        self.project.write(name, text)
        kind = {"type": "update" if before else "create", "filePath": path, "content": text}
        result = {**kind, "structuredPatch": hunks(before, text) if before else [], "originalFile": before or None}
        return self._result(f"File created successfully at: {path}", result)

    def bash(self, command: str, seconds: float = 10) -> Self:
        """Run a command in the working tree."""
        self._call("Bash", {"command": command, "description": "run it"})
        output = self.project.run(["sh", "-c", command], check=False)
        self.project.clock.skip(seconds=seconds)
        return self._result(output, {"stdout": output, "stderr": "", "interrupted": False, "isImage": False})

    def fail(self, name: str, old: str, new: str) -> Self:
        """Try an edit that the tool refuses."""
        path = str(self.project.path / name)
        self._call("Edit", {"file_path": path, "old_string": old, "new_string": new})
        text = "<tool_use_error>String to replace not found in file.</tool_use_error>"
        return self._result(text, f"Error: {text}", is_error=True)

    def commit(self, message: str, *options: str) -> Self:
        """Run `git commit` for all changes."""
        words = " ".join(("git add -A && git commit -m", f'"{message}"', *options))
        return self.bash(words)

    def save(self, folder: Path) -> Path:
        """Write the session file where the agent keeps it."""
        path = folder / ".claude" / "projects" / "-project" / f"{self.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records))
        return path

    def _call(self, tool: str, arguments: dict[str, Any]) -> None:
        self._count += 1
        call = {"type": "tool_use", "id": self._call_id, "name": tool, "input": arguments}
        self._answer(call)

    @property
    def _call_id(self) -> str:
        return f"toolu_{self.id[:8]}{self._count:016d}"

    def _result(self, text: str, structured: object, *, is_error: bool = False) -> Self:
        failed = {"is_error": True} if is_error else {}
        block = {"tool_use_id": self._call_id, "type": "tool_result", "content": text, **failed}
        return self._add("user", {"role": "user", "content": [block]}, toolUseResult=structured)

    def _answer(self, block: dict[str, Any]) -> Self:
        message = {
            "model": "claude-sonnet-4-5-20250929", "id": f"msg_{self.id[:8]}{len(self.records):08d}", "type": "message",
            "role": "assistant", "content": [block], "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }  # fmt: skip
        return self._add("assistant", message)

    def _add(self, kind: str, message: dict[str, Any], **fields: object) -> Self:
        own = str(uuid5(NAMESPACE_URL, f"{self.id} {len(self.records)}"))
        record = {
            "parentUuid": self._parent, "isSidechain": False, "userType": "external", "cwd": str(self.project.path),
            "sessionId": self.id, "version": "2.1.3", "gitBranch": "main", "type": kind, "message": message,
            "uuid": own, "timestamp": self.project.clock.read(), **fields,
        }  # fmt: skip
        self._parent = own
        self.records.append(record)
        return self


class CodexSession:
    """A session file of Codex."""

    def __init__(self, project: Project, name: str = "codex") -> None:
        self.project = project
        self.id = str(uuid5(NAMESPACE_URL, name))
        self.records: list[dict[str, Any]] = []
        self._count = 0
        meta = {
            "id": self.id,
            "timestamp": project.clock.read(),
            "cwd": str(project.path),
            "originator": "codex_cli_rs",
        }
        self._add("session_meta", {**meta, "cli_version": "0.120.0", "source": "cli"})

    def prompt(self, text: str) -> Self:
        """Type a prompt."""
        return self._message("user", "input_text", text)

    def say(self, text: str) -> Self:
        """Answer with a text."""
        return self._message("assistant", "output_text", text)

    def patch(self, name: str, old: str, new: str) -> Self:
        """Replace lines in a file, or write a new one, by `apply_patch`."""
        before = self.project.read(name)
        removed = [f"-{line}" for line in old.splitlines()]
        added = [f"+{line}" for line in new.splitlines()]
        action = ["*** Update File: ", "@@"] if before else ["*** Add File: "]
        lines = [f"{action[0]}{name}", *action[1:], *removed, *added]
        self._count += 1
        text = "\n".join(("*** Begin Patch", *lines, "*** End Patch"))
        call = {"type": "custom_tool_call", "status": "completed", "call_id": self._call_id, "name": "apply_patch"}
        self._add("response_item", {**call, "input": text})
        self.project.write(name, before.replace(old, new, 1) if before else f"{new}")
        output = json.dumps(
            {"output": f"Success. Updated the following files:\nM {name}\n", "metadata": {"exit_code": 0}}
        )
        result = {"type": "custom_tool_call_output", "call_id": self._call_id, "output": output}
        return self._add("response_item", result)

    def bash(self, command: str) -> Self:
        """Run a command in the working tree."""
        self._count += 1
        arguments = json.dumps({"cmd": command, "workdir": str(self.project.path)})
        call = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": self._call_id}
        self._add("response_item", call)
        output = self.project.run(["sh", "-c", command], check=False)
        self.project.clock.skip(seconds=5)
        text = f"Chunk ID: 1a2b3c\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n{output}"
        return self._add("response_item", {"type": "function_call_output", "call_id": self._call_id, "output": text})

    def save(self, folder: Path) -> Path:
        """Write the session file where the agent keeps it."""
        name = f"rollout-2025-12-31T12-00-00-{self.id}.jsonl"
        path = folder / ".codex" / "sessions" / "2025" / "12" / "31" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records))
        return path

    @property
    def _call_id(self) -> str:
        return f"call_{self.id[:8]}{self._count:04d}"

    def _message(self, role: str, kind: str, text: str) -> Self:
        return self._add("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]})

    def _add(self, kind: str, payload: dict[str, Any]) -> Self:
        self.records.append({"timestamp": self.project.clock.read(), "type": kind, "payload": payload})
        return self


class OpenCodeSession:
    """A session that `opencode export` wrote: a message has the time when it was created, and calls with their results.

    Each step of an answer is a message.
    """

    def __init__(self, project: Project, name: str = "opencode") -> None:
        self.project = project
        self.id = f"ses_{uuid5(NAMESPACE_URL, name).hex}"
        self.messages: list[dict[str, Any]] = []

    def prompt(self, text: str) -> Self:
        """Type a prompt."""
        return self._add("user", {"type": "text", "text": text})

    def say(self, text: str) -> Self:
        """Answer with a text."""
        return self._add("assistant", {"type": "text", "text": text})

    def bash(self, command: str, seconds: float = 0) -> Self:
        """Run a command in the working tree that takes some seconds before it does what is recorded."""
        call_id = f"call_{len(self.messages)}"
        state: dict[str, Any] = {"status": "completed", "input": {"command": command}}
        part = {"type": "tool", "callID": call_id, "tool": "bash", "state": state}
        self._add("assistant", part)
        self.project.clock.skip(seconds=seconds)
        state["output"] = self.project.run(["sh", "-c", command], check=False)
        return self

    def save(self, folder: Path) -> Path:
        """Write the export."""
        info = {"id": self.id, "directory": str(self.project.path), "title": "A session"}
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.id}.json"
        path.write_text(json.dumps({"info": info, "messages": self.messages}, indent=2))
        return path

    def _add(self, role: str, part: dict[str, Any]) -> Self:
        created = round(datetime.fromisoformat(self.project.clock.read()).timestamp() * 1000)
        info = {"id": f"msg_{len(self.messages):04d}", "sessionID": self.id, "role": role, "time": {"created": created}}
        self.messages.append({"info": info, "parts": [part]})
        return self


def hunks(before: str, after: str) -> list[dict[str, Any]]:
    """Return the difference of two texts as Claude Code records it, with three lines around each change."""
    found: list[dict[str, Any]] = []
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=CONTEXT_LINES):
        if line.startswith("@@"):
            old, new = (part[1:].split(",") for part in line.split()[1:3])
            sizes = (int(each[1]) if len(each) > 1 else 1 for each in (old, new))
            removed, added = sizes
            place = {"oldStart": int(old[0]), "oldLines": removed, "newStart": int(new[0]), "newLines": added}
            found.append({**place, "lines": []})
        elif found:
            found[-1]["lines"].append(line)
    return found
