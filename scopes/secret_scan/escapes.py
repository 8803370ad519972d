r"""The table of sequences that may be inside of a secret without being part of it, or that encode its characters.

Left out are terminal sequences (colors, character sets, hyperlinks), NULs, invisible characters, soft line breaks of
quoted-printable, and a backslash in front of a sign. Decoded to a character are escapes (`\x2d`, `\055`, `\u002d`,
`%2D`, `=2D`), wide letters and dashes of other scripts. Each has a pattern for texts and one for UTF-8. Decoding takes
linear time: a run of backslashes is read once, from its first.
"""

from __future__ import annotations

import re
from typing import Final

_HIDDEN: Final = "\ufffd"  # replacements in prompts for NUL and escape characters
_INVISIBLE: Final = (
    "\u00ad\u00ad", "\u034f\u034f", "\u061c\u061c", "\u115f\u1160", "\u17b4\u17b5", "\u180b\u180e", "\u200b\u200f",
    "\u202a\u202e", "\u2060\u206f", "\u2800\u2800", "\u3164\u3164", "\ufe00\ufe0f", "\ufeff\ufeff", "\uffa0\uffa0",
    "\ufff0\ufffb",
)  # fmt: skip
_TAGS: Final = "\U000e0000-\U000e01ff"  # these, and selectors of variants, are invisible too
_DASHES: Final = ("\u2010\u2015", "\u2212\u2212", "\ufe58\ufe58", "\ufe63\ufe63", "\uff0d\uff0d")
_WIDE: Final = ("\uff0e\uff0e", "\uff10\uff19", "\uff21\uff3a", "\uff3f\uff3f", "\uff41\uff5a")
_WIDE_SHIFT: Final = 0xFEE0  # from `_` to the wide form of it

_HEX: Final = "[0-9A-Fa-f]"
_ASCII: Final = f"[2-7]{_HEX}"
_ESCAPE_CODE: Final = r"(?:u001[bB]|u\{1[bB]\}|U0000001[bB]|x1[bB]|033|[eE])"  # behind a backslash
_COLOR: Final = r"\[[0-9:;<=>?]{0,40}[ !$']?[@-[\]-~]"  # and all else that begins with it, behind an escape character
_C1_COLOR: Final = _COLOR.removeprefix(r"\[")
_SET: Final = r"[()* #%][0-9A-Za-z@]"  # a character set, and others of two characters
_ONE: Final = r"[78=>cDEHMNOZ]"  # such as those that keep the place of the cursor
_STRING_END: Final = rf"(?:\x07|\^G|(?:\x1b|\^\[)\\+|\\+(?:[aA]|x07|0?07|u0007|{_ESCAPE_CODE}\\+))"
_STRING: Final = rf"[\]P_X^][^\x00-\x1f\x7f\"\\^WIDE]{{0,400}}{_STRING_END}"  # a hyperlink or a title
_SEQUENCE: Final = f"(?:{_COLOR}|{_SET}|{_STRING}|{_ONE})"
_SHOWN_SEQUENCE: Final = rf"(?:{_COLOR}|[()][0-9A-Z]|{_STRING})?"  # after a sequence for any sign
_BEHIND_BACKSLASH: Final = "|".join((
    f"{_ESCAPE_CODE}{_SEQUENCE}",
    rf"(?:x9[bB]|u009[bB]|233){_C1_COLOR}",
    rf"u(?:00|\{{0{{0,4}})(?P<unicode>{_ASCII})\}}?|U000000(?P<long>{_ASCII})|x(?P<hex>{_ASCII})",
    rf"x\{{0{{0,4}}(?P<braced>{_ASCII})\}}|0(?P<long_octal>0[4-7][0-7]|1[0-7][0-7])",
    r"(?P<octal>0[4-7][0-7]|1[0-7][0-7])|u0000|x00",
    r"u(?:00[aA][dD]|034[fF]|061[cC]|115[fF]|1160|180[b-eB-E]|200[b-fB-F]|202[a-eA-E]|206[0-9a-fA-F]|2800|3164)",
    r"u[fF](?:[eE](?:0[0-9a-fA-F]|[fF][fF])|[fF][aA]0)",
    rf"u[fF]{{3}}(?:[dD]{_SHOWN_SEQUENCE}|[0-9abAB])|u17[bB][45]",
    rf"(?:U000|u\{{)[eE]0[01]{_HEX}{{2}}\}}?|u[dD][bB]40\\+u[dD][cCdD]{_HEX}{{2}}",
    r"(?P<dash_code>u(?:201[0-5]|2212|[fF][eE](?:58|63)|[fF][fF]0[dD]))",
    rf"u[fF][fF](?P<wide_code>0[eE]|1[0-9]|2[1-9a-fA-F]|3[0-9aAfF]|4{_HEX}|5[0-9aA])",
    r"(?=[/_.-])",  # JSON of PHP and others, and Markdown
))  # fmt: skip
_WORD: Final = "[A-Za-z0-9_.:~+/-]"  # signs of secrets
SOFT_END: Final = rf"(?:\r?\n|(?:\\+r)?\\+n){_WORD}"  # a line of quoted-printable that goes on
_WAYS: Final = (
    rf"(?<=(?<!\\)\\)\\*+(?:{_BEHIND_BACKSLASH})",
    rf"(?<=%)(?:(?P<percent>{_ASCII})|u00(?P<percent_u>{_ASCII}))",
    rf"(?<==)(?P<quoted>5F|2[BDEF]|3D)|(?<={_WORD}=){SOFT_END.replace(_WORD, f'(?={_WORD})')}",
    rf"(?<=\x1b){_SEQUENCE}",
    rf"(?<=\^)(?:\[{_SEQUENCE}|@)",
    r"(?<=\x00)",
)
NO_USUAL_ESCAPE: Final = (
    r"(?!(?<=\\)[^\\uUx0-2eE/_.-])"  # distinguished fast from `\n` and `\"`, the most frequent in JSON
)
_BASES: Final = {
    "unicode": 16, "long": 16, "hex": 16, "octal": 8, "braced": 16, "long_octal": 8, "percent": 16,
    "percent_u": 16, "quoted": 16,
}  # fmt: skip


