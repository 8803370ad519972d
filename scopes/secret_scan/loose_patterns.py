r"""Patterns that match wherever there is a secret, in a text and in JSON that contains the text.

They are the patterns of `secret_patterns` without their ends, and one for text in base64. They have false positives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from scopes.secret_patterns import KEY_WORDS, RULES, SSH2_BEGIN, without_end

_GAP: Final = r"(?:\s|\\+[a-z0-9]|[\x0b\x1c-\x1f\x80-\xff]){1,30}"  # white space of any kind, also as JSON writes it
_ANY_GAP: Final = _GAP.replace("{1,30}", "{0,30}")
_FAR: Final = "{1,900}"
HEADER_WORDS: Final = ("bearer", "basic", "token")
BEHIND_HEADER_WORD: Final = rf"{_GAP}[A-Za-z0-9_+/=.-]{{24}}"
_VALUE: Final = rf",{_ANY_GAP}\\{{0,15}}[\"'](?i:value)\\{{0,15}}[\"']{_ANY_GAP}:"
BEHIND_AUTHORIZATION: Final = (
    rf"\\{{0,15}}[\"']?{_ANY_GAP}(?:[:=,]|{_VALUE}){_ANY_GAP}\\{{0,15}}[\"']?[A-Za-z0-9_+/=.-]{{24}}"
)
KEY_BEGIN: Final = rf"(?:-----BEGIN|{SSH2_BEGIN}) [A-Z ]{{0,40}}PRIVATE KEY"
_LOOSE: Final = {
    # In JSON the text between the words may be longer.
    "private-key": rf"{KEY_BEGIN}|Private-Lines: \d",
    "url-password": r"://(?:[^\s:/?#@'\"<>${}%]|%[0-9A-Fa-f]{2}){0,400}:[^\s:/?#@'\"<>${}]{6,900}@",
    "auth-header": f"(?i:{'|'.join(HEADER_WORDS)}){BEHIND_HEADER_WORD}|(?i:authorization){BEHIND_AUTHORIZATION}",
    "docker-auth": rf"\"auth\\{{0,20}}\"{_ANY_GAP}:{_ANY_GAP}\\{{0,20}}\"[A-Za-z0-9+/]{{12}}",
    "netrc-password": rf"machine{_GAP}[^\"]{_FAR}password{_GAP}[^\s\"]{{4}}",
    # What may come before the anchor would make the automaton slow: every word begins like it.
    "terraform-token": r"\.atlasv1\.[A-Za-z0-9_-]{60}",
    "telegram-token": r":AA[A-Za-z0-9_-]{33}",
    "azure-secret": r"\dQ~[A-Za-z0-9_~.-]{31}|sig=[A-Za-z0-9+/]{43}",
    "url-token": r"://[A-Za-z0-9_.~+=-]{20,120}@",
    "curl-password": r"-(?:[uU]|-user|-proxy-user)"
    rf"(?:[ =]?\\{{0,20}}[\"']?|\\{{0,20}}[\"'],{_ANY_GAP}\\{{0,20}}[\"'])"
    r"[^\s:\"'=$/]{1,900}:[^\s\"'$:/][^\s\"':]{5}",
}
BEHIND_KEY: Final = (
    rf"\\{{0,15}}[\"']?(?:[ \t]|\\{{1,15}}t){{0,3}}"
    rf"(?:[=:>(]|:=|=(?:>|\\{{1,20}}u003[eE])|\\{{1,20}}u003[eE]|,{_ANY_GAP}|{_VALUE})"
    r"(?:[ \t]|\\{1,15}t){0,3}\\{0,15}"
    r"(?:[\"']?[A-Za-z0-9_+/=.~!@#%^&*?-]{20})"
)
ASSIGNED: Final = rf"(?i:{'|'.join(KEY_WORDS)}){BEHIND_KEY}"
# Six groups of four characters that each stand for three printable bytes: no fewer are in 20 characters. In UTF-16
# every other byte is zero; in base32 eight characters stand for five bytes.
TEXTS_IN_BASES: Final = (
    "(?:[I-Za-f][C-HS-Xi-nyz0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){6}",
    "(?:[I-Za-f][AQgw][AB][A-Za-z0-9+/_-]A[C-H][AEIMQUYcgkosw048]A){5}",
    "(?:[E-P][ABEFIJMNQRUVYZ45][A-Z2-7][C-HS-X][ACEGIKMOQSUWY246][I-Z2-7][BCDJKLRSTZ23][A-Z2-7]){3}",
)
TEXT_IN_BASE: Final = "|".join(TEXTS_IN_BASES)
_LAST: Final = re.compile(r"\{(\d+),\d+\}$")
_REPETITION: Final = re.compile(r"\{(\d+),\d+\}")


class LooseRule(NamedTuple):
    """A pattern without its end; it can only match where one of the anchors occurs."""

    kind: str
    pattern: str
    anchors: tuple[str, ...]


def walk_loose_rules(*, is_linear: bool) -> Iterator[LooseRule]:
    """Yield the patterns of the rules.

    is_linear: for an engine with linear time that is slow for large repetition counts: these are left out
    """
    for rule in RULES:
        pattern = _LAST.sub(r"{\1}", without_end(rule.pattern))  # the first characters of the end are enough
        loose = _LOOSE.get(rule.kind, "").replace(_FAR, "+" if is_linear else _FAR)
        pattern = loose or (_REPETITION.sub(r"{\1,}", pattern) if is_linear else pattern)
        yield LooseRule(rule.kind, pattern, rule.anchors)
