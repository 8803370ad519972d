"""An agent with hooks: it runs the commands of its configuration as real ones do, and writes a session of Claude Code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from scopes.errors import NotFound
from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.history.names import list_branch_tips
from scopes.live.event_log import HOOK_LOG, read_events
from tests.importers.formats.claude_code.logs import SESSION, Log
from tests.support.store import list_conversations, open_store

SECONDS = 60


class HookAgent:
    """Claude Code in a home directory: its settings, one session, and the store that the hooks use."""

    def __init__(self, home, project):
        self.home, self.project = Path(home), Path(project)
        self.store = os.environ["SCOPES_STORE"]
        self.session = self.home / ".claude/projects/-home-carol-shop" / f"{SESSION}.jsonl"
        self.session.parent.mkdir(parents=True)
        self.session.touch()
        self.log = Log()
        self.written = 0

    def turn(self, number):
        """Write the records of a turn."""
        self.log.user(f"prompt {number}")
        self.log.answer(f"msg_{number}", {"type": "text", "text": f"answer {number}"}, stop="end_turn")
        self.flush()

    def flush(self, *, cut=0):
        """Append the records that are not in the file yet, without the last `cut` bytes."""
        lines = "".join(json.dumps(record) + "\n" for record in self.log.records)
        data = lines.encode()[: -cut or None]
        with open(self.session, "ab") as file:
            file.write(data[self.written :])
        self.written = len(data)

    @property
    def input(self):
        """What the agent tells a hook."""
        return {
            "session_id": SESSION,
            "transcript_path": str(self.session),
            "cwd": str(self.project),
            "hook_event_name": "Stop",
            "stop_hook_active": False,
        }

    @property
    def commands(self):
        """The commands for the end of a turn."""
        with open(self.home / ".claude/settings.json", encoding="utf-8") as file:
            entries = json.load(file)["hooks"]["Stop"]
        return [hook["command"] for entry in entries for hook in entry["hooks"]]

    def stop(self, document=None, **environ):
        """Run the hooks of the end of a turn, and wait until their streams are closed, as agents do."""
        return [self.run(command, document, **environ) for command in self.commands]

    def run(self, command, document=None, **environ):
        data = json.dumps(self.input) if document is None else document
        return subprocess.run(
            ["/bin/sh", "-c", command],
            input=data if isinstance(data, bytes) else data.encode(),
            cwd=self.project,
            env={**os.environ, **environ},
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )

    def texts(self, conversation="conv-001"):
        """Return the texts in the store, oldest first; none if there is no store yet."""
        try:
            repository = open_store(self.store)
        except NotFound:
            return []
        tips = list_branch_tips(repository, conversation) if self.conversations(repository) else {}
        heads = walk_headers_oldest_first(repository, list(tips.values())) if tips else ()
        return [text for head in heads if (text := read_message(repository, head.oid).text)]

    @staticmethod
    def conversations(repository):
        """Return the names of the conversations."""
        return list_conversations(repository.path)

    def wait_for(self, look):
        """Return what a function returns as soon as that is true."""
        end = time.monotonic() + SECONDS
        while not (found := look()):
            if time.monotonic() > end:
                raise AssertionError(f"nothing came; the log: {self.events()}")
            time.sleep(0.02)
        return found

    def wait_for_texts(self, *texts):
        """Wait until just these texts are in the store."""
        self.wait_for(lambda: self.texts() == list(texts))

    def events(self):
        """Return the events of the log of hooks."""
        return list(read_events(str(self.home / ".local/state/scopes"), HOOK_LOG).events)

    def wait_for_event(self, event):
        """Return the details of the first event of a name as soon as there is one."""
        return self.wait_for(lambda: [found for found in self.events() if found.name == event])[0].details

    def recorders(self):
        """Return the numbers of the processes that record for this store."""
        found = []
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"run" in words and self.store.encode() in words:
                found.append(int(name))
        return found

    def kill_recorders(self):
        """Kill the processes that record, and return how many there were."""
        killed = 0
        for number in self.recorders():
            try:
                os.kill(number, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                continue
        return killed

    def close(self):
        """Wait for the end of what was started."""
        self.wait_for(lambda: not self.recorders())


def texts_of(*turns):
    """Return the texts of turns by number."""
    return [text for number in turns for text in (f"prompt {number}", f"answer {number}")]
