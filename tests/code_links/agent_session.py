"""A session of Claude Code that works in a real project: its calls run there, with the variables of its shell."""

from __future__ import annotations

import itertools
import json
import time

from scopes.clock import format_time
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources

SESSION = "11111111-2222-4333-8444-555555555555"


class ClaudeSession:
    """Writes the transcript of a session while it works; `import_now` imports it."""

    def __init__(self, project, path, session=SESSION):
        self.project, self.path, self.session = project, path, session
        self.environment = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": session}
        self.number = itertools.count(1)
        self.last = None
        self.behind = 0  # seconds by which its clock is behind that of the machine

    def prompt(self, text):
        self._add("user", {"role": "user", "content": text})

    def say(self, text):
        self._add("assistant", self._answer({"type": "text", "text": text}))

    def edit(self, path, text):
        """Write a file with the tool Write."""
        full = self.project.write(path, text)
        self._call(
            "Write", {"file_path": full, "content": text}, "done", {"type": "create", "filePath": full, "content": text}
        )

    def add(self, path, text):
        """Add lines at the end of a file with the tool Edit."""
        with open(f"{self.project.directory}/{path}", encoding="utf-8") as file:
            old = file.read()
        full = self.project.write(path, old + text)
        last = old.splitlines(keepends=True)[-1]
        given = {"file_path": full, "old_string": last, "new_string": last + text}
        self._call("Edit", given, "done", {"filePath": full, "oldString": last, "newString": last + text})

    def shell(self, command):
        """Run a command in the project, and return what it printed."""
        name = f"toolu_{self.session[:4]}_{next(self.number)}"
        self._add(
            "assistant", self._answer({"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}})
        )
        done = self.project.run(["sh", "-c", command], **self.environment)
        result = {"type": "tool_result", "tool_use_id": name, "content": done.stdout or "ok", "is_error": False}
        self._add("user", {"role": "user", "content": [result]})
        return name

    def commit(self, subject, *words):
        """Make a commit with a call; return the id of the call and the commit."""
        self.edit(
            f"{subject.split()[0]}.py", f"def {subject.split()[0]}_function():\n    return 'the value of {subject}'\n"
        )
        call = self.shell(f"git add -A && git commit -m '{subject}' {' '.join(words)}")
        return call, self.project.head()

    def import_now(self, repository):
        sources = find_sources(str(self.path))
        return import_sources(repository, sources, FORMATS)

    def _call(self, tool, given, output, structured):
        name = f"toolu_{self.session[:4]}_{next(self.number)}"
        self._add("assistant", self._answer({"type": "tool_use", "id": name, "name": tool, "input": given}))
        result = {"type": "tool_result", "tool_use_id": name, "content": output}
        self._add("user", {"role": "user", "content": [result]}, toolUseResult=structured)

    def _answer(self, *content):
        return {"role": "assistant", "id": f"msg_{next(self.number)}", "model": "claude-x", "content": list(content)}

    def _add(self, kind, message, **fields):
        uuid = f"{self.session[:4]}-{next(self.number)}"
        record = {
            "type": kind, "message": message, "uuid": uuid, "parentUuid": self.last, "sessionId": self.session,
            "timestamp": format_time(time.time_ns() - self.behind * 1_000_000_000), "cwd": self.project.directory, "version": "2.1.140",
            "isSidechain": False, "userType": "external", **fields,
        }  # fmt: skip
        self.last = uuid
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
