"""The part of `undo` and `redo` outside of the store: files that scopes wrote for agents."""

from __future__ import annotations

from scopes.conversation.undo import Undone
from scopes.store.repository import Repository


def follow_undo(repository: Repository, done: Undone) -> Undone:
    """Give back or put away the sessions that scopes has written for agents."""
    if done.operation is None:
        return done  # a dry run
    from scopes.handover.registration import follow_undo as follow_session

    return follow_session(repository, done)
