"""A desk: an editor with the stub agent behind the proxy, a project directory, and the store that is written."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from scopes.history.handles import StoreHandle
from scopes.history.messages import read_message
from scopes.history.names import list_branch_tips
from scopes.store.repository import open_repository
from tests.support.acp_client import IMPATIENT, Editor, lines_of, proxy_command, stub_command


class Desk:
    """One project and one stub agent; `editor` starts the proxy once more, as after a restart."""

    def __init__(self, folder):
        self.folder = folder / "agent"
        self.project = folder / "project"
        self.project.mkdir()
        self.editors = []

    def editor(self, *options, initialize=True, folder=None, stderr=None, patient=True, **profile):
        """Start the proxy and the stub agent; a patient proxy waits for its store as long as it does for users."""
        command = proxy_command(*options, agent=stub_command(folder or self.folder, **profile))
        editor = Editor(command, stderr=stderr, program=None if patient else IMPATIENT)
        self.editors.append(editor)
        if initialize:
            editor.initialize()
        return editor

    def start(self, words):
        """Start the proxy before a Python program."""
        editor = Editor(proxy_command(agent=[sys.executable, *words]), cwd=self.project)
        self.editors.append(editor)
        return editor

    def run(self, *texts, options=(), **profile):
        """Start everything, prompt with the texts in a new session, and end it; return the editor."""
        editor = self.editor(*options, **profile)
        session = editor.open(self.project)
        for text in texts:
            editor.prompt(session, text)
        editor.close()
        return editor

    @property
    def store(self):
        return open_repository(os.environ["SCOPES_STORE"])

    def messages(self, where="conv-001/main"):
        """Return the messages of a branch, oldest first."""
        conversation, _, branch = where.partition("/")
        return list(reversed(list(StoreHandle(self.store).conversation(conversation).branch(branch).messages())))

    def message_at(self, oid):
        return read_message(self.store, oid)

    def tip(self, branch, conversation="conv-001"):
        return list_branch_tips(self.store, conversation)[branch]

    def texts(self, where="conv-001/main"):
        return [message.text for message in self.messages(where)]

    def branches(self):
        return [str(b) for c in StoreHandle(self.store).conversations() for b in c.branches()]

    def events(self, name=None):
        """Return the lines of acp.log."""
        path = Path(os.environ["HOME"], ".local/state/scopes/acp.log")
        events = [json.loads(line) for line in path.read_text().splitlines()]
        return [event for event in events if name is None or event["event"] == name]

    def received(self, method, folder=None):
        """Return the requests of a method that the agent got, in all its runs."""
        messages = [json.loads(line) for line in lines_of(folder or self.folder, "received")]
        return [message for message in messages if message.get("method") == method]

    def prompts(self):
        """Return the texts of the blocks of each prompt that the agent got."""
        return [[block["text"] for block in each["params"]["prompt"]] for each in self.received("session/prompt")]


@pytest.fixture
def desk(tmp_path):
    found = Desk(tmp_path)
    yield found
    for editor in found.editors:
        if editor.process.poll() is None:
            editor.kill()
        else:
            editor.close()
