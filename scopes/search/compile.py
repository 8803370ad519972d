"""From a query to SQL over the index: what is ranked goes into one full-text expression, the rest into conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

from scopes.clock import now_nanoseconds
from scopes.conversation.moments import parse_moment
from scopes.errors import Invalid
from scopes.ids import ConversationId, Oid
from scopes.index.schema import COLUMNS
from scopes.index.words import fold
from scopes.model.message import KINDS
from scopes.search.parse import trouble
from scopes.search.query import Both, Either, Field, Node, Not, Words

_IN_TEXT = "message.number IN (SELECT rowid FROM full_text WHERE full_text MATCH ?)"
_VALUE = "IN (SELECT number FROM value WHERE field = ? AND text GLOB ?)"
_TOUCHED = """message.number IN (SELECT message FROM touched WHERE touched.value IN (
    SELECT number FROM value WHERE field = ? AND text GLOB ?))"""
_ON_BRANCH = """message.number IN (
    WITH RECURSIVE reached (entry) AS (
        SELECT tip FROM branch WHERE name GLOB ? OR conversation || '/' || name GLOB ?
        UNION SELECT parent FROM edge JOIN reached ON edge.child = reached.entry
    ) SELECT message FROM commits JOIN reached ON commits.number = reached.entry WHERE message IS NOT NULL)"""
_TAGGED = """message.number IN (
    SELECT message FROM commits WHERE oid IN (SELECT value FROM json_each(?)) AND message IS NOT NULL)"""
IN_CONVERSATION = """message.number IN (
    SELECT message FROM commits JOIN place ON place.entry = commits.number WHERE message IS NOT NULL AND
    place.conversation = (SELECT number FROM value WHERE field = 'conversation' AND text = ?))"""


class Plan(NamedTuple):
    """What to ask the index: `match` ranks and may be None; `condition` has a place for each parameter.

    `alternatives` tells whether a message may lack a word of `match`. `patterns` are regular expressions that every
    message has to fit besides, which no index can tell.
    """

    match: str | None
    condition: str
    parameters: tuple[object, ...]
    patterns: tuple[str, ...]
    alternatives: bool = False


def compile_query(
    text: str, query: Node, conversation: ConversationId | None, tagged: Callable[[str], Iterable[Oid]]
) -> Plan:
    """Turn a query into what the index understands; `text` is what was typed, for pointing at errors.

    Raises:
        Invalid: a value means nothing.
    """
    compiler = _Compiler(text, tagged)
    ranked: dict[str, Node] = {}
    conditions: list[str] = []
    items = query.items if isinstance(query, Both) else (query,)
    patterns = tuple(item.value for item in items if isinstance(item, Field) and item.name == "re")
    columns, items = compiler.scope(items, ())
    for item in items:
        if isinstance(item, Field) and item.name == "re":
            continue
        expression = full_text(item, columns)
        if expression is None:
            conditions.append(compiler.condition(item, columns))
        else:
            ranked[expression] = item
    if conversation is not None:
        conditions.append(IN_CONVERSATION)
        compiler.parameters.append(conversation)
    match = " AND ".join(f"({expression})" for expression in ranked) or None
    condition = " AND ".join(f"({condition})" for condition in conditions) or "TRUE"
    alternatives = any(map(_has_alternatives, ranked.values()))
    return Plan(match, condition, tuple(compiler.parameters), patterns, alternatives)


def full_text(node: Node, columns: tuple[str, ...]) -> str | None:
    """Write a query of words alone as a full-text expression; None where it holds anything else."""
    if isinstance(node, Words):
        phrase = '"' + " ".join(node.words) + '"' + (" *" if node.prefix else "")
        return f"{{{' '.join(columns)}}} : {phrase}" if columns else phrase
    if isinstance(node, Both | Either):
        inner = [full_text(item, columns) for item in node.items]
        parts = [expression for expression in inner if expression is not None]
        joint = " AND " if isinstance(node, Both) else " OR "
        return joint.join(f"({part})" for part in parts) if len(parts) == len(inner) else None
    return None


class _Compiler:
    """Collects parameters in the order in which the conditions ask for them."""

    def __init__(self, text: str, tagged: Callable[[str], Iterable[Oid]]) -> None:
        self.parameters: list[object] = []
        self._text = text
        self._tagged = tagged

    def scope(self, items: tuple[Node, ...], columns: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[Node, ...]]:
        """Take the `in:` out of a group: they say where its words are looked for."""
        scopes = [item for item in items if isinstance(item, Field) and item.name == "in"]
        if not scopes:
            return columns, items
        rest = tuple(item for item in items if item not in scopes)
        if not any(_has_words(item) for item in rest):
            raise trouble(self._text, scopes[0].at, "in: says where words are looked for, and needs some beside it")
        named = {self._column(name, field) for field in scopes for name in field.value.split(",")}
        return tuple(column for column in COLUMNS if column in named), rest

    def condition(self, node: Node, columns: tuple[str, ...]) -> str:
        """Write a query as a condition on a message."""
        expression = full_text(node, columns)
        if expression is not None:
            self.parameters.append(expression)
            return _IN_TEXT
        if isinstance(node, Not):
            return f"NOT ({self.condition(node.item, columns)})"
        if isinstance(node, Either):
            return " OR ".join(f"({self.condition(item, columns)})" for item in node.items)
        if isinstance(node, Both):
            inner, items = self.scope(node.items, columns)
            return " AND ".join(f"({self.condition(item, inner)})" for item in items)
        if isinstance(node, Field):
            return self._field(node)
        raise AssertionError  # words are full text

    def _field(self, field: Field) -> str:
        pattern = fold(field.value).replace("[", "[[]")
        match field.name:
            case "author" | "model":
                return self._with(_known(f"message.{field.name} {_VALUE}"), field.name, pattern)
            case "agent":
                agent = f"message.author {_VALUE} AND message.author_kind {_VALUE}"
                return self._with(agent, "author", pattern, "author_kind", "agent")
            case "kind":
                self._check_kind(field)
                return self._with(f"message.kind {_VALUE}", "kind", pattern)
            case "tool":
                return self._with(_TOUCHED, "tool", pattern)
            case "file":
                path = pattern.rstrip("/")
                forms = [word for form in (path, f"{path}/*", f"*/{path}") for word in ("file", form)]
                return self._with(" OR ".join([_TOUCHED] * 3), *forms)
        return self._place_or_time(field)

    def _place_or_time(self, field: Field) -> str:
        match field.name:
            case "branch":
                pattern = field.value.replace("[", "[[]")
                return self._with(_ON_BRANCH, pattern, pattern)
            case "tag":
                return self._with(_TAGGED, json.dumps(list(self._tagged(field.value))))
            case "before":
                return self._with(_known("message.time < ?"), self._moment(field))
            case "after":
                return self._with(_known("message.time >= ?"), self._moment(field))
        what = "in: needs words beside it" if field.name == "in" else "re: stands for itself, outside of OR and NOT"
        raise trouble(self._text, field.at, what)

    def _with(self, condition: str, *parameters: object) -> str:
        self.parameters.extend(parameters)
        return condition

    def _column(self, name: str, field: Field) -> str:
        if name not in COLUMNS:
            raise trouble(self._text, field.at, f"in: takes {', '.join(COLUMNS)}, and got {name!a}")
        return name

    def _check_kind(self, field: Field) -> None:
        if field.value.lower() not in KINDS[1:] and not any(sign in field.value for sign in "*?"):
            known = f"kinds: {', '.join(KINDS[1:])}"
            raise trouble(self._text, field.at, f"{field.value!a} is no kind of message", known)

    def _moment(self, field: Field) -> int:
        try:
            return parse_moment(field.value, now_nanoseconds()) // 1_000_000_000
        except Invalid as error:
            raise trouble(self._text, field.at, error.message, error.hint or "") from error


def _known(condition: str) -> str:
    """Make a condition on what may be unknown false where it is, so that NOT makes it true."""
    return f"ifnull({condition}, FALSE)"


def _has_alternatives(node: Node) -> bool:
    return isinstance(node, Either) or (isinstance(node, Both) and any(map(_has_alternatives, node.items)))


def _has_words(node: Node) -> bool:
    if isinstance(node, Not):
        return _has_words(node.item)
    if isinstance(node, Both | Either):
        return any(map(_has_words, node.items))
    return isinstance(node, Words)
