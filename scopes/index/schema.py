"""The tables. Every change of them, or of what `words` and a message's description yield, takes a new VERSION.

message    one row a message id, whatever number of commits carry it; author, author_kind, kind and model are `value`s
touched    which tools a message calls and which files it names, as `value`s
commits    every commit that a branch reaches, with its message; a conversation's root has none
edge       a commit and one of its parents
place      which commits a conversation reaches, conversations as `value`s
branch     the tips that all this was read from
full_text  the words of a message by kind of part, under the message's number

The text itself is not kept (`content=''`): it is in the store. `detail=full` costs four times the space of `none` and a
tenth of the time of a build, and it is what phrases, columns and a rank by BM25 need in a table without contents.
"""

from __future__ import annotations

import sqlite3
from typing import Final

VERSION: Final = 1
APPLICATION: Final = 0x73636F70  # "scop": told apart from any other SQLite file
COLUMNS: Final = ("text", "reasoning", "tool_input", "tool_result")

_TABLES: Final = """
CREATE TABLE standing (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
CREATE TABLE value (
    number INTEGER PRIMARY KEY, field TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (field, text)
) STRICT;
CREATE TABLE message (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, author INTEGER NOT NULL, author_kind INTEGER NOT NULL,
    kind INTEGER NOT NULL, model INTEGER, time INTEGER NOT NULL
) STRICT;
CREATE TABLE touched (
    value INTEGER NOT NULL, message INTEGER NOT NULL, PRIMARY KEY (value, message)
) STRICT, WITHOUT ROWID;
CREATE TABLE commits (number INTEGER PRIMARY KEY, oid TEXT NOT NULL UNIQUE, message INTEGER) STRICT;
CREATE INDEX commits_message ON commits (message);
CREATE TABLE edge (child INTEGER NOT NULL, parent INTEGER NOT NULL, PRIMARY KEY (child, parent)) STRICT, WITHOUT ROWID;
CREATE INDEX edge_parent ON edge (parent);
CREATE TABLE place (
    conversation INTEGER NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (conversation, entry)
) STRICT, WITHOUT ROWID;
CREATE INDEX place_entry ON place (entry);
CREATE TABLE branch (
    conversation TEXT NOT NULL, name TEXT NOT NULL, tip INTEGER NOT NULL, PRIMARY KEY (conversation, name)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE full_text USING fts5(
    text, reasoning, tool_input, tool_result, content='', detail=full, tokenize='ascii'
)"""


def create_tables(connection: sqlite3.Connection, store: str) -> None:
    """Make the tables of an index of the store that `store` tells from others, inside the transaction at hand."""
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("INSERT INTO standing VALUES ('store', ?)", (store,))


def is_ours(connection: sqlite3.Connection, store: str) -> bool:
    """Tell whether a database is an index of this version, of this very store."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        return False
    if connection.execute("PRAGMA user_version").fetchone() != (VERSION,):
        return False
    found = connection.execute("SELECT value FROM standing WHERE key = 'store'").fetchone()
    return found is not None and str(found[0]) == store


def is_empty(connection: sqlite3.Connection) -> bool:
    """Tell whether a database has no tables yet."""
    return connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None
