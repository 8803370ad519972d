"""Derive from the messages of both sides of a merge what they worked on: the files that both changed.

Nothing of it is stored: messages and source records are read when a merge is planned or a conflict is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from scopes.history.revisions import conversation_ids, find_directory, find_root_commit
from scopes.history.sources import read_records
from scopes.ids import ConversationId, Oid
from scopes.merge.detection import Disagreement
from scopes.merge.divergence import Divergence, find_divergence
from scopes.merge.file_comparison import FileComparison, compare_files, names_of_files
from scopes.merge.side_calls import SideCall, read_side_calls
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Objects, Repository

MAX_COMMITS_BEFORE = 2000  # of the history of the merge base that are searched for the text of a file


class RecordedWork:
    """Reads the work of both sides of a divergence; `conversations` are those of target and source."""

    def __init__(
        self,
        repository: Repository,
        objects: Objects,
        divergence: Divergence,
        conversations: Sequence[ConversationId],
    ) -> None:
        self._repository = repository
        self._objects = objects
        self._divergence = divergence
        self._conversations = conversations

    def compare_files(self, disagreements: Iterable[Disagreement]) -> tuple[FileComparison, ...]:
        """Compare the files among disagreements; empty if there are none."""
        names = names_of_files(disagreements)
        if not names:
            return ()
        calls = self._read_calls(set(names.values()))
        found = compare_files(self._divergence, names, calls, self._read_records, self._read_calls_before)
        return tuple(found)

    def _read_calls(self, names: Collection[str]) -> tuple[list[SideCall], list[SideCall]]:
        """Return the calls of target and source that mention a name."""
        target, source = self._divergence.target, self._divergence.source
        mentioned = _Mentions(names)
        return (
            read_side_calls(self._objects, target.commits, self._divergence.bases, mentioned),
            read_side_calls(self._objects, source.commits, self._divergence.bases, mentioned),
        )

    def _read_calls_before(self, names: Collection[str]) -> list[SideCall]:
        """Return the calls before the fork that mention a name, oldest first."""
        commits = list(islice(walk_newest_first(self._objects, self._divergence.bases), MAX_COMMITS_BEFORE))
        return read_side_calls(self._objects, reversed(commits), (), _Mentions(names))

    def _read_records(self, messages: set[str]) -> Mapping[str, list[bytes]]:
        roots = {find_root_commit(self._repository, conversation) for conversation in self._conversations}
        return read_records(self._repository, {root for root in roots if root is not None}, messages)


def compare_one_file(
    repository: Repository, tips: tuple[Oid, Oid], conversations: Sequence[ConversationId], key: str
) -> FileComparison | None:
    """Compare one file of target and source; None if their histories have nothing in common."""
    directory = find_directory(repository, conversations[0])
    divergence = find_divergence(repository, repository, *tips, directory=directory)
    if divergence is None:
        return None
    work = RecordedWork(repository, repository, divergence, conversations)
    return next(iter(work.compare_files([Disagreement(key, "", {}, {})])), None)


class _Mentions:
    """Tells whether the stored bytes of a message mention one of some names."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = [name.encode("utf-8", "surrogatepass") for name in names]

    def __call__(self, data: bytes) -> bool:
        return any(name in data for name in self._names)


def sides_conversations(repository: Repository, target: ConversationId, source: str) -> tuple[ConversationId, ...]:
    """Return the conversations of a target and of a source, which is named `CONV/BRANCH` if it is in another one."""
    other = source.partition("/")[0]
    found = [conversation for conversation in conversation_ids(repository) if conversation == other != target]
    return (target, *found)
