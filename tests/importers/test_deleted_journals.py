"""The file of Cursor's hooks goes with its conversation: deleted, restored, deleted again, expired."""

from __future__ import annotations

import json
import os

import pytest

from scopes.api.store import open_store as open_in_python
from scopes.importers.formats.cursor.journals import journal_of
from scopes.live.cursor_journal import append_event
from tests.cli.running import PRODUCT, scopes
from tests.importers.formats.cursor.events import CONVERSATION, turn
from tests.support.store import open_store


def run(*words, code=0):
    done = scopes(*words, table=PRODUCT)
    assert done.returncode == code, done.stderr
    return done.stdout


def tell(number):
    """Let the hooks of Cursor keep a turn, and import it."""
    for given in turn(number):
        append_event(json.dumps(given).encode(), os.environ)


@pytest.fixture
def journal(sealed_world):
    """The file of a conversation that is in the store."""
    tell(1)
    path = journal_of(CONVERSATION, os.environ)
    run("import", path)
    return path


def content(path):
    with open(path, "rb") as file:
        return file.read()


def folder(journal):
    return os.listdir(os.path.dirname(journal))


def texts():
    return [row.split("\t")[-1] for row in run("log", "conv-001", "--reverse").splitlines()]


def test_a_deleted_conversation_leaves_no_journal_that_an_import_finds(journal):
    run("delete", "conv-001")
    assert not os.path.exists(journal)
    assert [name.partition(".deleted-")[0] for name in folder(journal)] == [os.path.basename(journal)]
    assert "conv-001" not in run("import", os.path.dirname(journal), "--again", "--dry-run", code=7)


def test_undo_and_redo_in_python_do_what_the_commands_do(journal):
    run("delete", "conv-001")
    with open_in_python(os.environ["SCOPES_STORE"]) as store:
        store.undo(any_actor=True)
        assert os.path.exists(journal)
        store.redo(any_actor=True)
    assert not os.path.exists(journal)


def test_a_dry_run_changes_nothing(journal):
    run("delete", "conv-001", "--dry-run")
    assert os.path.exists(journal)


def test_an_undo_restores_it_byte_for_byte_and_later_turns_go_on(journal):
    before = content(journal)
    run("delete", "conv-001")
    run("undo")
    assert (content(journal), folder(journal)) == (before, [os.path.basename(journal)])
    tell(2)
    run("import", journal)
    assert [text for text in texts() if text.startswith("prompt")] == ["prompt 1", "prompt 2"]


def test_what_cursor_added_while_the_conversation_was_deleted_is_not_lost(journal):
    before = content(journal)
    run("delete", "conv-001")
    tell(2)
    added = content(journal)
    run("undo")
    assert content(journal) == before + added
    run("import", journal)
    assert [text for text in texts() if text.startswith("prompt")] == ["prompt 1", "prompt 2"]


def test_a_redo_puts_it_away_again_and_the_next_undo_brings_it_back(journal):
    before = content(journal)
    run("delete", "conv-001")
    run("undo")
    run("redo")
    assert not os.path.exists(journal)
    run("undo")
    assert content(journal) == before


def test_what_expires_in_the_store_is_deleted_here_too(journal):
    run("delete", "conv-001")
    run("gc")
    assert len(folder(journal)) == 1
    run("gc", "--expire", "2100-01-01", "--yes")
    assert folder(journal) == []


def test_other_conversations_keep_their_files_and_an_undo_of_something_else_moves_none(journal):
    other = os.path.join(os.path.dirname(journal), "other.jsonl")
    with open(other, "w") as file:
        file.write("{}\n")
    run("new", "x")
    run("delete", "conv-002")
    assert os.path.exists(journal)
    run("undo")
    run("delete", "conv-001")
    run("new", "y")
    run("undo")
    assert not os.path.exists(journal)
    assert os.path.exists(other)


def test_a_conversation_without_a_file_is_deleted_all_the_same(journal):
    os.unlink(journal)
    run("delete", "conv-001")
    run("undo")
    assert folder(journal) == []
    assert open_store(os.environ["SCOPES_STORE"]).list_ref_names
