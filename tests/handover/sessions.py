"""Homes of users with sessions of agents in the real shape, imported into a store."""

from __future__ import annotations

import os

from scopes.handover.resume import ResumeRequest, User, resume
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.importers.formats.claude_code.logs import SESSION, Log, text


class Home:
    """A home directory with a project, and one session of Claude Code in it."""

    def __init__(self, path, repository):
        self.path, self.repository = str(path / "home"), repository
        self.project = str(path / "shop")
        self.file = f"{self.path}/.claude/projects/-shop/{SESSION}.jsonl"
        os.makedirs(self.project)
        os.makedirs(os.path.dirname(self.file))
        self.log = Log()
        self.user(None, "hide the prices")
        self.log.answer("m1", text("done, in prices.py"), cwd=self.project)
        self.write()

    def user(self, parent, words):
        fields = {} if parent is None else {"parent": parent}
        return self.log.user(words, cwd=self.project, **fields)

    def write(self):
        """Write the session as it is, and import it."""
        with open(self.file, "wb") as file:
            file.write(self.log.data())
        self.import_file(self.file)

    def import_file(self, path):
        return import_sources(self.repository, find_sources(path), FORMATS)

    def resume(self, where="conv-001", environ=None, store_options=(), **options):
        """Decide how to go on with a conversation."""
        user = User(environ or {}, self.path, store_options)
        return resume(
            self.repository,
            ResumeRequest(where=where, **options),
            choose_tokenizer(RankFilePaths(self.path, None, ())),
            user,
        )
