"""Syntax tree of a query. `at` is the offset in the query text where a node begins, so that errors can point at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

FIELDS = ("author", "agent", "kind", "tool", "file", "model", "before", "after", "branch", "tag", "in", "re")


class Phrase(NamedTuple):
    """Consecutive words, at least one; with `prefix` the last one matches every word that starts with it."""

    words: tuple[str, ...]
    prefix: bool
    at: int


class Field(NamedTuple):
    """`name:value`; the name is one of FIELDS."""

    name: str
    value: str
    at: int


class Not(NamedTuple):
    """Matches messages that `item` does not match."""

    item: Node


class And(NamedTuple):
    """Matches messages that all items match; there are at least two."""

    items: tuple[Node, ...]


class Or(NamedTuple):
    """Matches messages that any item matches; there are at least two."""

    items: tuple[Node, ...]


Node: TypeAlias = Phrase | Field | Not | And | Or


def positive_phrases(node: Node) -> Iterator[Phrase]:
    """Yield the phrases of a query that are not negated, in order."""
    if isinstance(node, Phrase):
        yield node
    elif isinstance(node, And | Or):
        for item in node.items:
            yield from positive_phrases(item)


def with_any_phrase(node: Node) -> Node:
    """Return a query that any one of the top-level phrases satisfies; fields and negations still apply.

    Returns the same object if the query has fewer than two phrases to choose from.
    """
    items = node.items if isinstance(node, And) else ()
    phrases = tuple(filter(_is_phrases_only, items))
    others = tuple(item for item in items if item not in phrases)
    if len(phrases) < 2:
        return node
    return And((Or(phrases), *others)) if others else Or(phrases)


def _is_phrases_only(node: Node) -> bool:
    return isinstance(node, Phrase) or (isinstance(node, And | Or) and all(map(_is_phrases_only, node.items)))


def leaves(node: Node) -> Iterator[Phrase | Field]:
    """Yield the phrases and fields of a query, in order, negated ones too."""
    if isinstance(node, Not):
        yield from leaves(node.item)
    elif isinstance(node, And | Or):
        for item in node.items:
            yield from leaves(item)
    else:
        yield node
