"""Where the messages of a source are by now: on a branch, taken off all of them, or nowhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scopes.conversation.heads import message_id_of
from scopes.conversation.lookup import MAIN, branch_tips, conversation_ids
from scopes.conversation.metadata import read_metadata
from scopes.ids import MessageId, Oid
from scopes.importers.home import TRACKING
from scopes.store import refs as names
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class Presence:
    """The messages that no branch shows: those `away` are still held by a deleted or an imported line of history."""

    away: tuple[MessageId, ...]
    missing: tuple[MessageId, ...]


def find_presence(repository: Repository, wanted: Iterable[MessageId], roots: Iterable[Oid]) -> Presence:
    """Look for messages in the conversations that begin with `roots`, then everywhere else."""
    looked_for = _Search(repository, dict.fromkeys(wanted))
    looked_for.walk(_tips_of(repository, frozenset(roots)))
    looked_for.walk(repository.list_refs(names.HEADS).values())
    hidden = tuple(looked_for.left)
    looked_for.walk(repository.list_refs(TRACKING, names.TRASH).values())
    missing = tuple(looked_for.left)
    return Presence(tuple(identity for identity in hidden if identity not in looked_for.left), missing)


class _Search:
    """A walk that stops as soon as everything is found, and goes over no commit twice."""

    def __init__(self, repository: Repository, left: dict[MessageId, None]) -> None:
        self.left = left
        self._repository = repository
        self._seen: set[Oid] = set()

    def walk(self, tips: Iterable[str]) -> None:
        """Strike out what is reachable from the tips."""
        for tip in dict.fromkeys(tips):
            if not self.left:
                return
            # the walk only asks for commits that it has not yielded, so the set may grow beside it
            for commit in walk_newest_first(self._repository, [Oid(tip)], hidden=self._seen):
                self._seen.add(commit.oid)
                self.left.pop(message_id_of(commit), None)


def _tips_of(repository: Repository, roots: frozenset[Oid]) -> list[Oid]:
    """Return the branches of the conversations that begin with one of the roots."""
    found: list[Oid] = []
    for conversation in conversation_ids(repository):
        main = read_metadata(repository, conversation).branches.get(MAIN)
        if main is not None and main.fork in roots:
            found += branch_tips(repository, conversation).values()
    return found
