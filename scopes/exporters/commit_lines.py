"""The commits of a project that a conversation made or wrote lines of, with these lines: what records of them say.

The lines are the ones that `why` calls certain or likely, or those of another session than the one that committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from scopes.code_links.commit_lines import lines_of, match_commit
from scopes.code_links.link import CodeLink
from scopes.code_links.linked_commits import CommitLinker, LinkedCommit, best_links, open_linker
from scopes.code_links.project_commits import AddedLine
from scopes.code_links.turns import list_turn_messages
from scopes.conversation.commits import show_commits
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import read_body
from scopes.history.names import list_branch_tips
from scopes.ids import ConversationId, MessageId
from scopes.secret_scan.clearance import Mode
from scopes.store.repository import Repository

Progress = Callable[[int, int], None]


class CommitRequest(NamedTuple):
    """Which commits: those of a conversation in the project around a directory, and how secrets are treated."""

    conversation: str
    directory: str
    index_directory: str
    on_progress: Progress = lambda _done, _all: None
    secrets: Mode = "refuse"


class ConversationCommits:
    """The commits of a conversation, and what it wrote of each."""

    def __init__(self, repository: Repository, linker: CommitLinker, name: ConversationId) -> None:
        self.name = name
        self.git = linker.git
        self._repository = repository
        self._index = linker.index
        tips = list_branch_tips(repository, name).values()
        self._heads = {each.head.id: each.head for each in list_turn_messages(repository, tips)}

    def links(self, linked: LinkedCommit) -> list[CodeLink]:
        """Return the links of a commit with the conversation."""
        return [link for link in best_links(linked.links) if link.conversation == self.name]

    def lines_by_path(self, linked: LinkedCommit) -> Iterator[tuple[str, Iterator[AddedLine]]]:
        """Yield the files of a commit with the lines that the conversation wrote, as `why` tells it."""
        if linked.added is not None:
            for path, matched in match_commit(self._index, linked.added, linked.links):
                yield path, lines_of(matched, self.name)

    def model(self, linked: LinkedCommit) -> str | None:
        """Return the model of the first linked message that names one; None if none does."""
        models = (self._model_of(link.message) for link in self.links(linked))
        return next((model for model in models if model is not None), None)

    def _model_of(self, message: str | None) -> str | None:
        head = None if message is None else self._heads.get(MessageId(message))
        try:
            return None if head is None else read_body(self._repository, head).model
        except (Corrupt, NotFound):
            return None


@contextmanager
def open_commits(
    repository: Repository, request: CommitRequest
) -> Iterator[tuple[ConversationCommits, list[LinkedCommit]]]:
    """Open the project, and yield the commits of the conversation, without those that the project has not any more.

    Raises:
        NotFound: there is no such conversation, or no git repository around the directory.
        Inaccessible: git is not installed, or cannot read the project.
    """
    shown = show_commits(
        repository, request.conversation, directory=request.directory, index_directory=request.index_directory,
        on_progress=request.on_progress,
    )  # fmt: skip
    commits = [row.commit for row in shown.commits if not row.is_gone]
    with open_linker(repository, request.index_directory, request.directory) as linker:
        yield ConversationCommits(repository, linker, shown.conversation), list(linker.link(commits))
