"""Databases and folders of many conversations: each conversation is a source of its own, whose bytes are its rows."""

from __future__ import annotations

import os

import pytest

from scopes.errors import CannotImport, Invalid, NotFound
from scopes.exporters.export import list_sources, name_files, walk_bytes
from scopes.history.names import resolve_revision
from scopes.importers.discovery import find_sources, spool_stream
from scopes.importers.expand import find_folder_of
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import ImportOptions, import_sources
from scopes.importers.stat_cache import _read_status
from scopes.importers.verify_source import verify_source
from tests.importers.databases import (
    LLM_RESPONSES,
    SESSION,
    change,
    conversations_in,
    dialog,
    lines_of,
    make_database,
    message_rows,
    opencode_database,
    opencode_folder,
    response_row,
    session_row,
    source_at,
)
from tests.importers.stores import branch_words, count_objects, skipped_paths
from tests.support.store import make_store

OTHER = "ses_e0320000000000000000000002"


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


@pytest.fixture
def database(tmp_path):
    return opencode_database(tmp_path / "opencode.db", *dialog("hello", "hi", "more", "sure"))


def import_all(store, *sources, **options):
    return import_sources(store, sources, FORMATS, ImportOptions(**options))


def test_every_conversation_of_a_database_is_a_source_of_its_rows(tmp_path):
    rows = [*dialog("hello", "hi"), *dialog("another", session=OTHER, prefix="msg_2fcd")]
    path = opencode_database(tmp_path / "any name", *rows)
    sources, skipped = conversations_in(source_at(path))
    assert [source.path for source in sources] == [f"{path}#{SESSION}", f"{path}#{OTHER}"]
    assert [line["table"] for line in lines_of(sources[0])] == ["session", "message", "part", "message", "part"]
    assert [len(lines_of(sources[1])), skipped] == [3, []]


def test_a_database_is_recognized_by_its_tables_and_not_by_its_name(tmp_path, store):
    path = make_database(tmp_path / "opencode.db", "CREATE TABLE session (id); CREATE TABLE other (id)")
    with pytest.raises(CannotImport, match="unknown format"):
        import_all(store, source_at(path))


def test_a_source_reads_its_own_lines_and_no_others(tmp_path):
    path = opencode_database(tmp_path / "a.db", *dialog("hello"), *dialog("another", session=OTHER, prefix="msg_2fcd"))
    first, second = conversations_in(source_at(path))[0]
    with first.open() as stream:
        assert len(stream.read()) == first.size
    with second.open() as stream:
        assert stream.read(18) == b'{"table":"session"'
        assert len(stream.read(1 << 20)) == second.size - 18


def test_rows_without_a_conversation_and_secrets_of_the_program_are_not_read(tmp_path):
    path = opencode_database(
        tmp_path / "a.db",
        *dialog("hello"),
        ("account", {"id": "a1", "refresh_token": "for OpenCode only"}),
        ("session_share", {"session_id": SESSION, "secret": "for OpenCode only"}),
        ("todo", {"session_id": SESSION, "content": "look", "status": "open", "position": 0}),
    )
    (source,) = conversations_in(source_at(path))[0]
    assert [line["table"] for line in lines_of(source)] == ["session", "message", "part", "todo"]


def test_a_second_import_of_a_database_writes_nothing(database, store):
    first = import_all(store, source_at(database))
    objects = count_objects(store)
    again = import_all(store, source_at(database))
    assert (first.operation is not None, again.operation) == (True, None)
    assert count_objects(store) == objects
    assert branch_words(store) == "hello hi more sure"


def test_a_database_that_has_grown_adds_only_what_is_new(database, store):
    import_all(store, source_at(database))
    rows = [session_row(title="A new title", time_updated=1), *message_rows(4, "user", "and now?")]
    opencode_database_add(database, rows)
    done = import_all(store, source_at(database))
    assert [row.new_messages for row in done.conversations] == [1]
    assert [row.branches for row in done.conversations] == [1]
    assert branch_words(store) == "hello hi more sure and now?"


def opencode_database_add(path, rows):
    make_database(path, "", rows)


def test_messages_that_vanish_from_a_database_stay_on_a_branch(database, store):
    import_all(store, source_at(database))
    change(
        database,
        "DELETE FROM message WHERE id >= 'msg_1fcd0001'",
        "DELETE FROM part WHERE message_id >= 'msg_1fcd0001'",
    )
    opencode_database_add(database, message_rows(5, "user", "instead"))
    import_all(store, source_at(database))
    assert branch_words(store) == "hello instead"
    assert branch_words(store, "abandoned/1") == "hello hi more sure"


def test_a_dry_run_tells_the_conversations_and_writes_nothing(database, store):
    objects = count_objects(store)
    done = import_all(store, source_at(database), dry_run=True)
    assert [row.messages for row in done.conversations] == [4]
    assert count_objects(store) == objects


def test_the_original_of_a_conversation_is_its_lines_and_can_be_imported(database, store, tmp_path):
    import_all(store, source_at(database))
    (source,) = conversations_in(source_at(database))[0]
    (stored,) = list_sources(store, resolve_revision(store, "conv-001"))
    content = b"".join(walk_bytes(store, stored))
    with source.open() as stream:
        assert content == stream.read()
    assert [name for name, _ in name_files([stored])] == [f"{SESSION}.jsonl"]
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(content)
    other = make_store(tmp_path / "other.git")
    import_all(other, Source(str(copy), len(content)))
    assert branch_words(other) == branch_words(store)


