"""Databases of other programs: read while they are written, and never trusted."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import CannotImport
from scopes.importers.expand import expand_sources
from scopes.importers.formats import database as module
from scopes.importers.formats.base import Source
from scopes.importers.formats.database import open_database
from tests.importers.databases import (
    SESSION,
    dialog,
    lines_of,
    make_database,
    message_rows,
    opencode_database,
    session_row,
    source_at,
)
from tests.support.examples import examples

WRITER = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.execute("PRAGMA wal_autocheckpoint=0")
for number in range(int(sys.argv[2])):
    row = (f"msg_9{number:06d}", sys.argv[3], '{"role":"user","x":"' + "y" * 2000 + '"}')
    c.execute("INSERT INTO message (id, session_id, data) VALUES (?, ?, ?)", row)
    c.commit()
c.execute("BEGIN IMMEDIATE")
c.execute("DELETE FROM message")
print("ready", flush=True)
sys.stdin.read()
"""


def texts(source, table="message"):
    """Return the ids of a table's rows in the only conversation of a database."""
    (found,) = expand_sources([source], [])
    return [line["row"]["id"] for line in lines_of(found) if line["table"] == table]


def reason(source):
    """Return why a database cannot be read."""
    skipped = []
    assert expand_sources([source], skipped) == []
    assert isinstance(skipped[0].error, CannotImport)
    return skipped[0].reason


def states(path):
    """Return the files that begin with the name of a database, with their content and times; without shared memory."""
    found = {}
    for entry in os.scandir(path.parent):
        if entry.name.startswith(path.name) and not entry.name.endswith("-shm"):
            with open(entry.path, "rb") as file:
                found[entry.name] = (file.read(), entry.stat().st_mtime_ns)
    return found


@pytest.fixture
def writer(tmp_path):
    """Start a process that has written much to the log of a database, and is in the middle of a transaction."""
    path = opencode_database(tmp_path / "a.db", *dialog("hello"), wal=True)
    command = [sys.executable, "-c", WRITER, str(path), "300", SESSION]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        yield path, process
        process.kill()


def test_what_is_only_in_the_log_of_a_running_program_is_read_and_no_file_is_changed(writer):
    path, _ = writer
    before = states(path)
    assert before["a.db-wal"][0]
    assert len(texts(source_at(path))) == 301
    assert states(path) == before


def test_the_log_of_a_killed_program_is_read_without_a_new_file(writer):
    path, process = writer
    process.kill()
    process.wait()
    os.unlink(f"{path}-shm")
    before = sorted(os.listdir(path.parent))
    assert len(texts(source_at(path))) == 301
    assert sorted(os.listdir(path.parent)) == before


def test_no_file_is_made_next_to_a_database_that_no_program_uses(tmp_path):
    path = opencode_database(tmp_path / "a.db", *dialog("hello"), wal=True)
    before = os.listdir(tmp_path)
    assert len(texts(source_at(path))) == 1
    assert os.listdir(tmp_path) == before


def test_a_program_can_write_while_a_copy_is_read(tmp_path):
    path = opencode_database(tmp_path / "a.db", *dialog("hello"), wal=True)
    with closing(sqlite3.connect(path, timeout=0)) as other, open_database(source_at(path)) as database:
        for _, row in message_rows(7, "user"):
            other.execute(
                "INSERT INTO message (id, session_id, data) VALUES (?, ?, ?)", (row["id"], SESSION, row["data"])
            )
        other.commit()
        assert len(list(database.walk("message"))) == 1


def test_a_database_that_is_written_without_end_is_refused(tmp_path, monkeypatch):
    path = opencode_database(tmp_path / "a.db", *dialog("hello"))
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.0)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "another program keeps writing" in reason(source_at(path))


def test_a_transaction_that_a_killed_program_left_is_not_rolled_back_in_its_file(tmp_path):
    path = opencode_database(tmp_path / "a.db", *dialog("hello"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA cache_size=1")
        other.execute("BEGIN")
        for number in range(200):
            other.execute("INSERT INTO account VALUES (?, ?)", (number, "x" * 3000))
        copy = tmp_path / "copied" / "a.db"
        copy.parent.mkdir()
        for suffix in ("", "-journal"):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    before = states(copy)
    assert "cannot be read" in reason(source_at(copy))
    assert states(copy) == before


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE s (id, directory, title); CREATE VIEW session AS SELECT * FROM s",
        "CREATE VIRTUAL TABLE session USING fts5(id, directory, title)",
        "CREATE TABLE session (id, title, directory AS (zeroblob(900000000)))",
    ],
    ids=["view", "virtual table", "generated column"],
)
def test_only_stored_columns_of_real_tables_count(tmp_path, schema):
    others = "CREATE TABLE message (id, session_id, data); CREATE TABLE part (id, message_id, data);"
    source = source_at(make_database(tmp_path / "a.db", f"{schema}; {others}"))
    assert expand_sources([source], []) == [source]


