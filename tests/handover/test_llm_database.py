"""A thread is added to the database of llm in one transaction, and nothing that is there changes."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from scopes.errors import Inaccessible, NotFound, Refused
from scopes.handover.llm import add_thread, find_tip
from scopes.secret_scan.clearance import Gate
from tests.handover.native_sessions import SHOP, UUID, session_of, write

TABLES = (
    "threads (id text primary key, name, tip_message_hash, forked_from, datetime_utc)",
    "turns (id text primary key, thread_id, parent_message_hash, tip_message_hash, model, datetime_utc)",
    "messages (hash text primary key, parent_hash, role, provider_metadata)",
    "parts (id integer primary key, message_hash, position, type, tool_name, text, payload)",
)


def make_database(path, tables=TABLES):
    with closing(sqlite3.connect(path)) as database:
        for table in tables:
            database.execute(f"create table {table}")


def rows_of(path, table, columns="*"):
    with closing(sqlite3.connect(path)) as database:
        return database.execute(f"select {columns} from {table} order by rowid").fetchall()


def content_of(messages=SHOP):
    return Gate("allow", lambda _rule, _value: "").clear(write("llm", session_of("llm", messages)), "a session")


@pytest.fixture
def path(tmp_path):
    make_database(tmp_path / "logs.db")
    return str(tmp_path / "logs.db")


def test_a_thread_is_a_chain_of_messages_that_name_the_one_before(path):
    assert find_tip(path, UUID) is None
    add_thread(path, content_of())
    messages = rows_of(path, "messages", "hash, parent_hash, role")
    assert [role for _, _, role in messages] == ["user", "assistant", "tool", "assistant"]
    assert [parent for _, parent, _ in messages] == [None, *(name for name, _, _ in messages[:-1])]
    assert find_tip(path, UUID) == messages[-1][0]
    assert rows_of(path, "turns", "thread_id, tip_message_hash") == [(UUID, messages[-1][0])]
    assert rows_of(path, "parts", "type, tool_name")[1:4] == [
        ("text", None), ("tool_call", "Bash"), ("tool_call", "Read"),
    ]  # fmt: skip


def test_messages_that_are_there_are_shared_and_a_second_time_adds_nothing(path):
    add_thread(path, content_of(SHOP[:1]))
    add_thread(path, content_of())
    before = [rows_of(path, table) for table in ("messages", "parts")]
    assert [len(rows) for rows in before] == [4, 7]
    add_thread(path, content_of())
    assert [rows_of(path, table) for table in ("messages", "parts")] == before


def test_a_thread_with_which_llm_has_gone_on_keeps_its_tip(path):
    add_thread(path, content_of())
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update threads set tip_message_hash = 'b2:new'")
    add_thread(path, content_of())
    assert find_tip(path, UUID) == "b2:new"


def test_without_a_database_the_error_says_how_to_make_one(tmp_path):
    with pytest.raises(NotFound, match="llm has no database") as error:
        find_tip(str(tmp_path / "logs.db"), UUID)
    assert "llm logs on" in error.value.hint


def test_the_database_of_an_old_llm_is_refused(tmp_path):
    make_database(tmp_path / "logs.db", ["responses (id text)"])
    with pytest.raises(Refused, match=r"before 0\.32"):
        add_thread(str(tmp_path / "logs.db"), content_of())


def test_what_is_no_database_is_an_error(tmp_path):
    (tmp_path / "logs.db").write_bytes(b"x" * 4096)
    with pytest.raises(Inaccessible, match="cannot use"):
        find_tip(str(tmp_path / "logs.db"), UUID)


def test_a_thread_is_added_whole_or_not_at_all(path):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create trigger full before insert on turns begin select raise(abort, 'disk full'); end")
    with pytest.raises(Inaccessible, match="disk full"):
        add_thread(path, content_of())
    assert [rows_of(path, table) for table in ("threads", "messages", "parts")] == [[], [], []]
