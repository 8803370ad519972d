"""A small format for tests of the importer: one JSON object per line, the first one is the session.

{"session": "s1", "part": null, "base": null, "end": null}
{"id": "a", "parent": null, "by": "user", "say": "hello"}
{"title": "what it is about"}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.events import ByteRange, Draft, Ending, Event, Session, SessionRecord, Unparsed
from scopes.importers.formats.records import walk_records
from scopes.model.message import Author, Part

CREATED = "2026-02-01T10:00:00Z"


class DemoFormat:
    """Reads the demo format."""

    name = "demo"
    file_suffixes = (".jsonl",)
    standard_folders = None
    sub_agent_fields: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Return True if a file that begins with `head` has this format."""
        return head.startswith(b'{"session"')

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the session, its messages and its other records, and the ending."""
        last = None
        title = None
        with source.open() as stream:
            for record in walk_records(stream, source.size):
                value = record.value
                if record.problem is not None or not isinstance(value, dict):
                    yield Unparsed(spans=(record.span,), reason=record.problem or "no object")
                elif "session" in value:
                    yield session_of(value)
                    yield SessionRecord(key="session", spans=(record.span,), value=value)
                elif "say" in value:
                    last = value["id"]
                    yield draft_of(value, record.span)
                else:
                    title = value.get("title", title)
                    yield SessionRecord(key="title", spans=(record.span,), value=value)
        yield Ending(active=last, title=title, open=last)


def session_of(value: Mapping[str, Any]) -> Session:
    """Return the session of the first record."""
    known = {"end_byte_offset": value.get("end"), "line": value.get("line")}
    details = {name: detail for name, detail in known.items() if detail}
    return Session(
        format="demo", native_id=value["session"], sub_file=value.get("part"), base=value.get("base"),
        created=value.get("created", CREATED), cwd=value.get("cwd", "/home/carol/shop"), details=details,
    )  # fmt: skip


def draft_of(value: Mapping[str, Any], span: ByteRange) -> Draft:
    """Return the message of a record."""
    kind = "human" if value["by"] == "user" else "agent"
    return Draft(
        key=value["id"], parent=value.get("parent"), author=Author(value["by"], kind), kind="plain",
        parts=(Part("text", {"text": value["say"]}),), spans=(span,), native_ids=(value["id"],),
        time=value.get("time", CREATED), precision="exact", side=value.get("side"),
    )  # fmt: skip


def write_transcript(path: Path, *records: Mapping[str, Any]) -> Source:
    """Write records as a demo transcript."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return Source(str(path), path.stat().st_size)


def session_records(session: str, words: str, **fields: object) -> list[dict[str, Any]]:
    """Return the records of a session: one message per word, each after the previous one, by user and bot in turn."""
    records: list[dict[str, Any]] = [{"session": session, **fields}]
    for number, word in enumerate(words.split()):
        name, _, parent = word.partition("<")
        before = parent or (records[-1]["id"] if number else None)
        by = ("user", "bot")[number % 2]
        records.append({"id": name, "parent": before, "by": by, "say": f"say {name}"})
    return records
