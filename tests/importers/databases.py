"""Databases of OpenCode and llm, and OpenCode's older folder, as their programs make them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

from scopes.importers.expand import expand_sources
from scopes.importers.formats.base import Source

STARTED = 1_795_243_700_000  # milliseconds
SESSION = "ses_e0320000000000000000000001"
OPENCODE = """
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text, title text,
  version text, revert text, agent text, time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, data text);
CREATE TABLE todo (session_id text, content text, status text, position integer);
CREATE TABLE event (id text PRIMARY KEY, aggregate_id text, seq integer, type text, data text);
CREATE TABLE account (id text PRIMARY KEY, refresh_token text);
CREATE TABLE session_share (session_id text PRIMARY KEY, secret text);
"""
LLM_RESPONSES = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT, response TEXT,
  response_json TEXT, conversation_id TEXT, datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER,
  token_details TEXT, reasoning TEXT);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE system_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, output TEXT, tool_call_id TEXT,
  exception TEXT);
"""
LLM_THREADS = """
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT, text TEXT,
  payload TEXT);
CREATE TABLE part_attachments (part_id INTEGER, attachment_id TEXT, "order" INTEGER);
CREATE TABLE part_fragments (part_id INTEGER, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT,
  resolved_model TEXT, input_tokens INTEGER, output_tokens INTEGER, token_details TEXT, datetime_utc TEXT);
"""


def make_database(path, schema, rows=(), *, wal=False):
    """Make a database with rows: pairs of a table and the columns of a row."""
    with closing(sqlite3.connect(path)) as connection:
        if wal:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(schema)
        insert(connection, rows)
    return path


def insert(connection, rows):
    """Insert rows, pairs of a table and columns, or replace those with the same key."""
    for table, row in rows:
        names = ", ".join(f'"{name}"' for name in row)
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
    connection.commit()


def insert_into(path, rows):
    """Insert rows into a database, or replace those with the same key."""
    with closing(sqlite3.connect(path)) as connection:
        insert(connection, rows)


def change(path, *statements):
    """Run statements on a database."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def session_row(name=SESSION, **columns):
    """Return the row of a session."""
    row = {
        "id": name,
        "slug": "tidy-moon",
        "directory": "/home/carol/shop",
        "title": "About the shop",
        "version": "1.18.33",
    }
    return ("session", {**row, "time_created": STARTED, "time_updated": STARTED + 9, **columns})


def message_rows(number, role, *parts, session=SESSION, prefix="msg_1fcd", **info):
    """Return the rows of a message and its parts; a string is a part of text."""
    name, time = f"{prefix}{number:04d}", STARTED + number * 1000
    data = {"role": role, "time": {"created": time}, **info}
    rows = [("message", {"id": name, "session_id": session, "time_created": time, "data": json.dumps(data)})]
    for place, part in enumerate(parts):
        value = {"type": "text", "text": part} if isinstance(part, str) else part
        row = {"id": f"prt_{name[4:]}{place}", "message_id": name, "session_id": session, "time_created": time}
        rows.append(("part", {**row, "data": json.dumps(value)}))
    return rows


def dialog(*texts, **options):
    """Return the rows of a session with these texts, by user and agent in turn."""
    rows = [session_row(options.get("session", SESSION))]
    for number, text in enumerate(texts):
        rows += message_rows(number, ("user", "assistant")[number % 2], text, **options)
    return rows


def opencode_database(path, *rows, **options):
    """Make a database of OpenCode."""
    return make_database(path, OPENCODE, rows, **options)


def opencode_folder(folder, rows):
    """Make the folder of an older OpenCode with the same records as rows of a database."""
    for table, row in rows:
        if table == "session":
            value = {"id": row["id"], "directory": row["directory"], "title": row["title"]}
            value |= {"version": "1.1.65", "time": {"created": row["time_created"]}}
            file = folder / "session" / "p1" / f"{row['id']}.json"
        else:
            above = row["session_id"] if table == "message" else row["message_id"]
            value = {"id": row["id"], "sessionID": row["session_id"], **json.loads(row["data"])}
            file = folder / table / above / f"{row['id']}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value, indent=2))
    return folder


def response_row(number, prompt, response, conversation="c1", **columns):
    """Return the row of a response of llm."""
    row = {
        "id": f"r{number:03d}",
        "model": "gpt-x",
        "prompt": prompt,
        "response": response,
        "conversation_id": conversation,
    }
    return ("responses", {**row, "datetime_utc": f"2026-03-01T10:00:{number:02d}.5+00:00", **columns})


def thread_rows(thread, *messages, tip=None, forked_from=None, start=0):
    """Return the rows of a thread: messages are (hash, parent, role, text); each answer ends a turn."""
    rows = []
    for name, parent, role, text in messages:
        rows.append(("messages", {"hash": name, "parent_hash": parent, "role": role}))
        rows.append(("parts", {"message_hash": name, "position": 0, "type": "text", "text": text}))
        if role == "assistant":
            turn = {"id": f"{thread}-{start:03d}", "thread_id": thread, "tip_message_hash": name, "model": "gpt-x"}
            turn |= {"input_tokens": 100, "output_tokens": 5, "datetime_utc": f"2026-03-01T10:00:{start:02d}.5+00:00"}
            rows.append(("turns", turn))
            start += 1
    last = tip or messages[-1][0]
    row = {"id": thread, "name": thread, "tip_message_hash": last, "forked_from": forked_from}
    return [("threads", {**row, "datetime_utc": "2026-03-01 10:00:00+00:00"}), *rows]


def source_at(path, *, named=True):
    """Return a database as a source."""
    return Source(str(path), path.stat().st_size, named=named)


def conversations_in(*sources):
    """Return the sources of the conversations in collections, and what was skipped."""
    skipped = []
    return expand_sources(sources, skipped), skipped


def lines_of(source):
    """Return the decoded lines of a source."""
    with source.open() as stream:
        return [json.loads(line) for line in stream.read().splitlines()]
