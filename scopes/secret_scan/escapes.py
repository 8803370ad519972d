r"""What may stand inside of a secret without being a part of it, and for its characters: the one table of it.

Colors, NULs, invisible characters and a backslash in front of a sign are left out. Escapes (`\x2d`, `\055`, `\u002d`,
`%2D`) and dashes of other scripts stand for a character. Each is described for texts and for UTF-8.
"""

from __future__ import annotations

import re
from typing import Final

_HIDDEN: Final = "\ufffd"  # what a prompt has for a NUL and for an escape
_INVISIBLE: Final = (
    "\u00ad\u00ad", "\u034f\u034f", "\u061c\u061c", "\u180b\u180e", "\u200b\u200f", "\u202a\u202e", "\u2060\u206f",
    "\ufe00\ufe0f", "\ufeff\ufeff",
)  # fmt: skip
_DASHES: Final = ("\u2010\u2015", "\u2212\u2212", "\ufe58\ufe58", "\ufe63\ufe63", "\uff0d\uff0d")
_COLOR: Final = r"\[[0-9:;?]{0,40}[A-Za-z]"  # behind an escape character
_BEHIND_BACKSLASH: Final = "|".join((
    rf"(?:u001[bB]|u\{{1[bB]\}}|x1[bB]|033|[eE]){_COLOR}",
    r"u(?:00|\{0{0,4})(?P<unicode>[2-7][0-9A-Fa-f])\}?|x(?P<hex>[2-7][0-9A-Fa-f])",
    r"(?P<octal>0[4-7][0-7]|1[0-7][0-7])|u0000|x00",
    r"u(?:00[aA][dD]|034[fF]|061[cC]|180[b-eB-E]|200[b-fB-F]|202[a-eA-E]|206[0-9a-fA-F]|[fF][eE](?:0[0-9a-fA-F]|[fF][fF]))",
    r"(?P<dash_code>u(?:201[0-5]|2212|[fF][eE](?:58|63)|[fF][fF]0[dD]))",
    r"(?=[/_.-])",  # JSON of PHP and others, and Markdown
))  # fmt: skip
_WAYS: Final = (
    rf"(?<=\\)\\{{0,19}}(?:{_BEHIND_BACKSLASH})",
    r"(?<=%)(?P<percent>[2-7][0-9A-Fa-f])",
    rf"(?<=\x1b){_COLOR}",
    rf"(?<=\^)\[{_COLOR}",
    r"(?<=\x00)",
)
BASES: Final = (("unicode", 16), ("hex", 16), ("octal", 8), ("percent", 16))


def _text_pattern() -> str:
    """Return the pattern for texts: it begins with one set of characters, which is searched for fast."""
    invisible, dashes = ("".join(f"{each[0]}-{each[1]}" for each in ranges) for ranges in (_INVISIBLE, _DASHES))
    others = rf"(?<={_HIDDEN})(?:{_COLOR})?|(?<=[{invisible}])|(?<=[{dashes}])(?P<dash>)"
    return rf"[\\%\x1b^\x00{_HIDDEN}{invisible}{dashes}](?:{'|'.join(_WAYS)}|{others})"


def _byte_pattern() -> bytes:
    """Return the pattern for UTF-8."""
    ways = [each.encode() for each in _WAYS]
    ways += [rb"(?<=\xef)\xbf\xbd(?:%b)?" % _COLOR.encode(), *map(_range_in_bytes, _INVISIBLE)]
    ways += [rb"(?P<dash>%b)" % b"|".join(map(_range_in_bytes, _DASHES))]
    first = {each[0].encode()[0] for each in (*_INVISIBLE, *_DASHES)}
    return rb"[\\%%\x1b^\x00\xef%b](?:%b)" % (b"".join(rb"\x%02x" % code for code in sorted(first)), b"|".join(ways))


def _range_in_bytes(ends: str) -> bytes:
    """Return a pattern behind the first byte of characters of a range, which differ in their last byte alone."""
    first, last = ends[0].encode(), ends[1].encode()
    between = b"".join(rb"\x%02x" % code for code in first[1:-1])
    return rb"(?<=\x%02x)%b[\x%02x-\x%02x]" % (first[0], between, first[-1], last[-1])


TEXT_PATTERN: Final = _text_pattern()
BYTE_PATTERN: Final = _byte_pattern()
ESCAPES: Final = {
    b"\\": rb"\\(?:u(?:00|\{|034|061|180|20[0126]|2212|[fF][eEfF])|[/_.-]|x(?:[02-7]|1[bB])|0[3-7]|1[0-7][0-7]|[eE]\[)",
    b"%": rb"%[2-7][0-9A-Fa-f]",
    b"^": rb"\^\[\[",
    b"\x1b": rb"\x1b",
    b"\x00": rb"\x00",
    b"\xc2": rb"\xc2\xad",
    b"\xcd": rb"\xcd\x8f",
    b"\xd8": rb"\xd8\x9c",
    b"\xe1": rb"\xe1\xa0[\x8b-\x8e]",
    b"\xe2": rb"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf]|(?:\x80[\x90-\x95]|\x88\x92)[A-Za-z0-9_])",
    b"\xef": rb"\xef(?:\xbf\xbd|\xbb\xbf|\xb8[\x80-\x8f]|(?:\xb9[\x98\xa3]|\xbc\x8d)[A-Za-z0-9_])",
}
"""Where one decoding may change something of a secret, by the first byte, which is found fast.

A dash counts in front of a letter, a digit or an underscore alone: others are frequent, and in no secret.
"""


def is_decodable(text: str) -> bool:
    """Return False if nothing of the table is in a text; that is told fast."""
    return not text.isascii() or any(sign in text for sign in "\\%\x1b\0^")


def character_of(match: re.Match[str]) -> str:
    """Return the character that a match of the pattern stands for; an empty text if it is to be left out."""
    if match["dash"] is not None or match["dash_code"]:
        return "-"
    return next((chr(int(match[name], base)) for name, base in BASES if match[name]), "")


def byte_of(match: re.Match[bytes]) -> bytes:
    """Return the same for UTF-8."""
    if match["dash"] or match["dash_code"]:
        return b"-"
    return next((bytes((int(match[name], base),)) for name, base in BASES if match[name]), b"")
