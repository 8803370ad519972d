"""Leave out files that another program made of a session, if the session itself is there: they have less than it."""

from __future__ import annotations

from collections.abc import Sequence

from scopes.history.sources import SOURCES, source_key
from scopes.importers.formats.events import RENDERED_FROM, Session
from scopes.importers.identity import source_key_of
from scopes.importers.results import Skipped
from scopes.importers.work_queue import QueuedSource
from scopes.store.repository import Repository


def drop_rendered(repository: Repository, queue: Sequence[QueuedSource], skipped: list[Skipped]) -> list[QueuedSource]:
    """Return the queue without renderings of sessions that the store has, or gets now; those are added to `skipped`."""
    keys = {source_key_of(queued.session) for queued in queue}
    kept = []
    for queued in queue:
        key = _key_of_original(queued.session)
        if key is None or (key not in keys and repository.find_ref(SOURCES + key) is None):
            kept.append(queued)
            continue
        agent, name = queued.session.details[RENDERED_FROM]
        which = "a session" if agent == queued.session.format else f"session {name}"  # an agent has many of its own
        reason = f"made of {which} of {agent}, which is imported itself"
        skipped.append(Skipped(path=queued.source.path, reason=reason, named=queued.source.named))
    return kept


def _key_of_original(session: Session) -> str | None:
    """Return the key of the session that a source was made of; None if it does not say."""
    original = session.details.get(RENDERED_FROM)
    return None if original is None else source_key(original[0], original[1], None)
