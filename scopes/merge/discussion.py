"""What was said about a conflict since it was opened: messages, positions, and to whom it was escalated.

While a merge or replay is in progress, this is what its conflict-resolution branch has since it stopped. After its end
these messages are in the history of the target: between the commit that opened the conflict and its resolution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scopes.errors import NotFound
from scopes.history.messages import (
    STATE_DIRECTORY,
    MessageHeader,
    display_time,
    headers_of,
    read_body,
    walk_headers_newest_first,
)
from scopes.ids import AgentName, Oid
from scopes.merge.conflict_list import is_discussion, list_discussion
from scopes.merge.in_progress import HELD, InProgress
from scopes.model.argument import ARGUMENT, Position, read_argument
from scopes.model.claims import CONFLICTS
from scopes.model.conflicts import ENDED, Conflict
from scopes.model.path_encoding import leaf
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_entry


class Discussion(NamedTuple):
    """What was said about a conflict.

    talk: the messages of agents and people, oldest first
    positions: the newest one of each author, in the order in which they were stated
    escalated_to: whom it was escalated to last; None if it was not
    escalated_at: when
    """

    talk: tuple[MessageHeader, ...]
    positions: tuple[Position, ...]
    escalated_to: str | None = None
    escalated_at: str | None = None


def read_discussion(repository: Repository, in_progress: InProgress, conflict: Conflict) -> Discussion:
    """Return what was said about a conflict, also after it has ended."""
    if in_progress.kind == HELD:
        heads = list(headers_of(_walk_held(repository, in_progress.tip, conflict)))
    else:
        heads = list(walk_headers_newest_first(repository, [in_progress.tip], {in_progress.stopped}))
    talk = [head for head in heads if is_discussion(head)]
    positions = list_positions_about(repository, talk[::-1], conflict.id)
    if in_progress.kind == HELD and conflict.status not in ENDED:  # the branch has other messages too
        stated = {each.message for each in positions}
        talk = [head for head in talk if head.id in stated]
    addressee, time = next(_walk_escalations(repository, heads, conflict.id), (None, None))
    return Discussion(tuple(talk[::-1]), positions, addressee, time)


def list_involved(repository: Repository, in_progress: InProgress, conflict: Conflict) -> set[str]:
    """Return who has written about a conflict."""
    written = (*list_discussion(repository, in_progress), *read_discussion(repository, in_progress, conflict).talk)
    return {head.author for head in written}


def list_positions_about(
    repository: Repository, oldest_first: Sequence[MessageHeader], about: str
) -> tuple[Position, ...]:
    """Return the newest position of each author about a subject, in the order in which they were stated."""
    found: dict[str, Position] = {}
    for head in oldest_first:
        argument = read_argument(read_body(repository, head).extra.get(ARGUMENT))
        if argument is not None and argument.about == about:
            found.pop(head.author, None)
            author = AgentName(head.author)
            found[author] = Position(author=author, time=display_time(head), message=head.id, argument=argument)
    return tuple(found.values())


def _walk_escalations(
    repository: Repository, newest_first: Sequence[MessageHeader], conflict: str
) -> Iterator[tuple[str, str | None]]:
    for head in newest_first:
        if head.kind == "notice" and head.to:
            match read_body(repository, head).extra.get("conflict"):
                case {"id": str(found), "status": "escalated"} if found == conflict:
                    yield head.to[0], display_time(head)


def _walk_held(repository: Repository, tip: Oid, conflict: Conflict) -> Iterator[Commit]:
    """Yield the commits that have the record of a conflict before it was resolved, without the one that opened it."""
    path = f"{STATE_DIRECTORY}/{leaf(CONFLICTS, conflict.id)}"

    def has_record(commit: Commit) -> bool:
        return find_entry(repository, commit.tree, path) is not None

    try:
        commit = read_commit(repository, tip)
    except NotFound:
        return  # the branch of an aborted conflict was deleted long ago
    if conflict.status == "resolved" and has_record(commit):
        commit = next(_walk_resolutions(repository, tip, conflict.id), commit)
    while has_record(commit) and commit.parents:
        below = read_commit(repository, commit.parents[0])
        if not has_record(below):
            return
        yield commit
        commit = below


def _walk_resolutions(repository: Repository, tip: Oid, conflict: str) -> Iterator[Commit]:
    """Yield the commits whose messages resolved a conflict, newest first."""
    for commit in walk_newest_first(repository, [tip]):
        if commit.kind == "notice":
            match read_body(repository, commit).extra.get("conflict"):
                case {"id": str(found), "status": "resolved"} if found == conflict:
                    yield commit
