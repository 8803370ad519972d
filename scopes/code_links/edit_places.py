"""Decide whether an edit was made in another repository: a file with the same name and the same lines may be anywhere.

Recorded paths are those of the machine on which the agent ran. Only a directory that exists here proves something: it
is in another repository, which has another root commit. Clones and worktrees of the project are the same repository.
"""

from __future__ import annotations

import os
from functools import lru_cache, partial

from scopes.code_links.project_commits import read_repository_id
from scopes.code_links.project_git import ProjectGit, ProjectRepository, open_project_git
from scopes.errors import ScopesError
from scopes.store.projects import find_worktree


class EditPlaces:
    """Compares paths of edits with one project; each directory and each other repository is looked at once."""

    def __init__(self, git: ProjectGit) -> None:
        self._git = git
        self._is_foreign_directory = lru_cache(maxsize=None)(self._look_at)
        self._is_other = lru_cache(maxsize=None)(self._compare)
        self._identity = lru_cache(maxsize=None)(partial(read_repository_id, git))  # walks the whole history

    def is_foreign(self, path: str) -> bool:
        """Return True if a file is in another repository than the project."""
        return os.path.isabs(path) and self._is_foreign_directory(os.path.dirname(path))

    def _look_at(self, directory: str) -> bool:
        try:
            found = find_worktree(directory) if os.path.isdir(directory) else None
        except (OSError, ValueError):
            return False
        if found is None or found.shared == self._git.repository.shared:
            return False
        return self._is_other(found.directory, found.shared)

    def _compare(self, top: str, shared: str) -> bool:
        """Return True if another repository has another root commit."""
        try:
            with open_project_git(ProjectRepository(top, shared, shared)) as git:
                other = read_repository_id(git)
                return None not in {other, self._identity()} and other != self._identity()
        except ScopesError:
            return True
