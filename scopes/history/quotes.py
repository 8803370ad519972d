"""The texts of what is purged: to recognize copies of them in titles, operations, memory entries, records and files.

Only what is copied as a whole, as whole lines or from its beginning can be recognized. Nothing of it is written
anywhere.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from scopes.history.names_in_records import (
    DOCUMENT_NAMES,
    NO_CONTENT,
    NO_TEXTS,
    PAYLOAD_NAMES,
    STATEMENTS,
    TOPICS,
    is_name,
    without_names,
)
from scopes.history.needles import Needles
from scopes.history.paths_in_texts import is_directory, is_path
from scopes.model.message import Message, Part
from scopes.store.objects import one_line

SHORTEST: Final = 4  # characters of a text that is recognized where a short text is expected, such as a title
_LONGER: Final = 8
DISTINCT: Final = 16  # characters of a line that no other text has by chance
MAX_SEARCHED: Final = 20_000  # of the distinct lines, the longest: a search for more needs much memory
_FEW: Final = 64
_NAME: Final = 3  # words, at most
_LONGEST: Final = 4096
_CUT: Final = ("…", "...", "[truncated]")  # what ends a text that an agent has cut
_ESCAPE: Final = re.compile(r"\\u[0-9a-f]{4}")
_DECIDED: Final = frozenset({"approved", "refine", "rejected"})  # what a decision about a fact says
_REF: Final = re.compile(r"(?:ref: ?)?refs/\S+")  # of the log of operations: the name of a branch


class Quotes:
    """Collects texts; each line counts by itself."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}
        self._texts: dict[str, None] = {}  # whole ones, on one line

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add_message(self, message: Message, numbers: Container[int] | None) -> None:
        """Add the texts of a message; with the numbers of parts only theirs."""
        self.add_parts(message.parts, numbers)
        if numbers is None:
            self.add([*_walk_payload(message.payload or {})])
            self.add(message.task)

    def add_topics(self, message: Message) -> None:
        """Add what a typed message is about, where that is a sentence and not only a name."""
        about = walk_texts([(message.payload or {}).get(name) for name in TOPICS])
        self.add([text for text in about if len(text.split()) > _NAME])

    def add_parts(self, parts: Iterable[Part], numbers: Container[int] | None) -> None:
        """Add the texts of parts; with numbers only of those. The directory of a call is left out."""
        for number, part in enumerate(parts):
            if numbers is None or number in numbers:
                for name, value in part.fields.items():
                    if name not in NO_TEXTS:
                        self.add([text for inner, text in walk_named_texts(value) if not is_directory(inner, text)])

    def add(self, value: object) -> None:
        """Add all texts in a value."""
        self._forget_computed()
        for text in walk_texts(value):
            whole = _flat(text)
            if len(whole) >= SHORTEST:
                self._texts[whole] = None
            for line in text.split("\n"):
                stripped = line.strip()
                if len(stripped) >= SHORTEST:
                    self._lines[stripped[:_LONGEST]] = None

    def _forget_computed(self) -> None:
        for name in _COMPUTED:
            self.__dict__.pop(name, None)

    def add_others(self, found: Quotes, kept: Quotes) -> None:
        """Add the texts that were found and are not among those that are kept."""
        self.add([text for text in (*found._texts, *found._lines) if not kept._has(text)])

    def walk_matching(self, pattern: re.Pattern[str]) -> Iterator[str]:
        """Yield the texts and lines that a pattern matches as a whole."""
        return filter(pattern.fullmatch, (*self._texts, *self._lines))

    def drop(self, found: Container[str]) -> None:
        """Leave some texts and lines out: they are names of other things."""
        self._forget_computed()
        self._texts = {text: None for text in self._texts if text not in found}
        self._lines = {line: None for line in self._lines if line not in found}

    def _has(self, text: str) -> bool:
        return text in self._texts or text in self._lines

    def may_be_in(self, data: bytes) -> bool:
        """Return False if no text of a record can have one of the distinct lines, or be a whole text."""
        return self.are_in_file(data) or self._quoted.are_in(data)

    def are_in_leaf(self, name: str, text: str, kept: bytes) -> bool:
        """Return True if a text in a record has a distinct line, is a longer text, or the beginning of one.

        The directory of the session is no copy, and neither is a word of the format or an id.

        kept: a stored file whose texts and lines, as such or as JSON writes them, do not count
        """
        if is_name(name, text):
            return False
        found = (self._lines_by_form[form] for form in self._forms.walk(text.encode("utf-8", "surrogatepass")))
        if not all(is_in_file(line, kept) for line in dict.fromkeys(found)):
            return True
        if name in NO_CONTENT:
            return False
        flat = _flat(text)
        if len(flat) >= _LONGER and flat in self._texts and not is_in_file(flat, kept):
            return True
        return not all(is_in_file(each, kept) for each in self._walk_beginning(flat))

    def are_in(self, text: str) -> bool:
        """Return True if a text has one of the lines in it, or is the beginning of one, as titles and subjects are."""
        start = one_line(text).rstrip("…").strip()
        if len(start) >= SHORTEST and self._begins_a_line(start):
            return True
        return self._has_line(text, SHORTEST)

    def are_distinct_in(self, text: str) -> bool:
        """Return True if a text is one of the lines, the beginning of one, or has one in it, and not by chance.

        A line that is short may be a word that others use, too.
        """
        start = one_line(text).strip()
        mark = next((each for each in _CUT if start.endswith(each)), "")
        start = start.removesuffix(mark).strip()
        place = bisect_left(self._sorted, start)
        if len(start) >= SHORTEST and self._sorted[place : place + 1] == [start]:
            return True
        if len(start) >= (_LONGER if mark else DISTINCT) and self._begins_a_line(start):
            return True
        return self._has_line(text, DISTINCT)

    def are_words_in(self, text: str) -> bool:
        """Return True if a text about the same conversation has one of the lines in it, and not as a part of a word."""
        return self.are_distinct_in(text) or self._has_line(text, SHORTEST, as_words=True)

    def are_copied_in(self, text: str) -> bool:
        """Return True if a text that undo may need has one of the longer lines in it."""
        return self._has_line(text, _LONGER)

    def have_line_in(self, text: str) -> bool:
        """Return True if a text has one of the distinct lines in it."""
        return self._has_line(text, DISTINCT)

    def have_unusual_line_in(self, text: str) -> bool:
        """Return True if a text has one of the longer lines in it as words, and one with digits or signs."""
        return _has_any(text, self._unusual, self._unusual_lengths, _LONGER, as_words=True)

    def _begins_a_line(self, start: str) -> bool:
        place = bisect_left(self._sorted, start)
        return place < len(self._sorted) and self._sorted[place].startswith(start)

    def _has_line(self, text: str, shortest: int, *, as_words: bool = False) -> bool:
        return _has_any(text, self._lines, self._lengths, shortest, as_words=as_words)

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(map(one_line, self._lines))

    @cached_property
    def _lengths(self) -> dict[str, set[int]]:
        return _lengths_of(self._lines)

    def are_in_file(self, data: bytes) -> bool:
        """Return True if a stored file has one of the distinct lines in it, as text or as JSON writes it."""
        return self._forms.are_in(data)

    def are_in_document(self, data: bytes) -> bool:
        """Return True for a document with a text that has a distinct line, or is a longer one; or such a file.

        The directory that something was written in is no copy, and neither is a name, or a path in a text: others give
        it, too.
        """
        document = _parse(data)
        if document is None:
            return self.prose.are_in_file(data)
        return any(self._is_copy(name, text) for name, text in _walk_leaves(document, DOCUMENT_NAMES))

    def without_copies(self, document: object, instead: str, name: str = "") -> Any:
        """Return a document with another text in place of each for which `are_in_document` is True.

        name: of the field that the document is the value of
        """
        match document:
            case str(text):
                leaves = _walk_leaves({name: text})
                return instead if any(self._is_copy(*leaf) for leaf in leaves) else text
            case dict():
                return {
                    key: value if key in DOCUMENT_NAMES else self.without_copies(value, instead, key)
                    for key, value in document.items()
                }
            case list():
                return [self.without_copies(each, instead, name) for each in document]
        return document

    def _is_copy(self, name: str, text: str) -> bool:
        if text in _DECIDED or _REF.fullmatch(text) is not None:
            return False
        is_whole = (name in STATEMENTS or not is_path(text)) and self._is_whole(name, text, _LONGER)
        return is_whole or self.prose.have_line_in(text)

    def are_mentioned_in(self, data: bytes) -> bool:
        """Return True for a document with a distinct line as a name or a path, or a short text that is not only words.

        It is also True for a document that only mentions them, and is not a copy.
        """
        leaves = _walk_leaves(_parse(data), {"directory"}) if self._texts else ()
        return any(self.are_in_name(text) for _, text in leaves)

    def are_in_name(self, text: str) -> bool:
        """Return True if a text has a distinct line in it, or as a word a short text that is not only words."""
        return self.have_line_in(text) or any(has_words(text, each) for each in self._short_unusual)

    @cached_property
    def prose(self) -> Quotes:
        """The texts and lines that are no paths of files."""
        left = Quotes()
        left._lines = {line: None for line in self._lines if not is_path(line)}
        left._texts = {text: None for text in self._texts if not is_path(text)}
        return left

    @cached_property
    def whole_only(self) -> Sequence[str]:
        """The texts without a distinct line: they are only recognized as a whole."""
        return [text for text in self._texts if len(text) >= _LONGER and not self._has_line(text, DISTINCT)]

    @property
    def only_text(self) -> str | None:
        """The text, if it is one; whatever is shorter than a word is left out."""
        return next(iter(self._texts)) if len(self._texts) == 1 else None

    def are_in_record(self, data: bytes) -> bool:
        """Return True if a record of a transcript has a text of it, a line, or the beginning of one that was cut."""
        if not self._texts:
            return False
        if self.are_in_file(data) and self.are_in_file(without_names(data)):
            return True
        document = _parse(data)
        if document is None:  # it is not known what is a text in it
            return any(form in data for text in self._short for form in forms_of(text))
        return any(self._is_copied(name, text) for name, text in _walk_leaves(document))

    def _is_copied(self, name: str, text: str) -> bool:
        if is_name(name, text):
            return False
        if self._plain.are_in(text.encode("utf-8", "surrogatepass")) or self._is_whole(name, text, SHORTEST):
            return True
        if name in NO_CONTENT:
            return False
        lines = (line.strip() for line in text.split("\n"))
        if not self._lines.keys().isdisjoint({line[:_LONGEST] for line in lines if len(line) >= _LONGER}):
            return True
        flat = _flat(text)
        return self._is_beginning(flat) or self._has_short(flat)

    def _is_whole(self, name: str, text: str, shortest: int) -> bool:
        flat = "" if name in NO_CONTENT or not self._texts else _flat(text)
        return len(flat) >= shortest and flat in self._texts

    def _has_short(self, flat: str) -> bool:
        if len(self._short) > _FEW:
            return _has_any(flat, self._short, self._short_lengths)
        return any(each in flat for each in self._short)

    def _is_beginning(self, flat: str) -> bool:
        """Return True for a text that is cut: one with a mark of that, or a longer one that is no path."""
        return next(self._walk_beginning(flat), None) is not None

    def _walk_beginning(self, flat: str) -> Iterator[str]:
        """Yield the texts and lines that were cut if a text is such a beginning of them."""
        mark = next((each for each in _CUT if flat.endswith(each)), "")
        start = flat.removesuffix(mark).rstrip() if mark else flat
        if len(start) < (_LONGER if mark else DISTINCT) or (not mark and is_path(start)):
            return
        for place in range(bisect_left(self._beginnings, (start,)), len(self._beginnings)):
            flat, original = self._beginnings[place]
            if not flat.startswith(start):
                return
            yield original

    def distinct(self) -> Sequence[str]:
        """Return the lines that are long enough to be found by chance nowhere else, the longest first.

        Of very many only the longest, see `unsearched`.
        """
        return self._distinct[:MAX_SEARCHED]

    @property
    def unsearched(self) -> int:
        """How many lines are not looked for in files and messages, because there are so many."""
        return max(len(self._distinct) - MAX_SEARCHED, 0)

    @cached_property
    def _distinct(self) -> list[str]:
        lines = [line for line in self._lines if len(line) >= DISTINCT]
        return sorted(lines, key=lambda line: (-len(line), line))

    @cached_property
    def _plain(self) -> Needles:
        return Needles(line.encode("utf-8", "surrogatepass") for line in self.distinct())

    @cached_property
    def _forms(self) -> Needles:
        return Needles(self._lines_by_form)

    @cached_property
    def _lines_by_form(self) -> Mapping[bytes, str]:
        return {form: line for line in self.distinct() for form in forms_of(line)}

    @cached_property
    def _short(self) -> dict[str, None]:
        """The whole texts that are shorter than distinct lines."""
        return dict.fromkeys(sorted(text for text in self._texts if _LONGER <= len(text) < DISTINCT))

    @cached_property
    def _short_unusual(self) -> list[str]:
        """Those of them that have digits or signs, as passwords do; few of many."""
        return [text for text in self._short if not text.replace(" ", "").isalpha()][:_FEW]

    @cached_property
    def _unusual(self) -> dict[str, None]:
        """The longer lines that have digits or signs."""
        return {line: None for line in self._lines if len(line) >= _LONGER and not line.replace(" ", "").isalpha()}

    @cached_property
    def _unusual_lengths(self) -> dict[str, set[int]]:
        return _lengths_of(self._unusual)

    @cached_property
    def _short_lengths(self) -> dict[str, set[int]]:
        return _lengths_of(self._short)

    @cached_property
    def _quoted(self) -> Needles:
        """The same as JSON writes them, with their quotation marks."""
        return Needles(b'"%b"' % form for text in self._short for form in forms_of(text))

    @cached_property
    def _beginnings(self) -> list[tuple[str, str]]:
        """The texts and lines as they are on one line, each with how it is in full."""
        return sorted({*((text, text) for text in self._texts), *((_flat(line), line) for line in self._lines)})


