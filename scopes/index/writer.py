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

_INSERT_COMMIT = "INSERT INTO commits (number, oid, message) VALUES (?, ?, ?)"
_INSERT_EDGE = "INSERT INTO edge VALUES (?, ?)"
_INSERT_MESSAGE = """
    INSERT INTO message (number, id, author, author_kind, kind, model, time) VALUES (?, ?, ?, ?, ?, ?, ?)"""
_INSERT_TOUCHED = "INSERT INTO touched VALUES (?, ?)"
_INSERT_TEXT = "INSERT INTO full_text (rowid, text, reasoning, tool_input, tool_result) VALUES (?, ?, ?, ?, ?)"
_LAST_NUMBERS = "SELECT (SELECT max(number) FROM commits), (SELECT max(number) FROM message)"
_UPDATE_MESSAGE = "UPDATE message SET author = ?, author_kind = ?, kind = ?, model = ?, time = ? WHERE number = ?"
_DELETE_TEXT = """
    INSERT INTO full_text (full_text, rowid, text, reasoning, tool_input, tool_result)
    VALUES ('delete', ?, ?, ?, ?, ?)"""


_MAX_REMEMBERED = 10_000
_MAX_WAITING = 1000  # commits; rows are inserted in as many calls as there are tables
_MAX_WAITING_CHARACTERS = 1 << 20
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


class _Waiting:
    """Rows that are still to be inserted, by statement, and the numbers of the messages in them."""

    def __init__(self) -> None:
        self.commits: list[tuple[int, Oid, int | None]] = []
        self.edges: list[tuple[int, int]] = []
        self.messages: list[tuple[object, ...]] = []
        self.touched: list[tuple[int, int]] = []
        self.texts: list[tuple[int | str, ...]] = []
        self.numbers: dict[MessageId, int] = {}
        self.characters = 0

    @property
    def is_full(self) -> bool:
        return len(self.commits) >= _MAX_WAITING or self.characters >= _MAX_WAITING_CHARACTERS

    def insert(self, connection: sqlite3.Connection) -> None:
        connection.executemany(_INSERT_COMMIT, self.commits)
        connection.executemany(_INSERT_EDGE, self.edges)
        connection.executemany(_INSERT_MESSAGE, self.messages)
        connection.executemany(_INSERT_TOUCHED, self.touched)
        connection.executemany(_INSERT_TEXT, self.texts)


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
    """Writes through one connection, in the current transaction; `is_empty` if the index has no entry yet.

    Added rows may wait for others; `flush` inserts them. No other Writer of the connection may add meanwhile.
    """

    def __init__(self, connection: sqlite3.Connection, describe: Describe, *, is_empty: bool = False) -> None:
        self._connection = connection
        self._describe = describe
        self._values: dict[tuple[str, str], int] = {}
        self._folded: dict[tuple[str, str], int] = {}  # as `_values`, by texts that are not folded
        self._recent: dict[Oid, int] = {}  # numbers of the commits added last, with all that wait
        self._added = _AddedIds() if is_empty else None  # None if the index has ids that this did not add
        self._waiting = _Waiting()
        self._last_numbers: tuple[int, int] | None = None  # of commits and messages

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

    def flush(self) -> None:
        """Insert the rows that wait; call it before other statements read the tables."""
        waiting, self._waiting = self._waiting, _Waiting()
        waiting.insert(self._connection)
        if len(self._recent) >= _MAX_REMEMBERED:
            self._recent.clear()

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
        waiting = self._waiting
        last_commit, last_message = self._last()
        number = last_commit + 1
        self._last_numbers = number, last_message
        waiting.commits.append((number, oid, message))
        waiting.edges += [(number, self.number_of(parent)) for parent in dict.fromkeys(parents)]
        self._recent[oid] = number
        if self._added is not None:
            self._added.add(oid)
        if waiting.is_full:
            self.flush()
        return number

    def _last(self) -> tuple[int, int]:
        """Return the largest numbers of commits and of messages, also of those that wait."""
        if self._last_numbers is None:
            found = self._connection.execute(_LAST_NUMBERS).fetchone()
            self._last_numbers = found[0] or 0, found[1] or 0
        return self._last_numbers

    def _add_message(self, document: IndexDocument) -> int:
        known = self.message_number(document.id)
        if known is not None:
            return known
        if self._added is not None:
            self._added.add(document.id)
        last_commit, last_message = self._last()
        number = last_message + 1
        self._last_numbers = last_commit, number
        waiting = self._waiting
        waiting.numbers[document.id] = number
        waiting.messages.append((number, document.id, *self._fields(document)))
        waiting.touched += [(value, number) for value in self._touched(document)]
        waiting.texts.append((number, *map(searchable, document.texts)))
        waiting.characters += sum(map(len, document.texts))
        return number

    def _fields(self, document: IndexDocument) -> tuple[int | None, ...]:
        """Return the row of a message without its number and id."""
        return (
            self.value_number("author", document.author),
            self.value_number("author_kind", document.author_kind),
            self.value_number("kind", document.kind),
            None if document.model is None else self.value_number("model", document.model),
            document.time,
        )

    def message_number(self, message_id: MessageId) -> int | None:
        """Return the number of a message; None if it is not in the index."""
        if self._added is not None and message_id not in self._added:
            return None
        if message_id in self._waiting.numbers:
            return self._waiting.numbers[message_id]
        found = self._connection.execute("SELECT number FROM message WHERE id = ?", (message_id,)).fetchone()
        return None if found is None else int(found[0])

    def replace(self, number: int, old: Commit, new: Commit) -> None:
        """Describe a message, which was described by `old`, by another one of its commits.

        Raises:
            Corrupt, NotFound: the message cannot be read any more.
        """
        document, before = self._describe(new), self._describe(old)
        if document is None or document == before:
            return
        self._remove_touched(number, before)
        touched = [(value, number) for value in self._touched(document)]
        self._connection.executemany(_INSERT_TOUCHED, touched)
        self._connection.execute(_UPDATE_MESSAGE, (*self._fields(document), number))
        if before is not None and document.texts != before.texts:
            self._connection.execute(_DELETE_TEXT, (number, *map(searchable, before.texts)))
            self._connection.execute(_INSERT_TEXT, (number, *map(searchable, document.texts)))

    def remove(self, number: int, commit: Commit) -> None:
        """Delete a message. Its document is read again: a full-text table without contents needs the old texts.

        Raises:
            Corrupt, NotFound: the message cannot be read any more.
        """
        document = self._describe(commit)
        if document is None:
            raise NotFound(f"commit {commit.oid} has no message")
        self._connection.execute(_DELETE_TEXT, (number, *map(searchable, document.texts)))
        self._remove_touched(number, document)
        self._connection.execute("DELETE FROM message WHERE number = ?", (number,))

    def _remove_touched(self, number: int, document: IndexDocument | None) -> None:
        gone = [] if document is None else [(value, number) for value in self._touched(document)]
        self._connection.executemany("DELETE FROM touched WHERE value = ? AND message = ?", gone)

    def _touched(self, document: IndexDocument) -> set[int]:
        tools = {self.value_number("tool", name) for name in document.tools}
        files = {self.value_number("file", path) for path in document.files}
        return tools | files | {self.value_number(field, text) for field, text in document.outcomes}
