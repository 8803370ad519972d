"""Add messages to the search index and delete them; `sync` decides which.

The indexed fields of a message come from a function of a higher package (`Describe`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from scopes.errors import Corrupt, NotFound
from scopes.ids import MessageId, Oid
from scopes.index.tokenize import fold, searchable
from scopes.store.objects import Commit

_INSERT_TEXT = "INSERT INTO full_text (rowid, text, reasoning, tool_input, tool_result) VALUES (?, ?, ?, ?, ?)"
_DELETE_TEXT = """
    INSERT INTO full_text (full_text, rowid, text, reasoning, tool_input, tool_result)
    VALUES ('delete', ?, ?, ?, ?, ?)"""


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


Describe: TypeAlias = Callable[[Commit], IndexDocument | None]
"""Return the document of a commit, None if it is not a message; raise NotFound or Corrupt."""


class Writer:
    """Writes through one connection, in the current transaction."""

    def __init__(self, connection: sqlite3.Connection, describe: Describe) -> None:
        self._connection = connection
        self._describe = describe
        self._values: dict[tuple[str, str], int] = {}

    def __contains__(self, oid: object) -> bool:
        """Return True if a commit is in the index."""
        return self._connection.execute("SELECT 1 FROM commits WHERE oid = ?", (oid,)).fetchone() is not None

    def number_of(self, oid: Oid) -> int:
        """Return the number of a commit that is in the index."""
        return int(self._connection.execute("SELECT number FROM commits WHERE oid = ?", (oid,)).fetchone()[0])

    def value_number(self, field: str, text: str) -> int:
        """Return the number of a value of a field; add it if it is new. Values except conversation ids are folded."""
        key = (field, text if field == "conversation" else fold(text).encode("utf-8", "replace").decode())
        number = self._values.get(key)
        if number is None:
            self._connection.execute("INSERT OR IGNORE INTO value (field, text) VALUES (?, ?)", key)
            found = self._connection.execute("SELECT number FROM value WHERE field = ? AND text = ?", key).fetchone()
            number = self._values[key] = int(found[0])
        return number

    def add(self, commit: Commit) -> None:
        """Add a commit whose parents are in the index, and its message if it is new and readable."""
        try:
            document = self._describe(commit)
        except (Corrupt, NotFound):
            document = None
        message = None if document is None else self._add_message(document)
        row = (commit.oid, message)
        number = self._connection.execute("INSERT INTO commits (oid, message) VALUES (?, ?)", row).lastrowid
        edges = [(number, self.number_of(parent)) for parent in dict.fromkeys(commit.parents)]
        self._connection.executemany("INSERT INTO edge VALUES (?, ?)", edges)

    def _add_message(self, document: IndexDocument) -> int:
        known = self._connection.execute("SELECT number FROM message WHERE id = ?", (document.id,)).fetchone()
        if known is not None:
            return int(known[0])
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
        self._connection.executemany(
            "INSERT INTO touched VALUES (?, ?)", [(v, number) for v in self._touched(document)]
        )
        self._connection.execute(_INSERT_TEXT, (number, *map(searchable, document.texts)))
        return number

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
