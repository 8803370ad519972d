"""Opening sources: one read finds format, session and beginning, and workers find the same as one process."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from scopes.errors import CannotImport, ScopesError
from scopes.importers import import_sources as import_module
from scopes.importers import shared_prefix
from scopes.importers import workers as processes
from scopes.importers.beginning import Beginning, can_join, read_beginning
from scopes.importers.formats.base import Source
from scopes.importers.import_sources import ImportOptions, import_sources
from scopes.importers.open_source import OpenedSource, open_each
from scopes.importers.work_queue import check_any, open_sources
from scopes.store.config import Setting
from scopes.store.projects import Project
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.support.store import FAST, make_store

ALWAYS, NEVER = (lambda _: True), (lambda _: False)


class CountingFormat(DemoFormat):
    """Notes each read of a file in this process, and the last event that was read."""

    def __init__(self):
        self.reads, self.last = [], None

    def walk_events(self, source):
        self.reads.append(os.path.basename(source.path))
        for self.last in super().walk_events(source):
            yield self.last


class FailingFormat(DemoFormat):
    """Fails behind the first message of a session."""

    def walk_events(self, source):
        for number, event in enumerate(super().walk_events(source)):
            if number == 3:
                raise CannotImport("cannot read on")
            yield event


@pytest.fixture
def workers(monkeypatch):
    """Let workers open few sources too."""
    monkeypatch.setattr(processes, "_ITEMS_PER_WORKER", 1)
    monkeypatch.setattr(processes, "_ITEMS_PER_TASK", 2)


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git", {**FAST, "scopes.importworkers": Setting("workers", "1", "flag")})


def write_sessions(tmp_path, count=6, **fields):
    return [
        write_transcript(tmp_path / f"s{n}.jsonl", *session_records(f"s{n}", f"a{n} b c d", **fields))
        for n in range(count)
    ]


def write_all_kinds(tmp_path):
    """Write sessions, a file of another format, one without a message, one that is gone, and one in no file."""
    other, missing = tmp_path / "other.jsonl", tmp_path / "gone.jsonl"
    other.write_text("no session\n")
    empty = write_transcript(tmp_path / "empty.jsonl", {"session": "empty"})
    return [*write_sessions(tmp_path), Source(str(other), 11), empty, Source(str(missing), 5)]


def comparable(opened):
    """Return what was opened; errors by type, text and file."""
    return [(type(one), str(one), getattr(one, "hint", None)) if isinstance(one, Exception) else one for one in opened]


def test_workers_open_every_kind_of_source_as_one_process_does(tmp_path, workers):
    sources = write_all_kinds(tmp_path)
    alone = open_each(sources, [DemoFormat()], workers=1, wants_beginning=ALWAYS)
    several = open_each(sources, [DemoFormat()], workers=3, wants_beginning=ALWAYS)
    assert comparable(several) == comparable(alone)
    kinds = [*[OpenedSource] * 6, CannotImport, type(None), FileNotFoundError]
    assert list(map(type, several)) == kinds


def test_workers_lead_to_the_same_queue_and_the_same_skipped_files(tmp_path, workers):
    sources = write_all_kinds(tmp_path)
    found = []
    for count in (1, 3):
        skipped = []
        queue = open_sources(sources, [DemoFormat()], skipped, workers=count)
        found.append((queue, [(one.path, one.reason, one.named, one.noted) for one in skipped]))
    assert found[0][0] == [replace(queued, format=found[0][0][0].format) for queued in found[1][0]]
    assert found[0][1] == found[1][1]
    assert len(found[0][1]) == 3


def test_the_beginning_is_what_a_second_read_finds(tmp_path):
    sources = write_sessions(tmp_path)
    opened = open_each(sources, [DemoFormat()], workers=1, wants_beginning=ALWAYS)
    again = [read_beginning(DemoFormat().walk_events(source)) for source in sources]
    assert [one.beginning for one in opened] == again
    assert all(len(beginning.answers) == 2 for beginning in again)


def test_without_a_wish_for_its_beginning_a_source_is_read_to_its_first_message(tmp_path):
    counting = CountingFormat()
    (opened,) = open_each(write_sessions(tmp_path, 1), [counting], workers=1, wants_beginning=NEVER)
    assert opened.beginning is None
    assert counting.last.key == "a0"


def test_a_session_is_read_twice_by_an_import_to_find_what_it_joins_and_to_write_it(tmp_path, store):
    """It was read three times: for its session, for its beginning, and for its messages."""
    counting = CountingFormat()
    import_sources(store, write_sessions(tmp_path, 3), [counting])
    assert sorted(counting.reads) == sorted(["s0.jsonl", "s1.jsonl", "s2.jsonl"] * 2)


def test_an_error_behind_the_first_message_is_left_to_the_import(tmp_path):
    """The session has an empty beginning; the import reports the file."""
    (opened,) = open_each(write_sessions(tmp_path, 1), [FailingFormat()], workers=1, wants_beginning=ALWAYS)
    assert opened.beginning == Beginning()


def asked_at_opening(tmp_path, store, monkeypatch, sources=None, **options):
    """Import sessions; return the beginnings that opening them has read, in the order of the sources."""
    found = []
    original = shared_prefix.find_joins

    def find_joins(repository, objects, targets, queue, **given):
        found.extend(queued.beginning for queued in queue)
        return original(repository, objects, targets, queue, **given)

    monkeypatch.setattr(import_module, "find_joins", find_joins)
    import_sources(store, sources or write_sessions(tmp_path, 2), [DemoFormat()], ImportOptions(**options))
    return [beginning is not None for beginning in found]


def test_new_sessions_have_a_beginning_when_joins_are_looked_for(tmp_path, store, monkeypatch):
    assert asked_at_opening(tmp_path, store, monkeypatch) == [True, True]


@pytest.mark.parametrize(
    "options",
    [{"join": False}, {"since": 0}, {"projects": [Project("/home/carol/shop", None)]}],
    ids=["join", "since", "projects"],
)
def test_no_beginning_is_read_for_sessions_that_may_be_left_out(tmp_path, store, monkeypatch, options):
    """Nor without joins: most files of other projects are read to their first message only."""
    assert set(asked_at_opening(tmp_path, store, monkeypatch, **options)) == {False}


def test_no_beginning_is_read_of_a_session_that_the_store_has(tmp_path, store, monkeypatch):
    sources = write_sessions(tmp_path, 3)
    import_sources(store, sources[:2], [DemoFormat()])
    assert asked_at_opening(tmp_path, store, monkeypatch, sources) == [False, False, True]


@pytest.mark.parametrize("fields", [{"base": "other"}, {"part": "agent-1"}], ids=str)
def test_no_beginning_is_read_of_a_session_that_can_join_none(tmp_path, store, monkeypatch, fields):
    sources = write_sessions(tmp_path, 1, **fields)
    assert not can_join(next(DemoFormat().walk_events(sources[0])))
    assert asked_at_opening(tmp_path, store, monkeypatch, sources) == [False]


def test_beginnings_are_forgotten_when_the_joins_are_known(tmp_path, store, monkeypatch):
    """The queue lives as long as the import."""
    queues = []
    original = import_module._import_groups
    monkeypatch.setattr(
        import_module, "_import_groups", lambda run, queue, **more: queues.append(queue) or original(run, queue, **more)
    )
    import_sources(store, write_sessions(tmp_path, 3), [DemoFormat()])
    assert [queued.beginning for queued in queues[0]] == [None, None, None]


def test_the_check_before_a_store_is_made_opens_no_source_after_the_first_good_one(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    good = [write_transcript(tmp_path / f"s{n}.jsonl", *session_records(f"s{n}", "one two")) for n in range(3)]
    for each in good[1:]:
        os.unlink(each.path)  # to open it would fail
    counting = CountingFormat()
    check_any([Source(str(empty), 0), *good], (counting,))
    assert counting.reads == ["s0.jsonl"]


def test_the_check_before_a_store_is_made_reports_that_no_source_can_be_opened(tmp_path):
    missing = Source(str(tmp_path / "missing.jsonl"), 10, named=True)
    with pytest.raises(ScopesError, match=r"missing\.jsonl"):
        check_any([missing], (DemoFormat(),))
