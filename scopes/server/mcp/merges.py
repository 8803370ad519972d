"""Merges that stopped on conflicts: an agent may abort one that it began; every other one is for the user."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from typing import NamedTuple

from scopes.conversation.merge import MergeAborted, abort_merge
from scopes.errors import NotFound, Refused
from scopes.history.names import read_active_branch
from scopes.ids import ConversationId
from scopes.merge.in_progress import InProgress, list_in_progress
from scopes.store import refs
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository

_MERGE = "merge"


class Sides(NamedTuple):
    """A merge as a tool names it; `source` is None for the one in progress, `target` for the active branch."""

    conversation: ConversationId
    source: str | None
    target: str | None


def abort_own(repository: Repository, sides: Sides, agent: str) -> MergeAborted:
    """Take back an unfinished merge that an agent began.

    Raises:
        NotFound: this merge is not in progress.
        Refused: somebody else began it.
    """
    found = _find(repository, sides, agent)
    if found is None:
        what = "merge" if sides.source is None else f"merge of {sides.source}"
        raise NotFound(
            f"no {what} into {sides.target or 'the active branch'} is in progress",
            hint="give the conversation and the target of the merge; conversation_show has what is in progress",
        )
    if _began_by(repository, found) != agent:
        raise Refused(f"another one began this merge, on {found.branch}", hint=_for_user(found))
    return abort_merge(repository, sides.conversation, found.branch)


@contextmanager
def hinted_for_agent(repository: Repository, sides: Sides, agent: str) -> Iterator[None]:
    """Add to the refusal of a merge that is in progress already what the agent, or the user, can do about it."""
    try:
        yield
    except Refused as error:
        found = _find(repository, sides, agent)
        if found is not None:
            own = f"take it back: {_abort_call(found)}, or " if _began_by(repository, found) == agent else ""
            error.hint = f"{own}{_for_user(found)}"
        raise


def _abort_call(found: InProgress) -> str:
    """Return the call that takes a merge back, as an agent may repeat it."""
    arguments = {"conversation": found.conversation, "source": found.source, "target": found.target}
    given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return f"conversation_merge({given}, abort=true)"


def _find(repository: Repository, sides: Sides, agent: str) -> InProgress | None:
    """Return a merge that is in progress; without a source that of the agent, else another one into the target."""
    target = sides.target or read_active_branch(repository, sides.conversation)
    every = [each for each in list_in_progress(repository, sides.conversation) if each.kind == _MERGE]
    found = [each for each in every if each.target == target and sides.source in {None, each.source}]
    return next((each for each in found if _began_by(repository, each) == agent), found[0] if found else None)


def _began_by(repository: Repository, found: InProgress) -> str | None:
    """Return who created the branch with the conflicts; None if the operation log no longer says so."""
    ref = refs.branch_ref(found.conversation, found.branch)
    for _, operation in walk_operations(repository):
        if any(change.ref == ref and change.old is None for change in operation.changes):
            return operation.actor
    return None


def _for_user(found: InProgress) -> str:
    command = f"scopes merge {quote(f'{found.conversation}/{found.branch}')}"
    return f"ask the user to resolve its conflicts and continue it, or to abort it: {command} --continue (or --abort)"
