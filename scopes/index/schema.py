"""The tables of the search index.

message    one row for each message id, however many commits have it; author, author_kind, kind and model are
           `value`s; time is null if unknown
touched    the tools that a message calls, the files that it names and the outcomes of its tools, as `value`s
commits    every commit that a branch reaches, with its message; the root of a conversation has none
edge       a commit and one of its parents
place      the commits that a conversation reaches, conversations as `value`s
branch     the tips that were indexed
full_text  the words of a message by kind of part; its rowid is the number of the message

Change the version of LAYOUT whenever the tables, `tokenize` or the documents of messages change.

`hashsize` is the memory for words that are not in the file yet: larger runs need fewer merges.

The texts are not stored (`content=''`): they are in the store. `detail=full` needs four times the space of `none` and a
tenth of the time of a build; phrases, columns and ranking by BM25 need it in a table without contents.
"""

from __future__ import annotations

from typing import Final

from scopes.index.database import Layout

COLUMNS: Final = ("text", "reasoning", "tool_input", "tool_result")

_TABLES: Final = """
CREATE TABLE value (
    number INTEGER PRIMARY KEY, field TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (field, text)
) STRICT;
CREATE TABLE message (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, author INTEGER NOT NULL, author_kind INTEGER NOT NULL,
    kind INTEGER NOT NULL, model INTEGER, time INTEGER
) STRICT;
CREATE INDEX message_time ON message (time);
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
);
INSERT INTO full_text (full_text, rank) VALUES ('hashsize', 16777216)"""
LAYOUT: Final = Layout("index.sqlite", version=5, tables=_TABLES)
