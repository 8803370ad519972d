"""The rows of participants in the change log: who has written a message that a branch has (S4-49 to S4-52).

Everybody takes part from the first message on, until an undo or rewind takes the last one off the branches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from scopes.conversation.change import Change, FieldChange
from scopes.history.messages import header_of
from scopes.ids import Oid
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.repository import Repository

_FIELD = "participants"


def added(name: str) -> FieldChange:
    """Return the change that somebody takes part, which counts if he did not before: see `keep_changes`."""
    return FieldChange(_FIELD, None, name, "APPEND")


def keep_changes(rows: Iterable[Change]) -> Iterator[Change]:
    """Yield the rows of a change log without those that do not change who takes part; they are given oldest first."""
    present: set[str] = set()
    for row in rows:
        if row.field_path == _FIELD:
            name, is_added = (row.after, True) if row.before is None else (row.before, False)
            if is_added == (name in present):
                continue
            present ^= {name}
        yield row


class Participants:
    """Finds who took part no more, or again, after branches were moved.

    written: the commits of the messages of everybody
    """

    def __init__(self, repository: Repository, written: Mapping[str, Sequence[Oid]]) -> None:
        self._repository = repository
        self._written = written

    def walk(self, moves: Iterable[tuple[Oid | None, Oid | None]], after: Collection[Oid]) -> Iterator[FieldChange]:
        """Yield the changes of moves of branches, tips before and after each; `after` are then the tips of all."""
        gone, back = set[str](), set[str]()
        for old, new in moves:
            gone |= self._list_authors(old, new)
            back |= self._list_authors(new, old)
        for name in sorted(gone - back):
            if not any(is_ancestor(self._repository, oid, tip) for oid in self._written[name] for tip in after):
                yield FieldChange(_FIELD, name, None)
        yield from map(added, sorted(back))

    def _list_authors(self, tip: Oid | None, other: Oid | None) -> set[str]:
        """Return the participants with messages that one tip has and another one does not have."""
        if tip is None or not self._repository.has(tip):
            return set()
        commits = list_new_commits(self._repository, tip, other)
        return {str(header_of(commit).author) for commit in commits if commit.parents} & self._written.keys()
