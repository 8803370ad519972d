"""Add messages to the search index and delete them; `sync` decides which.

The indexed fields of a message come from a function of a higher package (`Describe`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
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


class Writer:
    """Writes through one connection, in the current transaction; no other may add meanwhile."""

    def __init__(self, connection: sqlite3.Connection, describe: Describe) -> None:
        self._connection = connection
        self._describe = describe
        self._values: dict[tuple[str, str], int] = {}
        self._recent: dict[Oid, int] = {}  # numbers of the commits added last, which most commits follow
        found = connection.execute(_LAST_NUMBERS).fetchone()
        self._last_commit: int = found[0] or 0
        self._last_message: int = found[1] or 0

    def __contains__(self, oid: object) -> bool:
        """Return True if a commit is in the index."""
        return oid in self._recent or self._find("SELECT number FROM commits WHERE oid = ?", oid) is not None

    def number_of(self, oid: Oid) -> int:
        """Return the number of a commit that is in the index."""
        number = self._recent.get(oid) or self._find("SELECT number FROM commits WHERE oid = ?", oid)
        if number is None:
            raise NotFound(f"commit {oid} is not in the index")
        return number

    def value_number(self, field: str, text: str) -> int:
        """Return the number of a value of a field; add it if it is new. Values except conversation ids are folded."""
        number = self._values.get((field, text))
        if number is None:
            key = (field, text if field == "conversation" else fold(text).encode("utf-8", "replace").decode())
            self._connection.execute("INSERT OR IGNORE INTO value (field, text) VALUES (?, ?)", key)
            found = self._connection.execute("SELECT number FROM value WHERE field = ? AND text = ?", key).fetchone()
            if len(self._values) >= _MAX_REMEMBERED:
                self._values.clear()
            number = self._values[field, text] = int(found[0])
        return number

    def add(self, commit: Commit) -> int:
        """Add a commit whose parents are in the index, and its message if it is new and readable.

        Return its number, which is that of the one before plus one.
        """
        try:
            document = self._describe(commit)
        except (Corrupt, NotFound):
            document = None
        message = None if document is None else self._add_message(document)
        self._last_commit = number = self._last_commit + 1
        self._connection.execute(_INSERT_COMMIT, (number, commit.oid, message))
        edges = [(number, self.number_of(parent)) for parent in dict.fromkeys(commit.parents)]
        self._connection.executemany(_INSERT_EDGE, edges)
        if len(self._recent) >= _MAX_REMEMBERED:
            self._recent.clear()
        self._recent[commit.oid] = number
        return number

    def _add_message(self, document: IndexDocument) -> int:
        known = self._find("SELECT number FROM message WHERE id = ?", document.id)
        if known is not None:
            return known
        self._last_message = number = self._last_message + 1
        self._connection.execute(_INSERT_MESSAGE, (number, document.id, *self._fields(document)))
        self._connection.executemany(_INSERT_TOUCHED, [(value, number) for value in self._touched(document)])
        self._connection.execute(_INSERT_TEXT, (number, *map(searchable, document.texts)))
        return number

    def _find(self, statement: str, key: object) -> int | None:
        found = self._connection.execute(statement, (key,)).fetchone()
        return None if found is None else int(found[0])

    def _fields(self, document: IndexDocument) -> tuple[int | None, ...]:
        """Return the row of a message without its number and id."""
        return (
            self.value_number("author", document.author),
            self.value_number("author_kind", document.author_kind),
            self.value_number("kind", document.kind),
            None if document.model is None else self.value_number("model", document.model),
            document.time,
        )

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
