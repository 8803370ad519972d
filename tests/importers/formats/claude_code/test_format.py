"""Which bytes are recognised as a Claude Code transcript, under any file name."""

from __future__ import annotations

import json

import pytest

from scopes.errors import CannotImport
from scopes.importers.formats.base import SNIFF_BYTES
from scopes.importers.formats.claude_code import ClaudeCode
from tests.importers.formats.claude_code.logs import Log, bytes_source, call, read, text

CODEX = {"timestamp": "2026-03-01T10:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/"}}
QWEN = {
    "uuid": "a",
    "parentUuid": None,
    "sessionId": "s",
    "type": "user",
    "message": {"role": "user", "parts": [{"text": "x"}]},
}
IFLOW = {
    "uuid": "a",
    "parentUuid": None,
    "sessionId": "session-1",
    "type": "user",
    "isSidechain": False,
    "message": {"content": "x"},
}
GEMINI = {"sessionId": "s", "projectHash": "p", "startTime": "2026-03-01T10:00:00Z", "messages": []}


def sniff(*values):
    return ClaudeCode().sniff("".join(json.dumps(value) + "\n" for value in values).encode())


def short_log():
    log = Log()
    log.user("Hello")
    log.answer("m1", text("Hi"), call("c1"))
    return log


def test_a_session_is_recognized_by_its_content():
    assert ClaudeCode().sniff(short_log().data())
    assert ClaudeCode().sniff(b"\xef\xbb\xbf\n" + short_log().data())


@pytest.mark.parametrize(
    "value",
    [
        {"type": "summary", "summary": "A shop", "leafUuid": "a"},
        {"type": "file-history-snapshot", "messageId": "a", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s"},
        {"type": "permission-mode", "permissionMode": "auto", "sessionId": "s"},
    ],
)
def test_a_session_that_begins_with_states_is_recognized(value):
    assert sniff(value)


@pytest.mark.parametrize("value", [CODEX, QWEN, IFLOW, GEMINI, {"type": "summary"}, [1], "user", None, {}])
def test_other_formats_are_not_taken(value):
    assert not sniff(value)


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"\x00\x00", b"# Notes\n\n```\n", b"SQLite format 3\x00", b"[" * 100_000]
)
def test_invalid_json_is_not_a_session(data):
    assert not ClaudeCode().sniff(data)


def test_damage_before_the_first_good_record_does_not_hide_a_session():
    """A bad first line hides the whole session."""
    assert ClaudeCode().sniff(b'{"type":"user","mess\n\xff\xff\n' + short_log().data())


def test_a_first_record_longer_than_the_head_is_recognized():
    log = Log()
    log.user("x" * 2 * SNIFF_BYTES)
    assert ClaudeCode().sniff(log.data()[:SNIFF_BYTES])
    other = json.dumps(IFLOW | {"message": {"content": "x" * SNIFF_BYTES}}).replace('": ', '":').encode()
    assert not ClaudeCode().sniff(other[:SNIFF_BYTES])


@pytest.mark.parametrize(
    "data", [b"", b'{"type":"summary","summary":"x","leafUuid":"a"}\n', b"\xff\n", b'{"sessionId":7}\n']
)
def test_a_source_that_names_no_session_cannot_be_imported(data):
    with pytest.raises(CannotImport, match="names no session"):
        list(ClaudeCode().walk_events(bytes_source(data)))


def test_reading_is_a_function_of_the_bytes():
    """P11."""
    assert read(short_log()) == read(short_log())
