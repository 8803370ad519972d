r"""A fast test whether bytes may have a secret; nearly all do not, and need no closer search.

The patterns are those of `secret_patterns` without their ends, and one for text in base64. They have false positives
but no false negatives, in a text and in JSON that contains the text. RE2 (the extra `secrets`) searches for all of them
in one pass; without it `plain_search` takes a few times as long.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import accumulate, chain
from string import ascii_lowercase, digits
from typing import Any, Final, NamedTuple

from scopes.lazy_patterns import compile_lazily
from scopes.secret_patterns import KEY_WORDS, RULES
from scopes.secret_scan import plain_search
from scopes.secret_scan.decoding import without_escapes, without_json_escapes
from scopes.secret_scan.escapes import BEFORE_SOFT_END, ESCAPES
from scopes.secret_scan.loose_patterns import ASSIGNED, BEHIND_KEY, KEY_BEGIN, TEXT_IN_BASE, walk_loose_rules

_FEW_BYTES: Final = 100_000
_MAX_MEMORY: Final = 64 << 20  # bytes of memory for the automaton, at most
_PREFIXES: Final = tuple(dict.fromkeys(anchor.encode() for rule in RULES for anchor in rule.anchors))
_BEGINNING: Final = "|".join((
    f"(?:{'|'.join(re.escape(each.decode()) for each in _PREFIXES)})[^\\s\"]{{6}}",
    rf"{KEY_BEGIN}|(?i:Bearer|Basic)\s",
    ASSIGNED.replace("{20}", "{6}"),
))  # fmt: skip
_WORDS: Final = tuple(map(str.encode, KEY_WORDS))
_PRIVATE: Final = b"PRIVATE KEY"
_SCHEMES: Final = (b"bearer", b"basic")
_BLANKS: Final = b' \t\n\r\v\f"'  # no secret goes on behind them
_SMALL: Final = (ascii_lowercase + digits).encode()
_MARKED: Final = tuple(each for each in _PREFIXES if each.strip(_SMALL) and not set(each).intersection(_BLANKS))
_UNMARKED: Final = tuple(each for each in _PREFIXES if each not in _MARKED)
_SIGNS: Final = frozenset(chain.from_iterable(_MARKED)).difference(_SMALL)  # each of `_MARKED` has one
_SIGN, _BLANK, _OTHER = b"S", b" ", b"a"
_MARKS: Final = b"".join([_BLANK if code in _BLANKS else _SIGN if code in _SIGNS else _OTHER for code in range(256)])
_LONG_WORD: Final = min(map(len, _PREFIXES)) + 6
_BEHIND_PREFIX: Final = compile_lazily(rb"[^\s\"]{6}")
_BEHIND_WORD: Final = compile_lazily(BEHIND_KEY.replace("{20}", "{6}").encode())
_KEY_BEGIN: Final = compile_lazily(KEY_BEGIN.encode())
_SCHEME: Final = compile_lazily(rb"(?:bearer|basic)\s")
_ESCAPES: Final = b"|".join(ESCAPES.values()).replace(BEFORE_SOFT_END, b"").decode("latin-1")  # RE2 never looks back
_JSON_ESCAPES: Final = re.compile(rb"\\(?:/|u(?!00(?:0[0-8bBcCeEfF]|1)))")  # of signs that other JSON has as they are
_searched: Final = [0]  # bytes that were searched without RE2


class _Searches(NamedTuple):
    """Functions that search bytes; each returns something other than None or False if it finds what it is named after.

    anything: a secret or base64; encoded: base64; beginning: the beginning of a cut secret
    """

    anything: Callable[..., Any]
    secret: Callable[[bytes], object]
    encoded: Callable[[bytes], object]
    beginning: Callable[[bytes], object]


def may_hold_secret(data: bytes) -> bool:
    """Return False if a text, given in UTF-8 or as JSON, has no secret in any form that can be found."""
    searches = _searches(len(data))
    if searches.anything(data) is None:
        return False
    if searches.encoded(data) is not None or may_hold_readable(data):
        return True
    if _JSON_ESCAPES.search(data) is None:
        return False
    plain = without_json_escapes(data)
    return searches.encoded(plain) is not None or may_hold_readable(plain)


def may_hold_readable(data: bytes) -> bool:
    """Return False if a text has no secret, as it is or with its escapes decoded; base64 is not decoded."""
    search = _searches(len(data)).secret
    if search(data) is not None:
        return True
    has_escapes = next(plain_search.walk_escapes(data), None) is not None
    return has_escapes and search(without_escapes(data)) is not None


def may_hold_encoded(data: bytes) -> bool:
    """Return False if there is no base64 of a text that is long enough for a secret."""
    return _searches(len(data)).encoded(data) is not None


def choose_suspicious(texts: Sequence[bytes]) -> list[bytes]:
    """Return the texts for which `may_hold_secret` is True.

    All of them are searched at once: for small ones single calls would take longer than the search.
    """
    joined, found, position = b"\n".join(texts), [], 0
    searches = _searches(len(joined))
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    if searches is _by_re():
        numbers = {bisect_right(starts, place) - 1 for place in plain_search.walk_suspicious(joined)}
        return [texts[number] for number in sorted(numbers) if may_hold_secret(texts[number])]
    while (match := searches.anything(joined, position)) is not None:
        number = bisect_right(starts, match.start()) - 1
        if may_hold_secret(texts[number]):
            found.append(texts[number])
        position = starts[number + 1]
    return found


def may_hold_beginning(data: bytes) -> bool:
    """Return False if there is no beginning of a cut secret in plain text."""
    return _searches(len(data)).beginning(data) is not None


def is_fast() -> bool:
    """Return True if RE2 is installed; also loads it."""
    return _by_re2() is not None


def _searches(size: int) -> _Searches:
    """Return the search functions for this many more bytes; for few, RE2 is not loaded, which takes 30 ms."""
    if not _by_re2.cache_info().currsize:
        _searched[0] += size
        if _searched[0] < _FEW_BYTES:
            return _by_re()
    return _by_re2() or _by_re()


@cache
def _by_re2() -> _Searches | None:
    """Return the search functions of RE2; None if it is not installed."""
    try:
        import re2  # type: ignore[import-untyped]
    except ImportError:
        return None
    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _MAX_MEMORY
    rules = (rule.pattern for rule in walk_loose_rules(is_linear=True))
    secret = "|".join((*dict.fromkeys(rules), ASSIGNED))
    patterns = f"{secret}|{TEXT_IN_BASE}|{_ESCAPES}", secret, TEXT_IN_BASE, _BEGINNING
    return _Searches(*(re2.compile(each.encode("latin-1"), options).search for each in patterns))


@cache
def _by_re() -> _Searches:
    """Return search functions without RE2."""
    return _Searches(
        partial(_first, plain_search.walk_suspicious),
        partial(_first, plain_search.walk_secrets),
        partial(_first, plain_search.walk_encoded),
        _find_beginning,
    )


def _find_beginning(data: bytes) -> bool | None:
    """Return True if `_BEGINNING` matches, else None; a search for that pattern takes a hundred times as long."""
    words = _marked_words(data)
    lower = data.lower()
    found = (
        any(_is_followed(words, each, _BEHIND_PREFIX) for each in filter(words.__contains__, _MARKED))
        or any(_is_followed(data, each, _BEHIND_PREFIX) for each in filter(data.__contains__, _UNMARKED))
        or any(_is_followed(data, each, _BEHIND_WORD, lower) for each in filter(lower.__contains__, _WORDS))
        or (_PRIVATE in data and _KEY_BEGIN.search(data) is not None)
        or (any(map(lower.__contains__, _SCHEMES)) and _SCHEME.search(lower) is not None)
    )
    return found or None


def _marked_words(data: bytes) -> bytes:
    """Return the long words with a character other than lower case letters and digits: most prefixes have one."""
    marked = data.translate(_MARKS) + _BLANK
    words: list[bytes] = []
    end, at = 0, marked.find(_SIGN)
    while at >= 0:
        start = marked.rfind(_BLANK, end, at) + 1 or end
        end = marked.find(_BLANK, at)
        if end - start >= _LONG_WORD:
            words.append(data[start:end])
        at = marked.find(_SIGN, end)
    return _BLANK.join(words)


def _is_followed(data: bytes, wanted: bytes, behind: re.Pattern[bytes], searched: bytes | None = None) -> bool:
    """Return True if a pattern matches right after the text `wanted`, which is searched in `searched` if given."""
    searched = data if searched is None else searched
    at = searched.find(wanted)
    while at >= 0:
        if behind.match(data, at + len(wanted)) is not None:
            return True
        at = searched.find(wanted, at + 1)
    return False


def _first(walk: Callable[[bytes], Iterator[int]], data: bytes) -> int | None:
    return next(walk(data), None)
