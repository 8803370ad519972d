"""What the writer does with a store, and a spool, that fail: nothing is dropped before the limit of memory."""

from __future__ import annotations

import os
import threading

import pytest

from scopes.conversation.new_rename_delete import delete
from scopes.errors import Inaccessible
from scopes.history.handles import StoreHandle
from scopes.history.messages import read_message
from scopes.history.metadata import read_metadata
from scopes.ids import Oid
from scopes.live.event_log import EventLog, read_events
from scopes.model.message import Author, Message, text_parts
from scopes.server.acp import recordings, store_writer
from scopes.server.acp.recordings import SessionWriter, identity_of
from scopes.server.acp.spool import Spool, abandoned_file, list_spooled
from scopes.server.acp.store_writer import StoreWriter
from scopes.store.repository import open_repository

FULL = Inaccessible("the disk is full")


class FullSpool(Spool):
    """A spool on a disk that is full."""

    def append(self, store, messages):
        raise OSError("no space left")


def message(number, text="hello"):
    return Message(
        id=f"m-{number}", author=Author("carol", "human"), parts=text_parts(text), time="2026-01-01T00:00:00Z"
    )


class Bench:
    """A writer of a store that fails as often as it is told, and the thread that it runs on."""

    def __init__(self, repository, directory, monkeypatch, spool=Spool):
        monkeypatch.setattr(store_writer, "_FIRST_FAILURE_SECONDS", 0.001)
        monkeypatch.setattr(store_writer, "_LAST_TRY_SECONDS", 0.001)
        self.directory, self.repository = str(directory), repository
        self.failures = 0
        self.writer = StoreWriter(EventLog(self.directory), spool(self.directory), repository.path)
        self.session = SessionWriter(self.open, identity_of("stub", "/project"), "s", "run", None)
        self.thread = threading.Thread(target=self.writer.run)

    def open(self):
        if self.failures:
            self.failures -= 1
            raise FULL
        return self.repository

    def put(self, *messages):
        for each in messages:
            self.writer.put(self.session, each)

    def run(self):
        """Write until the end, as after the end of the agent."""
        self.writer.end()
        self.thread.start()
        self.thread.join()

    def events(self, *names):
        return [event for event in read_events(self.directory).events if event.name in names]

    def texts(self):
        conversations = list(StoreHandle(self.repository).conversations())
        return [m.text for c in conversations for m in reversed(list(c.branch().messages()))]


@pytest.fixture
def bench(repository, tmp_path, monkeypatch):
    return Bench(repository, tmp_path / "state", monkeypatch)


def test_a_store_that_fails_twice_gets_every_message_once_and_in_order(bench):
    bench.failures = 2
    bench.put(message(1, "one"), message(2, "two"))
    bench.run()
    assert bench.texts() == ["one", "two"]
    assert [event.name for event in bench.events("store-failed", "store-recovered")] == [
        "store-failed",
        "store-recovered",
    ]
    assert list_spooled(bench.directory) == [], "the store has everything"


def test_what_is_in_the_spool_for_a_moment_is_not_in_the_log(bench):
    """An ordinary turn: it looked like trouble."""
    bench.put(message(1, "one"), message(2, "two"))
    bench.writer.spool_waiting()
    assert len(list_spooled(bench.directory)) == 1
    bench.run()
    assert (bench.texts(), bench.events("spooled")) == (["one", "two"], [])


def test_what_is_in_the_spool_for_longer_is_in_the_log_with_what_was_there_before(bench):
    bench.put(message(1, "one"))
    bench.writer.spool_waiting()
    bench.put(message(2, "two"))
    bench.writer.spool_waiting(is_late=True)
    bench.writer.spool_waiting(is_late=True)
    [event] = bench.events("spooled")
    assert event.details == {"messages": 2}


def test_a_store_that_fails_tells_what_is_in_the_spool_already(bench):
    """`scopes doctor` says whether what waits is on the disk."""
    bench.put(message(1, "one"))
    bench.writer.spool_waiting()
    bench.failures = 1
    bench.run()
    names = [event.name for event in bench.events("store-failed", "spooled", "store-recovered")]
    assert bench.writer.delay is None
    assert names == ["store-failed", "spooled", "store-recovered"]