def _text_pattern() -> str:
    """Return the pattern for texts: it begins with one set of characters, which makes the search fast."""
    invisible, dashes, wide = map(_set_of, (_INVISIBLE, _DASHES, _WIDE))
    others = rf"(?<={_HIDDEN}){_SHOWN_SEQUENCE}|(?<=[{invisible}{_TAGS}])|(?<=[{dashes}])(?P<dash>)"
    others += rf"|(?<=[{wide}])(?P<wide>)|(?<=\x9b){_C1_COLOR}"
    first = rf"[\\%=\x1b^\x00\x9b{_HIDDEN}{invisible}{_TAGS}{dashes}{wide}]"
    return rf"{first}{NO_USUAL_ESCAPE}(?:{'|'.join(_WAYS)}|{others})".replace("WIDE", "\uf000-\uffff")


def _set_of(ranges: tuple[str, ...]) -> str:
    return "".join(f"{each[0]}-{each[1]}" for each in ranges)


def _byte_pattern() -> bytes:
    """Return the pattern for UTF-8."""
    ways = [each.encode() for each in _WAYS]
    ways += [rb"(?<=\xef)\xbf\xbd%b" % _SHOWN_SEQUENCE.encode(), rb"(?<=\xc2)\x9b%b" % _C1_COLOR.encode()]
    ways += [*map(_range_in_bytes, _INVISIBLE), rb"(?<=\xf3)\xa0[\x80-\x87][\x80-\xbf]"]
    ways += [rb"(?P<%b>%b)" % (name, b"|".join(map(_range_in_bytes, each))) for name, each in _REPLACED]
    first = {each[0].encode()[0] for each in (*_INVISIBLE, *_DASHES, *_WIDE, _TAGS)}
    signs = b"".join(rb"\x%02x" % code for code in sorted(first))
    start = rb"[\\%%=\x1b^\x00\xef%b]%b" % (signs, NO_USUAL_ESCAPE.encode())
    return (rb"%b(?:%b)" % (start, b"|".join(ways))).replace(b"WIDE", rb"\xef")


