"""Which conversations are of the same project as another one, so that nothing of other projects gets into its prompts.

The project is decided by the directory in which a conversation began: the git repository around it, with all its
worktrees; outside of git that directory alone.
"""

from __future__ import annotations

import os

from scopes.errors import Corrupt, NotFound
from scopes.history.conversations import read_uuid
from scopes.history.revisions import find_directory
from scopes.ids import ConversationId
from scopes.store.projects import Project, find_project, find_store_project, is_of_project
from scopes.store.repository import Repository


class ProjectMembers:
    """Tells which conversations and directories are of the project of one conversation.

    In the store of a project this is everything, except what is of another project that exists here. In any other
    store, what has no directory is of no project.
    """

    def __init__(self, repository: Repository, conversation: ConversationId) -> None:
        self._repository = repository
        self._conversation = conversation
        self._directory = find_directory(repository, conversation)
        own = find_store_project(repository.path, repository.path)
        self._own_store = None if own is None or _is_of_another(self._directory, own) else own
        self._project = None if self._directory is None else find_project(self._directory)
        self._known: dict[str | None, bool] = {}

    def has(self, conversation: ConversationId, uuid: str | None = None) -> bool:
        """Return True if a conversation is of the project; one with another uuid has only the same name."""
        try:
            is_known = uuid is None or read_uuid(self._repository, conversation) == uuid
            directory = find_directory(self._repository, conversation) if is_known else None
        except (Corrupt, NotFound):
            return self.has_directory(None)
        return (is_known and conversation == self._conversation) or self.has_directory(directory)

    def has_directory(self, directory: str | None) -> bool:
        """Return True if a recorded directory is of the project; None: it is not recorded."""
        if directory not in self._known:
            self._known[directory] = self._find(directory)
        return self._known[directory]

    def _find(self, directory: str | None) -> bool:
        if self._own_store is not None:
            return not _is_of_another(directory, self._own_store)
        if self._directory is None or directory is None:
            return False
        return is_of_project(self._project, self._directory, directory)


def _is_of_another(directory: str | None, project: Project) -> bool:
    """Return True if a directory exists here and is not of the project; one of another machine may be a clone of it."""
    return directory is not None and os.path.isdir(directory) and not project.contains(directory)
