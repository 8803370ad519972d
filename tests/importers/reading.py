"""Read a source, with the checks that hold for every format and every source."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import BytesIO

import pytest

from scopes.ids import MessageId
from scopes.importers.formats.base import Source
from scopes.importers.formats.events import Draft, Ending, Session, SessionRecord, Unparsed
from scopes.importers.identity import content_bytes
from scopes.model.message import Message, decode, encode

HERE = os.path.dirname(os.path.abspath(__file__))
NEARBY = os.path.join(HERE, "..", "..", "..", "shared", "transcripts")
TRANSCRIPTS = os.environ.get(
    "SCOPES_TEST_TRANSCRIPTS", NEARBY
)  # read at import time, before the environment of a test is sealed


@dataclass(frozen=True, slots=True)
class BytesSource(Source):
    """A source in memory."""

    data: bytes = b""

    def open(self):
        return BytesIO(self.data)


def bytes_source(data, path="/transcript"):
    """Make a source of bytes."""
    return BytesSource(path, len(data), data)


def events_of(form, data, path="/transcript"):
    """Read bytes with a format, check the events and return them."""
    events = list(form.walk_events(bytes_source(data, path)))
    check(events, len(data))
    return events


def check(events, size):
    """Assert what holds for every source: every session ends, the spans cover it, every message can be stored."""
    assert isinstance(events[0], Session)
    assert isinstance(events[-1], Ending)
    check_spans(events, size)
    session = []
    for event in events:
        session.append(event)
        if isinstance(event, Ending):
            check_session(session)
            session = []
    assert not session


def check_spans(events, size):
    """Assert that every byte is in exactly one event, and that empty spans are at the beginning of a message."""
    kept = [event for event in events if isinstance(event, Draft | SessionRecord | Unparsed)]
    at = 0
    for span in sorted((span for event in kept for span in event.spans), key=lambda span: span.offset):
        assert span.offset == at
        at += span.length
    assert at == size
    assert all(span.length > 0 for event in kept for span in event.spans if not isinstance(event, Unparsed))


def check_session(events):
    """Assert the order of a session's events, and that messages refer to earlier messages only."""
    assert isinstance(events[0], Session)
    assert isinstance(events[-1], Ending)
    known = []
    for event in events[1:-1]:
        assert isinstance(event, Draft | SessionRecord | Unparsed)
        if isinstance(event, Draft):
            assert event.key not in known
            assert {event.parent, event.reply_to} <= {None, *known}
            assert event.spans
            known.append(event.key)
            check_storable(event)
    assert events[-1].open in {None, *known[-2:]}
    assert events[-1].active in {None, *known}


def check_storable(draft):
    """Write a draft as a message, as the importer does, and read it again."""
    assert content_bytes(draft)
    extra = {"usage": draft.usage, "spawned_by": draft.spawned_by, **draft.extra}
    message = Message(
        id=MessageId("a" * 26), author=draft.author, parts=draft.parts, kind=draft.kind, time=draft.time, files=draft.files,
        tool=draft.tool, model=draft.model, status=draft.status, stop_reason=draft.stop_reason,
        extra={name: value for name, value in extra.items() if value is not None},
    )  # fmt: skip
    assert decode(encode(message)).kind == draft.kind


def drafts(events):
    """Return the messages."""
    return [event for event in events if isinstance(event, Draft)]


def states(events):
    """Return the keys of the states."""
    return [event.key for event in events if isinstance(event, SessionRecord)]


def unparsed(events):
    """Return the reasons of the Unparsed events."""
    return [event.reason for event in events if isinstance(event, Unparsed)]


def real_transcript(*names):
    """Return the path of a real transcript; the test is skipped where there are none."""
    path = os.path.join(TRANSCRIPTS, *names)
    if not os.path.exists(path):
        pytest.skip("no real transcripts here")
    return path


def source_of(path):
    """Make a source of a file."""
    return Source(str(path), os.path.getsize(path))
