"""The lines of purged texts, by which copies of them are recognized in titles, records, operations and files.

Whole lines of 16 characters and more count. One that is only a path does not: other messages have it, too. Nothing of
it is written anywhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from scopes.history.needles import Needles
from scopes.model.message import Message, Part
from scopes.store.objects import one_line

DISTINCT: Final = 16  # characters of a line that no other text has by chance
MAX_SEARCHED: Final = 20_000  # of the lines, the longest: a search for more needs much memory
_NO_TEXTS: Final = frozenset({"call_id", "name", "media_type", "op"})  # of parts: words of the format
# Fields of documents with names, which others give to other things, too.
_NAMES: Final = frozenset(
    {"actor", "agent", "author", "branch", "capabilities", "conversation", "dependencies", "directory", "entity_id",
     "from", "id", "key", "keys", "kind", "name", "native_id", "parent", "path", "purpose", "source", "subject", "tags",
     "target", "topic", "topics", "uuid"}
)  # fmt: skip
_SESSION: Final = re.compile(
    rb'"(?:cwd|gitBranch|git_branch)": ?"(?:[^"\\]|\\.)*"|"repository_url": ?"(?:[a-z+]+://)?(?:git@)?[^"\\\s@?]*"'
)  # an address with a password is a text
_START: Final = re.compile(r"(?:ref: ?)?refs/|/|~/|(?:\.\.?/)+")  # of a path, or of the name of a ref
_FIRST: Final = re.compile(r"\.?[A-Za-z][a-z_-]*\d{0,2}")  # no key begins with an ordinary word
_NAME: Final = re.compile(r"[\w.-]{1,63}")
_KEY: Final = re.compile(r"(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*[0-9])[^/]{16,}")  # no name of a directory or file
_ESCAPE: Final = re.compile(r"\\u[0-9a-f]{4}")


class Quotes:
    """Collects texts; each line counts by itself."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add_message(self, message: Message, numbers: Container[int] | None) -> None:
        """Add the texts of a message; with the numbers of parts only theirs."""
        self.add_parts(message.parts, numbers)
        if numbers is None:
            self.add([text for name, text in _walk_named(message.payload) if name not in _NAMES])
            self.add(message.task)

    def add_parts(self, parts: Iterable[Part], numbers: Container[int] | None) -> None:
        """Add the texts of parts; with numbers only of those."""
        for number, part in enumerate(parts):
            if numbers is None or number in numbers:
                self.add([value for name, value in part.fields.items() if name not in _NO_TEXTS])

    def add(self, value: object) -> None:
        """Add all texts in a value."""
        self._forget_computed()
        for text in walk_texts(value):
            for line in map(str.strip, text.split("\n")):
                if line and not is_path(line):
                    self._lines[line[:_LONGEST]] = None

    def add_others(self, found: Quotes, kept: Quotes) -> None:
        """Add the lines that were found and are not among those that are kept."""
        self.add([line for line in found._lines if line not in kept._lines])

    def walk_matching(self, pattern: re.Pattern[str]) -> Iterator[str]:
        """Yield the lines that a pattern matches as a whole."""
        return filter(pattern.fullmatch, self._lines)

    def drop(self, found: Container[str]) -> None:
        """Leave some lines out: they are names of other things."""
        self._forget_computed()
        self._lines = {line: None for line in self._lines if line not in found}

    def _forget_computed(self) -> None:
        for name in ("_searched", "_forms", "_needles"):
            self.__dict__.pop(name, None)

    def lines(self) -> Sequence[str]:
        """Return the lines that are searched for, the longest first; of very many only the longest."""
        return self._searched[:MAX_SEARCHED]

    @property
    def unsearched(self) -> int:
        """How many lines are not searched for, because there are so many."""
        return max(len(self._searched) - MAX_SEARCHED, 0)

    def are_in(self, text: str) -> bool:
        """Return True if a text has one of the lines in it."""
        return self.are_in_bytes(text.encode("utf-8", "surrogatepass"))

    def are_in_bytes(self, data: bytes) -> bool:
        """Return True if bytes have one of the lines in them, as text or as JSON writes it."""
        return self._needles.are_in(data)

    def are_in_title(self, title: str) -> bool:
        """Return True if a title of the same conversation is one of the texts, begins like a line, or has one in it."""
        start = one_line(title).rstrip("…. ")
        begins = len(start) >= DISTINCT and any(line.startswith(start) for line in self._searched)
        return start in self._lines or begins or self.are_in(title)

    def are_in_record(self, data: bytes) -> bool:
        """Return True if a record of a transcript has a line, not counting where the session ran."""
        return self.are_in_bytes(data) and self.are_in_bytes(without_session(data))

    def are_in_document(self, data: bytes) -> bool:
        """Return True for a document of which a text has a line; names do not count. Other files count as one text."""
        if not self.are_in_bytes(data):
            return False
        document = _parse(data)
        return document is None or any(self._is_copy(name, text) for name, text in _walk_named(document))

    def _is_copy(self, name: str, text: str) -> bool:
        return name not in _NAMES and not is_path(text) and self.are_in(text)

    def without_copies(self, document: object, instead: str, name: str = "") -> Any:
        """Return a document with another text in place of each that makes `are_in_document` True.

        name: of the field that the document is the value of
        """
        match document:
            case str(text):
                return instead if self._is_copy(name, text) else text
            case dict():
                return {key: self.without_copies(value, instead, key) for key, value in document.items()}
            case list():
                return [self.without_copies(each, instead, name) for each in document]
        return document

    def walk_found(self, data: bytes) -> Iterator[str]:
        """Yield the lines that bytes have in them, some of them again."""
        return (self._forms[form] for form in self._needles.walk(data))

    @cached_property
    def _searched(self) -> list[str]:
        lines = [line for line in self._lines if len(line) >= DISTINCT]
        return sorted(lines, key=lambda line: (-len(line), line))

    @cached_property
    def _forms(self) -> Mapping[bytes, str]:
        return {form: line for line in self.lines() for form in forms_of(line)}

    @cached_property
    def _needles(self) -> Needles:
        return Needles(self._forms)


