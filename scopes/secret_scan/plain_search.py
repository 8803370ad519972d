r"""Find where bytes may have a secret without RE2; in the standard library one expression for all kinds is slow.

Most kinds are long runs of certain bytes, and few texts have many of those: only these runs are searched for the kinds
and for base64. Other kinds have rare prefixes, or come after a word such as `token`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from string import ascii_letters, digits
from typing import Final, NamedTuple

from scopes.lazy_patterns import compile_lazily
from scopes.secret_patterns import KEY_WORDS
from scopes.secret_scan.escapes import ESCAPES
from scopes.secret_scan.loose_patterns import (
    BEHIND_AUTHORIZATION,
    BEHIND_HEADER_WORD,
    BEHIND_KEY,
    HEADER_WORDS,
    TEXTS_IN_BASES,
    walk_loose_rules,
)

NOT_IN_RUNS: Final = frozenset({
    "curl-password", "docker-auth", "netrc-password", "private-key", "telegram-token", "url-password", "url-token",
})  # fmt: skip
"""Kinds that are not one run: each is searched by a beginning of several characters."""
_RARER: Final = {  # than the beginnings that the rules have; a longer text is found sooner
    "docker-auth": (b'"auth"', b'"auth\\'),
    "private-key": (b"PRIVATE KEY", b"Private-Lines:"),
}
_HEADERS: Final = "auth-header"  # after words
SHORTEST_RUN: Final = 20  # bytes; no secret that is a run is shorter, and no base64 with a secret in it
_BEFORE_RUN: Final = 160  # bytes; no word is longer with what is between it and its value, in JSON too
_FAR_RUN: Final = 400  # bytes from run to run; if they are nearer, searching for the words takes less time
_SHORT_RUNS: Final = 200  # bytes; in more of them, a search for each beginning takes less time
_OTHER: Final = b" "
_LONG_RUN: Final = b"a" * SHORTEST_RUN
_BYTES_OF_RUNS: Final = (ascii_letters + digits + "_+/.=-" + "~!@#%^&*?").encode()
_MARKS: Final = bytes((_LONG_RUN if code in _BYTES_OF_RUNS else _OTHER)[0] for code in range(256))
_ENCODED: Final = tuple(compile_lazily(each.encode()) for each in TEXTS_IN_BASES)
_ESCAPES: Final = tuple((first, compile_lazily(pattern)) for first, pattern in ESCAPES.items())


class _Kind(NamedTuple):
    """A pattern, and the beginnings without which it does not match."""

    pattern: re.Pattern[bytes]
    anchors: tuple[bytes, ...]


class _Runs:
    """The long runs of some bytes, each once, with the places where they are."""

    def __init__(self, data: bytes) -> None:
        self._places: dict[bytes, list[int]] = {}
        marked = data.translate(_MARKS) + _OTHER
        at = marked.find(_LONG_RUN)
        while at >= 0:
            end = marked.find(_OTHER, at + SHORTEST_RUN)
            self._places.setdefault(data[at:end], []).append(at)
            at = marked.find(_LONG_RUN, end)
        self._joined = b"\n".join(self._places)

    @property
    def count(self) -> int:
        """How many runs there are."""
        return sum(map(len, self._places.values()))

    @property
    def has_assigned(self) -> bool:
        """Whether there is a `=` in a run."""
        return b"=" in self._joined

    def places(self) -> Iterator[int]:
        """Yield the positions of the runs."""
        return chain.from_iterable(self._places.values())

    def walk(self, pattern: re.Pattern[bytes]) -> Iterator[int]:
        """Yield the places of the runs in which a pattern matches."""
        return self._walk(lambda start: pattern.search(self._joined, start)) if self._joined else iter(())

    def walk_each(self, patterns: Iterable[re.Pattern[bytes]]) -> Iterator[int]:
        """Yield the places of the runs in which one of several patterns matches."""
        return chain.from_iterable(map(self.walk, patterns))

    def walk_kinds(self) -> Iterator[int]:
        """Yield the places of the runs that may be secrets."""
        if len(self._joined) <= _SHORT_RUNS and not _may_have_anchor(self._joined):
            return
        for kind in _kinds_in(self._joined, in_runs=True):
            yield from self.walk(kind.pattern)

    def walk_assigned(self, word: bytes, pattern: re.Pattern[bytes]) -> Iterator[int]:
        """Yield the places of the runs in which a pattern matches a word and the `=` behind it."""
        lower, assigned = self._joined.lower(), word + b"="

        def find(start: int) -> re.Match[bytes] | None:
            found, place = None, lower.find(assigned, start)
            while place >= 0 and (found := pattern.match(self._joined, place)) is None:
                place = lower.find(assigned, place + 1)
            return found

        return self._walk(find)

    def _walk(self, find: Callable[[int], re.Match[bytes] | None]) -> Iterator[int]:
        start = 0
        while (match := find(start)) is not None:
            first = self._joined.rfind(b"\n", start, match.start()) + 1 or start
            start = self._joined.find(b"\n", match.end()) + 1 or len(self._joined)
            yield from self._places[self._joined[first:start].rstrip(b"\n")]


def walk_suspicious(data: bytes) -> Iterator[int]:
    """Yield places: of all that `walk_secrets`, `walk_encoded` and `walk_escapes` yield, in no order."""
    runs = _Runs(data)
    yield from _walk_secrets(data, runs)
    yield from runs.walk_each(_ENCODED)
    yield from walk_escapes(data)


def walk_secrets(data: bytes) -> Iterator[int]:
    """Yield positions of possible secrets that are not encoded."""
    return _walk_secrets(data, _Runs(data))


def walk_encoded(data: bytes) -> Iterator[int]:
    """Yield the positions of runs that may be base64 of a text."""
    return _Runs(data).walk_each(_ENCODED)


def walk_escapes(data: bytes) -> Iterator[int]:
    """Yield positions that one decoding may change."""
    for first, pattern in _ESCAPES:
        if first in data:
            yield from (match.start() for match in pattern.finditer(data))


def _walk_secrets(data: bytes, runs: _Runs) -> Iterator[int]:
    yield from runs.walk_kinds()
    for kind in _kinds_in(data, in_runs=False):
        match = kind.pattern.search(data)
        while match is not None:
            yield match.start()
            match = kind.pattern.search(data, match.start() + 1)
    yield from _walk_behind_words(data, runs)


def _walk_behind_words(data: bytes, runs: _Runs) -> Iterator[int]:
    """Yield positions of a word such as `token=` with a value; between them is only `=`, or bytes of no run."""
    lower = data.lower()
    if runs.count * _FAR_RUN > len(data):
        yield from _walk_words(data, lower)
        return
    if runs.has_assigned:
        for word, pattern in _words():
            yield from runs.walk_assigned(word, pattern)
    for at in runs.places():
        start = max(at - _BEFORE_RUN, 0)
        for word, pattern in _words():
            place = lower.rfind(word, start, at)
            if place >= 0 and pattern.match(data, place) is not None:
                yield at


def _walk_words(data: bytes, lower: bytes) -> Iterator[int]:
    for word, pattern in _words():
        at = lower.find(word)
        while at >= 0:
            if pattern.match(data, at) is not None:
                yield at
            at = lower.find(word, at + len(word))


def _kinds_in(data: bytes, *, in_runs: bool) -> Iterable[_Kind]:
    """Return the kinds whose prefix occurs in the bytes."""
    found = [kinds for anchor, kinds in _anchors(in_runs=in_runs) if anchor in data]
    return dict.fromkeys(chain.from_iterable(found))


@cache
def _anchors(*, in_runs: bool) -> Sequence[tuple[bytes, Sequence[_Kind]]]:
    """Return each beginning once, with its kinds."""
    kinds_of: dict[bytes, list[_Kind]] = {}
    for kind in _kinds(in_runs=in_runs):
        for anchor in kind.anchors:
            kinds_of.setdefault(anchor, []).append(kind)
    return list(kinds_of.items())


def _may_have_anchor(short: bytes) -> bool:
    """Return False if runs have no prefix of a kind; for few bytes this takes an eighth of the time of all searches.

    Compiling one expression for all of them would take as long as a hundred appends.
    """
    starts, others = _starts_in_runs()
    return not starts.isdisjoint(zip(short, short[1:], short[2:], strict=False)) or any(map(short.__contains__, others))


@cache
def _starts_in_runs() -> tuple[frozenset[tuple[int, int, int]], Sequence[bytes]]:
    """Return the first three bytes of each beginning, and the beginnings that have fewer."""
    anchors = [anchor for anchor, _ in _anchors(in_runs=True)]
    starts = ((first, second, third) for first, second, third, *_ in filter(lambda each: len(each) > 2, anchors))
    return frozenset(starts), [anchor for anchor in anchors if len(anchor) <= 2]


@cache
def _kinds(*, in_runs: bool) -> Sequence[_Kind]:
    rules = [
        (pattern, _RARER.get(kind) or tuple(map(str.encode, anchors)))
        for kind, pattern, anchors in walk_loose_rules(is_linear=False)
        if kind != _HEADERS and (kind not in NOT_IN_RUNS) is in_runs
    ]
    return [_Kind(compile_lazily(pattern.encode("latin-1")), anchors) for pattern, anchors in dict.fromkeys(rules)]


@cache
def _words() -> Sequence[tuple[bytes, re.Pattern[bytes]]]:
    """Return the words, each with a pattern of the word followed by a possible secret."""
    headers = ("authorization",)
    behind = [(KEY_WORDS, BEHIND_KEY), (HEADER_WORDS, BEHIND_HEADER_WORD), (headers, BEHIND_AUTHORIZATION)]
    patterns = {
        word: f"(?i:{word})(?:{'|'.join(each for words, each in behind if word in words)})"
        for word in dict.fromkeys(chain.from_iterable(words for words, _ in behind))
    }
    return [(word.encode(), compile_lazily(pattern.encode("latin-1"))) for word, pattern in patterns.items()]
