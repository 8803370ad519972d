"""Find the decisions that accept decision candidates, on all branches, and a second decision for the same candidate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from scopes.history.amendments import is_retracted
from scopes.history.messages import header_of, message_id_of, read_body
from scopes.history.revisions import list_branch_tips
from scopes.ids import ConversationId, MessageId, Oid
from scopes.store.graph import is_ancestor, list_new_commits, walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Objects, Repository

ACCEPTS = "accepts"  # the field of a decision that names its candidate


class Acceptance(NamedTuple):
    """A decision that accepts a candidate and is not retracted on every branch."""

    candidate: str
    message: MessageId
    author: str


def read_acceptances(repository: Repository, conversation: ConversationId) -> Mapping[str, Acceptance]:
    """Return what was accepted on any branch and not retracted there, by candidate."""
    tips = set(list_branch_tips(repository, conversation).values())
    found: dict[str, Acceptance] = {}
    for commit, acceptance in _walk_acceptances(repository, walk_newest_first(repository, sorted(tips))):
        if any(
            is_ancestor(repository, commit.oid, tip) and not is_retracted(repository, tip, acceptance.message)
            for tip in tips
        ):
            found.setdefault(acceptance.candidate, acceptance)
    return found


def find_second_acceptance(
    repository: Repository, conversation: ConversationId, old: Oid | None, new: Oid
) -> Acceptance | None:
    """Return a decision in effect whose candidate another message accepts between two commits; None if there is none.

    `new` is the value that a branch would get, `old` the value it has.
    """
    again = [acceptance for _, acceptance in _walk_acceptances(repository, list_new_commits(repository, new, old))]
    accepted = read_acceptances(repository, conversation) if again else {}
    for each in again:
        first = accepted.get(each.candidate)
        if first is not None and first.message != each.message:
            return first
    return None


def _walk_acceptances(objects: Objects, commits: Iterable[Commit]) -> Iterator[tuple[Commit, Acceptance]]:
    for commit in commits:
        if commit.kind == "decision":
            candidate = read_body(objects, commit).extra.get(ACCEPTS)
            if isinstance(candidate, str):
                yield commit, Acceptance(candidate, message_id_of(commit), header_of(commit).author)
