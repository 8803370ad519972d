"""Which sources of a run may share a conversation, so that the memory of others can be let go before they come."""

from __future__ import annotations

from collections.abc import Sequence

from scopes.importers.home import Homes
from scopes.importers.lineage import earlier_keys, key_of
from scopes.importers.projection import Session


def number_families(sessions: Sequence[Session], homes: Homes) -> list[int]:
    """Give each session the number of its family: those that go on from each other, now or in what the store has."""
    heads: dict[str, str] = {}

    def head_of(name: str) -> str:
        while (above := heads.setdefault(name, name)) != name:
            heads[name] = heads[above]
            name = above
        return name

    for session in sessions:
        for key in (key_of(session), *earlier_keys(session)):
            for name in (key, *homes.roots_of(key)):
                heads[head_of(name)] = head_of(key_of(session))
    numbers: dict[str, int] = {}
    return [numbers.setdefault(head_of(key_of(session)), len(numbers)) for session in sessions]
