"""Lines of purged texts that consist of an id of something kept: they are names, not copies of the text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Final

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import is_root, read_root_of
from scopes.ids import Oid
from scopes.purge.rewrite_history import HistoryRewriter
from scopes.store.objects import Commit, Objects
from scopes.store.repository import read_operation

_ID: Final = re.compile(
    r"[0-9a-f]{40}|[a-z2-7]{26}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)  # of a commit, of a message or an operation, of a conversation


def drop_ids_that_stay(
    objects: Objects, histories: HistoryRewriter, commits: Iterable[Commit], log: Collection[Oid]
) -> None:
    """Remove ids of kept objects from the texts to search for; call it after all histories were rewritten.

    commits: all of the store
    log: those of the log of operations

    Raises:
        Corrupt, NotFound: an operation cannot be read.
    """
    wanted = set(filter(_ID.fullmatch, histories.quotes.texts))
    if wanted:
        found = wanted.intersection(_walk_ids(objects, histories, commits, log))
        for quotes in (histories.quotes, histories.lost_quotes):
            quotes.drop(found)


def _walk_ids(
    objects: Objects, histories: HistoryRewriter, commits: Iterable[Commit], log: Collection[Oid]
) -> Iterator[str]:
    for commit in commits:
        if commit.oid not in histories.commits:
            yield commit.oid
        if histories.commits.get(commit.oid, commit.oid) is None:
            continue
        if commit.oid in log:
            yield read_operation(objects, commit).id
        elif commit.message_id is not None:
            yield commit.message_id
        elif is_root(commit):
            with suppress(Corrupt, NotFound):
                yield read_root_of(objects, commit, commit.oid).uuid
