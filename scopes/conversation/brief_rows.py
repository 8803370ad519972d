"""Make brief rows of `list`, from the tips of the branches and the metadata: each conversation costs five objects.

Very many are made for one list, so that every call in this file counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from scopes.clock import known_seconds
from scopes.conversation.list_rows import ConversationRefs
from scopes.history.conversations import ParticipantCache, read_participants
from scopes.history.messages import STATE_DIRECTORY
from scopes.history.metadata import TITLE, decode_line, list_hidden
from scopes.history.recorded_times import OWN_ADDRESS, RecordedTimes
from scopes.ids import AgentName, BranchName, Oid
from scopes.index.conversation_table import ConversationRow
from scopes.store.objects import id_finder, parse_tips
from scopes.store.read_once import ReadOnce

_Tip: TypeAlias = tuple[tuple[AgentName, ...], int, int]
"""The participants, sorted, the time of a tip, and when it was written if that is another time, otherwise 0."""


class BriefRows:
    """Makes brief rows; participants are those of a tree that occurs in very many commits."""

    def __init__(self, once: ReadOnce, times: RecordedTimes, participants: ParticipantCache) -> None:
        self._once = once
        self._times = times
        self._cache = participants
        self._names: dict[Oid | None, tuple[AgentName, ...]] = {}  # by the tree of states
        self._find_state = id_finder(STATE_DIRECTORY, is_tree=True)
        self._find_title = id_finder(TITLE, is_tree=False)

    def read(self, conversations: Sequence[ConversationRefs]) -> list[ConversationRow]:
        """Return rows with what the tips of the branches and the metadata have.

        All objects of a kind are read one after the other, which takes less time.

        Raises:
            NotFound, Corrupt: an object of one of the conversations is missing or damaged.
        """
        tips = self._read_tips(list({tip: None for _, oids, _, _ in conversations for tip in oids.values()}))
        metas = [Oid(meta) for _, _, meta, _ in conversations if meta is not None]
        trees: dict[str, bytes] = dict(zip(metas, self._once.read_trees_of(metas), strict=True))
        titles = self._read_titles(trees)
        hidden_of = self._list_hidden(conversations, trees)
        rows = []
        for name, oids, meta, _ in conversations:
            if len(oids) == 1:  # it is counted, whatever its status (S4-8)
                [tip] = oids.values()
                participants, time, recorded = tips[tip]
                branches = 1
            else:
                hidden = () if meta is None else hidden_of[meta]
                branches = sum(branch not in hidden for branch in oids)
                participants, time, recorded = _join([tips[tip] for tip in oids.values()])
            row = ConversationRow(
                id=name,
                participants=participants,
                branches=branches,
                last_activity=known_seconds(time),
                title=titles.get(meta),
                recorded_at=known_seconds(recorded) if recorded > time else None,
            )
            rows.append(row)
        return rows

    def _read_tips(self, tips: list[Oid]) -> dict[Oid, _Tip]:
        once, names_of = self._once, self._names
        stubs = parse_tips(tips, once.read_commits(tips))
        states = map(self._find_state, once.read_trees([tree for tree, _, _ in stubs]))
        found: dict[Oid, _Tip] = {}
        for tip, (_, time, email), state in zip(tips, stubs, states, strict=True):
            names = names_of.get(state)
            if names is None and state is not None:
                names = names_of[state] = tuple(sorted(read_participants(once, state, self._cache)))
            recorded = (self._times.find_newest([(tip, time, email)]) or 0) if email == OWN_ADDRESS else 0
            found[tip] = names or (), time, recorded
        return found

    def _read_titles(self, trees: Mapping[str, bytes]) -> dict[str | None, str]:
        """Return the titles in trees of metadata."""
        found = zip(trees, map(self._find_title, trees.values()), strict=True)
        blobs = {meta: blob for meta, blob in found if blob is not None}
        return dict(zip(blobs, map(decode_line, self._once.read_blobs(list(blobs.values()))), strict=True))

    def _list_hidden(
        self, conversations: Sequence[ConversationRefs], trees: Mapping[str, bytes]
    ) -> dict[str, set[BranchName]]:
        """Return the branches that lists leave out, by metadata, of conversations with several branches."""
        metas = [refs_of.meta for refs_of in conversations if len(refs_of.tips) > 1 and refs_of.meta is not None]
        return dict(zip(metas, list_hidden(self._once, [trees[meta] for meta in metas]), strict=True))


def _join(tips: Sequence[_Tip]) -> _Tip:
    """Return the participants of several tips, and their latest times."""
    names, times, recorded = zip(*tips, strict=True)
    return tuple(sorted({*chain.from_iterable(names)})), max(times), max(recorded)
