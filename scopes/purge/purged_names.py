"""Find the names of purged conversations and their branches in subjects of commits and in inboxes.

Commits of memory, facts and inboxes name a conversation in their subject, as `remember CONV/BRANCH`. The name may be
what the user wants to remove, so such a subject is replaced, as in the operation log, and an inbox entry is removed.

Several conversations may have the same name, one after the other: after an undone import the next one gets its number.
The operation log shows which of them had the name when.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from scopes.ids import Oid
from scopes.model.message import PURGED_TEXT
from scopes.model.operation import RefChange
from scopes.store import refs
from scopes.store.objects import Commit

_INBOX: Final = "inbox/"
_NOW: Final = Oid("")  # after all operations
_WORDS: Final = re.compile(r"[^\w.-]+")  # between the names of conversations in a text
_UUID: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MESSAGE: Final = re.compile(rb"(?<![a-z0-9])[a-z2-7]{26}(?![a-z0-9])")


class _Owner(NamedTuple):
    """Whether the conversation with a name is purged, before and after an operation, given by its number."""

    number: int
    before: bool
    after: bool


class NamesInLog:
    """Finds the operations at which a name was that of a purged conversation.

    is_gone_commit: returns True for a commit of such a conversation
    """

    def __init__(self, is_gone_commit: Callable[[str], bool]) -> None:
        self._is_gone_commit = is_gone_commit
        self._owners: defaultdict[str, list[_Owner]] = defaultdict(list)
        self._gone: set[str] = set()  # names that one of these conversations had at any time
        self._numbers: dict[Oid, int] = {}  # of operations, and of the records that were written by them
        self._count = 0

    def note(self, operation: Oid, changes: Iterable[RefChange]) -> None:
        """Note an operation of the log, the oldest one first."""
        self._numbers[operation] = self._count
        moved: defaultdict[str, list[RefChange]] = defaultdict(list)
        for change in changes:
            name = refs.conversation_of(change.ref)
            if name is not None and change.ref.startswith(refs.HEADS):
                moved[name].append(change)
            elif name is None and change.new is not None:
                self._numbers.setdefault(Oid(change.new), self._count)
        for owned, own in moved.items():
            before = [self._is_gone_commit(each.old) for each in own if each.old is not None]
            after = [self._is_gone_commit(each.new) for each in own if each.new is not None]
            self._owners[owned].append(_Owner(self._count, any(before or after), any(after or before)))
            if any(before) or any(after):
                self._gone.add(owned)
        self._count += 1

    def note_refs(self, values: Mapping[str, str]) -> None:
        """Note the values of refs after all operations: the log may begin later than a conversation."""
        self.note(_NOW, [RefChange(ref, None, value) for ref, value in values.items() if ref.startswith(refs.HEADS)])

    def note_records(self, commits: Sequence[Commit]) -> None:
        """Note the commits of memory, facts and inboxes, parents first; one operation may have added several."""
        for commit in reversed(commits):
            if commit.oid in self._numbers:
                for parent in commit.parents:
                    self._numbers.setdefault(parent, self._numbers[commit.oid])

    def is_gone(self, name: str, commit: Oid) -> bool:
        """Return True if a purged conversation had a name at an operation, or when a record was written."""
        if name not in self._gone:
            return False
        number = self._numbers.get(commit)
        if number is None:
            return True
        owners = self._owners[name]
        place = bisect_left(owners, number, key=lambda each: each.number)
        if place < len(owners) and owners[place].number == number:
            return owners[place].before or owners[place].after
        return owners[place - 1].after if place else owners[0].before

    def are_in(self, text: str, commit: Oid) -> bool:
        """Return True if a text of an operation or a record has the name of a purged conversation as a word."""
        return bool(self._gone) and any(
            self.is_gone(word, commit) or self.is_gone(word.rstrip("."), commit) for word in _WORDS.split(text)
        )

    def subject_without(self, commit: Commit) -> str | None:
        """Return the replacement for the subject of a commit that names such a conversation; None to keep it."""
        return PURGED_TEXT if commit.kind is None and self.are_in(commit.subject, commit.oid) else None


def is_inbox_entry_of(path: str, data: bytes, uuids: Collection[str], messages: Collection[str]) -> bool:
    """Return True for a file of an inbox about a message of a purged conversation."""
    if not path.startswith(_INBOX) or not (uuids or messages):
        return False
    return any(each.decode() in uuids for each in _UUID.findall(data)) or any(
        each.decode() in messages for each in _MESSAGE.findall(data)
    )
