"""The part of `undo` and `redo` outside of the store: files that scopes wrote for agents."""

from __future__ import annotations

from collections.abc import Mapping

from scopes.conversation.undo import Undone
from scopes.store import refs
from scopes.store.repository import Repository


def follow_undo(repository: Repository, done: Undone, environ: Mapping[str, str]) -> Undone:
    """Give back or put away the journals of Cursor and the sessions that scopes has written for agents.

    environ: the environment variables, which name the directories of agents
    """
    if done.operation is None:
        return done  # a dry run
    if any(change.ref.startswith(refs.TRASH) for each in (done.target, *done.also) for change in each.changes):
        from scopes.importers.deleted_journals import follow_undo as follow_journals

        follow_journals(repository, done, environ)
    from scopes.exporters.undo_session import follow_undo as follow_session

    return follow_session(repository, done)
