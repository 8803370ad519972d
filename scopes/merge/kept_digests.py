"""Keep the digests that a merge needs of a long branch (`commit_line`, `side_work`) when its messages are written.

Without them the first merge of two long branches reads all messages, which takes many times as long as the merge. An
import keeps them for its messages, and an append now and then for those since the last time. The digests are in the
index, which may be deleted: then a merge makes them again.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from contextlib import suppress
from itertools import islice
from typing import Final

from scopes.errors import ScopesError
from scopes.history.metadata import read_metadata
from scopes.ids import ConversationId, Oid
from scopes.merge.commit_line import keep_segments, walk_new_segments
from scopes.merge.side_calls import ToolMessages
from scopes.merge.side_work import keep_work
from scopes.store.commit_chunks import CHUNK_COMMITS
from scopes.store.repository import Repository

_MOST_ABOVE: Final = 4 * CHUNK_COMMITS  # commits that are read beside the new ones: since the last digests
_AT_ONCE: Final = 16  # segments


def keep_digests(repository: Repository, conversation: ConversationId, tips: Iterable[Oid], new: int = 0) -> None:
    """Keep digests of the newest commits of branches with `new` messages, down to commits whose digests are kept.

    A conversation that cannot be read has none.
    """
    with suppress(ScopesError):
        entries = read_metadata(repository, conversation).branches.values()
        keep_digests_between(repository, tips, {entry.fork for entry in entries if entry.fork is not None}, new)


def keep_digests_between(repository: Repository, tips: Iterable[Oid], forks: Container[Oid], new: int) -> None:
    """Keep digests of branches with `new` messages, as `keep_digests`, also of a conversation that no ref has yet.

    forks: the fork points of all its branches
    """
    if repository.open_commit_chunks is None:
        return
    with suppress(ScopesError):
        chunks = repository.open_commit_chunks()
        messages = ToolMessages(repository)
        for tip in tips:
            segments = walk_new_segments(repository, chunks, tip, forks, new + _MOST_ABOVE)
            while found := list(islice(segments, _AT_ONCE)):
                keep_work(messages, chunks, found)
                keep_segments(chunks, [segment for segment, _ in found])
