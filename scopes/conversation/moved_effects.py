"""The effects of messages that an undo, redo or rewind took off the branches or put back, for the change log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from scopes.conversation.change import FieldChange
from scopes.conversation.message_changes import Recorded
from scopes.conversation.participants import Participants
from scopes.history.messages import is_root, message_id_of
from scopes.ids import BranchName, MessageId, Oid
from scopes.model.operation import Operation, RefChange
from scopes.store.graph import is_ancestor, list_new_commits
from scopes.store.repository import Repository

_REWIND, _ABORT = "rewind", "-abort"  # kinds of operations, and how one ends


class MovedEffects:
    """Finds the effects that operations took back or restored; they are given newest first, with the moves of branches.

    tips: the branches of the conversation now
    recorded: what each message changed when it was recorded, and who wrote it
    """

    def __init__(self, repository: Repository, tips: Mapping[BranchName, Oid], recorded: Recorded) -> None:
        self._repository = repository
        self._tips = dict(tips)
        self._effects = recorded.effects
        self._participants = Participants(repository, recorded.written)

    def walk(self, record: Operation, first: str, moves: Mapping[BranchName, RefChange]) -> Iterator[FieldChange]:
        """Yield what an operation took back, the newest first, then what it restored, the oldest first.

        A message that is on another branch too is neither, nor is one that a branch has in another commit. `first` is
        the kind of the operation that was undone or redone first: one that aborted took nothing back.
        """
        after = self._tips | {name: Oid(change.new) for name, change in moves.items() if change.new is not None}
        for name, change in moves.items():
            self._tips.pop(name, None)
            if change.old is not None:
                self._tips[name] = Oid(change.old)
        if (record.undoes is None and record.kind != _REWIND) or first.endswith(_ABORT):
            return
        pairs = [(_tip(change.old), _tip(change.new)) for change in moves.values()]
        gone = self._list_effective(((old, new) for old, new in pairs), after.values())
        back = self._list_effective(((new, old) for old, new in pairs), self._tips.values())
        for message in reversed([each for each in gone if each not in back]):
            for path, before, value, *_ in reversed(self._effects[message]):
                yield FieldChange(path, value, before)
        for message in back:
            if message not in gone:
                yield from self._effects[message]
        yield from self._participants.walk(pairs, after.values())

    def _list_effective(
        self, pairs: Iterable[tuple[Oid | None, Oid | None]], tips: Iterable[Oid]
    ) -> dict[MessageId, None]:
        """Return the messages with effects that the first of two tips has and no other tip, parents first."""
        found: dict[MessageId, None] = {}
        known = list(tips)
        for tip, other in pairs:
            if tip is None or not self._repository.has(tip):
                continue
            for commit in list_new_commits(self._repository, tip, other):
                message = message_id_of(commit)
                if is_root(commit) or message not in self._effects:
                    continue
                if not any(is_ancestor(self._repository, commit.oid, t) for t in known):
                    found[message] = None
        return found


def _tip(value: str | None) -> Oid | None:
    return None if value is None else Oid(value)
