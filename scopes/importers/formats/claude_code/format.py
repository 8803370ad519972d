"""The Claude Code format: recognize a transcript and yield its events.

A file is a log of linked records. Several lines make one answer, and telemetry records sit between the messages in the
chain of links. Messages are linked directly, so that a fork remains only where the user went back.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import SNIFF_BYTES, Source, StandardFolders
from scopes.importers.formats.claude_code.header import read_header
from scopes.importers.formats.claude_code.reader import Reader
from scopes.importers.formats.claude_code.record import NAME
from scopes.importers.formats.claude_code.session_files import find_session
from scopes.importers.formats.claude_code.stream import is_by_qwen, is_envelope, may_be_envelope, walk_envelope
from scopes.importers.formats.events import Event
from scopes.importers.formats.fields import text_field
from scopes.importers.formats.json_lines import walk_records
from scopes.importers.formats.stream_documents import first_records

_OTHER_AGENT = "session-"  # iFlow writes the same fields; its session ids begin with this
_STATES = {  # record types without links, and a field that each of them must have
    "summary": "leafUuid",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
    "permission-mode": "permissionMode",
    "last-prompt": "leafUuid",
    "ai-title": "aiTitle",
    "custom-title": "customTitle",
}


class ClaudeCode:
    """Claude Code: session files of all versions that write `isSidechain`, and what `claude -p` prints."""

    name = NAME
    file_suffixes = (".jsonl",)
    standard_folders = StandardFolders(AGENTS[NAME], ("projects",), find_session)
    sub_agent_fields = ("agentId",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return _is_session(head) or _is_stream(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending.

        Raises:
            CannotImport: no record names a session.
        """
        with source.open() as stream:
            head = stream.read(min(SNIFF_BYTES, source.size))
        if may_be_envelope(head) and not _is_session(head) and _is_stream(head):
            yield from walk_envelope(source, NAME)
            return
        header = read_header(source)
        yield header.session()
        reader = Reader(source, header)
        with source.open() as stream:
            for record in walk_records(stream, source.size):
                yield from reader.read(record)
        yield from reader.finish()


def _is_linked(value: dict[str, Any]) -> bool:
    named = text_field(value, "sessionId") or text_field(value, "agentId")
    return isinstance(value.get("isSidechain"), bool) and named is not None and text_field(value, "type") is not None


def _is_state(value: dict[str, Any]) -> bool:
    kind = text_field(value, "type")
    return kind in _STATES and _STATES[kind] in value


def _is_session(head: bytes) -> bool:
    """Return True if a session file begins with `head`."""
    likely = False
    for record in walk_records(BytesIO(head), len(head)):
        if record.problem is not None and record.span.length == len(head):
            other = b'"sessionId":"' + _OTHER_AGENT.encode()
            return b'"isSidechain":' in head and b'"parentUuid":' in head and other not in head
        value = record.value if isinstance(record.value, dict) else {}
        if (text_field(value, "sessionId") or "").startswith(_OTHER_AGENT):
            return False
        if _is_linked(value):
            return True
        likely = likely or _is_state(value)
    return likely


def _is_stream(head: bytes) -> bool:
    """Return True if the output of `claude -p` begins with `head`."""
    if not may_be_envelope(head):
        return False
    records = first_records(head)
    return is_envelope(records) and not is_by_qwen(records)
