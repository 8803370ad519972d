"""The parts of a query. `at` is where one begins in what was typed, counted from 0, so that errors can point at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

FIELDS = ("author", "agent", "kind", "tool", "file", "model", "before", "after", "branch", "tag", "in", "re")


class Words(NamedTuple):
    """Words that stand one after the other; of the last one only the beginning where `prefix` is set."""

    words: tuple[str, ...]
    prefix: bool
    at: int


class Field(NamedTuple):
    """`name:value`."""

    name: str
    value: str
    at: int


class Not(NamedTuple):
    """What does not fit."""

    item: Node


class Both(NamedTuple):
    """What fits all of the items, of which there are two at least."""

    items: tuple[Node, ...]


class Either(NamedTuple):
    """What fits one of the items, of which there are two at least."""

    items: tuple[Node, ...]


Node: TypeAlias = Words | Field | Not | Both | Either


def wanted_words(node: Node) -> Iterator[Words]:
    """Yield the words that a hit may hold: all but what is negated."""
    if isinstance(node, Words):
        yield node
    elif isinstance(node, Both | Either):
        for item in node.items:
            yield from wanted_words(item)


def any_of_words(node: Node) -> Node:
    """Return the query for which one of its words is enough; fields, and what is negated, narrow it down as before."""
    items = node.items if isinstance(node, Both) else ()
    said = tuple(filter(_is_said, items))
    rest = tuple(item for item in items if item not in said)
    if len(said) < 2:
        return node
    return Both((Either(said), *rest)) if rest else Either(said)


def _is_said(node: Node) -> bool:
    return isinstance(node, Words) or (isinstance(node, Both | Either) and all(map(_is_said, node.items)))


def leaves(node: Node) -> Iterator[Words | Field]:
    """Yield the words and fields of a query, in order."""
    if isinstance(node, Not):
        yield from leaves(node.item)
    elif isinstance(node, Both | Either):
        for item in node.items:
            yield from leaves(item)
    else:
        yield node
