"""Patterns for the beginnings of cut secrets: derived from the pattern of each rule, atom by atom.

`ghp_[A-Za-z0-9]{36,251}` becomes `ghp_` with up to 251 such characters, followed by the place of the cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from scopes.secret_patterns import GENERAL, RULES, SSH2_BEGIN, Rule, without_end

MARKS: Final = r"…|\.\.\."
_UNFINISHED: Final = (
    r"%[0-9A-Fa-f]?|\\{1,20}(?:[ux]\{?[0-9A-Fa-f]{0,5}|[0-7]{1,2})?"
    r"|(?:\x1b|\^\[|\\{1,20}(?:x1[bB]|u001[bB]|033|[eE]))[^A-Za-z\s]{0,40}|\^"
)
PLACE: Final = rf"(?=(?:{_UNFINISHED})?(?:{MARKS}|[\r\n]|\Z))"  # also after half of an escape
_WORD: Final = re.compile(r"\[[A-Za-z0-9_=/+-]+\]|\\d")  # classes without a character that a place begins with
_ATOM: Final = re.compile(
    r"(?P<atom>\\.|\[(?:\\.|[^\]\\])+\]|\((?:\[(?:\\.|[^\]\\])+\]|\((?:\\.|[^()\\])*\)|\\.|[^()\\\[])*\)|[^()])"
    r"(?P<times>\{(?P<least>\d+)(?:,(?P<most>\d+))?\}|\?)?",
    re.DOTALL,
)
_SPECIAL: Final = {
    "private-key": rf"(?:-----BEGIN|{SSH2_BEGIN}) (?:[A-Z]{{2,12}} ){{0,2}}PRIVATE KEY(?: BLOCK)?(?:-----| ----)"
    rf"(?:[^-…\r\n]{{6,4000}}?|\s{{1,4}}(?:[A-Za-z-]{{2,30}}: [^\r\n]{{0,99}}\s{{1,4}}){{0,3}}"
    rf"[A-Za-z0-9+/=]{{6,70}}?){PLACE}",
    "url-password": rf"://(?:[^\s:/?#@'\"<>${{}}%]|%[0-9A-Fa-f]{{2}}){{0,64}}:((?!\d{{1,5}}{PLACE})[^\s:/?#@'\"<>${{}}…]{{6,120}}?){PLACE}",
    "url-token": r"(?!)",  # a name of a host looks like its beginning
    "curl-password": r"curl\s(?:(?!curl\s)[^\n;|&]){0,400}?(?:-u|-U|--user|--proxy-user)[ =]?[\"']?"
    rf"[^\s:\"'=$/\\]{{1,64}}:([^\s\"'$:/\\…][^\s\"':\\…]{{5,120}}?){PLACE}",
    "auth-header": r"(?i:(?:authorization[\"']?[ ]{0,3}[:=][ ]{0,3}[\"']?)?(?:Bearer|Basic|token))\s{1,3}"
    rf"([A-Za-z0-9_+/=.-]{{6,2000}}?){PLACE}",
    "netrc-password": r"machine\s{1,9}[!-~]{1,100}\s{1,9}login\s{1,9}[!-~]{1,100}\s{1,9}password\s{1,9}"
    rf"([!-~]{{6,100}}?){PLACE}",
}
ASSIGNED: Final = rf"[\"']?(?<![A-Za-z0-9_+/-])([A-Za-z0-9_+/-]{{6,120}}={{0,2}}){PLACE}"  # behind `password =`


class CutRule(NamedTuple):
    """A rule for cut secrets; `longest` is a number of characters, 0 if the rule may match anything but words."""

    rule: Rule
    longest: int


def cut_rules() -> tuple[CutRule, ...]:
    """Return all rules with patterns for the beginnings of their secrets."""
    return tuple(_cut_rule(rule) for rule in RULES)


def _cut_rule(rule: Rule) -> CutRule:
    pattern = _SPECIAL.get(rule.kind) or cut_pattern(rule.pattern)
    return CutRule(
        rule._replace(pattern=pattern), 0 if is_general(rule.kind) or rule.kind in _SPECIAL else longest(rule.pattern)
    )


def cut_pattern(pattern: str) -> str:
    """Return a pattern for every beginning of what a pattern matches, up to the place of a cut."""
    return _cut(without_end(pattern), PLACE)


def longest(pattern: str) -> int:
    """Return how many characters a pattern of a rule matches at most."""
    return max(sum(map(_longest_of, _atoms(each))) for each in _alternatives(without_end(pattern)))


def is_general(kind: str) -> bool:
    """Return True if a rule has no prefix of its own: its matches only count where a text was certainly cut."""
    return kind in GENERAL


def _cut(pattern: str, then: str) -> str:
    """Return a pattern for the beginnings of alternatives; `then` matches what follows the whole of one."""
    ways = [_cut_one(each, then) for each in _alternatives(pattern)]
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _cut_one(pattern: str, then: str) -> str:
    for atom, times, most in reversed(list(_atoms(pattern))):
        if atom.startswith("(") and not times:
            inside = atom[3:-1] if atom.startswith("(?:") else atom[1:-1]
            then = _cut(inside, then)
        elif times:
            once = "+" if _WORD.fullmatch(atom) else ""  # no way back: a run has no place of a cut but its end
            whole = f"{atom}{times}{once if then == PLACE else ''}{then}"
            then = f"(?:{whole}|{atom}{{0,{most}}}{once}{PLACE})"
        else:
            then = f"{atom}(?:{then}|{PLACE})" if then != PLACE else f"{atom}{PLACE}"
    return then


def _longest_of(atom: tuple[str, str, str]) -> int:
    text, _, most = atom
    return int(most) * (longest(text.removeprefix("(").removeprefix("?:")[:-1]) if text.startswith("(") else 1)


def _atoms(pattern: str) -> Iterator[tuple[str, str, str]]:
    """Yield each atom of a pattern, how often it may occur (empty: once), and the greatest number."""
    for match in _ATOM.finditer(pattern):
        yield match["atom"], match["times"] or "", match["most"] or match["least"] or "1"


def _alternatives(pattern: str) -> list[str]:
    """Return the alternatives of a pattern: what `|` divides outside of groups."""
    found, text = [], ""
    for match in _ATOM.finditer(pattern):
        if match[0] == "|":
            found.append(text)
            text = ""
        else:
            text += match[0]
    return [*found, text]
