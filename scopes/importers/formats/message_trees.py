"""Turn messages that name their parents into drafts: edits and regenerations are branches of one tree.

Records without a message are passed over in the chain of parents. A message comes after its parent, whatever the order
of the source is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scopes.importers.formats.events import Ending, Event, SessionRecord, Unparsed
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.run_builder import OpenMessage
from scopes.importers.formats.unknown_parts import report_unknown_parts


@dataclass(slots=True)
class Node:
    """A record of a tree. Its id and its parent's are the source's own.

    message: what it became; None for a record that is only a state or that another message has taken
    records: those of its message: its own, and those that the message has taken
    """

    record: Record
    name: str | None = None
    parent: str | None = None
    message: OpenMessage | None = None
    state: str = "node"
    problem: str | None = None
    taken: bool = False
    records: list[Record] = field(default_factory=list)


def walk_tree(nodes: Sequence[Node], current: str | None) -> Iterator[Event]:
    """Yield the drafts of all nodes and an Ending; `current` is the node that the conversation is at."""
    places = _places_by_name(nodes)
    keys: dict[int, str | None] = {}  # of the message of each node, or of its next ancestor with one
    for place, parent in _parents_first(nodes, places):
        node = nodes[place]
        above = None if parent is None else keys[parent]
        keys[place] = above
        if node.message is not None:
            keys[place] = node.message.key
            node.message.parent = above
            node.message.reply_to = None if node.message.reply_to == above else node.message.reply_to
            node.message.spans |= dict.fromkeys(sorted(record.span for record in [*node.records, node.record]))
            yield from report_unknown_parts(node.message.draft())
        elif not node.taken:
            yield _without_message(node)
    lost = [place for place in range(len(nodes)) if place not in keys]
    for place in lost:
        spans = tuple(record.span for record in [*nodes[place].records, nodes[place].record])
        if not nodes[place].taken:
            yield Unparsed(spans=spans, reason="a message that is its own ancestor")
    at = places.get(current) if current is not None else None
    last = next((keys[place] for place in reversed(range(len(nodes))) if keys.get(place) is not None), None)
    yield Ending(active=(None if at is None else keys.get(at)) or last)


def _places_by_name(nodes: Sequence[Node]) -> dict[str, int]:
    """Return the first node with each name."""
    places: dict[str, int] = {}
    for place, node in enumerate(nodes):
        if node.name is not None:
            places.setdefault(node.name, place)
    return places


def _parents_first(nodes: Sequence[Node], places: dict[str, int]) -> Iterator[tuple[int, int | None]]:
    """Yield the place of each node and of its parent, in the order of the source but after the parent.

    Nodes that are among their own ancestors are left out.
    """
    children: dict[int | None, list[int]] = {}
    for place, node in enumerate(nodes):
        parent = places.get(node.parent) if node.parent is not None else None
        children.setdefault(parent, []).append(place)
    waiting: list[tuple[int, int | None]] = [(place, None) for place in reversed(children.get(None, []))]
    while waiting:
        place, parent = waiting.pop()
        yield place, parent
        waiting += [(child, place) for child in reversed(children.get(place, []))]


def _without_message(node: Node) -> Event:
    if node.record.problem is not None or node.problem is not None:
        return Unparsed(spans=(node.record.span,), reason=node.record.problem or node.problem or "")
    return SessionRecord(key=node.state, spans=(node.record.span,), value=node.record.value)
