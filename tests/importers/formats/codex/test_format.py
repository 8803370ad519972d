"""Which bytes are recognised as a rollout of Codex, and that each of its records is kept."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.base import SNIFF_BYTES
from scopes.importers.formats.codex import Codex
from tests.importers.formats.codex.rollouts import Rollout, kinds, read, short_rollout, texts
from tests.importers.reading import drafts, states, unparsed

CLAUDE = {
    "type": "user",
    "uuid": "a",
    "parentUuid": None,
    "sessionId": "s",
    "isSidechain": False,
    "message": {"content": "x"},
}
PI = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T10:00:00Z", "cwd": "/"}
LEGACY = [
    {"id": "5973b6c0", "timestamp": "2025-05-07T17:24:21.123Z", "instructions": None},
    {"record_type": "state"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Sell tea"}]},
    {"record_type": "state"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}]},
    {"type": "function_call", "id": "fc_1", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c1"},
    {
        "type": "function_call_output",
        "call_id": "c1",
        "output": '{"output":"tea.py\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}',
    },
    {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
]


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def test_a_rollout_is_recognized_by_its_content():
    assert Codex().sniff(short_rollout().data())
    assert Codex().sniff(b"\xef\xbb\xbf\n" + short_rollout().data())


def test_a_rollout_of_the_old_form_is_recognized():
    assert Codex().sniff(lines(*LEGACY))
    assert Codex().sniff(lines(*LEGACY[1:]))


def test_a_rollout_with_a_first_line_longer_than_the_head_is_recognized():
    rollout = Rollout(base_instructions={"text": "x" * SNIFF_BYTES})
    assert Codex().sniff(rollout.data()[:SNIFF_BYTES])


@pytest.mark.parametrize(
    "value", [CLAUDE, PI, {"type": "session_meta"}, {"role": "user", "content": "x"}, [1], "x", None, {}]
)
def test_other_formats_are_not_taken(value):
    assert not Codex().sniff(lines(value))


def test_a_turn_is_read_as_prompt_answer_results_answer():
    assert kinds(short_rollout()) == "prompt answer tool-results answer"


def test_the_old_form_is_read_like_the_new():
    events = read(lines(*LEGACY))
    assert [draft.kind for draft in drafts(events)] == ["prompt", "answer", "tool-results", "answer"]
    assert states(events) == ["session_meta", "state", "state"]
    assert (events[0].native_id, events[0].created) == ("5973b6c0", "2025-05-07T17:24:21.123Z")


def test_an_event_of_the_interface_that_repeats_a_message_is_a_state():
    """Two parallel streams: content comes from the model's history alone."""
    events = read(Rollout().user("Sell tea").event("user_message", message="Sell tea").say("Yes"))
    assert [texts(draft) for draft in drafts(events)] == [["Sell tea"], ["Yes"]]
    assert states(events) == ["session_meta", "event_msg/user_message", "event_msg/agent_message"]


@pytest.mark.parametrize(
    ("record", "key"),
    [
        ({"type": "world_state", "payload": {"full": True}}, "world_state"),
        (
            {"type": "response_item", "payload": {"type": "ghost_snapshot", "ghost_commit": {}}},
            "response_item/ghost_snapshot",
        ),
        ({"type": "event_msg", "payload": {"type": "collab_waiting_end"}}, "event_msg/collab_waiting_end"),
        ({"type": "event_msg", "payload": {"type": "brand_new"}}, "event_msg/brand_new"),
        ({"record_type": "state"}, "state"),
    ],
)
def test_a_record_that_is_not_a_message_is_a_state(record, key):
    events = read(Rollout().data() + lines(record))
    assert states(events) == ["session_meta", key]


@pytest.mark.parametrize(
    ("kind", "payload", "reason"),
    [
        ("new_thing", {"type": "x"}, "a record of unknown type: 'new_thing/x'"),
        ("y" * 100, {}, f"a record of unknown type: '{'y' * 64}'"),
        ("response_item", {"type": "hologram"}, "a record of unknown type: 'response_item/hologram'"),
        ("response_item", {"type": "message"}, "a message without a role: 'response_item/message'"),
        ("event_msg", {"type": 7}, "a record of unknown type: 'event_msg'"),
        ("event_msg", {"type": "error", "message": 7}, "an error without a text: 'event_msg/error'"),
        (
            "event_msg",
            {"type": "token_count", "info": {"total_token_usage": "no"}},
            "a usage that cannot be read: 'event_msg/token_count'",
        ),
    ],
)
def test_unknown_records_are_kept_and_reported(kind, payload, reason):
    assert unparsed(read(Rollout().user("Sell tea").add(kind, payload))) == [reason]


@pytest.mark.parametrize("payload", [None, [], "x", 7])
@pytest.mark.parametrize("kind", ["response_item", "event_msg", "turn_context", "session_meta"])
def test_a_record_that_is_not_an_object_is_reported(kind, payload):
    assert unparsed(read(Rollout().user("Sell tea").add(kind, payload))) == ["not a record of a rollout"]


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("response_item", {"type": "function_call", "name": 7, "call_id": "c1", "arguments": "{}"}),
        ("response_item", {"type": "message", "role": "user", "content": [{"type": "hologram"}]}),
        ("compacted", {"message": "m", "replacement_history": 7}),
    ],
)
def test_unknown_parts_of_a_message_are_kept_and_reported(kind, payload):
    events = read(Rollout().user("Sell tea").add(kind, payload))
    assert [part.type for part in drafts(events)[1].parts][-1] == "raw"
    assert len(unparsed(events)) == 1


def test_reading_continues_after_a_bad_line():
    """C-22: one bad line in the middle."""
    data = short_rollout().data().splitlines(keepends=True)
    events = read(b"".join([*data[:5], b'{"timestamp": broken}\n', *data[5:]]))
    assert unparsed(events) == ["not valid JSON"]
    assert len(drafts(events)) == 4


def test_a_line_that_is_still_being_written_is_kept():
    """C-21: a truncated last line."""
    events = read(short_rollout().data() + b'{"timestamp":"2026-04-11T10:0')
    assert unparsed(events) == ["truncated (incomplete last record)"]
