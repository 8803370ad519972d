"""Find where a session goes on if others have moved its branch: with undo, rewind, rebase, rename or purge.

What was taken back stays taken back: the session goes on after the newest message of the branch that it knows.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import is_root, message_id_of, read_body
from scopes.ids import Oid
from scopes.model.conversation import ACP
from scopes.store.graph import walk_first_parents
from scopes.store.objects import Commit, read_commit
from scopes.store.repository import Repository

_NEAR: Final = 50  # commits that others may have written since, before the whole history is compared


class Position(NamedTuple):
    """The newest commit of a branch that a session knows, and whether another session has written after it."""

    known: Oid
    is_other: bool


def find_position(repository: Repository, tip: Oid, last: Oid, run: str) -> Position | None:
    """Compare the tip of a branch with the last commit that a run of a session knows of it.

    A commit that was written again, such as by a rebase, is known by the id of its message. None: the branch belongs
    to another conversation.
    """
    if tip == last:
        return Position(tip, is_other=False)
    near = list(islice(walk_first_parents(repository, tip), _NEAR))
    known = {last} if last in near else _list_known(repository, last)
    is_other = False
    for oid in walk_first_parents(repository, tip):
        commit = read_commit(repository, oid)
        found = run_of(repository, commit)
        if oid in known or message_id_of(commit) in known or found == run:
            return Position(oid, is_other)
        is_other = is_other or found is not None
    return None if known else Position(tip, is_other=False)  # only a purge removes commits


def _list_known(repository: Repository, last: Oid) -> set[str]:
    """Return the commits and the messages up to a commit; nothing if it no longer exists."""
    known: set[str] = set()
    with suppress(NotFound):
        for oid in walk_first_parents(repository, last):
            known.update((oid, message_id_of(read_commit(repository, oid))))
    return known


def run_of(repository: Repository, commit: Commit) -> str | None:
    """Return which run of a session wrote a message; None for a message of others, or one that cannot be read."""
    if is_root(commit):
        return None
    with suppress(NotFound, Corrupt):
        found = read_body(repository, commit).extra.get(ACP)
        run = found.get("run") if isinstance(found, dict) else None
        return run if isinstance(run, str) else None
    return None
