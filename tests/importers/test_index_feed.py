"""The search index that an import fills equals the one that a search builds afterwards, or the next search updates it."""

from __future__ import annotations

import json
import marshal
import os
import signal
import sqlite3
import time
from types import SimpleNamespace

import pytest

from scopes.cli import import_runner
from scopes.conversation.append import append
from scopes.conversation.delete import delete
from scopes.conversation.list import list_conversations
from scopes.conversation.list_cached import find_cached_list
from scopes.errors import CannotImport
from scopes.history.messages import plain_message
from scopes.importers import import_groups, import_sources, index_feed
from scopes.importers import import_source as import_module
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.index import staging
from scopes.index.checksums import hold_lock
from scopes.index.conversation_table import list_values
from scopes.index.database import delete_files
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store import transactions
from scopes.store.config import Setting
from scopes.store.libgit2 import pygit2
from scopes.store.open_repository import open_repository
from scopes.store.refs import HEADS
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.importers.reading import real_transcript
from tests.index.corpus import dump, file_in, matches, opened, status_and_notes
from tests.support.every_byte import find_word
from tests.support.store import FAST, git, make_store, open_store

LARGE = 700_000
WORD = "xylophonequarantine"
STEPS = ("_copy_old", "_sync_file", "record", "remove", "verify")


@pytest.fixture(autouse=True)
def small_imports_are_indexed(monkeypatch):
    monkeypatch.setattr(import_sources, "INDEXED_BYTES", 1)
    monkeypatch.setattr(import_groups, "BYTES_PER_WORKER", 1)
    monkeypatch.setattr(index_feed, "_INDEX_SHARE", 1 << 20)
    monkeypatch.setattr(index_feed, "_BATCH_CHARACTERS", 40)


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "cache" / "index"


def new_store(tmp_path, workers=1, name="store"):
    setting = Setting("scopes.importWorkers", str(workers), "flag")
    return make_store(tmp_path / f"{name}.git", {**FAST, "scopes.importworkers": setting})


def sessions(tmp_path, words, names=range(6)):
    return [
        write_transcript(
            tmp_path / f"s{n}.jsonl", *session_records(f"s{n}", " ".join(f"w{n}x{m}" for m in range(words)))
        )
        for n in names
    ]


def import_demo(repository, sources, directory, **options):
    return import_sources.import_sources(
        repository, sources, (DemoFormat(),), import_sources.ImportOptions(**options), index_directory=str(directory)
    )


def check_equal_to_new(repository, directory, tmp_path):
    """Compare an index with a new one."""
    assert dump(repository, directory) == dump(repository, tmp_path / "new-index")


def check_caught_up(repository, directory, tmp_path):
    """Check that the next search makes the index complete, without a note, and that nothing else is left."""
    status, notes = status_and_notes(repository, directory)
    assert (status.state in {"built", "updated"}, notes) == (True, [])
    check_equal_to_new(repository, directory, tmp_path)
    assert git(repository, "fsck", "--strict", "--no-dangling", "--no-progress") == ""


def staged_files(directory):
    return [name for name in os.listdir(directory) if name.startswith("staged") and not name.endswith("-lock")]


@pytest.mark.parametrize("workers", [1, 3])
def test_after_an_import_the_index_is_complete_and_the_next_search_reads_nothing(tmp_path, directory, workers):
    repository = new_store(tmp_path, workers)
    result = import_demo(repository, sessions(tmp_path, 5), directory)
    status, notes = status_and_notes(repository, directory)
    assert (status.state, status.read, status.messages, status.conversations, notes) == ("fresh", 0, 30, 6, [])
    assert [note for note in result.notes if "index" in note.text] == []
    assert len(matches(repository, directory, "w3x4")) == 1
    check_equal_to_new(repository, directory, tmp_path)
    assert staged_files(directory) == []
    assert os.stat(file_in(directory)).st_mode & 0o777 == 0o600