def test_generated_columns_and_triggers_are_never_run(tmp_path):
    path = opencode_database(tmp_path / "a.db", *dialog("hello"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE message ADD COLUMN big AS (zeroblob(900000000))")
        connection.execute("CREATE TRIGGER t AFTER INSERT ON message BEGIN SELECT load_extension('x'); END")
    (source,) = expand_sources([source_at(path)], [])
    assert {name for line in lines_of(source) for name in line["row"]} & {"big"} == set()


def test_cells_of_other_types_than_declared_are_kept(tmp_path):
    rows = [
        session_row(title=b"\x00\xff", directory=7),
        ("message", {"id": b"\x01", "session_id": SESSION, "data": 1.5}),
    ]
    (source,) = expand_sources([source_at(opencode_database(tmp_path / "a.db", *rows))], [])
    session, message = lines_of(source)
    assert session["row"]["title"] == {"bytes": "AP8="}
    assert (message["row"]["id"], message["row"]["data"]) == ({"bytes": "AQ=="}, "1.5")


def test_a_cell_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_CELL_BYTES", 10_000)
    path = opencode_database(tmp_path / "a.db", *dialog("x" * 20_000))
    assert "too big" in reason(source_at(path))


def test_a_database_larger_than_the_limit_is_refused_before_it_is_copied(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 10_000)
    assert "larger than" in reason(source_at(opencode_database(tmp_path / "a.db", *dialog("hello"))))


def test_work_without_end_is_interrupted(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MIN_STEPS", 1000)
    monkeypatch.setattr(module, "_STEPS", 100)
    monkeypatch.setattr(module, "_STEPS_PER_BYTE", 0)
    path = opencode_database(tmp_path / "a.db", *dialog(*["x"] * 400))
    assert "takes too long" in reason(source_at(path))


def test_a_copy_needs_space_on_the_disk(tmp_path, monkeypatch):
    path = opencode_database(tmp_path / "a.db", *dialog("hello"))
    monkeypatch.setattr(module, "MIN_FREE_BYTES", 1 << 62)
    assert "needs" in reason(source_at(path))


def test_the_copy_is_deleted(tmp_path, monkeypatch):
    path = opencode_database(tmp_path / "a.db", *dialog("hello"))
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    (source,) = expand_sources([source_at(path)], [])
    assert [os.path.join(folder, name) for name in os.listdir(folder)] == [source.stored_at]
    del source
    assert os.listdir(folder) == []


def test_a_schema_with_bytes_that_are_no_text_is_refused(tmp_path):
    path = opencode_database(tmp_path / "a.db", *dialog("hello"))
    content = path.read_bytes().replace(b"tablesessionsession", b"table\xfbessionsession")
    path.write_bytes(content.replace(b"CREATE TABLE session (", b"CREATE TABLE session ;"))
    assert "cannot be read" in reason(source_at(path))


def test_names_in_a_schema_are_quoted(tmp_path):
    path = make_database(tmp_path / "a.db", 'CREATE TABLE "a""b; --" ("c""d" TEXT); INSERT INTO "a""b; --" VALUES (1)')
    with open_database(source_at(path)) as database:
        assert list(database.walk('a"b; --', order=("missing",))) == [{'c"d': "1"}]
        assert list(database.walk('a"b; --', 'c"d', "1", order=('c"d',))) == [{'c"d': "1"}]
        assert list(database.walk("missing")) == list(database.walk('a"b; --', "missing", 1)) == []


def test_a_path_with_characters_of_a_uri_is_opened(tmp_path):
    path = opencode_database(tmp_path / "a?mode=rwc#%41é.db", *dialog("hello"))
    assert len(texts(source_at(path))) == 1


@given(
    st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=40)), min_size=1, max_size=6), st.data()
)
@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_database_with_damaged_bytes_is_read_or_refused(tmp_path, changes, data):
    path = tmp_path / "a.db"
    if not path.exists():
        opencode_database(path, *dialog("hello", "hi", "x" * 5000))
        (tmp_path / "whole").write_bytes(path.read_bytes())
    content = bytearray((tmp_path / "whole").read_bytes())
    for place, value in changes:
        at = 16 + place % (len(content) - 16)
        content[at : at + len(value)] = value
    cut = data.draw(st.integers(16, len(content)))
    path.write_bytes(content[:cut] if data.draw(st.booleans()) else content)
    skipped = []
    for source in expand_sources([Source(str(path), path.stat().st_size, named=True)], skipped):
        assert source.size >= 0
    assert all(isinstance(found.error, CannotImport) for found in skipped)


def test_texts_with_a_prefix_are_found_in_their_order(tmp_path):
    names = ["b:2", "b:1", "b", "b;", "c", b"b:3", 7, None]
    schema = 'CREATE TABLE "odd "" table" (key UNIQUE, value)'
    path = make_database(tmp_path / "a.db", schema, [('"odd "" table"', {"key": name, "value": 1}) for name in names])
    with open_database(source_at(path)) as database:
        assert list(database.walk_texts('odd " table', "key", "b:")) == ["b:1", "b:2"]
        assert (
            list(database.walk_texts('odd " table', "other", "b:"))
            == list(database.walk_texts("none", "key", "b"))
            == []
        )
