"""Add messages to the search index and delete them; `sync` decides which.

The indexed fields of a message come from a function of a higher package (`Describe`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from scopes.errors import Corrupt, NotFound
from scopes.ids import MessageId, Oid
from scopes.index.tokenize import fold, searchable
from scopes.store.objects import Commit

_INSERT_TEXT = "INSERT INTO full_text (rowid, text, reasoning, tool_input, tool_result) VALUES (?, ?, ?, ?, ?)"
_DELETE_TEXT = """
    INSERT INTO full_text (full_text, rowid, text, reasoning, tool_input, tool_result)
    VALUES ('delete', ?, ?, ?, ?, ?)"""


_MAX_REMEMBERED = 10_000
_FILTER_BYTES = 1 << 24


class IndexDocument(NamedTuple):
    """One message; `texts` are in the order of `schema.COLUMNS`, `time` is in seconds since 1970, None if unknown.

    `outcomes` are pairs of a field and a value: `("is", "failed")`, `("exit", "1")`.
    """

    id: MessageId
    author: str
    author_kind: str
    kind: str
    model: str | None
    time: int | None
    tools: tuple[str, ...]
    files: tuple[str, ...]
    texts: tuple[str, str, str, str]
    outcomes: tuple[tuple[str, str], ...] = ()


class Describe(Protocol):
    """Makes the documents of commits."""

    def __call__(self, commit: Commit, /) -> IndexDocument | None:
        """Return the document of a commit, None if it is not a message; raise NotFound or Corrupt."""

    def expect(self, count: Callable[[], int], /) -> None:
        """Take a function that counts the messages that are still to be added, for a progress bar."""


class _AddedIds:
    """The ids that were added to an empty index, in 16 MiB of bits however many they are.

    An id that is not in here is not in the index. One that is may have met the bit of another id: the index knows.
    """

    def __init__(self) -> None:
        self._bits = bytearray(_FILTER_BYTES)

    def add(self, added: str) -> None:
        number = hash(added)
        self._bits[(number >> 3) % _FILTER_BYTES] |= 1 << (number & 7)

    def __contains__(self, wanted: object) -> bool:
        number = hash(wanted)
        return self._bits[(number >> 3) % _FILTER_BYTES] & 1 << (number & 7) != 0


class Writer:
    """Writes through one connection, in the current transaction; `is_empty` if the index has no entry yet."""

    def __init__(self, connection: sqlite3.Connection, describe: Describe, *, is_empty: bool = False) -> None:
        self._connection = connection
        self._describe = describe
        self._values: dict[tuple[str, str], int] = {}
        self._folded: dict[tuple[str, str], int] = {}  # as `_values`, by texts that are not folded
        self._recent: dict[Oid, int] = {}  # numbers of the commits added last
        self._added = _AddedIds() if is_empty else None  # None if the index has ids that this did not add

    def __contains__(self, oid: object) -> bool:
        """Return True if a commit is in the index."""
        if oid in self._recent:
            return True
        if self._added is not None and oid not in self._added:
            return False
        return self._connection.execute("SELECT 1 FROM commits WHERE oid = ?", (oid,)).fetchone() is not None

    def number_of(self, oid: Oid) -> int:
        """Return the number of a commit that is in the index."""
        recent = self._recent.get(oid)
        if recent is not None:
            return recent
        return int(self._connection.execute("SELECT number FROM commits WHERE oid = ?", (oid,)).fetchone()[0])

    def value_number(self, field: str, text: str) -> int:
        """Return the number of a value of a field; add it if it is new. Values except conversation ids are folded."""
        known = self._folded.get((field, text))
        if known is not None:
            return known
        key = (field, text if field == "conversation" else fold(text).encode("utf-8", "replace").decode())
        number = self._values.get(key)
        if number is None:
            self._connection.execute("INSERT OR IGNORE INTO value (field, text) VALUES (?, ?)", key)
            found = self._connection.execute("SELECT number FROM value WHERE field = ? AND text = ?", key).fetchone()
            number = self._values[key] = int(found[0])
        if len(self._folded) >= _MAX_REMEMBERED:
            self._folded.clear()
        self._folded[field, text] = number
        return number

    def add(self, commit: Commit) -> int:
        """Add a commit whose parents are in the index, and its message if it is new and readable; return its number."""
        try:
            document = self._describe(commit)
        except (Corrupt, NotFound):
            document = None
        return self.add_document(commit.oid, commit.parents, document)

    def add_document(self, oid: Oid, parents: Iterable[Oid], document: IndexDocument | None) -> int:
        """Add a commit whose parents are in the index, and return its number, which is that of the one before plus one.

        `document` is None if it has no message that can be read.
        """
        message = None if document is None else self._add_message(document)
        row = (oid, message)
        number = int(self._connection.execute("INSERT INTO commits (oid, message) VALUES (?, ?)", row).lastrowid or 0)
        if len(self._recent) >= _MAX_REMEMBERED:
            self._recent.clear()
        self._recent[oid] = number
        if self._added is not None:
            self._added.add(oid)
        for parent in dict.fromkeys(parents):
            self._connection.execute("INSERT INTO edge VALUES (?, ?)", (number, self.number_of(parent)))
        return number

    def _add_message(self, document: IndexDocument) -> int:
        known = self.message_number(document.id)
        if known is not None:
            return known
        if self._added is not None:
            self._added.add(document.id)
        row = (
            document.id,
            self.value_number("author", document.author),
            self.value_number("author_kind", document.author_kind),
            self.value_number("kind", document.kind),
            None if document.model is None else self.value_number("model", document.model),
            document.time,
        )
        cursor = self._connection.execute(
            "INSERT INTO message (id, author, author_kind, kind, model, time) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        number = int(cursor.lastrowid or 0)
        for value in self._touched(document):
            self._connection.execute("INSERT INTO touched VALUES (?, ?)", (value, number))
        self._connection.execute(_INSERT_TEXT, (number, *map(searchable, document.texts)))
        return number

    def message_number(self, message_id: MessageId) -> int | None:
        """Return the number of a message; None if it is not in the index."""
        if self._added is not None and message_id not in self._added:
            return None
        found = self._connection.execute("SELECT number FROM message WHERE id = ?", (message_id,)).fetchone()
        return None if found is None else int(found[0])

    def replace(self, number: int, old: Commit, new: Commit) -> None:
        """Describe a message, which was described by `old`, by another one of its commits; raises as `remove` does."""
        document = self._describe(new)
        if document is None or document == self._describe(old):
            return
        self.remove(number, old)
        row = (self._add_message(document), number)
        self._connection.execute("UPDATE commits SET message = ? WHERE message = ?", row)

    def remove(self, number: int, commit: Commit) -> None:
        """Delete a message. Its document is read again: a full-text table without contents needs the old texts.

        Raises:
            Corrupt, NotFound: the message cannot be read any more.
        """
        document = self._describe(commit)
        if document is None:
            raise NotFound(f"commit {commit.oid} has no message")
        self._connection.execute(_DELETE_TEXT, (number, *map(searchable, document.texts)))
        gone = [(v, number) for v in self._touched(document)]
        self._connection.executemany("DELETE FROM touched WHERE value = ? AND message = ?", gone)
        self._connection.execute("DELETE FROM message WHERE number = ?", (number,))

    def _touched(self, document: IndexDocument) -> set[int]:
        tools = {self.value_number("tool", name) for name in document.tools}
        files = {self.value_number("file", path) for path in document.files}
        return tools | files | {self.value_number(field, text) for field, text in document.outcomes}