def test_after_an_import_the_list_of_titles_is_in_the_index_too(tmp_path, directory):
    """A search finds titles in it; to make it, it would read every conversation down to its first prompt."""
    repository = new_store(tmp_path, 2)
    import_demo(repository, sessions(tmp_path, 5), directory)
    cached = find_cached_list(repository.path, str(directory))
    assert cached is not None
    assert cached.conversations == list_conversations(repository).conversations
    assert sorted(row.opening for row in cached.conversations) == [f"say w{n}x0" for n in range(6)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.slow
def test_real_transcripts_are_indexed_by_the_import_as_by_a_search(tmp_path, directory, workers):
    folders = ("claude-code", "codex", "openai-messages")
    found = [source for folder in folders for source in find_sources(real_transcript(folder)) if source.size < LARGE]
    repository = new_store(tmp_path, workers)
    import_sources.import_sources(repository, found, FORMATS, index_directory=str(directory))
    assert status_and_notes(repository, directory)[0].state == "fresh"
    content = dump(repository, directory)
    assert {field for field, _, _ in content["touched"]} >= {"tool", "file", "exit"}
    assert content == dump(repository, tmp_path / "new-index")


def test_texts_that_are_hard_to_store_are_indexed_by_the_import_as_by_a_search(tmp_path, directory):
    texts = [
        "\ud800 alone",
        "nul\0byte",
        "ﬁne \uff21\uff22 İstanbul",
        "日本語の文",
        "e\u0301 \u200b zero",
        "x" * 300_000,
        "",
        " ",
    ]
    records = [{"session": "odd"}] + [
        {
            "id": f"m{n}",
            "parent": f"m{n - 1}" if n else None,
            "by": ("user", "bot\u00e9")[n % 2],
            "say": text,
            "time": time,
        }
        for n, (text, time) in enumerate(zip(texts, [None, "2026-01-01T00:00:00Z"] * 4, strict=True))
    ]
    path = tmp_path / "odd.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    repository = new_store(tmp_path)
    import_demo(repository, find_source(path), directory)
    assert status_and_notes(repository, directory)[0].messages == len(texts)
    check_equal_to_new(repository, directory, tmp_path)


def find_source(path):
    return [import_module.Source(str(path), path.stat().st_size)]


@pytest.mark.parametrize("searched", [True, False])
@pytest.mark.slow
def test_a_second_import_adds_to_the_index(tmp_path, directory, searched):
    repository = new_store(tmp_path, 2)
    import_demo(repository, sessions(tmp_path, 3), directory if searched else tmp_path / "other")
    import_demo(repository, sessions(tmp_path, 6, range(8)), directory)
    assert status_and_notes(repository, directory)[0].state == "fresh"
    check_equal_to_new(repository, directory, tmp_path)


@pytest.mark.slow
def test_an_index_that_lacks_much_is_left_to_the_next_search(tmp_path, directory, monkeypatch):
    """Updating it could take longer than the import."""
    monkeypatch.setattr(staging, "_MAX_LACKING", 10)
    repository = new_store(tmp_path)
    import_demo(repository, sessions(tmp_path, 3), tmp_path / "other")
    result = import_demo(repository, sessions(tmp_path, 4), directory)
    assert [note for note in result.notes if "index" in note.text] == []
    assert staged_files(directory) == []
    check_caught_up(repository, directory, tmp_path)


def test_messages_that_no_branch_reaches_are_not_in_the_index(tmp_path, directory):
    """A deleted conversation stays deleted, but the import has written its new messages."""
    repository = new_store(tmp_path)
    import_demo(repository, sessions(tmp_path, 3), directory)
    delete(repository, "conv-002")
    import_demo(repository, sessions(tmp_path, 5), directory)
    assert status_and_notes(repository, directory)[0].conversations == 5
    assert matches(repository, directory, "w1x4") == []
    check_equal_to_new(repository, directory, tmp_path)


def test_a_source_that_cannot_be_read_costs_the_index_only_its_messages(tmp_path, directory, monkeypatch):
    original = import_module.write_source_record

    def write(objects, previous, record, *arguments, **named):
        if record.native_id == "s4":
            raise CannotImport(f"{record.path} was changed while it was read")
        return original(objects, previous, record, *arguments, **named)

    monkeypatch.setattr(import_module, "write_source_record", write)
    repository = new_store(tmp_path, 2)
    import_demo(repository, sessions(tmp_path, 3), directory)
    assert status_and_notes(repository, directory)[0].conversations == 5
    assert matches(repository, directory, "w4x0") == []
    check_equal_to_new(repository, directory, tmp_path)


@pytest.mark.parametrize("options", [{"dry_run": True}, {"strict": True}])
def test_an_import_that_writes_nothing_makes_no_index(tmp_path, directory, options):
    sources = sessions(tmp_path, 3)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("".join(json.dumps(record) + "\n" for record in session_records("damaged", "a b")) + "{broken\n")
    repository = new_store(tmp_path)
    if options == {"strict": True}:
        with pytest.raises(CannotImport):
            import_demo(repository, [*sources, *find_source(damaged)], directory, **options)
    else:
        import_demo(repository, sources, directory, **options)
    assert not os.path.exists(file_in(directory))
    assert not directory.exists() or staged_files(directory) == []


def test_an_import_without_news_leaves_the_index_alone(tmp_path, directory):
    repository = new_store(tmp_path)
    import_demo(repository, sessions(tmp_path, 3), directory)
    before = os.stat(file_in(directory))
    assert import_demo(repository, sessions(tmp_path, 3), directory).operation is None
    after = os.stat(file_in(directory))
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize(
    ("step", "existing"), [*((step, True) for step in (*STEPS, 0, 5)), (STEPS[0], False), (1, False)]
)
def test_the_import_succeeds_if_the_index_process_is_killed_at_any_step(
    tmp_path, directory, monkeypatch, step, existing
):
    """A step is a function of the module, before and after which it is killed, or a number of messages."""
    repository = new_store(tmp_path, 2)
    if existing:
        import_demo(repository, sessions(tmp_path, 1), directory)
    with monkeypatch.context() as patch:
        for after in (False, True):
            kill_at(patch, step, after=after)
            words = 5 + after
            result = import_demo(repository, sessions(tmp_path, words), directory)
            assert result.operation is not None
            assert [note.text for note in result.notes] == ["the search index was not updated: its process was killed"]
            assert len(dump_refs(repository)) == 6
    check_index_after_kill(repository, directory, tmp_path)


def kill_at(patch, step, *, after):
    if isinstance(step, str):
        original = getattr(staging, step)

        def killed(*arguments, **named):
            if after:
                original(*arguments, **named)
            os.kill(os.getpid(), signal.SIGKILL)

        patch.setattr(staging, step, killed)
        return
    original_add = staging.StagedIndex.add
    added = []

    def add(self, *arguments):
        if len(added) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        added.append(1)
        original_add(self, *arguments)

    patch.setattr(staging.StagedIndex, "add", add)


def dump_refs(repository):
    return [name for name in open_repository(repository.path).list_refs("refs/heads/") if name.endswith("/main")]


def check_index_after_kill(repository, directory, tmp_path):
    """Check that no search notices the kill, and that the next import deletes what it left."""
    assert status_and_notes(repository, directory)[1] == []
    check_equal_to_new(repository, directory, tmp_path)
    import_demo(repository, sessions(tmp_path, 9), directory)
    assert staged_files(directory) == []
    assert status_and_notes(repository, directory)[0].state == "fresh"
    assert dump(repository, directory) == dump(repository, tmp_path / "newer-index")


@pytest.mark.parametrize(
    "error", [sqlite3.OperationalError("database or disk is full"), OSError(30, "Read-only file system")]
)
@pytest.mark.parametrize("function", ["connect", "_copy_old", "_sync_file", "sync_index"])
def test_an_index_that_cannot_be_written_costs_one_note(tmp_path, directory, monkeypatch, function, error):
    def fail(*_arguments, **_named):
        raise error

    repository = new_store(tmp_path, 2)
    with monkeypatch.context() as patch:
        patch.setattr(staging, function, fail)
        result = import_demo(repository, sessions(tmp_path, 4), directory)
    assert [note.text for note in result.notes] == [f"the search index was not updated: {error}"]
    assert staged_files(directory) == []
    check_caught_up(repository, directory, tmp_path)


@pytest.mark.parametrize("function", ["fork", "pipe"])
def test_an_import_without_room_for_another_process_is_searchable_later(tmp_path, directory, monkeypatch, function):
    def fail():
        raise OSError(11, "Resource temporarily unavailable")

    repository = new_store(tmp_path)
    descriptors = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        assert import_demo(repository, sessions(tmp_path, 4), directory).notes == ()
    assert len(os.listdir("/proc/self/fd")) - descriptors < 8
    check_caught_up(repository, directory, tmp_path)


def test_an_index_directory_that_is_a_file_costs_one_note(tmp_path, directory):
    directory.parent.mkdir()
    directory.write_text("a file of the user")
    repository = new_store(tmp_path)
    result = import_demo(repository, sessions(tmp_path, 4), directory)
    assert len(result.notes) == 1
    assert "the search index was not updated" in result.notes[0].text
    assert directory.read_text() == "a file of the user"
    with opened(repository, directory) as index:
        assert index.status.state == "in-memory"


def test_of_two_imports_at_once_one_fills_the_index_and_no_search_waits(tmp_path, directory):
    repository = new_store(tmp_path)
    import_demo(repository, sessions(tmp_path, 2), directory)
    with hold_lock(str(directory / "staged.sqlite"), 0, exclusive=True):
        result = import_demo(repository, sessions(tmp_path, 5), directory)
        assert result.notes == ()
        check_caught_up(repository, directory, tmp_path)


def test_an_index_that_another_process_holds_at_the_end_is_not_replaced(tmp_path, directory, monkeypatch):
    monkeypatch.setattr(staging, "_LOCK_SECONDS", 0.05)
    repository = new_store(tmp_path)
    import_demo(repository, sessions(tmp_path, 2), directory)
    with hold_lock(file_in(directory), 0, exclusive=False):
        result = import_demo(repository, sessions(tmp_path, 5), directory)
        assert result.notes == ()
    check_caught_up(repository, directory, tmp_path)


def test_an_index_that_was_deleted_during_the_import_does_not_come_back(tmp_path, directory, monkeypatch):
    """`gc --expire` deletes the index, because it has words of messages that must not be found any more."""
    repository = new_store(tmp_path)
    import_demo(repository, sessions(tmp_path, 2), directory)
    original = staging.StagedIndex.publish

    def publish(self, store):
        delete_files(str(directory))
        original(self, store)

    monkeypatch.setattr(staging.StagedIndex, "publish", publish)
    import_demo(repository, sessions(tmp_path, 5), directory)
    assert not os.path.exists(file_in(directory))
    check_caught_up(repository, directory, tmp_path)


def test_a_search_during_the_import_reads_the_old_index_to_its_end(tmp_path, directory):
    repository = new_store(tmp_path)
    import_demo(repository, sessions(tmp_path, 2), directory)
    with opened(repository, directory) as index:
        rows = index.walk("SELECT id FROM message ORDER BY id")
        first = next(rows)
        import_demo(repository, sessions(tmp_path, 5), directory)
        assert len([first, *rows]) == 12
        index.check_whole()
    status, notes = status_and_notes(repository, directory)
    assert (status.state, status.messages, notes) == ("fresh", 30, [])


def test_a_damaged_index_is_not_the_base_of_the_next_one(tmp_path, directory):
    repository = new_store(tmp_path)
    import_demo(repository, sessions(tmp_path, 2), directory)
    with open(file_in(directory), "r+b") as file:
        file.seek(9000)
        file.write(b"\xff" * 64)
    import_demo(repository, sessions(tmp_path, 5), directory)
    status, notes = status_and_notes(repository, directory)
    assert (status.state, notes) == ("rebuilt", ["the search index was damaged"])
    check_equal_to_new(repository, directory, tmp_path)


def test_a_large_old_index_is_not_copied_for_a_small_import(tmp_path, directory, monkeypatch):
    repository = new_store(tmp_path)
    import_demo(repository, sessions(tmp_path, 2), directory)
    inode = os.stat(file_in(directory)).st_ino
    monkeypatch.setattr(index_feed, "_INDEX_SHARE", 0)
    import_demo(repository, sessions(tmp_path, 5), directory)
    assert os.stat(file_in(directory)).st_ino == inode
    check_caught_up(repository, directory, tmp_path)


def test_the_import_ends_its_index_process(tmp_path, directory, monkeypatch):
    """No process is left, neither after a success nor after an error."""
    processes = []
    original = index_feed.IndexFeed.__init__

    def start(self, pid, *descriptors):
        processes.append(pid)
        original(self, pid, *descriptors)

    monkeypatch.setattr(index_feed.IndexFeed, "__init__", start)
    repository = new_store(tmp_path, 2)
    import_demo(repository, sessions(tmp_path, 5), directory)
    path = tmp_path / "damaged.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in session_records("damaged", "a b")) + "{broken\n")
    with pytest.raises(CannotImport):
        import_demo(repository, find_source(path), directory, strict=True)
    assert len(processes) == 2
    for pid in processes:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def test_the_index_process_maps_only_parts_of_packs(tmp_path, directory, monkeypatch):
    """It is forked before the import limits that for itself."""
    before = pygit2.settings.mwindow_size, pygit2.settings.mwindow_mapped_limit
    pygit2.settings.mwindow_size = pygit2.settings.mwindow_mapped_limit = 1 << 30
    monkeypatch.setattr(index_feed, "_write_index", lambda *_: f"maps {pygit2.settings.mwindow_mapped_limit >> 20} MiB")
    try:
        imported = import_demo(new_store(tmp_path), sessions(tmp_path, 3), directory)
    finally:
        pygit2.settings.mwindow_size, pygit2.settings.mwindow_mapped_limit = before
    assert imported.notes[-1].text == "the search index was not updated: maps 8 MiB"


@pytest.mark.slow
def test_a_large_import_shows_the_same_first_prompts_as_a_small_one(tmp_path, monkeypatch, directory):
    """A large import reads them from the index, which it has just updated."""
    repository = new_store(tmp_path, 2)
    result = import_demo(repository, sessions(tmp_path, 5), directory)
    invocation = SimpleNamespace(
        json=False, index_directory=str(directory), find_repository=lambda **_options: repository
    )
    small = import_runner.with_first_prompts(invocation, result)
    monkeypatch.setattr(import_runner, "_MANY_CONVERSATIONS", 1)
    monkeypatch.setattr(import_runner, "read_first_prompt", lambda *_arguments: pytest.fail("not from the index"))
    assert import_runner.with_first_prompts(invocation, result) == small
    assert [row.first_prompt for row in small.conversations] == [f"say w{n}x0" for n in range(6)]


def test_a_message_that_is_cut_off_is_dropped():
    """A process of the import was killed while it sent; the import fails, and its index is deleted."""
    reader, writer = os.pipe()
    turns = os.pipe()
    os.write(turns[1], b"t")
    feed = index_feed.IndexFeed(0, writer, turns, reader)
    batch = [("a" * 40, (), None)]
    feed._send(batch)
    feed._send({"refs/heads/conv-001/main": "a" * 40})
    data = marshal.dumps(batch)
    os.write(writer, index_feed._HEAD.pack(len(data)) + data[:-1])
    for descriptor in (writer, *turns):
        os.close(descriptor)
    assert list(index_feed._read_messages(reader)) == [batch, {"refs/heads/conv-001/main": "a" * 40}]
    os.close(reader)


def test_the_messages_of_several_processes_do_not_mix():
    """Each is larger than a pipe, so that a write is done in pieces."""
    reader, writer = os.pipe()
    turns = os.pipe()
    os.write(turns[1], b"t")
    feed = index_feed.IndexFeed(0, writer, turns, -1)
    children = []
    for number in range(3):
        pid = os.fork()
        if not pid:
            for _ in range(20):
                feed._send([(f"{number:040}", ("b" * 300_000,), None)])
            os._exit(0)
        children.append(pid)
    os.close(writer)
    found = [message[0][0] for message in index_feed._read_messages(reader) if len(message[0][1][0]) == 300_000]
    assert sorted(found) == sorted(f"{number:040}" for number in range(3) for _ in range(20))
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_index_is_completed_before_the_operation_and_published_before_its_result(
    tmp_path, directory, monkeypatch, workers
):
    """What can be done while the refs move is not left for the end."""
    steps = tmp_path / "steps"

    def traced(owner, name):
        original = getattr(owner, name)

        def step(*arguments, **options):
            with open(steps, "a") as file:
                file.write(f"{name}\n")
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, step)

    traced(index_feed.IndexFeed, "insert_all")
    traced(index_feed.IndexFeed, "expect")
    traced(import_sources, "finish")  # the metadata of a conversation
    traced(index_feed.IndexFeed, "publish")
    traced(import_sources, "build_result")
    import_demo(new_store(tmp_path, workers), sessions(tmp_path, 5, range(3)), directory)
    assert steps.read_text().split() == ["insert_all", "expect", *["finish"] * 3, "publish", "build_result"]


def test_no_rows_wait_when_the_index_is_completed(tmp_path, directory, monkeypatch):
    found = tmp_path / "waiting"
    original = staging.StagedIndex.complete

    def complete(staged, *arguments):
        found.write_text(str(len(staged._writer._waiting.commits)))
        original(staged, *arguments)

    monkeypatch.setattr(staging.StagedIndex, "complete", complete)
    import_demo(new_store(tmp_path, 2), sessions(tmp_path, 5), directory)
    assert found.read_text() == "0"


@pytest.mark.slow
def test_branches_that_move_after_the_import_was_written_are_in_the_index_too(tmp_path, directory, monkeypatch):
    """The index is completed for the branches of the operation before they move; another process may append after."""
    repository = new_store(tmp_path, 2)
    original = staging.StagedIndex.publish

    def publish(staged, store):
        append(open_store(repository), "conv-001", plain_message("carol", "written meanwhile"))
        original(staged, store)

    monkeypatch.setattr(staging.StagedIndex, "publish", publish)
    result = import_demo(repository, sessions(tmp_path, 5), directory)
    assert result.notes == ()
    assert status_and_notes(repository, directory)[0].state == "fresh"
    assert len(matches(repository, directory, "meanwhile")) == 1
    check_equal_to_new(repository, directory, tmp_path)


@pytest.mark.slow
def test_the_titles_are_listed_while_the_refs_move(tmp_path, directory, monkeypatch):
    """The marker of the operation shows them to readers, before the files of the refs do."""
    repository = new_store(tmp_path, 2)
    original = transactions.move_refs

    def move_refs(*arguments):
        deadline = time.monotonic() + 60
        while not list_values(str(directory), "participants") and time.monotonic() < deadline:
            time.sleep(0.01)
        moved_after.append(len(list_values(str(directory), "participants")))
        return original(*arguments)

    moved_after = []
    monkeypatch.setattr(transactions, "move_refs", move_refs)
    import_demo(repository, sessions(tmp_path, 5), directory)
    assert moved_after[0] > 0
    assert find_cached_list(repository.path, str(directory)) is not None


def test_what_is_purged_before_the_index_is_written_is_not_in_it(tmp_path, directory, monkeypatch):
    """The process gets the messages from the import, not from the store."""
    repository = new_store(tmp_path)
    secret = write_transcript(tmp_path / "secret.jsonl", *session_records("secret", f"say {WORD} again"))
    begin = index_feed.staged_index

    def purge_and_begin(*words):
        while not open_store(repository.path).list_refs(HEADS):
            time.sleep(0.01)  # the import writes the refs last
        places = Places(str(directory))
        assert purge(open_store(repository.path), PurgeRequest(query=WORD), places).left == ()
        return begin(*words)

    monkeypatch.setattr(index_feed, "staged_index", purge_and_begin)
    result = import_demo(repository, [*sessions(tmp_path, 5), secret], directory)
    assert find_word(WORD, directory) == []
    assert [note for note in result.notes if "index" in note.text] == []
    check_caught_up(repository, directory, tmp_path)
    assert matches(repository, directory, WORD) == []
