"""Fill the templates of this package: every text is escaped, unless it is HTML that this package made.

A template file has sections, each below a line `<!--# NAME -->`, with places such as `{{title}}`. Text from outside
never becomes markup: `Html` is only made by `escape`, by `fill` and by the Markdown renderer.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from hashlib import sha256
from html import escape as escape_markup
from typing import Final

from scopes.errors import Corrupt
from scopes.sanitize import visible

_SECTION: Final = re.compile(r"^<!--# (\w+) -->\n", re.MULTILINE)
_PLACE: Final = re.compile(r"\{\{(\w+)\}\}")
_DIRECTORY: Final = os.path.dirname(__file__)


class Html(str):
    """Text that is HTML and may be written as it is."""

    __slots__ = ()


EMPTY: Final = Html("")


def escape(text: str) -> Html:
    """Return a text as HTML, also inside a quoted attribute; characters that hide or turn text become U+FFFD."""
    return Html(escape_markup(visible(text)))


def join(pieces: list[Html], separator: str = "") -> Html:
    """Join HTML; the separator is HTML, too."""
    return Html(separator.join(pieces))


def read_file(name: str) -> str:
    """Return a file of this package."""
    with open(os.path.join(_DIRECTORY, name), encoding="utf-8") as file:
        return file.read()


def policy_hash(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline script or style."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


class Template:
    """The sections of a template file."""

    def __init__(self, name: str) -> None:
        _, *pieces = _SECTION.split(read_file(name))
        self._sections = {
            section: _PLACE.split(text.rstrip("\n")) for section, text in zip(pieces[::2], pieces[1::2], strict=True)
        }

    def fill(self, section: str, **values: str) -> Html:
        """Return a section with its places filled; a value that is no `Html` is escaped.

        Raises:
            Corrupt: a value is missing.
        """
        pieces = list(self._sections[section])
        for number in range(1, len(pieces), 2):
            try:
                value = values[pieces[number]]
            except KeyError as error:
                raise Corrupt(f"the section {section} of a template has no {pieces[number]}") from error
            pieces[number] = value if isinstance(value, Html) else escape(value)
        return Html("".join(pieces))

    def split(self, section: str, place: str, **values: str) -> tuple[Html, Html]:
        """Return a section in front of a place and behind it, for content that is not in memory as a whole."""
        mark = Html("\0")  # no value has one
        before, _, after = self.fill(section, **{**values, place: mark}).partition(mark)
        return Html(before), Html(after)
