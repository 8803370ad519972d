"""From a query to SQL over the index: what is ranked goes into one full-text expression, the rest into conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

from scopes.clock import now_nanoseconds
from scopes.errors import Invalid
from scopes.history.dates import parse_moment
from scopes.ids import ConversationId, Oid
from scopes.index.schema import COLUMNS
from scopes.index.tokenize import fold
from scopes.model.message import KINDS
from scopes.search.ast import Both, Either, Field, Node, Not, Words, leaves
from scopes.search.parse import trouble
from scopes.search.post_filter import Pattern, Sift, all_of, any_of, index_test, matches, negate
from scopes.search.regex import compile_regex

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

    `alternatives` tells whether a message may lack a word of `match`. Every message has to pass the `sifts` besides,
    which no index can; they may ask what came of the `tests`. `columns` are where words are looked for, all if none is
    named; `patterns` are what a hit may hold beside the words.
    """

    match: str | None
    condition: str
    parameters: tuple[object, ...]
    alternatives: bool = False
    sifts: tuple[Sift, ...] = ()
    tests: tuple[str, ...] = ()
    test_parameters: tuple[object, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    columns: tuple[str, ...] = ()


def compile_query(
    text: str, query: Node, conversation: ConversationId | None, tagged: Callable[[str], Iterable[Oid]]
) -> Plan:
    """Turn a query into what the index understands; `text` is what was typed, for pointing at errors.

    Raises:
        Invalid: a value means nothing.
    """
    compiler, sifting = _Compiler(text, tagged), _Sifting(_Compiler(text, tagged))
    ranked: dict[str, Node] = {}
    conditions: list[str] = []
    sifts: list[Sift] = []
    columns, items = compiler.scope(query.items if isinstance(query, Both) else (query,), ())
    for item in items:
        expression = full_text(item, columns)
        if expression is not None:
            ranked[expression] = item
        elif _has_pattern(item):
            sifts.append(sifting.sift(item, columns))
        else:
            conditions.append(compiler.condition(item, columns))
    if conversation is not None:
        conditions.append(IN_CONVERSATION)
        compiler.parameters.append(conversation)
    match = " AND ".join(f"({expression})" for expression in ranked) or None
    condition = " AND ".join(f"({condition})" for condition in conditions) or "TRUE"
    alternatives = any(map(_has_alternatives, ranked.values()))
    return Plan(
        match, condition, tuple(compiler.parameters), alternatives, tuple(sifts), tuple(sifting.tests),
        tuple(sifting.compiler.parameters), tuple(sifting.patterns), columns,
    )  # fmt: skip


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
        if not any(_is_somewhere(item) for item in rest):
            what = "in: says where words and re: are looked for, and needs some beside it"
            raise trouble(self._text, scopes[0].at, what)
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
        raise trouble(self._text, field.at, "in: says where words and re: are looked for, and needs some beside it")

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


class _Sifting:
    """Makes what sifts messages of the parts of a query that hold a pattern; `compiler` writes the tests."""

    def __init__(self, compiler: _Compiler) -> None:
        self.compiler = compiler
        self.tests: list[str] = []
        self.patterns: list[Pattern] = []

    def sift(self, node: Node, columns: tuple[str, ...], *, wanted: bool = True) -> Sift:
        """Turn a part of a query into what sifts; under a NOT its patterns are not `wanted`.

        Raises:
            Invalid: a value means nothing.
        """
        if isinstance(node, Not):
            return negate(self.sift(node.item, columns, wanted=not wanted))
        if isinstance(node, Both | Either):
            items = node.items
            if isinstance(node, Both):
                columns, items = self.compiler.scope(items, columns)
            told_first = sorted(items, key=_has_pattern)
            sifts = [self.sift(item, columns, wanted=wanted) for item in told_first]
            return all_of(sifts) if isinstance(node, Both) else any_of(sifts)
        if isinstance(node, Field) and node.name == "re":
            pattern = Pattern(compile_regex(node.value), columns)
            if wanted:
                self.patterns.append(pattern)
            return matches(pattern)
        self.tests.append(self.compiler.condition(node, columns))
        return index_test(len(self.tests) - 1)


def _known(condition: str) -> str:
    """Make a condition on what may be unknown false where it is, so that NOT makes it true."""
    return f"ifnull({condition}, FALSE)"


def _has_alternatives(node: Node) -> bool:
    return isinstance(node, Either) or (isinstance(node, Both) and any(map(_has_alternatives, node.items)))


def _is_somewhere(node: Node) -> bool:
    """Tell whether a part of a query is looked for in texts."""
    return any(isinstance(leaf, Words) or _has_pattern(leaf) for leaf in leaves(node))


def _has_pattern(node: Node) -> bool:
    return any(isinstance(leaf, Field) and leaf.name == "re" for leaf in leaves(node))
