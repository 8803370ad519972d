"""A project with the hooks of scopes, and the store that they record into."""

from __future__ import annotations

import os
import stat

from scopes.code_links.commit_store import CommitRecords
from scopes.code_links.git_hooks import GitHooks
from scopes.code_links.pending_commits import list_pending, pending_directory
from scopes.code_links.record_commits import record_pending
from scopes.hosts.hook_target import HookEnvironment
from scopes.store.projects import find_worktree
from tests.support.worktrees import Project

CODEX = {"CODEX_THREAD_ID": "0199-thread", "CODEX_TOOL_CALL_ID": "call_7"}
CLAUDE = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "11111111-2222-4333-8444-555555555555"}


class Hooked(Project):
    """A project with hooks; what they start in the background writes its words into `started`."""

    def __init__(self, directory, repository=None, *, trailer=False, create=True, install=True):
        super().__init__(directory, create=create)
        self.repository = repository
        self.started = os.path.join(os.path.dirname(self.directory), "started")
        self.program = os.path.join(os.path.dirname(self.directory), "scopes program")
        write_program(self.program, f'echo "$@" >> "{self.started}"\n')
        self.target = GitHooks(trailer=trailer or None)
        if install:
            self.target.install(self.place())

    def place(self, store=None):
        return HookEnvironment("/nowhere", self.directory, dict(os.environ), (self.program,), store)

    def hooks(self):
        """Return the files in the directory of the hooks with content and mode, without git's samples."""
        directory = os.path.join(self.directory, self.git("rev-parse", "--git-path", "hooks"))
        names = [name for name in os.listdir(directory) if not name.endswith(".sample")]
        return {name: read_file(os.path.join(directory, name)) for name in sorted(names)}

    def pending(self):
        return list_pending(find_worktree(self.directory))

    def path_of(self, pending):
        return os.path.join(pending_directory(find_worktree(self.directory)), pending.name)

    def record(self):
        return record_pending(self.repository, find_worktree(self.directory))

    def records(self):
        return CommitRecords(self.repository)


def read_file(path):
    """Return a link's target, or content and mode of a file."""
    if os.path.islink(path):
        return os.readlink(path)
    with open(path, "rb") as file:
        return file.read(), stat.S_IMODE(os.stat(path).st_mode)


def write_program(path, text, mode=0o755):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}")
    os.chmod(path, mode)
