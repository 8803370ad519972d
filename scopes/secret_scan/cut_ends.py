"""Find the beginnings of secrets in cut texts: subjects and titles are stored cut, so a checksum or an end may be lost.

The prefix of a rule and what follows it count as a secret if they extend to a place where a text may be cut: its end,
an ellipsis, or the end of a long line. If nothing else shows that it was cut, words in lower case are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from scopes.lazy_patterns import compile_lazily
from scopes.secret_patterns import Rule, find_anchors, is_placeholder, is_sample, match_at, walk_keys
from scopes.secret_scan.cut_patterns import ASSIGNED, MARKS, PLACE, CutRule, cut_rules, is_general
from scopes.secret_scan.decoding import decode_base32, decode_base64, decode_escapes, without_zeros
from scopes.secret_scan.scan import Found

LONG_LINE: Final = 71  # characters of a cut subject; it may have one more
_LEAST: Final = 6  # characters after the prefix; fewer reveal nothing
_RUN: Final = compile_lazily(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_BASE32: Final = compile_lazily(r"[A-Z2-7]{12,}={0,6}")
_ASCII: Final = bytes((9, 10, 13, *range(32, 127)))
_LEAST_ASCII: Final = 4  # bytes at the end of what was decoded
_MARK: Final = compile_lazily(MARKS)
_PLACE: Final = compile_lazily(PLACE)
_ASSIGNED: Final = compile_lazily(ASSIGNED)
_RANDOM: Final = compile_lazily(r"\d|[a-z].*[A-Z]|[A-Z].*[a-z]", re.DOTALL)
_WORDS: Final = compile_lazily(r"[A-Za-z0-9_.=+/:-]*")  # characters of the rules with a longest match
_DOTS: Final = compile_lazily(r"\.\.\.")
_NOWHERE: Final = 1 << 62
_WORD: Final = compile_lazily(r"[a-z._-]*")
_DECODED_CHARACTERS: Final = 6_000  # of a run of base64 before its end


def find_cut_ends(text: str) -> list[Found]:
    """Return the beginnings of secrets at the places where a text may be cut, in order; they do not overlap."""
    found = [*_walk_plain(text), *_walk_escaped(text), *_walk_encoded(text)]
    kept: list[Found] = []
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def _walk_plain(text: str) -> Iterator[Found]:
    anchors = find_anchors(text)
    next_places = _next_places(text, anchors)
    for rule, longest in _rules() if anchors else ():
        for anchor in rule.anchors:
            end = 0  # of what was found before
            for at in anchors.get(anchor, ()):
                is_near = at >= end and (not longest or next_places[at] - at <= longest)
                found = _find_at(rule, text, at, anchor) if is_near else None
                if found is not None:
                    end = found.end
                    yield found
    for _, end in walk_keys(text):
        match = _ASSIGNED.match(text, _skip_blanks(text, end))
        if (
            match is not None
            and _is_sure(text, match.end())
            and _RANDOM.search(match[1])
            and not is_placeholder(match[1])
        ):
            yield Found("assigned-secret", match.start(1), match.end(1), match[1])


def _next_places(text: str, anchors: Mapping[str, Sequence[int]]) -> Mapping[int, int]:
    """Return the next possible cut after each anchor in the same word, by the position of the anchor.

    Without this every anchor of a long word would be tried, each up to the maximum length of its rule.
    """
    found: dict[int, int] = {}
    end, places = 0, [_NOWHERE]
    for at in sorted({at for each in anchors.values() for at in each}):
        if at >= end:
            match = _WORDS.match(text, at)
            end = at if match is None else match.end()
            places = [match.start() for match in _DOTS.finditer(text, at, end)]
            places += [end if _PLACE.match(text, end) else _NOWHERE]
        found[at] = places[bisect_left(places, at)]
    return found


def _find_at(rule: Rule, text: str, at: int, anchor: str) -> Found | None:
    match = match_at(rule, text, at)
    if match is None or len(match[0]) - len(anchor) < _LEAST:
        return None
    group = match.lastindex or 0
    value = match[group] if group else text[at + len(anchor) : match.end()]
    if is_sample(rule.kind, value):
        return None
    if is_general(rule.kind):
        is_random = rule.kind == "url-password" or _RANDOM.search(value) is not None
        is_secret = is_random and _is_sure(text, match.end())
    else:
        is_secret = not _WORD.fullmatch(value) or _is_sure(text, match.end())
    return Found(rule.kind, match.start(group), match.end(group), match[group]) if is_secret else None


def _walk_escaped(text: str) -> Iterator[Found]:
    decoded = decode_escapes(text)
    if decoded is None:
        return
    for found in _walk_plain(decoded.text):
        start, end = decoded.original(found.start), decoded.original(found.end - 1) + 1
        place = _PLACE.search(text, end)
        yield found._replace(start=start, end=end if place is None else max(end, place.start()))


def _walk_encoded(text: str) -> Iterator[Found]:
    for match in _RUN.finditer(text):
        if _PLACE.match(text, match.end()):
            for decoded in _decoded_ends(match[0]):
                for found in _walk_plain(f"{decoded}…"):
                    yield Found(found.rule, match.start(), match.end(), found.value)


def _decoded_ends(run: str) -> Iterator[str]:
    """Yield the decoded ASCII at the end of a run of base64 or base32; a word in front of it may belong to the run."""
    begin = max(0, len(run) - _DECODED_CHARACTERS) // 8 * 8
    ways = [(decode_base64, 4), (decode_base32, 8)] if _BASE32.fullmatch(run, begin) else [(decode_base64, 4)]
    for decode, shifts in ways:
        for shift in range(shifts):
            data = decode(run[begin + shift :])
            for each in (data, without_zeros(data)) if b"\0" in data[-_LEAST_ASCII:] else (data,):
                ascii_end = each[len(each.rstrip(_ASCII)) :]
                if len(ascii_end) >= _LEAST_ASCII:
                    yield ascii_end.decode()


def _is_sure(text: str, end: int) -> bool:
    """Return True if a text was certainly cut here: at an ellipsis, or at the end of a line as long as a subject."""
    if _MARK.match(text, end):
        return True
    line = text.rfind("\n", 0, end) + 1
    return end - line >= LONG_LINE


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\\":
        start += 1
    return start


@cache
def _rules() -> tuple[CutRule, ...]:
    return cut_rules()
