"""Conditions that the index cannot evaluate: regular expressions, and the AND, OR and NOT around them.

Parts of a query without a regular expression are evaluated by the index (`Candidate.tests`) and come first, so that a
message is read only if they leave it open.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from scopes.clock import now_nanoseconds, parse_date
from scopes.errors import Invalid
from scopes.ids import ConversationId, Oid
from scopes.index.full_text import COLUMNS, fold
from scopes.model.message import KINDS
from scopes.search.query import And, Field, Node, Not, Or, Phrase, has_phrase, leaves, query_error
from scopes.search.text_match import Matcher, compile_regex
from scopes.tokens.count import EstimatingTokenizer


class Texts(NamedTuple):
    """The texts of a message, one per column.

    is_masked: they are not those that the index has
    masked_fields: fields whose values are not, either
    """

    texts: Sequence[str]
    is_masked: bool = False
    masked_fields: frozenset[str] = frozenset()


class Candidate(NamedTuple):
    """A message to test: the results of the index tests, and a function that reads its texts."""

    tests: Sequence[bool]
    read: Callable[[], Texts]


Predicate: TypeAlias = Callable[[Candidate], bool]
"""Returns True if a message matches."""


class Pattern(NamedTuple):
    """A regular expression and the columns it is searched in; no columns means all."""

    find: Matcher
    columns: tuple[str, ...]


def index_test(number: int) -> Predicate:
    """Return a predicate: the index test of this number passed."""
    return lambda candidate: bool(candidate.tests[number])


def phrase_test(number: int, phrase: Phrase, columns: Sequence[str]) -> Predicate:
    """Return a predicate: the index test of this number passed; of a masked message, its texts have the phrase."""
    searched = _numbers(columns)

    def test(candidate: Candidate) -> bool:
        shown = candidate.read()
        if shown.is_masked:
            return any(has_phrase(phrase, shown.texts[each]) for each in searched)
        return bool(candidate.tests[number])

    return test


def field_test(number: int, name: str) -> Predicate:
    """Return a predicate: the index test of this number passed, and the value of this field is shown as it is."""
    return lambda candidate: bool(candidate.tests[number]) and name not in candidate.read().masked_fields


def matches(pattern: Pattern) -> Predicate:
    """Return a predicate: the pattern matches in one of its columns."""
    columns = _numbers(pattern.columns)

    def test(candidate: Candidate) -> bool:
        texts = candidate.read().texts
        return any(pattern.find(texts[number]) is not None for number in columns)

    return test


def _numbers(columns: Sequence[str]) -> list[int]:
    return [number for number, column in enumerate(COLUMNS) if column in (columns or COLUMNS)]


def negate(predicate: Predicate) -> Predicate:
    """Return the negation of a predicate."""
    return lambda candidate: not predicate(candidate)


def all_of(predicates: Sequence[Predicate]) -> Predicate:
    """Return the conjunction of predicates, evaluated in order."""
    return lambda candidate: all(predicate(candidate) for predicate in predicates)


def any_of(predicates: Sequence[Predicate]) -> Predicate:
    """Return the disjunction of predicates, evaluated in order."""
    return lambda candidate: any(predicate(candidate) for predicate in predicates)


_IN_TEXT = "message.number IN (SELECT rowid FROM full_text WHERE full_text MATCH ?)"
_VALUE = "IN (SELECT number FROM value WHERE field = ? AND text GLOB ?)"
_TOUCHED = """message.number IN (SELECT message FROM touched WHERE touched.value IN (
    SELECT number FROM value WHERE field = ? AND text GLOB ?))"""
_ON_BRANCH = """message.number IN (
    WITH RECURSIVE reached (entry) AS (
        SELECT tip FROM branch WHERE (name GLOB ? OR conversation || '/' || name GLOB ?)
        AND name NOT IN (SELECT value FROM json_each(?))
        UNION SELECT parent FROM edge JOIN reached ON edge.child = reached.entry
    ) SELECT message FROM commits JOIN reached ON commits.number = reached.entry WHERE message IS NOT NULL)"""
_TAGGED = """message.number IN (
    SELECT message FROM commits WHERE oid IN (SELECT value FROM json_each(?)) AND message IS NOT NULL)"""
IN_CONVERSATION = """message.number IN (
    SELECT message FROM commits JOIN place ON place.entry = commits.number WHERE message IS NOT NULL AND
    place.conversation = (SELECT number FROM value WHERE field = 'conversation' AND text = ?))"""
_IN_CONVERSATIONS = """message.number IN (
    SELECT message FROM commits JOIN place ON place.entry = commits.number WHERE message IS NOT NULL AND
    place.conversation IN (SELECT number FROM value WHERE field = 'conversation' AND text IN (
        SELECT value FROM json_each(?))))"""
_COMPARISON = re.compile(r"(>=|<=|>|<|=?)([0-9]{1,9})")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq, "": operator.eq,
}  # fmt: skip
_EXIT_CODE = re.compile(r"-?[0-9*?]+")
_TIME_ADVICE = 'for example: after:"2 hours ago" with these quotes, after:yesterday, before:2026-01-31; or --since WHEN'
_MASKED_FIELDS = frozenset({"author", "agent", "model", "tool", "file"})  # whose values a message has
_IN_NEEDS_WORDS = "in: limits where words and re: are searched, so it needs one of them in the same group"


class Names(NamedTuple):
    """Functions that resolve the names in a query: the commits of a tag, the conversations of a project.

    masked_branches: returns the names of branches that are not shown as they are, so that no query finds them; None
    if all that the index has is shown
    """

    tagged: Callable[[str], Iterable[Oid]]
    in_project: Callable[[str], Iterable[ConversationId]]
    masked_branches: Callable[[], Iterable[str]] | None = None


class Plan(NamedTuple):
    """SQL for a query, and predicates for what SQL cannot evaluate.

    match: the full-text expression that rows are ranked by; None if the query has none.
    condition, parameters: the WHERE condition besides `match`, with a parameter for each `?`.
    alternatives: True if a message can lack a word of `match`.
    predicates: conditions on the texts of each row's message.
    tests, test_parameters: boolean SQL expressions that are selected with each row, for the predicates.
    patterns: the regular expressions that are not negated, to highlight.
    columns: the columns that phrases are searched in; all if empty.
    """

    match: str | None
    condition: str
    parameters: tuple[object, ...]
    alternatives: bool = False
    predicates: tuple[Predicate, ...] = ()
    tests: tuple[str, ...] = ()
    test_parameters: tuple[object, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    columns: tuple[str, ...] = ()


def compile_query(text: str, query: Node, conversation: ConversationId | None, names: Names) -> Plan:
    """Compile a query; `text` is its source, for error messages.

    If messages may be masked, what the index finds of texts and values is tested again, by predicates.

    Raises:
        Invalid: a field has an invalid value.
    """
    sql = _SqlCompiler(text, names)
    predicate_compiler = _PredicateCompiler(text, _SqlCompiler(text, names), masked=names.masked_branches is not None)
    ranked: dict[str, Node] = {}
    conditions: list[str] = []
    predicates: list[Predicate] = []
    columns, items = sql.apply_scope(query.items if isinstance(query, And) else (query,), ())
    for item in items:
        expression = match_expression(item, columns)
        is_tested = names.masked_branches is not None and any(map(_may_be_masked, leaves(item)))
        if expression is not None:
            ranked[expression] = item
        if is_tested or (expression is None and _reads_messages(item)):
            predicates.append(predicate_compiler.predicate(item, columns))
        elif expression is None:
            conditions.append(sql.condition(item, columns))
    if conversation is not None:
        conditions.append(IN_CONVERSATION)
        sql.parameters.append(conversation)
    return Plan(
        match=" AND ".join(f"({expression})" for expression in ranked) or None,
        condition=" AND ".join(f"({condition})" for condition in conditions) or "TRUE",
        parameters=tuple(sql.parameters),
        alternatives=any(map(_has_alternatives, ranked.values())),
        predicates=tuple(predicates),
        tests=tuple(predicate_compiler.tests),
        test_parameters=tuple(predicate_compiler.sql.parameters),
        patterns=tuple(predicate_compiler.patterns),
        columns=columns,
    )


def match_expression(node: Node, columns: tuple[str, ...]) -> str | None:
    """Return the FTS5 MATCH expression of a query that consists of phrases, AND and OR; None for any other query."""
    if isinstance(node, Phrase):
        phrase = '"' + " ".join(node.words) + '"' + (" *" if node.prefix else "")
        return f"{{{' '.join(columns)}}} : {phrase}" if columns else phrase
    if isinstance(node, And | Or):
        inner = [match_expression(item, columns) for item in node.items]
        parts = [expression for expression in inner if expression is not None]
        word = " AND " if isinstance(node, And) else " OR "
        return word.join(f"({part})" for part in parts) if len(parts) == len(inner) else None
    return None


class _SqlCompiler:
    """Writes SQL conditions, and collects their parameters in the same order."""

    def __init__(self, text: str, names: Names) -> None:
        self.parameters: list[object] = []
        self._text = text
        self._names = names

    def apply_scope(
        self, items: tuple[Node, ...], columns: tuple[str, ...]
    ) -> tuple[tuple[str, ...], tuple[Node, ...]]:
        """Remove the `in:` fields from a group; return the columns they select, and the remaining items."""
        scopes = [item for item in items if isinstance(item, Field) and item.name == "in"]
        if not scopes:
            return columns, items
        remaining = tuple(item for item in items if item not in scopes)
        if not any(_searches_text(item) for item in remaining):
            raise query_error(self._text, scopes[0].at, _IN_NEEDS_WORDS)
        named = {self._column(name, field) for field in scopes for name in field.value.split(",")}
        return tuple(column for column in COLUMNS if column in named), remaining

    def condition(self, node: Node, columns: tuple[str, ...]) -> str:
        """Return a query as a condition on a row of `message`."""
        expression = match_expression(node, columns)
        if expression is not None:
            self.parameters.append(expression)
            return _IN_TEXT
        if isinstance(node, Not):
            return f"NOT ({self.condition(node.item, columns)})"
        if isinstance(node, Or):
            return " OR ".join(f"({self.condition(item, columns)})" for item in node.items)
        if isinstance(node, And):
            inner, items = self.apply_scope(node.items, columns)
            return " AND ".join(f"({self.condition(item, inner)})" for item in items)
        if isinstance(node, Field):
            return self._field(node)
        raise AssertionError  # a phrase has a match expression

    def _field(self, field: Field) -> str:
        pattern = fold(field.value).replace("[", "[[]")
        match field.name:
            case "author" | "model":
                return self._with(_false_if_null(f"message.{field.name} {_VALUE}"), field.name, pattern)
            case "agent":
                agent = f"message.author {_VALUE} AND message.author_kind {_VALUE}"
                return self._with(agent, "author", pattern, "author_kind", "agent")
            case "kind":
                self._check_kind(field)
                return self._with(f"message.kind {_VALUE}", "kind", pattern)
            case "tool" | "exit" | "is":
                self._check_outcome(field)
                return self._with(_TOUCHED, field.name, pattern)
            case "file":
                path = pattern.removeprefix("./").rstrip("/")
                globs = [path, f"{path}/*", f"*/{path}", f"*/{path}/*"]
                return self._with(" OR ".join([_TOUCHED] * 4), *(word for glob in globs for word in ("file", glob)))
        return self._position_or_time(field)

    def _position_or_time(self, field: Field) -> str:
        match field.name:
            case "branch":
                pattern = field.value.replace("[", "[[]")
                masked = self._names.masked_branches
                return self._with(_ON_BRANCH, pattern, pattern, json.dumps([] if masked is None else list(masked())))
            case "tag":
                return self._with(_TAGGED, json.dumps(list(self._names.tagged(field.value))))
            case "project":
                return self._with(_IN_CONVERSATIONS, json.dumps(list(self._names.in_project(field.value))))
            case "before":
                return self._with(_false_if_null("message.time < ?"), self._seconds(field))
            case "after":
                return self._with(_false_if_null("message.time >= ?"), self._seconds(field))
        raise query_error(self._text, field.at, _IN_NEEDS_WORDS)

    def _with(self, condition: str, *parameters: object) -> str:
        self.parameters.extend(parameters)
        return condition

    def _column(self, name: str, field: Field) -> str:
        if name not in COLUMNS:
            raise query_error(self._text, field.at, f"in: takes {', '.join(COLUMNS)}, not {name!a}")
        return name

    def _check_kind(self, field: Field) -> None:
        if field.value.lower() not in KINDS[1:] and not any(wildcard in field.value for wildcard in "*?"):
            known = f"kinds: {', '.join(KINDS[1:])}"
            raise query_error(self._text, field.at, f"{field.value!a} is not a message kind", known)

    def _check_outcome(self, field: Field) -> None:
        if field.name == "is" and field.value.lower() != "failed":
            raise query_error(self._text, field.at, f"{field.value!a} is not a valid value of is:", "valid: is:failed")
        if field.name == "exit" and not _EXIT_CODE.fullmatch(field.value):
            raise query_error(self._text, field.at, f"{field.value!a} is not an exit code", "for example: exit:1")

    def _seconds(self, field: Field) -> int:
        try:
            return parse_date(field.value, now_nanoseconds()) // 1_000_000_000
        except Invalid as error:
            raise query_error(self._text, field.at, error.message, _TIME_ADVICE) from error


class _PredicateCompiler:
    """Compiles the parts of a query that contain a regular expression; `sql` writes the tests for the index.

    masked: messages may be shown otherwise than the index has them
    """

    def __init__(self, text: str, sql: _SqlCompiler, *, masked: bool) -> None:
        self.sql = sql
        self._masked = masked
        self._text = text
        self.tests: list[str] = []
        self.patterns: list[Pattern] = []

    def predicate(self, node: Node, columns: tuple[str, ...], *, negated: bool = False) -> Predicate:
        """Compile a part of a query; patterns below a NOT are not highlighted.

        Raises:
            Invalid: a field has an invalid value.
        """
        if isinstance(node, Not):
            return negate(self.predicate(node.item, columns, negated=not negated))
        if isinstance(node, And | Or):
            items = node.items
            if isinstance(node, And):
                columns, items = self.sql.apply_scope(items, columns)
            cheapest_first = sorted(items, key=_reads_messages)
            predicates = [self.predicate(item, columns, negated=negated) for item in cheapest_first]
            return all_of(predicates) if isinstance(node, And) else any_of(predicates)
        if isinstance(node, Field) and node.name == "re":
            pattern = Pattern(compile_regex(node.value), columns)
            if not negated:
                self.patterns.append(pattern)
            return matches(pattern)
        if isinstance(node, Field) and node.name == "tokens":
            return self._token_limit(node)
        self.tests.append(self.sql.condition(node, columns))
        number = len(self.tests) - 1
        if not self._masked or not _may_be_masked(node):
            return index_test(number)
        return phrase_test(number, node, columns) if isinstance(node, Phrase) else field_test(number, node.name)

    def _token_limit(self, field: Field) -> Predicate:
        comparison = _COMPARISON.fullmatch(field.value)
        if comparison is None:
            problem = f"{field.value!a} is not a number of tokens"
            raise query_error(self._text, field.at, problem, "for example: tokens:>2000")
        compare, limit, tokenizer = _COMPARE[comparison[1]], int(comparison[2]), EstimatingTokenizer()
        return lambda candidate: compare(sum(map(tokenizer.count, candidate.read().texts)), limit)


def _false_if_null(condition: str) -> str:
    """Make a condition on a nullable column false for NULL, so that its negation is true."""
    return f"ifnull({condition}, FALSE)"


def _has_alternatives(node: Node) -> bool:
    return isinstance(node, Or) or (isinstance(node, And) and any(map(_has_alternatives, node.items)))


def _searches_text(node: Node) -> bool:
    return any(isinstance(leaf, Phrase) or _has_regex(leaf) for leaf in leaves(node))


def _reads_messages(node: Node) -> bool:
    """Return True if a part of a query needs the texts of messages: regular expressions, and numbers of tokens."""
    return any(isinstance(leaf, Field) and leaf.name in {"re", "tokens"} for leaf in leaves(node))


def _may_be_masked(leaf: Phrase | Field) -> bool:
    return isinstance(leaf, Phrase) or leaf.name in _MASKED_FIELDS


def _has_regex(node: Node) -> bool:
    return any(isinstance(leaf, Field) and leaf.name == "re" for leaf in leaves(node))
