"""For any bytes: no exception, every byte in one event, known parents, and messages that can be stored."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import CannotImport
from scopes.importers.formats.claude_code import ClaudeCode
from scopes.importers.formats.events import Draft, Unparsed
from tests.importers.formats.claude_code.logs import Log, bytes_source, call, check, drafts, read, text, thinking
from tests.support.examples import examples

NAMES = st.sampled_from(["a", "b", "c", "d", "", "\ud800"])
WORDS = st.sampled_from(
    ["", "x", "Look", "\ud800", "\x00", "a\u2028b", "<command-name>", "[Request interrupted by user]", "Exit code 1"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | NAMES,
    lambda items: st.lists(items, max_size=3) | st.dictionaries(WORDS, items, max_size=3),
    max_leaves=5,
)
BLOCK = JUNK | st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "document", "new"]) | JUNK},
    optional={
        "text": WORDS | JUNK, "thinking": WORDS | JUNK, "signature": WORDS | JUNK, "id": NAMES | JUNK, "tool_use_id": NAMES | JUNK,
        "name": st.sampled_from(["Task", "Read", "Write"]) | JUNK, "input": JUNK, "content": WORDS | JUNK, "is_error": JUNK,
        "source": JUNK,
    },
)  # fmt: skip
MESSAGE = JUNK | st.fixed_dictionaries(
    {},
    optional={
        "id": NAMES | JUNK, "role": JUNK, "content": WORDS | st.lists(BLOCK, max_size=3) | JUNK, "model": st.just("<synthetic>") | JUNK,
        "usage": st.dictionaries(st.sampled_from(["input_tokens", "output_tokens"]), JUNK) | JUNK, "stop_reason": WORDS | JUNK,
    },
)  # fmt: skip
RESULT = JUNK | st.fixed_dictionaries(
    {},
    optional={
        "filePath": WORDS | JUNK, "file": JUNK, "content": WORDS | JUNK, "structuredPatch": JUNK, "notebook_path": WORDS | JUNK,
        "interrupted": JUNK, "agentId": NAMES, "type": st.just("create"),
    },
)  # fmt: skip
RECORD = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "progress", "attachment", "summary", "ai-title"]) | JUNK},
    optional={
        "uuid": NAMES | JUNK, "parentUuid": NAMES | JUNK, "logicalParentUuid": NAMES | JUNK, "sessionId": NAMES | JUNK,
        "isSidechain": st.booleans() | JUNK, "agentId": NAMES | JUNK, "isMeta": JUNK, "isCompactSummary": st.booleans() | JUNK,
        "message": MESSAGE, "toolUseResult": RESULT, "timestamp": st.just("2026-03-01T10:00:00Z") | JUNK, "cwd": WORDS | JUNK,
        "gitBranch": JUNK, "subtype": st.just("compact_boundary") | JUNK, "data": JUNK, "parentToolUseID": NAMES | JUNK,
        "attachment": st.fixed_dictionaries({"type": st.just("queued_command")}, optional={"prompt": WORDS | JUNK, "origin": JUNK}) | JUNK,
        "requestId": NAMES | JUNK, "attributionAgent": WORDS | JUNK, "summary": JUNK, "leafUuid": NAMES | JUNK, "aiTitle": JUNK,
        "forkedFrom": JUNK, "origin": JUNK, "isApiErrorMessage": JUNK, "version": JUNK,
    },
)  # fmt: skip
BEGIN = b'{"type":"mode","sessionId":"s"}\n'
SLOW = settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def sample():
    log = Log()
    log.state("summary", summary="A shop", leafUuid="u003")
    log.user("Sell tea \u2028 \ud800")
    first = log.answer("m1", thinking("Hm"), tokens=1)
    log.answer("m1", call("c1", "Write", file_path="a", content="tea"), tokens=5)
    log.progress(parent=first)
    log.result(
        "c1", parent=log.records[3]["uuid"], toolUseResult={"filePath": "a", "structuredPatch": [], "content": "tea"}
    )
    log.answer("m1", call("c2", "Task", prompt="Look"), tokens=9)
    log.user("Look", isSidechain=True, parent=None)
    log.answer("s1", text("Found"), isSidechain=True)
    log.result("c2", parent=log.records[6]["uuid"])
    log.boundary(log.last)
    log.summary()
    log.user([text("[Request interrupted by user]")])
    log.user("Rather not", parent=first)
    return log.data()


SAMPLE = sample()


@SLOW
@given(st.lists(RECORD | JUNK, max_size=8))
def test_any_records_are_read(records):
    """C-28, C-29."""
    read(BEGIN + b"".join(json.dumps(record).encode() + b"\n" for record in records))


@SLOW
@given(st.binary() | st.text().map(lambda words: words.encode("utf-8", "replace")))
def test_any_bytes_are_sniffed_and_read_without_an_exception(data):
    ClaudeCode().sniff(data)
    read_any(data)


def read_any(data):
    """Read bytes that may have lost every session id."""
    try:
        events = list(ClaudeCode().walk_events(bytes_source(data)))
    except CannotImport:
        return
    check(events, len(data))


@pytest.mark.parametrize("size", [0, 1, 7, 100, len(SAMPLE) // 2, len(SAMPLE) - 1])
def test_an_incomplete_file_is_read_to_its_end(size):
    """C-21."""
    read_any(SAMPLE[:size])


@pytest.mark.parametrize("depth", [150, 199, 250, 900, 100_000])
def test_a_record_of_any_depth_is_read_or_reported(depth):
    """C-23."""
    log = Log()
    log.user("Sell tea")
    deep = '{"type":"user","uuid":"x","message":{"content":' + "[" * depth + "]" * depth + "}}\n"
    events = [event for event in read(log.data() + deep.encode()) if isinstance(event, Draft | Unparsed)]
    found = [type(event) for event in events if any(span.length for span in event.spans)]
    assert sorted(map(str, found)) == sorted(map(str, [Draft, Draft if depth < 199 else Unparsed]))


@pytest.mark.parametrize("words", ["\u2028\u2029\x85", "\x00\x01\x1b[31m", "\ud800", "\U0001f375", "\u202e", "\ufeff"])
def test_any_characters_are_kept_unchanged(words):
    """B-11, B-13, B-17."""
    log = Log()
    log.user(words)
    [draft] = drafts(log)
    assert draft.parts[0].text == words


def test_a_record_behind_zero_bytes_left_by_a_crash_is_read():
    log = Log()
    log.user("Sell tea")
    before = log.data()
    log.answer("m1", text("Done"))
    events = read(before + b"\x00" * 4096 + log.data()[len(before) :] + b"\x00\n")
    assert [type(event).__name__ for event in events[1:-1]] == ["Draft", "Draft"]
