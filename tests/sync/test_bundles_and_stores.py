"""Bundles that are none of conversations, and those with what was deleted here."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from scopes.conversation.new_rename_delete import delete, list_deleted
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Invalid, Refused
from scopes.history.names import conversation_ids
from scopes.sync.bundles import create_bundle, import_bundle, verify_bundle
from tests.cli.running import PRODUCT, scopes
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import EVERYTHING, connection
from tests.support.store import git, make_store, open_store

NAME, OTHER = "conv-001", "conv-002"


def test_a_backup_of_a_store_is_named_as_such_and_can_be_opened(ours, tmp_path):
    path = str(tmp_path / "raw.bundle")
    git(ours.path, "bundle", "create", "-q", path, "--all")
    empty = open_store(make_store(tmp_path / "empty"))
    with pytest.raises(Refused, match="a git bundle of a whole scopes store"):
        import_bundle(empty, path, EVERYTHING, connection())
    with pytest.raises(Refused) as caught:
        verify_bundle(empty, path, connection())
    assert list(conversation_ids(empty)) == []
    again = str(tmp_path / "again")
    for command in caught.value.hint.removeprefix("make a store of it: ").replace("DIRECTORY", again).split("; "):
        program, *words = shlex.split(command)
        assert (program == "git") or scopes(*words, table=PRODUCT).returncode == 0
        assert (program == "scopes") or subprocess.run([program, *words], check=False).returncode == 0
    again = open_store(again)
    assert texts(again, NAME) == texts(ours, NAME)
    assert verify(again).exit_code == 0
    assert say(again, NAME, "more").conversation == NAME


@pytest.fixture
@recalled
def deleted(ours, tmp_path):
    """A store that has deleted a conversation which began there, and a bundle with it."""
    history(ours, "main: x", conversation=OTHER)
    path = str(tmp_path / "a.bundle")
    create_bundle(ours, path, EVERYTHING, connection())
    delete(ours, OTHER)
    return open_store(ours), path


def test_what_was_deleted_where_it_began_does_not_come_back_by_a_bundle(deleted):
    ours, path = deleted
    done = import_bundle(ours, path, EVERYTHING, connection())
    assert [row.status for row in done.conversations] == ["deleted"]
    ours = open_store(ours)
    assert list(conversation_ids(ours)) == [NAME]
    (row,) = list_deleted(ours).deleted
    undo(ours, row.operation)
    assert texts(open_store(ours), OTHER) == ["x"]


def test_what_is_in_no_trash_comes_by_a_bundle(deleted, tmp_path):
    _, path = deleted
    other = open_store(make_store(tmp_path / "other"))
    assert [row.status for row in import_bundle(other, path, EVERYTHING, connection()).conversations] == ["new", "new"]


def test_a_bundle_is_written_to_a_file(ours, tmp_path):
    with pytest.raises(Invalid) as caught:
        create_bundle(ours, "/dev/full", EVERYTHING, connection())
    assert "--output" not in caught.value.hint
