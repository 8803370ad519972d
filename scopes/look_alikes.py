r"""Fold letters and signs that look like ASCII to ASCII, so that `\uff35ser:` compares equal to `User:`.

The folded text is for comparisons only and is never shown. Covered are compatibility forms (fullwidth, mathematical,
circled), letters with accents, and the letters of other scripts that can spell English words. The table is built when
the first text with other characters than ASCII is compared.
"""

# ruff: noqa: RUF001  the table consists of look-alikes

from __future__ import annotations

import re
from functools import cache

_SCANNED = (  # where compatibility forms, accented letters and combining marks are
    range(0xA0, 0x3100), range(0xA640, 0xAC00), range(0xFB00, 0xFFE0), range(0x1D400, 0x1D800),
)  # fmt: skip
_ALPHABETS = (0x249C, 0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6)  # 26 letters each, without a useful decomposition
_LETTERS = (
    ("авгеимнопрстухкзѕһіјԁԛԝѵԍѡӏүАВГЕИМНОПРСТУХКЅІЈӀҮ", "abreumhonpctyxk3shijdqwvgwlyabreumhonpctyxksijiy"),
    ("αβγεηικμνορσςτυχωϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "abyenikuvopostuxwcjabezhikmnoptyxc"),
    ("օսոհցյՕՍՏԼ", "ounhgjousl"),
    ("ᎪᎬᎻᎷᏚᏒᏢᏟᎳ", "aehmsrpcw"),
    ("ꓢꓬꓔꓮꓰꓴꓣꓠꓟꓲꓳꓡꓖꓑꓓꓗꓦꓪꓧꓐꓝꓚ", "sytaeurnmiolgpdkvwhbfc"),
    ("ɑɐɡɩıɪʏɴʀʟʜʙɢꜱᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢɛɵʋǝɯƨʂɳŋħłøđŧĦŁØĐŦ", "aagiiiynrlhbgsacdejkmoptuvwzeouemssnnhlodthlodt"),
    ("∶꞉ː˸׃։⁚", ":::::::"),
    ("‐‑‒–—―−⁃─━", "----------"),
    ("♯⌗", "##"),
    ("¦│┃∣ǀ❘", "||||||"),
    ("⁄∕╱", "///"),
    ("∗•", "**"),
    ("˂ᐸ", "<<"),
    ("\u1680\u2800", "  "),
)
_OTHERS = re.compile(r"[^\x00-\x7f]+")
_DROPPED = "\u200c\u200d\ufe0e\ufe0f\ufffd"


def fold(text: str) -> str:
    """Return a text with look-alikes of ASCII folded to ASCII and without combining marks; its case is kept."""
    if text.isascii():
        return text
    table = _table()
    return _OTHERS.sub(lambda match: match[0].translate(table), text)


@cache
def _table() -> dict[int, str | None]:
    from unicodedata import category as category_
    from unicodedata import normalize as normalize_

    normalize, category = normalize_, category_
    letters = {ord(a): b for alike, plain in _LETTERS for a, b in zip(alike, plain, strict=True)}
    table: dict[int, str | None] = {}
    for code in (code for codes in _SCANNED for code in codes):
        parts = normalize("NFKD", chr(code))
        folded = "".join(c for c in parts if category(c) not in {"Mn", "Me"}).translate(letters)
        if folded != chr(code) and folded.isascii():
            table[code] = folded or None
    table |= letters
    table |= {first + n: chr(ord("a") + n) for first in _ALPHABETS for n in range(26)}
    return table | dict.fromkeys(map(ord, _DROPPED))
