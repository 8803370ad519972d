r"""Tell whether bytes may hold a secret; nearly all do not, and need no closer look.

The patterns are those of `secret_patterns` without their ends, and text in base64. They may match where there is no
secret, and they match wherever there is one: in a text, and in JSON that has the text in it. RE2 (the extra `secrets`)
looks for all of them in one pass. Without it `re` looks for each of them behind its anchor, in twenty times the time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, Final, NamedTuple

from scopes.lazy_patterns import compile_lazily
from scopes.loading import load
from scopes.secret_patterns import KEY_WORDS, RULES, without_end
from scopes.secret_scan.decoding import without_escapes

_FEW_BYTES: Final = 100_000
_MAX_MEMORY: Final = 64 << 20  # bytes for the automaton, which uses what the text needs of it
_GAP: Final = r"(?:\s|\\+[a-z0-9]|[\x0b\x1c-\x1f\x80-\xff]){1,30}"  # white space of any kind, also as JSON writes it
_ANY_GAP: Final = _GAP.replace("{1,30}", "{0,30}")
_FAR: Final = "{1,900}"
_LOOSE: Final = {
    # JSON may write what is between the words longer.
    "private-key": r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY",
    "url-password": r"://[^\s:/?#@'\"<>${}%]{0,400}:[^\s:/?#@'\"<>${}]{6,900}@",
    "auth-header": rf"(?i:Bearer|Basic|token){_GAP}[A-Za-z0-9_+/=.-]{{24}}",
    "docker-auth": rf"\"auth\\{{0,20}}\"{_ANY_GAP}:{_ANY_GAP}\\{{0,20}}\"[A-Za-z0-9+/]{{12}}",
    "netrc-password": rf"machine{_GAP}[^\"]{_FAR}password{_GAP}[^\s\"]{{4}}",
    # What may come before the anchor would make the automaton slow: every word begins like it.
    "terraform-token": r"\.atlasv1\.[A-Za-z0-9_-]{60}",
    "telegram-token": r":AA[A-Za-z0-9_-]{33}",
}
_BEHIND_KEY: Final = (
    r"\\{0,15}[\"']?(?:[ \t]|\\{1,15}t){0,3}[=:](?:[ \t]|\\{1,15}t){0,3}\\{0,15}[\"']?[A-Za-z0-9_+/-]{20}"
)
_ASSIGNED: Final = rf"(?i:{'|'.join(KEY_WORDS)}){_BEHIND_KEY}"
_PREFIXES: Final = tuple(dict.fromkeys(anchor.encode() for rule in RULES for anchor in rule.anchors))
_BEGINNING: Final = "|".join((
    f"(?:{'|'.join(re.escape(each.decode()) for each in _PREFIXES)})[^\\s\"]{{6}}",
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY|(?i:Bearer|Basic)\s",
    f"{_ASSIGNED.removesuffix('{20}')}{{6}}",
))  # fmt: skip
# Six groups of four characters that each stand for three printable bytes: no fewer are in 20 characters.
_TEXT_IN_BASE64: Final = "(?:[I-Za-f][C-HS-Xi-nyz0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){6}"
_PERCENT: Final = compile_lazily(rb"%[2-7][0-9A-Fa-f]")
# Where `without_escapes` may change something.
_ESCAPES: Final = r"[\x00\x1b]|\xef\xbf\xbd|\\u00|\\[/_.-]|\\x(?:00|1[bB])|\\033|\\e\[|%[2-7][0-9A-Fa-f]"
_ESCAPED: Final = (
    b"\\u00", b"\\/", b"\\_", b"\\-", b"\\.", b"\x1b", b"\0", b"\\x00", b"\\x1b", b"\\x1B", b"\\033", b"\\e[",
    b"\xef\xbf\xbd",
)  # fmt: skip
_LAST: Final = re.compile(r"\{(\d+),\d+\}$")
_REPETITION: Final = re.compile(r"\{(\d+),\d+\}")


_searched: Final = [0]  # bytes that were searched without RE2


class _Searches(NamedTuple):
    """Functions that search bytes and return something if they find it: any of the next two, a secret, base64.

    `beginning` finds what is left of a secret that was cut.
    """

    anything: Callable[..., Any]
    secret: Callable[[bytes], object]
    encoded: Callable[[bytes], object]
    beginning: Callable[[bytes], object]


def may_hold_secret(data: bytes) -> bool:
    """Return False if there is no secret in a text, given in UTF-8 or as JSON, in any form that can be found."""
    searches = _searches(len(data))
    if searches.anything(data) is None:
        return False
    return searches.encoded(data) is not None or may_hold_readable(data)


def may_hold_readable(data: bytes) -> bool:
    """Return False if there is no secret in a text or in what its escapes stand for; base64 is not looked at."""
    search = _searches(len(data)).secret
    if search(data) is not None:
        return True
    return _has_escapes(data) and search(without_escapes(data)) is not None


def may_hold_encoded(data: bytes) -> bool:
    """Return False if there is no base64 with a text in it that is as long as a secret."""
    return _searches(len(data)).encoded(data) is not None


def choose_suspicious(texts: Sequence[bytes]) -> list[bytes]:
    """Return the texts that may hold a secret, as `may_hold_secret` says of each.

    All of them are searched at once: for small ones the calls would take longer than the search. Only RE2 tells where.
    """
    joined, found, position = b"\n".join(texts), [], 0
    searches = _searches(len(joined))
    if searches is _by_re():
        return [] if searches.anything(joined) is None else [text for text in texts if may_hold_secret(text)]
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    while (match := searches.anything(joined, position)) is not None:
        number = bisect_right(starts, match.start()) - 1
        if may_hold_secret(texts[number]):
            found.append(texts[number])
        position = starts[number + 1]
    return found


def may_hold_beginning(data: bytes) -> bool:
    """Return False if there is no beginning of a secret that a limit may have cut, and that can be read as it is."""
    return _searches(len(data)).beginning(data) is not None


def is_fast() -> bool:
    """Return True if RE2 is installed; it is loaded then, for small texts too."""
    return _by_re2() is not None


def make_rules(*, is_linear: bool) -> Mapping[str, tuple[str, ...]]:
    """Return the patterns of the rules, each with its anchors.

    is_linear: the engine takes linear time, and more of it for large numbers: repetitions are without them
    """
    found: dict[str, tuple[str, ...]] = {}
    for rule in RULES:
        pattern = _LAST.sub(r"{\1}", without_end(rule.pattern))  # the first characters of the end are enough
        loose = _LOOSE.get(rule.kind, "").replace(_FAR, "+" if is_linear else _FAR)
        pattern = loose or (_REPETITION.sub(r"{\1,}", pattern) if is_linear else pattern)
        found[pattern] = (*found.get(pattern, ()), *rule.anchors)
    return found


def _searches(size: int) -> _Searches:
    """Return the search functions for so many more bytes: for a few it does not pay to load RE2, which takes 30 ms."""
    if not _by_re2.cache_info().currsize:
        _searched[0] += size
        if _searched[0] < _FEW_BYTES:
            return _by_re()
    return _by_re2() or _by_re()


@cache
def _by_re2() -> _Searches | None:
    """Return the search functions of RE2; None if it is not installed."""
    try:
        options = load("re2:Options")()
    except ImportError:
        return None
    options.log_errors = False
    options.encoding = load("re2:Options").Encoding.LATIN1
    options.max_mem = _MAX_MEMORY
    secret, compile_pattern = "|".join((*make_rules(is_linear=True), _ASSIGNED)), load("re2:compile")
    patterns = f"{secret}|{_TEXT_IN_BASE64}|{_ESCAPES}", secret, _TEXT_IN_BASE64, _BEGINNING
    return _Searches(*(compile_pattern(each.encode("latin-1"), options).search for each in patterns))


@cache
def _by_re() -> _Searches:
    """Return search functions without RE2."""
    rules = [
        (tuple(anchor.encode() for anchor in anchors), compile_lazily(pattern.encode("latin-1")))
        for pattern, anchors in make_rules(is_linear=False).items()
    ]
    encoded, behind_key = compile_lazily(_TEXT_IN_BASE64.encode()), compile_lazily(_BEHIND_KEY.encode())

    by_anchor = [(anchor, number) for number, (anchors, _) in enumerate(rules) for anchor in anchors]

    def find_secret(data: bytes) -> object:
        for number in dict.fromkeys([number for anchor, number in by_anchor if anchor in data]):
            if rules[number][1].search(data) is not None:
                return rules[number][1]
        return next(filter(None, (behind_key.match(data, end) for end in _walk_key_ends(data))), None)

    def find_anything(data: bytes) -> object:
        return find_secret(data) or encoded.search(data) or (True if _has_escapes(data) else None)

    def find_encoded(data: bytes) -> object:  # compiles the pattern when it is first needed
        return encoded.search(data)

    beginning = compile_lazily(_BEGINNING.encode())

    def find_beginning(data: bytes) -> object:
        lower = data.lower()
        known = any(each in data for each in _PREFIXES) or any(word.encode() in lower for word in KEY_WORDS)
        return beginning.search(data) if known else None

    return _Searches(find_anything, find_secret, find_encoded, find_beginning)


def _has_escapes(data: bytes) -> bool:
    for each in _ESCAPED:  # a generator takes twice the time
        if each in data:
            return True
    return b"%" in data and _PERCENT.search(data) is not None


def _walk_key_ends(data: bytes) -> Iterator[int]:
    """Yield where words such as `token` end."""
    lower = data.lower()
    for word in KEY_WORDS:
        key = word.encode()
        at = lower.find(key)
        while at >= 0:
            yield at + len(key)
            at = lower.find(key, at + len(key))