_COMPUTED: Final = tuple(name for name, value in vars(Quotes).items() if isinstance(value, cached_property))


def _lengths_of(lines: Iterable[str]) -> dict[str, set[int]]:
    """Return the lengths of lines by how they begin."""
    found: dict[str, set[int]] = {}
    for line in lines:
        found.setdefault(line[:SHORTEST], set()).add(len(line))
    return found


def _has_any(
    text: str,
    lines: Container[str],
    lengths: Mapping[str, set[int]],
    shortest: int = SHORTEST,
    *,
    as_words: bool = False,
) -> bool:
    """Look at each place of the text for the lengths of lines that begin like it: many lines may begin alike."""
    for place in range(len(text) - SHORTEST + 1):
        for length in lengths.get(text[place : place + SHORTEST], ()):
            end = place + length
            if (
                shortest <= length <= len(text) - place
                and text[place:end] in lines
                and not (as_words and _is_cut(text, place, end))
            ):
                return True
    return False


def has_words(text: str, words: str) -> bool:
    """Return True if a text has words in it, and not as a part of a longer word."""
    place = text.find(words)
    while place >= 0 and _is_cut(text, place, place + len(words)):
        place = text.find(words, place + 1)
    return place >= 0


def _is_cut(text: str, *places: int) -> bool:
    """Return True if a place is within a word, in a script that has spaces between words."""
    return any(0 < place < len(text) and all(map(_is_of_word, text[place - 1 : place + 1])) for place in places)