_REPLACED: Final = ((b"dash", _DASHES), (b"wide", _WIDE))


def _range_in_bytes(ends: str) -> bytes:
    """Return the pattern of all but the first byte, for a range of characters that differ only in their last byte."""
    first, last = ends[0].encode(), ends[1].encode()
    between = b"".join(rb"\x%02x" % code for code in first[1:-1])
    return rb"(?<=\x%02x)%b[\x%02x-\x%02x]" % (first[0], between, first[-1], last[-1])


TEXT_PATTERN: Final = _text_pattern()
BYTE_PATTERN: Final = _byte_pattern()
BEFORE_SOFT_END: Final = b"(?<=%b=)" % _WORD.encode()
_OPENINGS: Final = rb"[][()* #%78=>cDEHMNOZP_X^]"  # of what stands behind an escape character
ESCAPES: Final = {
    b"\\": rb"\\(?:u(?:00|\{|034|061|11[56]|17[bB]|180|20[0126]|2212|2800|3164|[dD][bB]40|[fF][eEfF])|U000[0eE]0"
    rb"|[/_.-]|x(?:[02-7{]|1[bB]|9[bB])|0(?:[3-7]|0[4-7][0-7]|1[0-7][0-7])|1[0-7][0-7]|233|[eE]%b)" % _OPENINGS,
    b"%": rb"%(?:[2-7][0-9A-Fa-f]|u00)",
    b"=": rb"=(?:5F|2[BDEF]|3D|%b%b)" % (BEFORE_SOFT_END, SOFT_END.encode()),
    b"^": rb"\^(?:\[%b|@)" % _OPENINGS,
    b"\x1b": rb"\x1b",
    b"\x00": rb"\x00",
    b"\xc2": rb"\xc2[\xad\x9b]",
    b"\xcd": rb"\xcd\x8f",
    b"\xd8": rb"\xd8\x9c",
    b"\xe1": rb"\xe1(?:\xa0[\x8b-\x8e]|\x9e[\xb4\xb5]|\x85[\x9f\xa0])",
    b"\xe2": rb"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf]|\xa0\x80|(?:\x80[\x90-\x95]|\x88\x92)[A-Za-z0-9_])",
    b"\xe3": rb"\xe3\x85\xa4",
    b"\xef": rb"\xef(?:\xbf[\xb0-\xbb\xbd]|\xbb\xbf|\xbe\xa0|\xb8[\x80-\x8f]|(?:\xb9[\x98\xa3]|\xbc\x8d)[A-Za-z0-9_]"
    rb"|\xbc[\x8e\x90-\x99\xa1-\xba\xbf]|\xbd[\x81-\x9a])",
    b"\xf3": rb"\xf3\xa0[\x80-\x87]",
}
"""Where one decoding may change something of a secret, by a byte of it, which is found fast.

A dash counts in front of a letter, a digit or an underscore alone: others are frequent, and in no secret.
"""


def is_decodable(text: str) -> bool:
    """Return False if a text has no sequence of the table; a fast test."""
    return not text.isascii() or any(sign in text for sign in "\\%\x1b\0^=")


def character_of(match: re.Match[str]) -> str:
    """Return the decoded character for a match of the pattern; empty if the sequence is to be left out.

    A match has at most one group, whose name is the kind of the sequence.
    """
    group = match.lastgroup
    if group is None:
        return ""
    if group == "wide":
        return chr(ord(match[0]) - _WIDE_SHIFT)
    return _character_of_code(group, match[group])


def byte_of(match: re.Match[bytes]) -> bytes:
    """Return the decoded byte for a match in UTF-8; empty if the sequence is to be left out."""
    group = match.lastgroup
    if group is None:
        return b""
    if group == "wide":
        return chr(ord(match[0].decode()) - _WIDE_SHIFT).encode()
    return _character_of_code(group, match[group]).encode()


def _character_of_code(group: str, code: str | bytes) -> str:
    """Return the ASCII character of what a group has matched."""
    if group in {"dash", "dash_code"}:
        return "-"
    return chr(int(code, 16) + 0x20) if group == "wide_code" else chr(int(code, _BASES[group]))
