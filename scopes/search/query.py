"""The query language: its syntax tree, its parser, and the plan of a search. Every error points at the character.

query  := and ("OR" and)*
and    := not ("AND"? not)*
not    := ("NOT" | "-") not | atom
atom   := "(" query ")" | FIELD ":" value | word | word"*" | '"' phrase '"' "*"?

A plan is SQL for the index. Regular expressions, numbers of tokens and what hides a message need its texts: they are
functions that SQLite calls, last of all, and for the rows that the conditions on the index have left.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

from scopes.clock import now_nanoseconds, parse_date
from scopes.errors import Invalid
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, list_branch_tips, walk_origins
from scopes.ids import ConversationId, Oid
from scopes.index.full_text import COLUMNS, fold, tokenize
from scopes.model.message import KINDS, Message
from scopes.search.text import Matcher, Phrase, compile_regex, has_phrase, texts_of
from scopes.store.projects import find_project_names, read_project
from scopes.store.repository import Repository

FIELDS = (
    *("author", "agent", "kind", "tool", "file", "model", "before", "after", "branch", "tag", "project"),
    *("is", "exit", "tokens", "in", "re"),
)


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


def without(node: Node, *fields: str) -> Node | None:
    """Return a query without fields of these names; None if it has no other condition."""
    match node:
        case Field(name=name) if name in fields:
            return None
        case Not(item=item):
            positive = without(item, *fields)
            return None if positive is None else Not(positive)
        case And(items=items) | Or(items=items):
            kept = tuple(item for item in (without(each, *fields) for each in items) if item is not None)
            return type(node)(kept) if len(kept) > 1 else next(iter(kept), None)
    return node


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


MAX_TERMS = 200
_MAX_DEPTH = 50
_TOKEN = re.compile(
    r"""(?: (?P<bracket>[()]) | (?P<operator>(?:AND|OR|NOT)(?=[\s()]|$)) | (?P<minus>-(?=[^\s)]))
    | (?P<lonely>[A-Za-z_]+):(?=[\s()]|$)
    | (?:(?P<field>[A-Za-z_]+):(?!//))? (?: "(?P<phrase>[^"]*)"(?P<star>\*?) | (?P<word>[^\s()"]+) ) )\s*""",
    re.VERBOSE,
)


class _Token(NamedTuple):
    kind: str  # "(", ")", "AND", "OR", "NOT", "term", or "" at the end
    at: int
    node: Node | None = None


def parse(text: str) -> Node:
    """Parse a query.

    Raises:
        Invalid: it has no search term, or a syntax error; the hint points at the character.
    """
    return _Parser(text).parse()


def unknown_fields(text: str) -> list[str]:
    """Return the words before a colon that are no fields, so that they are searched; raises as `parse` does.

    `a::b` and URLs do not count.
    """
    return _Parser(text).unknown_fields


def query_error(text: str, at: int, problem: str, *advice: str) -> Invalid:
    """Return an error that names a character of a query; the hint shows the query with a caret if it is short."""
    pointer = (text, " " * at + "^") if text.strip() and len(text) <= 200 and text.isprintable() else ()
    return Invalid(f"{problem}, at character {at + 1} of the query", hint="\n".join((*pointer, *advice)) or None)


class _Parser:
    """Recursive-descent parser over the tokens of one query."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.unknown_fields: list[str] = []
        self._tokens = self._split()
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        if all(token.node is None for token in self._tokens):
            advice = 'for example: parser, "stack overflow", pars*, error -test, author:carol'
            raise query_error(self._text, 0, "the query has nothing to search for", advice)
        node = self._or()
        if self._peek().kind:
            raise query_error(self._text, self._peek().at, "a ')' without its '('")
        return node

    def _or(self) -> Node:
        items = [self._and()]
        while self._peek().kind == "OR":
            self._take()
            items.append(self._and())
        return items[0] if len(items) == 1 else Or(tuple(items))

    def _and(self) -> Node:
        items = [self._not()]
        while self._peek().kind not in {"", ")", "OR"}:
            if self._peek().kind == "AND":
                self._take()
            items.append(self._not())
        return items[0] if len(items) == 1 else And(tuple(items))

    def _not(self) -> Node:
        negated = False
        while self._peek().kind == "NOT":
            self._take()
            negated = not negated
        node = self._atom()
        return Not(node) if negated else node

    def _atom(self) -> Node:
        token = self._take()
        if token.node is not None:
            return token.node
        if token.kind != "(":
            problem = f"{token.kind!r} needs something before it" if token.kind else "a search term is missing"
            raise query_error(self._text, token.at, problem)
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise query_error(self._text, token.at, f"parentheses are nested deeper than {_MAX_DEPTH} levels")
        node = self._or()
        if self._peek().kind != ")":
            raise query_error(self._text, token.at, "a '(' is never closed")
        self._take()
        self._depth -= 1
        return node

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _split(self) -> list[_Token]:
        tokens: list[_Token] = []
        text = self._text
        at = len(text) - len(text.lstrip())
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise query_error(text, at, "a quote is never closed")
            tokens.append(self._token(match))
            at = match.end()
        terms = [token for token in tokens if token.node is not None]
        if len(terms) > MAX_TERMS:
            raise query_error(text, terms[MAX_TERMS].at, f"a query has at most {MAX_TERMS} terms")
        return [*tokens, _Token("", len(text))]

    def _token(self, match: re.Match[str]) -> _Token:
        at = match.start()
        if match["bracket"]:
            return _Token(match["bracket"], at)
        if match["operator"] or match["minus"]:
            return _Token(match["operator"] or "NOT", at)
        if match["lonely"]:
            if match["lonely"].lower() in FIELDS:
                raise query_error(self._text, at, f"{match['lonely']}: has no value")
            return _Token("term", at, Phrase(tuple(tokenize(match["lonely"])), prefix=False, at=at))
        return _Token("term", at, self._term(match, at))

    def _term(self, match: re.Match[str], at: int) -> Node:
        value = match["word"] if match["phrase"] is None else match["phrase"]
        name = match["field"]
        if name is not None and name.lower() in FIELDS:
            if not value.strip():
                raise query_error(self._text, at, f"{name}: has no value")
            return Field(name.lower(), value, at)
        if name is not None:
            similar = difflib.get_close_matches(name.lower(), FIELDS, n=1, cutoff=0.75)
            if similar:
                advice = f"fields: {', '.join(FIELDS)}; as words: {name} {value}"
                raise query_error(self._text, at, f"there is no field {name!a}; did you mean {similar[0]}:?", advice)
            if not value.startswith(":"):
                self.unknown_fields.append(name)
            value = f"{name}:{value}"
        words = tokenize(value)
        if not words:
            raise query_error(self._text, at, f"{value!a} has no letter or digit to search for")
        return Phrase(tuple(words), bool(match["star"]) or (match["phrase"] is None and value.endswith("*")), at)


class Pattern(NamedTuple):
    """A regular expression and the columns it is searched in, all if there are none; a negated one marks nothing."""

    find: Matcher
    columns: tuple[str, ...]
    negated: bool

    def matches(self, texts: Sequence[str]) -> bool:
        """Return True if the expression matches in one of the texts of a message, which are one per column."""
        named = self.columns or COLUMNS
        return any(self.find(text) is not None for name, text in zip(COLUMNS, texts, strict=True) if name in named)


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
_EXIT_CODE = re.compile(r"-?[0-9*?]+")
_TIME_ADVICE = 'for example: after:"2 hours ago" with these quotes, after:yesterday, before:2026-01-31; or --since WHEN'
_IN_NEEDS_WORDS = "in: limits where words and re: are searched, so it needs one of them in the same group"


class Names:
    """Resolves the names in a query; of those that `clear` shows otherwise none is found."""

    def __init__(self, repository: Repository, clear: Callable[[str], str] | None) -> None:
        self.hides_some = clear is not None
        self._repository = repository
        self._clear = clear or str

    def tagged(self, tag: str) -> Iterator[Oid]:
        """Yield the commits that a tag names in any conversation; `*` and `?` are wildcards."""
        pattern = tag.replace("[", "[[]")
        for conversation in conversation_ids(self._repository):
            for name, oid in read_metadata(self._repository, conversation).tags.items():
                if fnmatchcase(name, pattern) and self._clear(name) == name:
                    yield oid

    def in_project(self, name: str) -> Iterator[ConversationId]:
        """Yield the conversations that began in a project, given by its name or by a directory in it."""
        origins = dict(walk_origins(self._repository, conversation_ids(self._repository)))
        directories = {origin.directory for origin in origins.values()}
        if {"*", "?"} & {*name}:
            names = find_project_names(directories).items()
            found: set[str | None] = {each for each, own in names if fnmatchcase(own.casefold(), name.casefold())}
        else:
            found = read_project(name, os.getcwd(), self._repository.path).find(directories)
        for conversation, origin in origins.items():
            if origin.directory in found and self._clear(origin.directory or "") == (origin.directory or ""):
                yield conversation

    def masked_branches(self) -> Iterator[str]:
        """Yield the names of branches that are not shown as they are."""
        if self.hides_some:
            for conversation in conversation_ids(self._repository):
                tips = list_branch_tips(self._repository, conversation)
                yield from (name for name in tips if self._clear(name) != name)


class Plan(NamedTuple):
    """SQL for a query.

    match: the full-text expression that rows are ranked by; None if the query has none.
    condition, parameters: the WHERE condition besides `match`, with a parameter for each `?`.
    late, late_parameters: a condition on the rows that are left, which calls the functions `matches(PATTERN, MESSAGE)`,
        `token_count(MESSAGE)` and `is_shown(MESSAGE)`; None if no message must be read.
    patterns: the regular expressions, by their numbers.
    columns: the columns that phrases are searched in; all if empty.
    """

    match: str | None
    condition: str
    parameters: tuple[object, ...]
    late: str | None = None
    late_parameters: tuple[object, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    columns: tuple[str, ...] = ()


def compile_query(text: str, query: Node, conversation: ConversationId | None, names: Names) -> Plan:
    """Compile a query; `text` is its source, for error messages.

    Raises:
        Invalid: a field has an invalid value.
    """
    sql, late_sql = _Compiler(text, names), _Compiler(text, names)
    ranked: list[str] = []
    conditions: list[str] = []
    late: list[str] = []
    columns, items = sql.apply_scope(query.items if isinstance(query, And) else (query,), ())
    for item in items:
        expression = match_expression(item, columns)
        if expression is not None:
            ranked.append(expression)
        elif _reads_messages(item):
            late.append(late_sql.condition(item, columns))
        else:
            conditions.append(sql.condition(item, columns))
    if conversation is not None:
        conditions.append(IN_CONVERSATION)
        sql.parameters.append(conversation)
    if names.hides_some:
        late.append("is_shown(message.number)")
    return Plan(
        match=" AND ".join(f"({expression})" for expression in ranked) or None,
        condition=" AND ".join(f"({condition})" for condition in conditions) or "TRUE",
        parameters=tuple(sql.parameters),
        late=" AND ".join(f"({condition})" for condition in late) or None,
        late_parameters=tuple(late_sql.parameters),
        patterns=tuple(late_sql.patterns),
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


class _Compiler:
    """Writes SQL conditions, and collects their parameters in the same order."""

    def __init__(self, text: str, names: Names) -> None:
        self.parameters: list[object] = []
        self.patterns: list[Pattern] = []
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

    def condition(self, node: Node, columns: tuple[str, ...], *, negated: bool = False) -> str:
        """Return a query as a condition on a row of `message`; what reads messages comes last in a group."""
        expression = match_expression(node, columns)
        if expression is not None:
            self.parameters.append(expression)
            return _IN_TEXT
        if isinstance(node, Not):
            return f"NOT ({self.condition(node.item, columns, negated=not negated)})"
        if isinstance(node, And | Or):
            columns, items = self.apply_scope(node.items, columns) if isinstance(node, And) else (columns, node.items)
            cheapest_first = sorted(items, key=_reads_messages)
            word = " AND " if isinstance(node, And) else " OR "
            return word.join(f"({self.condition(item, columns, negated=negated)})" for item in cheapest_first)
        if isinstance(node, Field):
            return self._pattern(node, columns, negated=negated) if node.name == "re" else self._field(node)
        raise AssertionError  # a phrase has a match expression

    def _pattern(self, field: Field, columns: tuple[str, ...], *, negated: bool) -> str:
        self.patterns.append(Pattern(compile_regex(field.value), columns, negated))
        return f"matches({len(self.patterns) - 1}, message.number)"

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
            case "tokens":
                found = _COMPARISON.fullmatch(field.value)
                if found is None:
                    problem = f"{field.value!a} is not a number of tokens"
                    raise query_error(self._text, field.at, problem, "for example: tokens:>2000")
                return f"token_count(message.number) {found[1] or '='} {int(found[2])}"
            case "branch":
                pattern = field.value.replace("[", "[[]")
                return self._with(_ON_BRANCH, pattern, pattern, json.dumps(list(self._names.masked_branches())))
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


def _false_if_null(condition: str) -> str:
    """Make a condition on a nullable column false for NULL, so that its negation is true."""
    return f"ifnull({condition}, FALSE)"


def _searches_text(node: Node) -> bool:
    return any(isinstance(leaf, Phrase) or leaf.name == "re" for leaf in leaves(node))


def _reads_messages(node: Node) -> bool:
    """Return True if a part of a query needs the texts of messages."""
    return any(isinstance(leaf, Field) and leaf.name in {"re", "tokens"} for leaf in leaves(node))


def text_matcher(query: str) -> Callable[[Message], bool]:
    """Return a test of messages by the words and regular expressions of a query; its other fields are left open.

    Raises:
        Invalid: the query is not valid.
    """
    texts_only = without(parse(query), *(name for name in FIELDS if name != "re"))
    if texts_only is None:
        return lambda _: False
    test = _compile(texts_only)
    return lambda message: test([text for text in texts_of(message) if text])


def _compile(node: Node) -> Callable[[list[str]], bool]:
    if isinstance(node, Phrase):
        return lambda texts: any(has_phrase(node, text) for text in texts)
    if isinstance(node, Field):
        find = compile_regex(node.value)
        return lambda texts: any(find(text) is not None for text in texts)
    if isinstance(node, Not):
        item = _compile(node.item)
        return lambda texts: not item(texts)
    items, decide = [_compile(each) for each in node.items], all if isinstance(node, And) else any
    return lambda texts: decide(item(texts) for item in items)


def grep_messages(patterns: Sequence[str], *, ignore_case: bool = False) -> Callable[[Message], bool]:
    """Return a test: one of the patterns matches in a text of the message, of its reasoning or of its tools.

    Raises:
        Invalid: a pattern is not a valid regular expression.
    """
    matchers = [compile_regex(f"(?i){pattern}" if ignore_case else pattern) for pattern in patterns]

    def matches(message: Message) -> bool:
        return any(find(text) is not None for text in texts_of(message) if text for find in matchers)

    return matches
