"""The memory on terminals of every width."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.memory.actions import ActionList, ActionRow
from scopes.memory.list import MemoryList
from scopes.memory.search import MemoryHit, MemoryHits
from tests.render.rendering import seen
from tests.render.results import REMEMBERED, TO_DO

LONG = replace(REMEMBERED, agent="a-planner-with-a-long-name", summary="A very long summary. " * 20)
ITEM = TO_DO._replace(id=TO_DO.id + "2", text="Something long to do. " * 20)


@pytest.mark.parametrize("width", range(40, 100, 4))
def test_an_id_is_never_cut(width, at_one_moment):
    """Three rows alike, of which none could be typed."""
    fields = ("topic", "decision", "summary")
    results = {
        LONG.id[:8]: [
            MemoryList(entries=(LONG,)),
            MemoryHits(query="x", hits=(MemoryHit(entry=LONG, score=3, fields=fields),)),
        ],
        f"{ITEM.id[:8]}.12": [ActionList(actions=(ActionRow(item=ITEM, entry=LONG),))],
    }
    for name, shown in results.items():
        for result in shown:
            text = seen(result, width)
            assert f"\n{name} " in text
            assert all(len(line) <= width for line in text.splitlines())
