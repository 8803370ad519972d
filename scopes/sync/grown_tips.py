"""Which of two ends of a branch is the later import of the same session, which replaces the earlier one.

The last message of a session may have been shared before it was complete. The next import writes it anew: with the same
id, on the same parent. So the two are no divergence: the earlier one yields. A message of which one side has purged
more than the other is none of these: whoever has it decides about that.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from scopes.history.messages import header_of, is_root, message_id_of, read_stored_body
from scopes.history.open_tips import is_open
from scopes.ids import MessageId, Oid
from scopes.model.codec import decode
from scopes.model.tombstone import purged_parts
from scopes.store.graph import is_ancestor, list_merge_bases
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit

Side: TypeAlias = Literal["ours", "theirs"]


class _Message(NamedTuple):
    id: MessageId
    closed: bool
    size: int
    purged: frozenset[int] | None

    @property
    def rank(self) -> tuple[bool, int]:
        """What two imports of one message are ordered by."""
        return self.closed, self.size


def find_grown(repository: Repository, ours: Oid, theirs: Oid) -> Side | None:
    """Return the side that replaces the other one; None if both have what the other lacks.

    A side yields if all that it has alone are open messages, and the other side has each of them in the same place,
    closed or at least as long. Of equal ones the greater object id counts. It is a partial order, the same on every
    machine, so that it does not matter who joins first. Neither tip is below the other.
    """
    bases = list_merge_bases(repository, ours, theirs)
    if len(bases) != 1:
        return None
    lines = [_list_above(repository, tip, bases[0]) for tip in (ours, theirs)]
    if _yields(repository, lines[0], lines[1]):
        return "theirs"
    return "ours" if _yields(repository, lines[1], lines[0]) else None


def has_diverged(repository: Repository, ours: Oid, theirs: Oid) -> bool:
    """Return True if two tips of a branch have to be merged: neither is below the other or replaces it."""
    if is_ancestor(repository, theirs, ours) or is_ancestor(repository, ours, theirs):
        return False
    return find_grown(repository, ours, theirs) is None


def _list_above(repository: Repository, tip: Oid, base: Oid) -> list[Commit]:
    """Return the commits from above a base to a tip by first parents; none if these do not lead to the base."""
    found: list[Commit] = []
    commit = read_commit(repository, tip)
    while commit.oid != base:
        if is_root(commit) or not commit.parents:
            return []
        found.append(commit)
        commit = read_commit(repository, commit.parents[0])
    return found[::-1]


def _yields(repository: Repository, line: list[Commit], other: list[Commit]) -> bool:
    pairs = list(zip(line, other, strict=False))
    if not line or len(pairs) < len(line) or not all(is_open(repository, commit) for commit in line):
        return False
    messages = [(_read(repository, mine), _read(repository, there)) for mine, there in pairs]
    if any((mine.id, mine.purged) != (there.id, there.purged) or mine.rank > there.rank for mine, there in messages):
        return False
    is_same = len(line) == len(other) and all(mine.rank == there.rank for mine, there in messages)
    return line[-1].oid < other[-1].oid if is_same else True


def _read(repository: Repository, commit: Commit) -> _Message:
    data = read_stored_body(repository, header_of(commit))
    return _Message(message_id_of(commit), not is_open(repository, commit), len(data), purged_parts(decode(data)))
