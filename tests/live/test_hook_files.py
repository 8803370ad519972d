"""A file that a hook names and that is no session: the log says why, in words that help to mend it."""

from __future__ import annotations

import json

import pytest

from scopes.errors import CannotImport, Inaccessible
from scopes.importers.formats.registry import FORMATS
from scopes.live.hook_files import RECORDS, explain_format

UNKNOWN = CannotImport("/x.jsonl: unknown format", hint="formats: some")
FIRST = {
    "claude-code": {"type": "user", "sessionId": "s", "uuid": "u", "isSidechain": False},
    "codex": {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "s"}},
    "gemini": {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"},
}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it is empty"),
        ("\n  \n", "it is empty"),
        ("hello\n", "its first line is no JSON"),
        ('{"a": 1', "its first line is no JSON"),
        ("[1]\n", "its first line is no JSON object"),
        ("{}\n", "its first line has no keys"),
        ('{"role": "user", "content": "words"}\n{"x": 1}', "its first line has role, content"),
    ],
)
def test_the_reason_says_what_the_file_begins_with(tmp_path, content, reason):
    path = tmp_path / "session.jsonl"
    path.write_text(content)
    error = explain_format("claude-code", (str(path),), UNKNOWN)
    assert error.message == f"{UNKNOWN.message}: {reason}"
    assert error.hint == f"a line of a session of claude-code is a JSON object with {RECORDS['claude-code']}"
    assert "words" not in error.message, "the log has no text of messages"


def test_many_and_long_keys_are_cut(tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps({f"{number}{'x' * 1000}": 1 for number in range(1000)})[: 64 << 10])
    assert explain_format("codex", (str(path),), UNKNOWN).message.endswith("its first line is no JSON")
    path.write_text(json.dumps({f"{number}{'x' * 1000}": 1 for number in range(50)}))
    assert len(explain_format("codex", (str(path),), UNKNOWN).message) < 700


def test_another_error_stays_and_so_does_the_hint_for_another_agent(tmp_path):
    other = Inaccessible("the disk is full")
    assert explain_format("codex", ("/x",), other) is other
    assert explain_format("codex", (), UNKNOWN) is UNKNOWN
    assert explain_format("opencode", (str(tmp_path / "gone"),), UNKNOWN).hint == UNKNOWN.hint


@pytest.mark.parametrize("agent", RECORDS)
def test_a_line_with_the_keys_of_the_hint_is_recognized(agent):
    """The hint must not send anybody the wrong way."""
    head = json.dumps(FIRST[agent]).encode() + b"\n"
    assert [each.name for each in FORMATS if each.sniff(head)][:1] == [agent]
    assert all(key in RECORDS[agent] for key in FIRST[agent])
