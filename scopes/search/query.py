"""The query language: its syntax tree and its parser. Every error points at the offending character.

query  := and ("OR" and)*
and    := not ("AND"? not)*
not    := ("NOT" | "-") not | atom
atom   := "(" query ")" | FIELD ":" value | word | word"*" | '"' phrase '"' "*"?
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from scopes.errors import Invalid
from scopes.index.full_text import FIRST_SINGLE, SINGLE, fold, is_single, tokenize

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


_BEFORE = 40  # characters of a snippet's LENGTH that precede the first match
LENGTH = 240
_LETTER = r"[^\W_]"
_LETTER_OF_SPACED_SCRIPT = rf"[^\W_{SINGLE}]"
_BLANK = re.compile(r"\s+")
_GAP = r"[\W_]+"
_MAX_SEARCHED = 1_000_000  # characters of a text; matches beyond them are not marked
_OVERLAP = 10_000  # a phrase is shorter


class Piece(NamedTuple):
    """A piece of text; `found` is True if it is a match."""

    text: str
    found: bool = False


SpanFinder: TypeAlias = Callable[[str], Sequence[tuple[int, int]]]
"""Returns the spans of the matches in a text, in order."""


def phrase_finder(phrases: Iterable[Phrase]) -> SpanFinder | None:
    """Return a function that finds the phrases of a query in a text; None if there are no phrases."""
    longest_first = sorted(set(phrases), key=lambda phrase: (-sum(map(len, phrase.words)), phrase))
    return partial(find_phrases, longest_first) if longest_first else None


def find_phrases(phrases: Sequence[Phrase], text: str) -> list[tuple[int, int]]:
    """Return the spans of phrases in a text, from the first one as far as a snippet reaches."""
    text = text[:_MAX_SEARCHED]
    folded = fold(text)
    begin = min((at for at in (folded.find(phrase.words[0]) for phrase in phrases) if at >= 0), default=None)
    if begin is None:
        return []  # a hundred times faster than searching a megabyte for the patterns
    pattern = _pattern(phrases, _LETTER)
    first = pattern.search(folded, begin)
    if first is None and max(folded) >= FIRST_SINGLE:
        # A word also ends where a script without spaces begins.
        pattern = _pattern(phrases, _LETTER_OF_SPACED_SCRIPT)
        first = pattern.search(folded, begin)
    if first is None:
        return []
    spans = [match.span() for match in pattern.finditer(folded, first.start(), first.end() + LENGTH)]
    if len(folded) == len(text):
        return spans
    offsets = _original_offsets(text)
    return [(offsets[start], offsets[stop - 1] + 1) for start, stop in spans if stop <= len(offsets)]


def has_phrase(phrase: Phrase, text: str) -> bool:
    """Return True if a text of any length has a phrase."""
    starts = range(0, max(len(text), 1), _MAX_SEARCHED - _OVERLAP)
    return any(find_phrases([phrase], text[start : start + _MAX_SEARCHED]) for start in starts)


def cut_snippet(text: str, spans: Sequence[tuple[int, int]]) -> tuple[Piece, ...]:
    """Cut an excerpt around the first span and mark the spans inside it; without spans it is the text's beginning.

    It begins and ends between words, unless a word is longer than the excerpt.
    """
    begin = max(0, spans[0][0] - _BEFORE) if spans else 0
    end = min(len(text), begin + LENGTH)
    begin, end = _at_words(text, begin, end, spans[0] if spans else (0, 0))
    pieces = [Piece("…")] if begin else []
    at = begin
    for start, stop in spans:
        if start >= end:
            break
        if start > at:
            pieces.append(Piece(text[at:start]))
        pieces.append(Piece(text[max(at, start) : min(stop, end)], found=True))
        at = max(at, min(stop, end))
    if at < end:
        pieces.append(Piece(text[at:end]))
    return (*pieces, Piece("…")) if end < len(text) else tuple(pieces)


def _at_words(text: str, begin: int, end: int, first: tuple[int, int]) -> tuple[int, int]:
    """Move both ends of an excerpt inwards to blanks, as far as the first match stays in it."""
    if begin:
        blank = _BLANK.search(text, begin - 1, first[0])
        begin = begin if blank is None else blank.end()
    if end < len(text):
        blanks = list(_BLANK.finditer(text, max(begin, min(first[1], end)), end + 1))
        end = blanks[-1].start() if blanks and blanks[-1].start() > begin else end
    return begin, end


def _pattern(phrases: Iterable[Phrase], letter: str) -> re.Pattern[str]:
    return re.compile("|".join([_phrase_pattern(phrase, letter) for phrase in phrases]))


def _phrase_pattern(phrase: Phrase, letter: str) -> str:
    pattern = ""
    for number, word in enumerate(phrase.words):
        if number:
            pattern += r"[\W_]*" if is_single(word) or is_single(phrase.words[number - 1]) else _GAP
        pattern += re.escape(word)
    before = "" if is_single(phrase.words[0]) else f"(?<!{letter})"
    after = "" if phrase.prefix or is_single(phrase.words[-1]) else f"(?!{letter})"
    return before + pattern + after


def _original_offsets(text: str) -> list[int]:
    """Return, for each character of the folded text, the offset of the character it came from (approximately)."""
    return [number for number, character in enumerate(text) for _ in fold(character)]
