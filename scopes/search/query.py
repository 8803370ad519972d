"""The query language: its syntax tree and its parser. Every error points at the offending character.

query  := and ("OR" and)*
and    := not ("AND"? not)*
not    := ("NOT" | "-") not | atom
atom   := "(" query ")" | FIELD ":" value | word | word"*" | '"' phrase '"' "*"?
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from scopes.errors import Invalid
from scopes.index.tokenize import tokenize

FIELDS = (
    *("author", "agent", "kind", "tool", "file", "model", "before", "after", "branch", "tag", "project"),
    *("is", "exit", "tokens", "in", "re"),
)


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


def without_times(node: Node) -> Node | None:
    """Return a query without its fields before: and after:; None if it has no other condition."""
    match node:
        case Field(name="before" | "after"):
            return None
        case Not(item=item):
            positive = without_times(item)
            return None if positive is None else Not(positive)
        case And(items=items) | Or(items=items):
            kept = tuple(item for item in map(without_times, items) if item is not None)
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
_WHITESPACE = re.compile(r"\s*")
_TOKEN = re.compile(
    r"""(?P<bracket>[()]) | (?P<operator>(?:AND|OR|NOT)(?=[\s()]|$)) | (?P<minus>-(?=[^\s)]))
    | (?P<lonely>[A-Za-z_]+):(?=[\s()]|$)
    | (?:(?P<field>[A-Za-z_]+):(?!//))? (?: "(?P<phrase>[^"]*)"(?P<star>\*?) | (?P<word>[^\s()"]+) )""",
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


def unknown_fields(text: str) -> Iterator[str]:
    """Yield the words before a colon that are no fields; such a term is searched as text. `a::b` and URLs do not count.

    Call it with a query that `parse` accepts.
    """
    at = _skip_whitespace(text, 0)
    while (match := _TOKEN.match(text, at)) is not None:
        name, word = match["field"], match["word"] or ""
        if name is not None and name.lower() not in FIELDS and not word.startswith(":"):
            yield name
        at = _skip_whitespace(text, match.end())


def query_error(text: str, at: int, problem: str, *advice: str) -> Invalid:
    """Return an error that names a character of a query; the hint shows the query with a caret if it is short."""
    pointer = (text, " " * at + "^") if text.strip() and len(text) <= 200 and text.isprintable() else ()
    return Invalid(f"{problem}, at character {at + 1} of the query", hint="\n".join((*pointer, *advice)) or None)


class _Parser:
    """Recursive-descent parser over the tokens of one query."""

    def __init__(self, text: str) -> None:
        self._text = text
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
        at = _skip_whitespace(text, 0)
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise query_error(text, at, "a quote is never closed")
            tokens.append(self._token(match))
            at = _skip_whitespace(text, match.end())
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
            value = f"{name}:{value}"
        words = tokenize(value)
        if not words:
            raise query_error(self._text, at, f"{value!a} has no letter or digit to search for")
        return Phrase(tuple(words), bool(match["star"]) or (match["phrase"] is None and value.endswith("*")), at)


def _skip_whitespace(text: str, at: int) -> int:
    match = _WHITESPACE.match(text, at)
    return at if match is None else match.end()
