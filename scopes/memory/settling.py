"""What a new entry says of things to do that older ones of its conversation know: they are done, or known already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scopes.memory.entry import Entry


def settle(entry: Entry, older: Iterable[Entry]) -> tuple[Entry, list[Entry]]:
    """Close in older entries what the new one has as done, and leave out of the new one what is known to be open.

    Returns the new entry and those of the older ones that changed.
    """
    said = {_key(item.text): item.done for item in entry.action_items}
    known: set[str] = set()
    changed = []
    for each in older:
        if each.uuid != entry.uuid or each.uuid is None:
            continue
        items = tuple(i._replace(done=True) if said.get(_key(i.text)) else i for i in each.action_items)
        known |= {_key(item.text) for item in items if not item.done}
        if items != each.action_items:
            changed.append(replace(each, action_items=items))
    kept = tuple(item for item in entry.action_items if item.done or _key(item.text) not in known)
    return replace(entry, action_items=kept), changed


def _key(text: str) -> str:
    return " ".join(text.casefold().split())
