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


def leaves(node: Node) -> Iterator[Words | Field]:
    """Yield the words and fields of a query, in order."""
    if isinstance(node, Not):
        yield from leaves(node.item)
    elif isinstance(node, Both | Either):
        for item in node.items:
            yield from leaves(item)
    else:
        yield node


def written(term: Words) -> str:
    """Write words the way they are typed."""
    text = " ".join(term.words)
    return (f'"{text}"' if len(term.words) > 1 else text) + "*" * term.prefix
