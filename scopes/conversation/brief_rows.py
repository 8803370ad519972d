"""Make brief rows of `list`, from the tips of the branches and the metadata: each conversation costs five objects.

Very many are made for one list, so that every call in this file counts.
"""

from __future__ import annotations

from typing import Final

from scopes.clock import known_seconds
from scopes.conversation.list_rows import ConversationRefs
from scopes.history.conversations import ParticipantCache, read_participants
from scopes.history.messages import STATE_DIRECTORY
from scopes.history.metadata import TITLE, decode_line, read_title_and_hidden
from scopes.history.recorded_times import OWN_ADDRESS, RecordedTimes
from scopes.ids import AgentName, Oid
from scopes.index.conversation_table import ConversationRow
from scopes.store.objects import id_finder, parse_tip
from scopes.store.read_once import ReadOnce

_NOBODY: Final[frozenset[AgentName]] = frozenset()


class BriefRows:
    """Makes brief rows; participants are those of a tree that occurs in very many commits."""

    def __init__(self, once: ReadOnce, times: RecordedTimes, participants: ParticipantCache) -> None:
        self._once = once
        self._times = times
        self._cache = participants
        self._sorted: dict[frozenset[AgentName], tuple[AgentName, ...]] = {}
        self._find_state = id_finder(STATE_DIRECTORY, is_tree=True)
        self._find_title = id_finder(TITLE, is_tree=False)

    def read(self, refs_of: ConversationRefs) -> ConversationRow:
        """Return a row with what the tips of the branches and the metadata have.

        Raises:
            NotFound, Corrupt: an object is missing or damaged.
        """
        conversation, tips, meta, _ = refs_of
        if len(tips) > 1:
            return self._read_branches(refs_of)
        [tip] = tips.values()
        names, time, recorded = self._read_tip(tip)
        title = None if meta is None else self._read_title(meta)
        return ConversationRow(
            id=conversation,
            participants=self._sort(names),
            branches=1,
            last_activity=known_seconds(time),
            title=title,
            recorded_at=known_seconds(recorded) if recorded > time else None,
        )

    def _read_branches(self, refs_of: ConversationRefs) -> ConversationRow:
        """Return the row of a conversation with several branches; those that are hidden are not counted (S4-8)."""
        conversation, tips, meta, _ = refs_of
        found = [self._read_tip(tip) for tip in set(tips.values())]
        newest, recorded = max(time for _, time, _ in found), max(time for _, _, time in found)
        title, hidden = (None, _NOBODY) if meta is None else read_title_and_hidden(self._once, Oid(meta))
        return ConversationRow(
            id=conversation,
            participants=self._sort(_NOBODY.union(*(names for names, _, _ in found))),
            branches=sum(name not in hidden for name in tips),
            last_activity=known_seconds(newest),
            title=title,
            recorded_at=known_seconds(recorded) if recorded > newest else None,
        )

    def _read_tip(self, tip: Oid) -> tuple[frozenset[AgentName], int, int]:
        """Return the participants, the time of a tip, and when it was written if that is another time, otherwise 0."""
        once = self._once
        tree, time, email = parse_tip(tip, once.read_commit(tip))
        recorded = (self._times.find_newest([(tip, time, email)]) or 0) if email == OWN_ADDRESS else 0
        state = self._find_state(once.read_tree(tree))
        if state is None:
            return _NOBODY, time, recorded
        names = self._cache.get(state)
        return read_participants(once, state, self._cache) if names is None else names, time, recorded

    def _read_title(self, meta: str) -> str | None:
        """Return the title; the branches of the metadata are not read, because the only branch is counted."""
        title = self._find_title(self._once.read_tree_of(Oid(meta)))
        return None if title is None else decode_line(self._once.read_blob(title))

    def _sort(self, names: frozenset[AgentName]) -> tuple[AgentName, ...]:
        found = self._sorted.get(names)
        if found is None:
            found = self._sorted[names] = tuple(sorted(names))
        return found
