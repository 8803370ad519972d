"""Decide which of two tips of a branch is the later import of the same session: it replaces the earlier one.

The last message of a session may have been shared before it was complete. The next import writes it again, on the same
parent: with the same id, or, if it has more parts, with another id. So the two tips have not diverged: the later one
replaces the earlier one. This does not hold for a message of which one side has purged more than the other: there the
user decides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from scopes.history.messages import header_of, is_root, message_id_of, read_message_bytes_at, read_stored_body
from scopes.ids import MessageId, Oid
from scopes.model import canonical_json
from scopes.model.message import Message, decode, purged_parts
from scopes.store.graph import is_ancestor, list_merge_bases
from scopes.store.objects import Commit, read_commit
from scopes.store.repository import Repository

Side: TypeAlias = Literal["ours", "theirs"]


class _Form(NamedTuple):
    """A message as one import wrote it."""

    message: Message
    is_open: bool
    size: int

    @property
    def rank(self) -> tuple[bool, int]:
        """The sort key by which two imports of one message are ordered."""
        return not self.is_open, self.size

    @property
    def purged(self) -> frozenset[int] | None:
        """The numbers of purged parts; None if all of it was purged."""
        return purged_parts(self.message)


def find_grown(repository: Repository, ours: Oid, theirs: Oid) -> Side | None:
    """Return the side that replaces the other one; None if both have what the other lacks.

    A side is replaced if all messages that only it has are open, and the other side has each of them in the same place,
    closed or at least as long; its version of the last one may have more parts. If both are equal, the side with the
    greater object id is kept. This is a partial order, the same on every machine, so the result does not depend on who
    joins first. Neither tip may be an ancestor of the other.
    """
    bases = list_merge_bases(repository, ours, theirs)
    if len(bases) != 1:
        return None
    lines = [_list_above(repository, tip, bases[0]) for tip in (ours, theirs)]
    if _yields(repository, lines[0], lines[1]):
        return "theirs"
    return "ours" if _yields(repository, lines[1], lines[0]) else None


def has_diverged(repository: Repository, ours: Oid, theirs: Oid) -> bool:
    """Return True if two tips of a branch have to be merged: neither is an ancestor of the other, or replaces it."""
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
    if not line or len(other) < len(line):
        return False
    mine, there = ([_read(repository, commit) for commit in side[: len(line)]] for side in (line, other))
    if not all(map(_is_earlier, mine[:-1], there[:-1])):
        return False
    if not _is_earlier(mine[-1], there[-1]):
        above = read_commit(repository, line[-1].parents[0])
        parent = None if is_root(above) else message_id_of(above)
        return _is_shorter(mine[-1], there[-1], parent, goes_on=len(other) > len(line))
    is_same = len(line) == len(other) and all(one.rank == two.rank for one, two in zip(mine, there, strict=True))
    return line[-1].oid < other[-1].oid if is_same else True


def _is_earlier(mine: _Form, there: _Form) -> bool:
    """Return True if a message is open, and the other one is of the same or a later import of it."""
    is_same = (mine.message.id, mine.purged) == (there.message.id, there.purged)
    return mine.is_open and is_same and mine.rank <= there.rank


def _is_shorter(mine: _Form, there: _Form, parent: MessageId | None, *, goes_on: bool) -> bool:
    """Return True if one version is an incomplete form of the other, which has another id.

    If both were purged, this is only known from everything else being equal, and from one side having more messages
    after it (`goes_on`).
    """
    if mine.purged is None and there.purged is None:
        return goes_on and replace(mine.message, id=there.message.id) == there.message
    has_all = mine.purged == frozenset() == there.purged
    from scopes.importers.identity import shorter_ids

    return mine.is_open and has_all and mine.message.id in shorter_ids(there.message, parent)


def _read(repository: Repository, commit: Commit) -> _Form:
    data = read_stored_body(repository, header_of(commit))
    return _Form(decode(data), is_open(repository, commit), len(data))


_OPEN_MARK: Final = b'"open":true'


def is_open(repository: Repository, commit: Commit) -> bool:
    """Return True if a message was the last one of its session when that was imported: it may have grown since."""
    data = read_message_bytes_at(repository, commit.tree)
    document: Any = canonical_json.load(data) if _OPEN_MARK in data else None
    return isinstance(document, dict) and document.get("open") is True
