"""Build transcripts in the real format, and read their events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO

from scopes.ids import MessageId
from scopes.importers.formats.base import Source
from scopes.importers.formats.claude_code import ClaudeCode
from scopes.importers.formats.events import Draft, Ending, Session, SessionRecord, Unparsed
from scopes.importers.identity import content_bytes
from scopes.model.message import Message, encode

SESSION = "11111111-2222-4333-8444-555555555555"
LAST = object()


@dataclass(frozen=True, slots=True)
class BytesSource(Source):
    """A source in memory."""

    data: bytes = b""

    def open(self):
        return BytesIO(self.data)


def bytes_source(data):
    return BytesSource("/transcript.jsonl", len(data), data)


class Log:
    """A log of records; each one follows the previous one unless `parent` is given."""

    def __init__(self, session=SESSION):
        self.session = session
        self.records = []
        self.last = None

    def add(self, kind, parent=LAST, uuid=None, **fields):
        uuid = uuid or f"u{len(self.records):03d}"
        record = {
            "parentUuid": self.last if parent is LAST else parent, "isSidechain": False, "userType": "external",
            "cwd": "/home/carol/shop", "sessionId": self.session, "version": "2.1.40", "gitBranch": "main", "type": kind,
            "uuid": uuid, "timestamp": f"2026-03-01T10:{len(self.records) // 60:02d}:{len(self.records) % 60:02d}.000Z",
        }  # fmt: skip
        self.records.append({name: value for name, value in (record | fields).items() if value is not ...})
        self.last = uuid
        return uuid

    def user(self, content, **fields):
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def answer(self, name, *blocks, tokens=None, model="claude-opus-4-6", stop=None, **fields):
        usage = {
            "input_tokens": 3,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "output_tokens": tokens,
        }
        message = {
            "model": model,
            "id": name,
            "type": "message",
            "role": "assistant",
            "content": list(blocks),
            "stop_reason": stop,
        }
        return self.add("assistant", message=message | ({} if tokens is None else {"usage": usage}), **fields)

    def result(self, call, output="done", **fields):
        error = {"is_error": True} if fields.pop("failed", False) else {}
        return self.user([{"tool_use_id": call, "type": "tool_result", "content": output, **error}], **fields)

    def progress(self, **fields):
        return self.add("progress", data={"type": "hook_progress", "hookEvent": "PostToolUse"}, **fields)

    def boundary(self, logical, **fields):
        fields = {"parent": None, "logicalParentUuid": logical, "content": "Conversation compacted"} | fields
        return self.add("system", subtype="compact_boundary", **fields)

    def summary(self, text="This session is being continued", **fields):
        return self.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True, **fields)

    def state(self, kind, **fields):
        """Add a record of the session, without a uuid and without links."""
        self.records.append({"type": kind, "sessionId": self.session, **fields})

    def data(self):
        return b"".join(
            json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
            for record in self.records
        )


def text(words):
    return {"type": "text", "text": words}


def thinking(words, signature="c2lnbmVk"):
    return {"type": "thinking", "thinking": words, "signature": signature}


def call(name, tool="Bash", **asked):
    return {"type": "tool_use", "id": name, "name": tool, "input": asked or {"command": "ls"}}


def read(log):
    """Read a log or bytes, check the events and return them."""
    data = log if isinstance(log, bytes) else log.data()
    events = list(ClaudeCode().walk_events(bytes_source(data)))
    check(events, len(data))
    return events


def drafts(log):
    return [event for event in read(log) if isinstance(event, Draft)]


def states(log):
    return [event.key for event in read(log) if isinstance(event, SessionRecord)]


def ending(log):
    return read(log)[-1]


def tree(log):
    """Return the parent of every message, both by their native names."""
    found = drafts(log)
    names = {draft.key: name_of(draft) for draft in found}
    return [(name_of(draft), names.get(draft.parent)) for draft in found]


def name_of(draft):
    return draft.native_ids[0] if draft.native_ids else draft.key


def forks(found):
    """Return the number of messages with more than one child."""
    parents = [draft.parent for draft in found if draft.parent is not None]
    return sum(1 for parent in set(parents) if parents.count(parent) > 1)


def check(events, size):
    """Assert what holds for every source: the order of events, spans that cover it, known parents, messages that can be stored."""
    assert isinstance(events[0], Session)
    assert isinstance(events[-1], Ending)
    end = 0
    for span in sorted((s for event in events[1:-1] for s in event.spans), key=lambda s: s.offset):
        assert span.offset == end
        end += span.length
    assert end == size
    known = []
    for event in events[1:-1]:
        assert isinstance(event, Draft | SessionRecord | Unparsed)
        if isinstance(event, Draft):
            assert event.key not in known
            assert event.parent is None or event.parent in known
            assert event.reply_to is None or event.reply_to in known
            known.append(event.key)
            store(event)
    assert events[-1].open == (known[-1] if known else None)
    assert events[-1].active in {None, *known}


def store(draft):
    """Write a draft as a message, as the importer does."""
    assert content_bytes(draft)
    extra = {"usage": draft.usage, "spawned_by": draft.spawned_by, **draft.extra}
    assert encode(
        Message(
            id=MessageId("a" * 26), author=draft.author, parts=draft.parts, kind=draft.kind, time=draft.time, files=draft.files,
            tool=draft.tool, model=draft.model, status=draft.status, stop_reason=draft.stop_reason, extra=extra,
        )
    )  # fmt: skip
