"""List the messages of purged conversations, so that no fetch brings one back that was cherry-picked into another one.

A message is listed only if nothing of it is kept here: a kept copy, such as that of a redacted copy or a fork, has the
same id, and derived messages that are kept name it; otherwise these would be refused and offered. Messages that other
people may have independently are not listed: the id of an imported message is a hash of the session up to there, and
many sessions begin with the same words.
"""

from __future__ import annotations

from collections.abc import Iterator

from scopes.history.messages import is_root, message_id_of, read_body
from scopes.history.sources import Purged, purged_of, read_purged
from scopes.ids import MessageId, Oid
from scopes.importers.identity import MIN_TEXT, content_bytes, message_id
from scopes.purge.derived import Derived
from scopes.purge.purged_sessions import agent_text_length
from scopes.purge.rewrite_history import HistoryRewriter
from scopes.store.objects import read_commit
from scopes.store.repository import Repository


def with_lost_messages(repository: Repository, purged: Purged, histories: HistoryRewriter) -> Purged:
    """Add the messages of purged conversations of which nothing is kept to a list; call it before the refs move."""
    lost = histories.lost & histories.gone
    lost &= frozenset(_walk_unique(repository, histories)) if lost else lost
    if not lost:
        return purged
    lost -= Derived(repository).find_origins(lost, histories.is_left)
    return purged.join(purged_of(dict.fromkeys(lost), ()))


def _walk_unique(repository: Repository, histories: HistoryRewriter) -> Iterator[MessageId]:
    """Yield the messages of purged conversations whose ids no other history can have by chance.

    These have a random id, or come after a certain amount of text that an agent wrote.
    """
    known = read_purged(repository)
    lengths: dict[Oid, int] = {}
    for oid, new in histories.commits.items():  # parents first
        commit = read_commit(repository, oid) if new is None else None
        if commit is None or commit.message_id is None or not commit.parents:
            continue
        first = commit.parents[0]
        message = read_body(repository, commit)
        lengths[oid] = lengths.get(first, 0) + agent_text_length(message)
        above = read_commit(repository, first)
        parent = None if is_root(above) else message_id_of(above)
        is_random = not known.has_message(message.id) and message.id != message_id(parent, content_bytes(message))
        if is_random or lengths[oid] >= MIN_TEXT:
            yield message.id