_LONGEST: Final = 4096


def is_path(text: str) -> bool:
    """Return True for a text that looks like the path of a file or directory, and not like a key."""
    start = _START.match(text)
    if start is None or text.count("/") < 2:
        return False
    first, *names = text[start.end() :].removesuffix("/").split("/")
    return _FIRST.fullmatch(first) is not None and all(_NAME.fullmatch(n) and not _KEY.fullmatch(n) for n in names)


def without_session(data: bytes) -> bytes:
    """Return stored messages or records of a transcript without the directory and branch of the session."""
    return _SESSION.sub(b"", data)


def _parse(data: bytes | str) -> object:
    """Return a JSON document; None if the bytes are none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def is_json(data: bytes) -> bool:
    """Return True if bytes are one JSON document."""
    return _parse(data) is not None


def forms_of(line: str) -> Iterator[bytes]:
    r"""Yield a line as UTF-8, and as JSON may write it if that differs: with `\t`, `\uXXXX`, `\/`."""
    plain = json.dumps(line, ensure_ascii=False)[1:-1]
    escaped = json.dumps(line)[1:-1]
    upper = _ESCAPE.sub(lambda match: match[0].upper().replace("U", "u", 1), escaped)
    forms = [plain.encode("utf-8", "backslashreplace"), escaped.encode(), upper.encode()]
    slashed = [form.replace(b"/", b"\\/") for form in forms]
    yield from dict.fromkeys((line.encode("utf-8", "surrogatepass"), *forms, *slashed))


def is_in_file(text: str, data: bytes) -> bool:
    """Return True if a stored file has a text, as such or as JSON writes it."""
    return any(form in data for form in forms_of(text))


def walk_texts(value: object) -> Iterator[str]:
    """Yield every text in a JSON value."""
    return (text for _, text in walk_named_texts(value))


def walk_named_texts(value: object) -> Iterator[tuple[str, str]]:
    """Yield every text in a JSON value with the name of the field that it, or the list with it, is in."""
    waiting = [("", value)]
    while waiting:
        name, found = waiting.pop()
        if isinstance(found, str):
            yield name, found
        elif isinstance(found, Mapping):
            waiting += found.items()
        elif isinstance(found, list | tuple):
            waiting += [(name, each) for each in found]


def _walk_named(document: object) -> Iterator[tuple[str, str]]:
    """Yield the texts of a document with their names, and those of documents that are texts in it."""
    for name, text in walk_named_texts(document):
        yield name, text
        if text.startswith(("{", "[")):
            yield from walk_named_texts(_parse(text))
