"""A project, sessions in it, and `why` after their import."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from scopes.code_links.edit_index import open_edit_index
from scopes.code_links.linked_commits import open_linker
from scopes.code_links.project_git import find_project_repository, open_project_git
from scopes.code_links.why import WhyRequest, why
from tests.code_links.hooked import Hooked
from tests.importers.streams import import_paths
from tests.support.code_sessions import ClaudeSession, CodexSession, OpenCodeSession, Project
from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]


@dataclass
class World:
    """A project, the sessions of agents that worked in it, and the store into which they are imported."""

    project: Project
    repository: object
    folder: object
    index_directory: str

    def claude(self, name="one", project=None):
        return ClaudeSession(project or self.project, name)

    def codex(self, name="codex"):
        return CodexSession(self.project, name)

    def opencode(self, name="opencode"):
        return OpenCodeSession(self.project, name)

    def take(self, *sessions):
        """Import sessions."""
        if sessions:
            import_paths(self.repository, *[session.save(self.folder) for session in sessions])

    def take_with_sub_agent(self, session, agent, call_id):
        """Import a session and that of a sub-agent which a call of it has started."""
        main = session.save(self.folder)
        path = main.with_suffix("") / "subagents" / "agent-a1b2c3d.jsonl"
        path.parent.mkdir(parents=True)
        for record in agent.records:
            record.update(isSidechain=True, agentId="a1b2c3d")
        agent.save(self.folder.with_name("other")).rename(path)
        described = {"agentType": "general-purpose", "toolUseId": call_id}
        path.with_name("agent-a1b2c3d.meta.json").write_text(json.dumps(described))
        import_paths(self.repository, main, path)

    def why(self, target, *sessions, **options):
        """Import sessions, and return the result for a file or lines of one."""
        self.take(*sessions)
        request = WhyRequest(target=target, cwd=str(self.project.path), **options)
        return why(self.repository, self.index_directory, request)

    def line(self, target, *sessions, **options):
        """Return the answer for one line."""
        (lines,) = self.why(target, *sessions, **options).items
        return lines

    def index(self, *sessions):
        """Import sessions, and open the index; a context manager."""
        self.take(*sessions)
        return open_edit_index(self.index_directory, self.repository)

    def links(self, commit, *sessions):
        """Import sessions, and return the links of a commit."""
        self.take(*sessions)
        directory = str(self.project.path)
        with open_linker(self.repository, self.index_directory, directory) as linker:
            (found,) = linker.link([commit])
            return found.links

    def git(self):
        """Open the project for git; a context manager."""
        return open_project_git(find_project_repository(str(self.project.path)))


@pytest.fixture
def world(tmp_path, repository):
    return World(Project(tmp_path / "project"), repository, tmp_path / "home", str(tmp_path / "cache" / "index"))


@pytest.fixture
def project(world):
    return world.project


@pytest.fixture
def hooked(tmp_path, repository):
    """A project with the hooks of scopes, which record into the store, and without a commit."""
    return Hooked(tmp_path / "project", repository)


@pytest.fixture
def hooked_with_base(hooked):
    """The same project with one commit of a person."""
    hooked.commit("base")
    return hooked
