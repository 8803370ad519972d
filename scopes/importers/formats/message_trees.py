"""Turn messages that name their parents into drafts: edits and regenerations are branches of one tree.

Records without a message are passed over in the chain of parents. A message comes after its parent, whatever the order
of the source is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from scopes.importers.formats.events import Ending, Event, SessionRecord, Unparsed
from scopes.importers.formats.records import Record
from scopes.importers.formats.run_builder import OpenMessage, report_unknown_parts

MISSING_PARENT, MISSING_PARENTS = "message names a missing parent", "messages name missing parents"
REPEATED_ID, REPEATED_IDS = "message has the id of another one", "messages have the ids of others"


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
    parents = [places.get(node.parent) if node.parent is not None else None for node in nodes]
    at = places.get(current) if current is not None else None
    keys: dict[int, str | None] = {}  # of the message of each node, or of its next ancestor with one
    last: str | None = None
    for place, parent in _parents_first(parents, _path_to(at, parents)):
        node = nodes[place]
        above = None if parent is None else keys[parent]
        keys[place] = above
        if node.message is not None:
            keys[place] = last = node.message.key
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
    active = None if at is None else keys.get(at)
    notes = tuple(_describe_irregular(nodes, places))
    yield Ending(active=active if active is not None else _last_message(nodes), open=last, notes=notes)


def _describe_irregular(nodes: Sequence[Node], places: Mapping[str, int]) -> Iterator[str]:
    """Say what had to be repaired: a message whose parent is missing begins a branch, of equal ids the first counts."""
    messages = [(place, node) for place, node in enumerate(nodes) if node.message is not None]
    missing = sum(node.parent is not None and node.parent not in places for _, node in messages)
    repeated = sum(node.name is not None and places[node.name] != place for place, node in messages)
    if missing:
        yield f"{missing} {MISSING_PARENT if missing == 1 else MISSING_PARENTS}"
    if repeated:
        yield f"{repeated} {REPEATED_ID if repeated == 1 else REPEATED_IDS}"


def _last_message(nodes: Sequence[Node]) -> str | None:
    """Return the last message in the order of the source that is in the tree."""
    return next((node.message.key for node in reversed(nodes) if node.message is not None and node.message.spans), None)


def _places_by_name(nodes: Sequence[Node]) -> dict[str, int]:
    """Return the first node with each name."""
    places: dict[str, int] = {}
    for place, node in enumerate(nodes):
        if node.name is not None:
            places.setdefault(node.name, place)
    return places


def _path_to(place: int | None, parents: Sequence[int | None]) -> set[int]:
    """Return the places of a node and its ancestors."""
    path: set[int] = set()
    while place is not None and place not in path:
        path.add(place)
        place = parents[place]
    return path


def _parents_first(parents: Sequence[int | None], active: set[int]) -> Iterator[tuple[int, int | None]]:
    """Yield the place of each node and of its parent, after the parent: in the order of the source, the active last.

    Nodes that are among their own ancestors are left out.
    """
    children: dict[int | None, list[int]] = {}
    for place in sorted(range(len(parents)), key=lambda place: place in active):
        children.setdefault(parents[place], []).append(place)
    waiting = children.get(None, [])[::-1]
    while waiting:
        place = waiting.pop()
        yield place, parents[place]
        waiting += reversed(children.get(place, []))


def _without_message(node: Node) -> Event:
    if node.record.problem is not None or node.problem is not None:
        return Unparsed(spans=(node.record.span,), reason=node.record.problem or node.problem or "")
    return SessionRecord(key=node.state, spans=(node.record.span,), value=node.record.value)
