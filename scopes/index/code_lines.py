"""The index of the lines that edits added, which `why` reads: its tables, and how its file is opened and updated.

conversation  the conversations that were read, with a digest of their tips and the time of their messages
turn          a prompt and what belongs to it, as commits of the store
edit          a call that added lines to a file; `hashes` are those of all its lines, 8 bytes each, `shorts` of lines
              that are too short for that, which are in edit_line only if there are few others
edit_line     an edit by the hash of each of its lines, combined with that of the name of the file
commit_call   a call that ran `git commit`; `printed` is JSON, null without a result

`code_links/edit_index` fills them: this module knows no messages. A line of the file is read by its hash, so that a
query reads a few rows of a large file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from scopes.index.database import Connection, Layout, open_updated
from scopes.result import Note

CODE_LINES: Final = Layout(
    "code-lines.sqlite",
    version=8,
    tables="""
        CREATE TABLE conversation (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tips TEXT NOT NULL, first REAL NOT NULL,
            last REAL NOT NULL
        ) STRICT;
        CREATE TABLE turn (
            number INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, turn INTEGER NOT NULL, prompt TEXT,
            agreed_to TEXT, long_prompt TEXT, began REAL NOT NULL, ended REAL NOT NULL
        ) STRICT;
        CREATE INDEX turn_conversation ON turn (conversation);
        CREATE INDEX turn_prompt ON turn (prompt);
        CREATE TABLE edit (
            number INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, turn INTEGER NOT NULL, message TEXT NOT NULL,
            oid TEXT NOT NULL, call_id TEXT NOT NULL, tool TEXT NOT NULL, path TEXT NOT NULL, base_name TEXT NOT NULL,
            time REAL NOT NULL, hashes BLOB NOT NULL, shorts BLOB NOT NULL
        ) STRICT;
        CREATE INDEX edit_conversation ON edit (conversation);
        CREATE INDEX edit_time ON edit (time);
        CREATE TABLE edit_line (
            hash INTEGER NOT NULL, edit INTEGER NOT NULL, PRIMARY KEY (hash, edit)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE commit_call (
            number INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, turn INTEGER NOT NULL, message TEXT NOT NULL,
            oid TEXT NOT NULL, call_id TEXT NOT NULL, began REAL NOT NULL, ended REAL NOT NULL, command TEXT NOT NULL,
            printed TEXT NOT NULL
        ) STRICT;
        CREATE INDEX commit_call_conversation ON commit_call (conversation);
        CREATE INDEX commit_call_ended ON commit_call (ended)
    """,
)


@contextmanager
def open_code_lines(
    directory: str, store: str, is_current: Callable[[Connection], bool], update: Callable[[Connection], None]
) -> Iterator[tuple[Connection, tuple[Note, ...]]]:
    """Open the file of a store and bring it up to date; yield the connection and notes about the file.

    Raises:
        As `update` does; the file stays as it was.
    """

    def count(connection: Connection) -> int:
        update(connection)
        return 0

    opened = open_updated(directory, CODE_LINES, store, is_current, count, what="the index of code lines")
    with contextlib.closing(opened.connection) as connection:
        yield connection, opened.notes
