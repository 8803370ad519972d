"""Reading a query as people type it; every refusal points at the place.

query  := both ("OR" both)*
both   := not ("AND"? not)*
not    := ("NOT" | "-") not | atom
atom   := "(" query ")" | FIELD ":" value | word | word"*" | '"' phrase '"' "*"?
"""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from scopes.errors import Invalid
from scopes.index.tokenize import tokenize
from scopes.search.ast import FIELDS, Both, Either, Field, Node, Not, Words

MAX_TERMS = 200
_MAX_DEPTH = 50
_BLANKS = re.compile(r"\s*")
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
    """Read a query.

    Raises:
        Invalid: it says nothing that can be searched for, or cannot be understood; the hint points at the place.
    """
    return _Parser(text).parse()


def trouble(text: str, at: int, what: str, *advice: str) -> Invalid:
    """Make the refusal that points at a character of a query, where the query is short enough to be shown."""
    shown = (text, " " * at + "^") if len(text) <= 200 and text.isprintable() else ()
    return Invalid(f"{what}, at character {at + 1} of the query", hint="\n".join((*shown, *advice)) or None)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split()
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        if all(token.node is None for token in self._tokens):
            advice = 'for example: parser, "stack overflow", pars*, error -test, author:carol'
            raise trouble(self._text, 0, "the query has nothing to search for", advice)
        found = self._either()
        if self._peek().kind:
            raise trouble(self._text, self._peek().at, "a ')' without its '('")
        return found

    def _split(self) -> list[_Token]:
        tokens: list[_Token] = []
        text = self._text
        at = _skip_blanks(text, 0)
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise trouble(text, at, "a quote is never closed")
            tokens.append(self._token(match))
            at = _skip_blanks(text, match.end())
        terms = [token for token in tokens if token.node is not None]
        if len(terms) > MAX_TERMS:
            raise trouble(text, terms[MAX_TERMS].at, f"a query has at most {MAX_TERMS} terms")
        return [*tokens, _Token("", len(text))]

    def _token(self, match: re.Match[str]) -> _Token:
        at = match.start()
        if match["bracket"]:
            return _Token(match["bracket"], at)
        if match["operator"] or match["minus"]:
            return _Token(match["operator"] or "NOT", at)
        if match["lonely"]:
            if match["lonely"].lower() in FIELDS:
                raise trouble(self._text, at, f"{match['lonely']}: has no value")
            return _Token("term", at, Words(tuple(tokenize(match["lonely"])), prefix=False, at=at))
        return _Token("term", at, self._term(match, at))

    def _term(self, match: re.Match[str], at: int) -> Node:
        value = match["word"] if match["phrase"] is None else match["phrase"]
        name = match["field"]
        if name is not None and name.lower() in FIELDS:
            if not value.strip():
                raise trouble(self._text, at, f"{name}: has no value")
            return Field(name.lower(), value, at)
        if name is not None:
            near = difflib.get_close_matches(name.lower(), FIELDS, n=1, cutoff=0.75)
            if near:
                known = f"fields: {', '.join(FIELDS)}; as words: {name} {value}"
                raise trouble(self._text, at, f"there is no field {name!a}; did you mean {near[0]}:?", known)
            value = f"{name}:{value}"
        found = tokenize(value)
        if not found:
            raise trouble(self._text, at, f"{value!a} has no letter or digit to search for")
        return Words(tuple(found), bool(match["star"]) or (match["phrase"] is None and value.endswith("*")), at)

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _either(self) -> Node:
        items = [self._both()]
        while self._peek().kind == "OR":
            self._take()
            items.append(self._both())
        return items[0] if len(items) == 1 else Either(tuple(items))

    def _both(self) -> Node:
        items = [self._not()]
        while self._peek().kind not in {"", ")", "OR"}:
            if self._peek().kind == "AND":
                self._take()
            items.append(self._not())
        return items[0] if len(items) == 1 else Both(tuple(items))

    def _not(self) -> Node:
        negated = False
        while self._peek().kind == "NOT":
            self._take()
            negated = not negated
        found = self._atom()
        return Not(found) if negated else found

    def _atom(self) -> Node:
        token = self._take()
        if token.node is not None:
            return token.node
        if token.kind != "(":
            what = f"{token.kind!r} needs something before it" if token.kind else "something is missing"
            raise trouble(self._text, token.at, what)
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise trouble(self._text, token.at, f"parentheses go deeper than {_MAX_DEPTH} levels")
        found = self._either()
        if self._peek().kind != ")":
            raise trouble(self._text, token.at, "a '(' is never closed")
        self._take()
        self._depth -= 1
        return found


def _skip_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return at if match is None else match.end()
