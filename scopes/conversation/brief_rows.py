"""Make brief rows of `list`, from the tips of the branches and the metadata: each conversation costs five objects.

Very many are made for one list, so that every call in this file counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from scopes.clock import known_seconds
from scopes.conversation.list_rows import ConversationRefs
from scopes.history.conversations import ParticipantCache, read_participants
from scopes.history.messages import STATE_DIRECTORY
from scopes.history.metadata import TITLE, decode_line, list_hidden
from scopes.history.recorded_times import OWN_ADDRESS, RecordedTimes
from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.index.conversation_table import ConversationRow
from scopes.store.objects import id_finder, parse_tips
from scopes.store.read_once import ReadOnce

_NOBODY: Final[frozenset[AgentName]] = frozenset()
_Tip: TypeAlias = tuple[frozenset[AgentName], int, int]
"""The participants, the time of a tip, and when it was written if that is another time, otherwise 0."""


class BriefRows:
    """Makes brief rows; participants are those of a tree that occurs in very many commits."""

    def __init__(self, once: ReadOnce, times: RecordedTimes, participants: ParticipantCache) -> None:
        self._once = once
        self._times = times
        self._cache = participants
        self._sorted: dict[frozenset[AgentName], tuple[AgentName, ...]] = {}
        self._find_state = id_finder(STATE_DIRECTORY, is_tree=True)
        self._find_title = id_finder(TITLE, is_tree=False)

    def read(self, conversations: Sequence[ConversationRefs]) -> list[ConversationRow]:
        """Return rows with what the tips of the branches and the metadata have.

        All objects of a kind are read one after the other, which takes less time.

        Raises:
            NotFound, Corrupt: an object of one of the conversations is missing or damaged.
        """
        tips = self._read_tips(list({tip: None for refs_of in conversations for tip in refs_of.tips.values()}))
        metas = [Oid(refs_of.meta) for refs_of in conversations if refs_of.meta is not None]
        trees = dict(zip(metas, self._once.read_trees_of(metas), strict=True))
        titles = self._read_titles(trees)
        hidden_of = self._list_hidden(conversations, trees)
        rows = []
        for refs_of in conversations:
            meta = None if refs_of.meta is None else Oid(refs_of.meta)
            title = None if meta is None else titles.get(meta)
            if len(refs_of.tips) == 1:  # it is counted, whatever its status
                [tip] = refs_of.tips.values()
                rows.append(self._make_row(refs_of.conversation, tips[tip], 1, title))
            else:
                hidden = () if meta is None else hidden_of[meta]
                branches = sum(name not in hidden for name in refs_of.tips)
                together = _join([tips[tip] for tip in refs_of.tips.values()])
                rows.append(self._make_row(refs_of.conversation, together, branches, title))
        return rows

    def _make_row(self, conversation: ConversationId, tip: _Tip, branches: int, title: str | None) -> ConversationRow:
        """Return the row of a conversation with so many branches that are not hidden (S4-8)."""
        names, time, recorded = tip
        written = known_seconds(recorded) if recorded > time else None
        participants = self._sorted.get(names) or self._sort(names)
        return ConversationRow(
            id=conversation,
            participants=participants,
            branches=branches,
            last_activity=known_seconds(time),
            title=title,
            recorded_at=written,
        )

    def _read_tips(self, tips: list[Oid]) -> dict[Oid, _Tip]:
        once = self._once
        stubs = parse_tips(tips, once.read_commits(tips))
        states = map(self._find_state, once.read_trees([tree for tree, _, _ in stubs]))
        found: dict[Oid, _Tip] = {}
        for tip, (_, time, email), state in zip(tips, stubs, states, strict=True):
            recorded = (self._times.find_newest([(tip, time, email)]) or 0) if email == OWN_ADDRESS else 0
            names = _NOBODY if state is None else self._cache.get(state)
            if names is None and state is not None:
                names = read_participants(once, state, self._cache)
            found[tip] = names or _NOBODY, time, recorded
        return found

    def _read_titles(self, trees: Mapping[Oid, bytes]) -> dict[Oid, str]:
        """Return the titles in trees of metadata."""
        found = zip(trees, map(self._find_title, trees.values()), strict=True)
        blobs = {meta: blob for meta, blob in found if blob is not None}
        return dict(zip(blobs, map(decode_line, self._once.read_blobs(list(blobs.values()))), strict=True))

    def _list_hidden(
        self, conversations: Sequence[ConversationRefs], trees: Mapping[Oid, bytes]
    ) -> dict[Oid, set[BranchName]]:
        """Return the branches that lists leave out, by metadata, of conversations with several branches."""
        metas = [Oid(refs_of.meta) for refs_of in conversations if len(refs_of.tips) > 1 and refs_of.meta is not None]
        return dict(zip(metas, list_hidden(self._once, [trees[meta] for meta in metas]), strict=True))

    def _sort(self, names: frozenset[AgentName]) -> tuple[AgentName, ...]:
        found = self._sorted[names] = tuple(sorted(names))
        return found


def _join(tips: Sequence[_Tip]) -> _Tip:
    """Return the participants of several tips, and their latest times."""
    names, times, recorded = zip(*tips, strict=True)
    return _NOBODY.union(*names), max(times), max(recorded)
