"""`undo` and `redo` with all that belongs to them: the refs of the store, and the files outside of it that follow."""

from __future__ import annotations

from collections.abc import Mapping

from scopes.conversation import undo as of_refs
from scopes.conversation.undo import Undone
from scopes.store import refs
from scopes.store.repository import Repository


def undo(
    repository: Repository,
    environ: Mapping[str, str],
    name: str | None = None,
    *,
    conversation: str | None = None,
    any_actor: bool = False,
    dry_run: bool = False,
) -> Undone:
    """Undo an operation or an append; see `conversation.undo.undo`. `environ` tells where the files of agents are."""
    done = of_refs.undo(repository, name, conversation=conversation, any_actor=any_actor, dry_run=dry_run)
    return _follow(repository, done, environ)


def redo(
    repository: Repository,
    environ: Mapping[str, str],
    *,
    conversation: str | None = None,
    any_actor: bool = False,
    dry_run: bool = False,
) -> Undone:
    """Redo what the caller undid last; see `conversation.undo.redo`."""
    done = of_refs.redo(repository, conversation=conversation, any_actor=any_actor, dry_run=dry_run)
    return _follow(repository, done, environ)


def _follow(repository: Repository, done: Undone, environ: Mapping[str, str]) -> Undone:
    """Give back or put away the journals of Cursor and the sessions that scopes has written for agents."""
    if done.operation is None:
        return done  # a dry run
    if any(change.ref.startswith(refs.TRASH) for each in (done.target, *done.also) for change in each.changes):
        from scopes.importers.deleted_journals import follow_undo as follow_journals

        follow_journals(repository, done, environ)
    from scopes.exporters.undo_session import follow_undo as follow_session

    return follow_session(repository, done)