def _is_of_word(character: str) -> bool:
    return character.isdecimal() or character.lower() != character.upper()


def _flat(text: str) -> str:
    """Return a text on one line: agents write some copies so."""
    return " ".join(text[: 2 * _LONGEST].split())[:_LONGEST]


def _walk_payload(payload: Mapping[str, object]) -> Iterator[object]:
    """Yield what the document of a message says, without names and words of the format."""
    for name, value in payload.items():
        for each in () if name in PAYLOAD_NAMES else value if isinstance(value, list) else (value,):
            if isinstance(each, Mapping):
                yield from (found for inner, found in each.items() if inner not in PAYLOAD_NAMES)
            else:
                yield each


def without_directory(data: bytes) -> bytes:
    """Return a JSON document without the directory that it was written in; the data if it is none, or has none."""
    document = _parse(data) if b'"directory"' in data else None
    if not isinstance(document, dict) or "directory" not in document:
        return data
    kept = {name: value for name, value in document.items() if name != "directory"}
    return json.dumps(kept, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _walk_leaves(document: object, skipped: Container[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield the texts of a document with their names, and those of documents that are texts in it."""
    for name, text in walk_named_texts(document, skipped):
        yield name, text
        if text.startswith(("{", "[")):
            yield from walk_named_texts(_parse(text))


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


def walk_named_texts(value: object, skipped: Container[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield every text in a JSON value with the name of the field that it, or the list with it, is in."""
    waiting = [("", value)]
    while waiting:
        name, found = waiting.pop()
        if isinstance(found, str):
            yield name, found
        elif isinstance(found, Mapping):
            waiting += [(each, inner) for each, inner in found.items() if each not in skipped]
        elif isinstance(found, list | tuple):
            waiting += [(name, each) for each in found]
