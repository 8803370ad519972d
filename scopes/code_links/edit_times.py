"""Until when edits count for a commit: until its author time, and until a conversation was seen making or amending it.

An amended commit keeps the author time of the first one, and `git commit --date` gives any. The committer's time is no
limit, because that of a rebased commit is the time of the rebase: later edits have equal lines by accident.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from scopes.clock import parse_time
from scopes.code_links.edit_index import IndexedEdit
from scopes.code_links.link import CodeLink
from scopes.ids import ConversationId

AFTER_SECONDS: Final = 5.0  # an edit may be recorded a moment after the commit
SAME_SECOND: Final = 1.0  # commits have whole seconds
NOT_RECORDED: Final[Mapping[ConversationId, float]] = MappingProxyType({})
_SECOND: Final = 1_000_000_000


class EditSource(Protocol):
    """What edits are looked up in: the index, or what was read from it for all lines of a file."""

    def find_edits(self, hashes: Iterable[int], base_name: str, before: float) -> dict[int, list[IndexedEdit]]:
        """Return edits by the hashes of their lines, see `EditIndex.find_edits`."""


class EditTimes(NamedTuple):
    """The times of a commit, in seconds since 1970.

    recorded: when each conversation was last seen making or amending it (`CodeLink.recorded_at`)
    """

    author_time: float
    recorded: Mapping[ConversationId, float] = NOT_RECORDED

    def of(self, conversation: ConversationId) -> float:
        """Return when the commit was made, as far as a conversation is concerned."""
        return max(self.author_time, self.recorded.get(conversation, self.author_time))

    def is_before(self, edit: IndexedEdit) -> bool:
        """Return True if an edit was made before the commit; a later one counts only where no earlier one does."""
        recorded = self.recorded.get(edit.conversation, 0.0)
        if recorded < self.author_time:
            return edit.time < self.author_time + SAME_SECOND
        return edit.time < recorded + (0.0 if recorded % 1 else SAME_SECOND)

    def prefer_earlier(self, edits: Sequence[IndexedEdit]) -> Sequence[IndexedEdit]:
        """Return those of some edits that were made before the commit; all of them if there is none."""
        return [edit for edit in edits if self.is_before(edit)] or edits

    def find_edits(self, source: EditSource, hashes: Iterable[int], *names: str) -> Mapping[int, Sequence[IndexedEdit]]:
        """Return the edits of files with one of these base names that count, by the hashes of their lines."""
        latest = max((self.author_time, *self.recorded.values())) + AFTER_SECONDS
        wanted = list(hashes)
        found: dict[int, list[IndexedEdit]] = {}
        for name in names:
            for value, edits in source.find_edits(wanted, name, latest).items():
                known = found.setdefault(value, [])
                known += edits
        if not self.recorded:
            return found
        counted = ((value, [edit for edit in edits if self._counts(edit)]) for value, edits in found.items())
        return {value: edits for value, edits in counted if edits}

    def _counts(self, edit: IndexedEdit) -> bool:
        return edit.time < self.of(edit.conversation) + AFTER_SECONDS


def times_of(author_time: float, links: Sequence[CodeLink]) -> EditTimes:
    """Return the times of a commit with links."""
    recorded: dict[ConversationId, float] = {}
    for link in links:
        time = recorded_seconds(link)
        if time is not None:
            recorded[link.conversation] = max(time, recorded.get(link.conversation, time))
    return EditTimes(author_time, recorded)


def recorded_seconds(link: CodeLink) -> float | None:
    """Return when the conversation of a link was last seen making its commit; None if it is not recorded."""
    found = None if link.recorded_at is None else parse_time(link.recorded_at)
    return None if found is None else found / _SECOND