def test_one_conversation_of_a_database_is_verified_byte_by_byte(database, store):
    import_all(store, source_at(database))
    verified = verify_source(store, str(database), FORMATS)
    assert (verified.comparison, verified.whole, verified.messages) == ("equal", True, 4)
    opencode_database_add(database, message_rows(4, "user", "and now?"))
    assert verify_source(store, f"{database}#{SESSION}", FORMATS).comparison == "grown"


def test_to_verify_a_database_of_several_conversations_one_is_named(database, store):
    opencode_database_add(database, dialog("another", session=OTHER, prefix="msg_2fcd"))
    import_all(store, source_at(database))
    with pytest.raises(Invalid, match="has 2 conversations") as refused:
        verify_source(store, str(database), FORMATS)
    assert f"{database}#{SESSION}" in refused.value.hint
    assert verify_source(store, f"{database}#{OTHER}", FORMATS).whole


def test_one_conversation_of_a_database_is_imported_by_its_id(database, store):
    opencode_database_add(database, dialog("another", session=OTHER, prefix="msg_2fcd"))
    (source,) = find_sources(f"{database}#{OTHER}")
    assert source.named
    import_all(store, source)
    assert branch_words(store) == "another"
    with pytest.raises(NotFound, match="has no conversation 'ses_x'"):
        find_sources(f"{database}#ses_x")


def test_a_database_from_a_pipe_is_imported(database, store):
    with database.open("rb") as stream:
        source = spool_stream(stream, "-")
    import_all(store, source)
    assert branch_words(store) == "hello hi more sure"


def test_a_damaged_database_among_others_is_skipped_and_alone_it_is_an_error(database, store, tmp_path):
    damaged = tmp_path / "damaged.db"
    content = database.read_bytes()
    damaged.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    done = import_all(store, source_at(database), source_at(damaged, named=False))
    assert skipped_paths(done) == [str(damaged)]
    with pytest.raises(CannotImport, match="cannot be read"):
        import_all(store, source_at(damaged))


def test_a_folder_of_records_is_one_collection_wherever_it_is(tmp_path, store):
    folder = opencode_folder(tmp_path / "home" / "storage", dialog("hello", "hi"))
    for path in (folder, tmp_path / "home"):
        (source,) = find_sources(str(path))
        assert source.path == str(folder)
    import_all(store, source)
    assert branch_words(store) == "hello hi"


def test_a_folder_and_a_database_with_the_same_session_give_it_once(tmp_path, store, database):
    """What the migration of OpenCode 1.2 left out is read from the folder."""
    rows = [*dialog("hello", "hi"), *dialog("left out", session=OTHER, prefix="msg_2fcd")]
    folder = opencode_folder(tmp_path / "storage", rows)
    done = import_all(store, source_at(database), *find_sources(str(folder)))
    assert skipped_paths(done) == [f"{folder}#{SESSION}"]
    assert branch_words(store) == "hello hi more sure"
    assert branch_words(store, conversation="conv-002") == "left out"


def test_a_session_that_a_folder_has_more_of_is_read_from_both(tmp_path, database):
    folder = opencode_folder(tmp_path / "storage", dialog("hello", "hi", "more", "sure", "only here"))
    sources, skipped = conversations_in(source_at(database), *find_sources(str(folder)))
    assert ([source.name for source in sources], skipped) == ([SESSION, SESSION], [])


def test_a_session_has_the_same_messages_in_the_folder_and_in_the_database(tmp_path, store, database):
    (source,) = find_sources(str(opencode_folder(tmp_path / "storage", dialog("hello", "hi", "more"))))
    import_all(store, source)
    done = import_all(store, source_at(database))
    assert [(row.messages, row.new_messages, row.branches) for row in done.conversations] == [(4, 1, 1)]


def test_links_in_a_folder_are_not_followed(tmp_path, database):
    folder = opencode_folder(tmp_path / "storage", dialog("hello"))
    (tmp_path / "secret.json").write_text('{"role": "user"}')
    os.symlink(tmp_path / "secret.json", folder / "message" / SESSION / "msg_9.json")
    os.symlink(tmp_path, folder / "message" / "elsewhere")
    (source,) = conversations_in(*find_sources(str(folder)))[0]
    assert [line["file"].partition("/")[0] for line in lines_of(source)] == ["session", "message", "part"]


def test_a_changed_log_means_a_changed_database(database, tmp_path):
    (tmp_path / "opencode.db-wal").write_bytes(b"")
    before = _read_status(source_at(database))
    assert _read_status(source_at(database)) == before
    (tmp_path / "opencode.db-wal").write_bytes(b"x")
    assert _read_status(source_at(database)) != before


def test_a_file_is_a_record_of_the_folder_around_it(tmp_path):
    folder = opencode_folder(tmp_path / "storage", dialog("hello"))
    part = next((folder / "part").rglob("*.json"))
    assert find_folder_of(str(part)) == str(folder)
    assert find_folder_of(str(tmp_path / "x.jsonl")) == str(tmp_path / "x.jsonl")


def test_databases_of_several_agents_are_imported_together(tmp_path, store, database):
    llm = make_database(tmp_path / "logs.db", LLM_RESPONSES, [response_row(1, "what?", "this")])
    done = import_all(store, source_at(database), source_at(llm))
    assert sorted(source.format for source in done.sources) == ["llm", "opencode"]


def test_rows_far_larger_than_their_file_are_refused(database, monkeypatch):
    monkeypatch.setattr("scopes.importers.expand._UNSUSPICIOUS_BYTES", 10)
    monkeypatch.setattr("scopes.importers.expand._MAX_RATIO", 0)
    sources, (skipped,) = conversations_in(source_at(database))
    assert (sources, skipped.path) == ([], str(database))
    assert "far more than the file" in skipped.reason
