"""Opening sources: workers find the same as one process."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from scopes.errors import CannotImport, ScopesError
from scopes.importers import workers as processes
from scopes.importers.formats.base import Source
from scopes.importers.source_queue import check_any, open_each, open_sources
from tests.importers.demo_format import DemoFormat, session_records, write_transcript


class CountingFormat(DemoFormat):
    """Notes each read of a file in this process, and the last event that was read."""

    def __init__(self):
        self.reads, self.last = [], None

    def walk_events(self, source):
        self.reads.append(os.path.basename(source.path))
        for self.last in super().walk_events(source):
            yield self.last


@pytest.fixture
def workers(monkeypatch):
    """Let workers open few sources too."""
    monkeypatch.setattr(processes, "_ITEMS_PER_WORKER", 1)
    monkeypatch.setattr(processes, "_ITEMS_PER_TASK", 2)


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
    alone = open_each(sources, [DemoFormat()], workers=1)
    several = open_each(sources, [DemoFormat()], workers=3)
    assert comparable(several) == comparable(alone)
    kinds = [*[tuple] * 6, CannotImport, type(None), FileNotFoundError]
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
