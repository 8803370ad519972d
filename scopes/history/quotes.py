"""The texts of what is purged: to recognize copies of them in titles, operations, memory entries and files.

Only what is copied as a whole, or as whole lines, can be recognized. Nothing of it is written anywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from scopes.model.message import Message, Part
from scopes.store.objects import one_line

SHORTEST: Final = 4  # characters of a text that is recognized where a short text is expected, such as a title
_LONGER: Final = 8
DISTINCT: Final = 16  # characters of a line that no other text has by chance
MAX_SEARCHED: Final = 64
_NO_TEXTS: Final = frozenset({"call_id", "name", "media_type", "op"})
_LONGEST: Final = 4096


class Quotes:
    """Collects texts; each line counts by itself."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def add_message(self, message: Message, numbers: Container[int] | None) -> None:
        """Add the texts of a message; with the numbers of parts only theirs."""
        self.add_parts(message.parts, numbers)
        if numbers is None:
            self.add(message.payload)
            self.add(message.task)

    def add_parts(self, parts: Iterable[Part], numbers: Container[int] | None) -> None:
        """Add the texts of parts; with numbers only of those."""
        for number, part in enumerate(parts):
            if numbers is None or number in numbers:
                for name, value in part.fields.items():
                    if name not in _NO_TEXTS:
                        self.add(value)

    def add(self, value: object) -> None:
        """Add all texts in a value."""
        self.__dict__.pop("_sorted", None)
        self.__dict__.pop("_by_start", None)
        for text in walk_texts(value):
            for line in text.split("\n"):
                stripped = line.strip()
                if len(stripped) >= SHORTEST:
                    self._lines[stripped[:_LONGEST]] = None

    def are_in(self, text: str) -> bool:
        """Return True if a text has one of the lines in it, or is the beginning of one, as titles and subjects are."""
        start = one_line(text).rstrip("…").strip()
        if len(start) >= SHORTEST and self._begins_a_line(start):
            return True
        return self._has_line(text, SHORTEST)

    def are_copied_in(self, text: str) -> bool:
        """Return True if a text that undo may need has one of the longer lines in it."""
        return self._has_line(text, _LONGER)

    def _begins_a_line(self, start: str) -> bool:
        place = bisect_left(self._sorted, start)
        return place < len(self._sorted) and self._sorted[place].startswith(start)

    def _has_line(self, text: str, shortest: int) -> bool:
        """Look at each place of the text only for the lines that begin like it: there may be very many lines."""
        for place in range(len(text) - SHORTEST + 1):
            for line in self._by_start.get(text[place : place + SHORTEST], ()):
                if len(line) >= shortest and text.startswith(line, place):
                    return True
        return False

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(map(one_line, self._lines))

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for line in self._lines:
            found.setdefault(line[:SHORTEST], []).append(line)
        return found

    def are_in_file(self, data: bytes) -> bool:
        """Return True if a stored file has one of the distinct lines in it, as text or as JSON writes it."""
        return any(form in data for line in self.distinct() for form in forms_of(line))

    def distinct(self) -> list[str]:
        """Return the lines that are long enough to be found by chance nowhere else, the longest first."""
        lines = [line for line in self._lines if len(line) >= DISTINCT]
        return sorted(lines, key=lambda line: (-len(line), line))[:MAX_SEARCHED]


def forms_of(line: str) -> Iterator[bytes]:
    """Yield a line as UTF-8, and as JSON writes it if that differs."""
    plain = line.encode("utf-8", "surrogatepass")
    yield plain
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').encode("utf-8", "surrogatepass")
    if escaped != plain:
        yield escaped


def walk_texts(value: object) -> Iterator[str]:
    """Yield every text in a JSON value."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, Mapping):
            waiting += found.values()
        elif isinstance(found, list | tuple):
            waiting += found
