"""`list` from the index: always equal to the list of the store, which is not opened if no ref changed."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from scopes.conversation.abandon import abandon
from scopes.conversation.delete import delete, delete_branch
from scopes.conversation.gc import gc
from scopes.conversation.list import list_conversations
from scopes.conversation.list_cached import find_cached_list
from scopes.conversation.new import new
from scopes.conversation.rename import rename_conversation, rename_title
from scopes.conversation.rewind import rewind
from scopes.conversation.switch import switch
from scopes.conversation.undo import undo
from scopes.index import conversation_table
from scopes.index.conversation_table import ConversationRow, States, open_conversation_table
from scopes.store import refs as names
from scopes.store.graph import walk_newest_first
from tests.support.history import history, say
from tests.support.store import git, make_store, remove_object

CHANGES = {
    "nothing": lambda repo: None,
    "append": lambda repo: say(repo, "conv-001/fix", "e", author="zoe"),
    "new": new,
    "title": lambda repo: rename_title(repo, "conv-001", "Login"),
    "rename": lambda repo: rename_conversation(repo, "conv-001", "login-bug"),
    "switch": lambda repo: switch(repo, "conv-001", "fix"),
    "abandon": lambda repo: abandon(repo, "conv-001", "fix"),
    "delete-branch": lambda repo: delete_branch(repo, "conv-001", "fix", force=True),
    "rewind": lambda repo: rewind(repo, "conv-001", to="conv-001~1"),
    "delete": lambda repo: delete(repo, "conv-001"),
    "undo": lambda repo: (new(repo), undo(repo)),
    "gc": gc,
    "plain git": lambda repo: git(repo, "pack-refs", "--all"),
}


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "cache" / "scopes" / "index")


@pytest.fixture
def two(repository):
    """Two conversations, one of them with a second branch."""
    history(repository, "main: a b", "fix@a: c")
    history(repository, "main: d")
    return repository


def fill(repository, directory):
    """Fill the index with complete rows."""
    list_conversations(repository, directory)
    return list_conversations(repository, directory, complete=True)


def rows_in(directory):
    """Read the rows of the index file without any check."""
    with contextlib.closing(sqlite3.connect(os.path.join(directory, "conversations.sqlite"))) as connection:
        return connection.execute("SELECT id, title, messages, opening FROM conversation ORDER BY id").fetchall()


@pytest.mark.parametrize("complete", [False, True])
def test_an_up_to_date_list_is_read_from_the_index_alone(two, directory, complete):
    """S4-53."""
    assert find_cached_list(two.path, directory, complete=complete) is None
    asked = list_conversations(two, directory, complete=complete)
    assert asked == list_conversations(two, complete=complete)
    assert find_cached_list(two.path, directory, complete=complete) == asked


@pytest.mark.parametrize("change", CHANGES)
def test_after_every_change_the_list_equals_that_of_the_store(two, directory, change):
    fill(two, directory)
    CHANGES[change](two)
    for complete in (False, True):
        right = list_conversations(two, complete=complete)
        assert find_cached_list(two.path, directory, complete=complete) in (None, right)
        assert list_conversations(two, directory, complete=complete) == right
        assert find_cached_list(two.path, directory, complete=complete) == right


def lists_in(directory):
    """Return the names of the saved lists."""
    with contextlib.closing(sqlite3.connect(os.path.join(directory, "conversations.sqlite"))) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM list ORDER BY name")]


def test_a_complete_list_is_saved_only_of_complete_rows(two, directory):
    list_conversations(two, directory)
    assert lists_in(directory) == ["brief"]
    list_conversations(two, directory, complete=True)
    assert lists_in(directory) == ["brief", "complete"]
    say(two, "conv-002", "e")
    list_conversations(two, directory)
    assert lists_in(directory) == ["brief"]
    assert find_cached_list(two.path, directory, complete=True) is None


def test_the_complete_list_stays_when_nothing_of_it_has_changed(two, directory):
    fill(two, directory)
    switch(two, "conv-001", "fix")
    git(two, "update-ref", "refs/heads/conv-002/main", git(two, "rev-parse", "conv-002/main").strip())
    for complete in (True, False):
        listed = list_conversations(two, directory, complete=complete)
        assert lists_in(directory) == ["brief", "complete"]
        assert find_cached_list(two.path, directory, complete=complete) == listed


def test_names_with_separators_are_cached_as_they_are(two, directory):
    names = ["a/b", "a", "b", "100%", "%2F", "日本", "é/", "x y"]
    for name in names:
        say(two, "conv-002", "x", author=name)
    for complete in (False, True):
        listed = list_conversations(two, directory, complete=complete)
        assert find_cached_list(two.path, directory, complete=complete) == listed
        found = {
            row.id: row.participants for row in list_conversations(two, directory, complete=complete).conversations
        }
        assert set(names) <= set(found["conv-002"])


def test_a_damaged_conversation_is_never_cached(two, directory):
    fill(two, directory)
    say(two, "conv-002", "e")
    lost = two.list_refs(names.HEADS)["refs/heads/conv-002/main"]
    restore = remove_object(two, lost)
    assert list_conversations(make_store(two.path), directory).damaged == ("conv-002",)
    assert find_cached_list(two.path, directory, complete=False) is None
    restore()
    assert list_conversations(make_store(two.path), directory) == list_conversations(make_store(two.path))


@pytest.mark.parametrize("content", ["", "[broken", "[core]\n\trepositoryformatversion = 7\n[scopes]\n"])
def test_a_changed_store_configuration_invalidates_the_index(two, directory, content):
    """P17: an unsupported store is refused, also by a list that would not open it."""
    fill(two, directory)
    with open(os.path.join(two.path, "config"), "w", encoding="utf-8") as file:
        file.write(content)
    assert find_cached_list(two.path, directory, complete=False) is None


def test_only_conversations_with_changed_refs_are_read_again(two, directory, monkeypatch):
    fill(two, directory)
    say(two, "conv-002", "e")
    walked = []

    def walk(*words, **options):
        commits = list(walk_newest_first(*words, **options))
        walked.append(len(commits))
        return commits

    monkeypatch.setattr("scopes.conversation.list_rows.walk_newest_first", walk)
    list_conversations(two, directory, complete=True)
    assert walked == [3]


def test_a_brief_list_has_no_extra_fields_from_the_index(two, directory):
    fill(two, directory)
    assert {row.messages for row in find_cached_list(two.path, directory, complete=False).conversations} == {None}
    assert [row[2] for row in rows_in(directory)] == [3, 1]


def test_a_cached_brief_list_is_not_used_for_a_complete_one(two, directory):
    list_conversations(two, directory)
    assert find_cached_list(two.path, directory, complete=True) is None


def test_during_an_operation_the_index_is_not_used(two, directory):
    fill(two, directory)
    git(two, "update-ref", names.PENDING, two.list_refs(names.HEADS)["refs/heads/conv-001/main"])
    assert find_cached_list(two.path, directory, complete=False) is None


def test_first_prompts_are_cached(two, directory, monkeypatch):
    list_conversations(two, directory)
    monkeypatch.setattr("scopes.conversation.list_rows.first_prompt", lambda line: pytest.fail("it was known"))
    rows = list_conversations(two, directory).conversations
    assert {row.id: row.opening for row in rows} == {"conv-001": "a", "conv-002": "d"}


def test_names_with_any_characters_are_cached_unchanged(repository, directory):
    people = ["a b", "日本", "x/y", "100%", ".git", "tab\there", "x\x1fy"]
    history(repository, "main: m", author="zoe")
    for name in people:
        say(repository, "conv-001", "x", author=name)
    list_conversations(repository, directory)
    [row] = find_cached_list(repository.path, directory, complete=False).conversations
    assert row.participants == tuple(sorted([*people, "zoe"]))


def test_the_list_of_an_empty_store_is_cached(repository, directory):
    assert fill(repository, directory).conversations == ()
    assert find_cached_list(repository.path, directory, complete=True).conversations == ()


def test_the_index_of_another_store_at_the_same_path_is_not_used(two, directory, tmp_path):
    """D-45."""
    fill(two, directory)
    os.rename(two.path, tmp_path / "gone.git")
    other = make_store(two.path)
    assert find_cached_list(other.path, directory, complete=False) is None
    found = list_conversations(other, directory)
    assert (found.conversations, [note.text for note in found.notes]) == (
        (), ["the index of conversations belonged to another store or another version"],
    )  # fmt: skip


def test_an_index_of_an_older_layout_is_rebuilt_with_a_note(two, directory):
    """Layout 1 had another name for a table."""
    fill(two, directory)
    with contextlib.closing(sqlite3.connect(os.path.join(directory, "conversations.sqlite"))) as connection:
        connection.executescript("ALTER TABLE property RENAME TO standing; PRAGMA user_version = 1")
    assert find_cached_list(two.path, directory, complete=False) is None
    found = list_conversations(two, directory)
    assert [note.text for note in found.notes] == [
        "the index of conversations belonged to another store or another version"
    ]
    assert find_cached_list(two.path, directory, complete=False) == list_conversations(two)


def test_a_modified_index_is_rebuilt_with_a_note(two, directory):
    fill(two, directory)
    with contextlib.closing(sqlite3.connect(os.path.join(directory, "conversations.sqlite"))) as connection, connection:
        connection.execute("UPDATE conversation SET title = 'false'")
        connection.execute("UPDATE list SET rows = (SELECT rows FROM list WHERE name = 'complete')")
    assert find_cached_list(two.path, directory, complete=False) is None
    found = list_conversations(two, directory)
    assert [note.text for note in found.notes] == ["the index of conversations was damaged"]
    assert find_cached_list(two.path, directory, complete=False) == list_conversations(two)


def sweep(repository, directory, tries):
    """Damage the file at one offset after the other; every list must equal that of the store."""
    fill(repository, directory)
    path = os.path.join(directory, "conversations.sqlite")
    with open(path, "rb") as file:
        intact = file.read()
    right = list_conversations(repository, complete=True)
    rng = random.Random(7)
    for _ in range(tries):
        data = bytearray(intact)
        at, length = rng.randrange(len(data)), rng.choice([1, 1, 8, 512])
        data[at : at + length] = rng.randbytes(len(data[at : at + length]))
        for suffix in ("-wal", "-shm"):
            if os.path.exists(path + suffix):
                os.unlink(path + suffix)
        with open(path, "wb") as file:
            file.write(data)
        assert find_cached_list(repository.path, directory, complete=True) in (None, right)
        assert list_conversations(repository, directory, complete=True).conversations == right.conversations


def test_a_damaged_index_gives_no_error_and_no_wrong_row(two, directory):
    sweep(two, directory, 60)


@pytest.mark.sweep
def test_a_badly_damaged_index_gives_no_error_and_no_wrong_row(two, directory):
    sweep(two, directory, 3000)


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(200)])
def test_any_other_file_at_the_path_of_the_index_is_replaced(two, directory, content):
    os.makedirs(directory)
    with open(os.path.join(directory, "conversations.sqlite"), "wb") as file:
        file.write(content)
    assert fill(two, directory).conversations == list_conversations(two, complete=True).conversations


def test_an_unwritable_index_directory_does_not_prevent_a_list(two, tmp_path):
    (tmp_path / "file").write_text("in the way")
    directory = str(tmp_path / "file" / "scopes" / "index")
    assert find_cached_list(two.path, directory, complete=False) is None
    assert list_conversations(two, directory) == list_conversations(two)


def test_an_index_locked_by_a_writer_does_not_block_a_list(two, directory):
    fill(two, directory)
    writer = sqlite3.connect(os.path.join(directory, "conversations.sqlite"), isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    assert find_cached_list(two.path, directory, complete=True) == list_conversations(two, complete=True)
    say(two, "conv-002", "e")
    assert list_conversations(two, directory) == list_conversations(two)
    writer.close()


def test_rows_cached_by_another_process_are_not_overwritten(two, directory):
    """Otherwise the table would mix rows of two states of the store."""
    fill(two, directory)
    with open_conversation_table(directory, two.path) as late:
        say(two, "conv-002", "e")
        newer = list_conversations(two, directory)
        late.save([], States("another", "moment"))
    assert find_cached_list(two.path, directory, complete=False) == newer


def test_concurrent_lists_and_changes_give_correct_lists(two, directory):
    """Each list is that of one state, the last one that of the final state; concurrent writes are not taken for damage."""

    def work(number):
        if number % 2:
            say(make_store(two.path), "conv-002", f"from {number}")
            return ()
        found = find_cached_list(two.path, directory, complete=True)
        return (found or list_conversations(make_store(two.path), directory, complete=True)).notes

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(40))) == {()}
    assert list_conversations(two, directory, complete=True) == list_conversations(two, complete=True)
    assert find_cached_list(two.path, directory, complete=True) == list_conversations(two, complete=True)


def test_the_order_of_the_fields_of_a_summary_is_free(two, directory):
    """The columns of the table are derived from the fields: in a fresh interpreter, with two fields moved."""
    program = """
import importlib.util, sys
from pathlib import Path
spec = importlib.util.find_spec("scopes.index.conversation_table")
text = Path(spec.origin).read_text()
for field in ("    branches: int\\n", "    messages: int | None = None\\n"):
    assert text.count(field) == 1
    text = text.replace(field, "")
text = text.replace("    id: ConversationId\\n", "    branches: int\\n    id: ConversationId\\n")
text = text.replace("    title: str | None = None\\n", "    messages: int | None = None\\n    title: str | None = None\\n")
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
exec(compile(text, spec.origin, "exec"), module.__dict__)
from scopes.conversation.list import list_conversations
from scopes.conversation.list_cached import find_cached_list
from tests.support.store import make_store
store, directory = sys.argv[1:]
repository = make_store(store)
for complete in (False, True):
    expected = list_conversations(repository, complete=complete)
    assert list_conversations(repository, directory, complete=complete) == expected
    assert find_cached_list(repository.path, directory, complete=complete) == expected
    assert expected.conversations[0].branches in (1, 2)
"""
    command = [sys.executable, "-c", program, two.path, directory]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)


def test_every_column_of_the_table_has_a_type():
    assert set(conversation_table._TYPES) == {*ConversationRow._fields, "state", "complete"}