def test_after_the_end_a_store_is_tried_a_few_times_and_the_spool_stays(bench):
    bench.failures = 1000
    bench.put(message(1), message(2))
    bench.run()
    assert 1000 - bench.failures < 10
    assert [event.name for event in bench.events("spool-left", "recording-off")] == ["spool-left"]
    bench.writer._spool._descriptor = -1  # as after the end of the process
    assert len(list_spooled(bench.directory)) == 1


def test_without_a_spool_the_end_says_how_many_messages_are_lost(repository, tmp_path, monkeypatch):
    bench = Bench(repository, tmp_path / "state", monkeypatch, FullSpool)
    bench.failures = 1000
    bench.put(message(1), message(2))
    bench.run()
    [event] = bench.events("recording-off")
    assert event.details == {"error": "the disk is full", "not_recorded": 2}


def test_what_waits_in_memory_has_a_limit(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(store_writer, "MAX_WAITING_BYTES", 2000)
    bench = Bench(repository, tmp_path / "state", monkeypatch, FullSpool)
    bench.put(message(1, "x" * 1000))
    with pytest.raises(OSError, match="no space"):
        bench.writer.spool_waiting()
    assert bench.writer.is_on
    bench.put(message(2, "y" * 1000))
    with pytest.raises(OSError, match="no space"):
        bench.writer.spool_waiting()
    assert not bench.writer.is_on
    [event] = bench.events("recording-off")
    assert event.details == {"error": "no space left", "not_recorded": 2}


def test_a_message_that_is_too_large_for_the_store_does_not_keep_others_out_of_the_spool(bench, monkeypatch):
    monkeypatch.setattr("scopes.model.message.MAX_MESSAGE_BYTES", 4000)
    bench.put(message(1, "x" * 5000), message(2, "small"))
    bench.writer.spool_waiting()
    bench.writer._spool.clear, descriptor = (lambda: None), bench.writer._spool._descriptor
    os.close(descriptor)
    [path] = list_spooled(bench.directory)
    with abandoned_file(path) as file:
        first, second = (each.message.text for each in file.messages)
    assert first.startswith("[not recorded: ")
    assert second == "small"


def test_a_message_that_was_written_although_the_disk_failed_is_not_written_again(bench, monkeypatch):
    """The branch was moved, and only the last sync failed."""
    original = recordings.append_commit
    failed = []

    def fail_after(*arguments, **options):
        oid = original(*arguments, **options)
        if not failed:
            failed.append(oid)
            raise FULL
        return oid

    monkeypatch.setattr(recordings, "append_commit", fail_after)
    bench.put(message(1, "one"), message(2, "two"), message(3, "three"))
    bench.run()
    assert failed
    assert bench.texts() == ["one", "two", "three"]


def damage_tip(repository, recorded):
    """Delete the commit at the tip of a branch, as a broken disk may."""
    SessionWriter(repository, identity_of("other", "/other"), "o", "o", None).append(
        message(99)
    )  # what was read is kept
    os.unlink(os.path.join(repository.path, "objects", recorded.tip[:2], recorded.tip[2:]))
    return open_repository(repository.path)


def test_a_session_whose_branch_is_damaged_goes_on_in_a_conversation_of_its_own(bench, repository):
    recorded = bench.session.append(message(1, "one"))
    bench.repository = damage_tip(repository, recorded)
    bench.put(message(2, "two"), message(3, "three"))
    bench.run()
    assert bench.session.recorded.conversation == "conv-003"
    texts = [m.text for m in StoreHandle(bench.repository).conversation("conv-003").branch().messages()]
    assert texts == ["three", "two"]
    [event] = bench.events("branch-left")
    assert event.details["session"] == "s"
    assert list_spooled(bench.directory) == []


def test_a_title_of_a_conversation_that_was_deleted_meanwhile_holds_up_nothing(bench, repository):
    bench.session.append(message(1, "one"))
    delete(repository, "conv-001")
    bench.writer.then(lambda: bench.session.set_title("a title"))
    bench.put(message(2, "two"))
    bench.run()
    assert bench.texts() == ["two"]
    assert read_metadata(repository, "conv-001").title is None


def test_what_cannot_be_done_because_something_is_gone_holds_up_nothing(bench):
    bench.writer.then(lambda: read_message(bench.repository, Oid("0" * 40)))
    bench.put(message(1, "one"))
    bench.run()
    assert [event.name for event in bench.events("not-done", "store-failed")] == ["not-done"]
    assert bench.texts() == ["one"]
