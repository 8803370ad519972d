"""For any bytes: no exception, every byte in one event, known parents, and messages that can be stored."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importers.damage import draw_damaged
from tests.importers.formats.codex.rollouts import (
    NEW_TURN,
    OLD_TURN,
    PARENT,
    PATCH,
    THREAD,
    Rollout,
    closed_messages,
    messages_of,
    read,
    tokens,
)
from tests.importers.reading import drafts, unparsed
from tests.support.examples import examples

WORDS = st.sampled_from(
    ["", "x", "c1", "\ud800", "\x00", "a\u2028b", "<turn_aborted>", PATCH, THREAD, PARENT, NEW_TURN]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda items: st.lists(items, max_size=3) | st.dictionaries(WORDS, items, max_size=3),
    max_leaves=5,
)
ITEMS = [
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call",
    "web_search_call", "tool_search_call", "tool_search_output", "image_generation_call", "compaction", "agent_message", "ghost_snapshot",
]  # fmt: skip
EVENTS = [
    "token_count", "exec_command_end", "patch_apply_end", "mcp_tool_call_end", "collab_agent_spawn_end", "item_completed", "turn_aborted",
    "thread_rolled_back", "thread_name_updated", "task_started", "task_complete", "error", "thread_settings_applied", "agent_message",
]  # fmt: skip
USAGE = st.dictionaries(
    st.sampled_from(["input_tokens", "cached_input_tokens", "output_tokens"]), st.integers(-1, 9) | JUNK
)
CONTENT = WORDS | st.lists(
    JUNK | st.fixed_dictionaries({"type": st.sampled_from(["input_text", "input_image"]), "text": WORDS | JUNK})
)
PAYLOAD = st.fixed_dictionaries(
    {"type": st.sampled_from(ITEMS + EVENTS) | JUNK},
    optional={
        "id": WORDS | JUNK, "role": st.sampled_from(["user", "assistant", "developer"]) | JUNK, "content": CONTENT | JUNK,
        "name": st.sampled_from(["spawn_agent", "apply_patch"]) | JUNK, "arguments": st.just('{"a": 1}') | WORDS | JUNK, "input": WORDS | JUNK,
        "call_id": st.sampled_from(["c1", "c2"]) | JUNK, "output": WORDS | JUNK, "summary": JUNK, "action": JUNK, "exit_code": JUNK,
        "success": st.booleans() | JUNK, "changes": st.dictionaries(WORDS, JUNK | st.just({"type": "add", "content": "x"})) | JUNK,
        "info": st.fixed_dictionaries({"total_token_usage": USAGE | JUNK}, optional={"last_token_usage": USAGE}) | JUNK,
        "usage": USAGE | JUNK, "num_turns": st.integers(-1, 3) | JUNK, "turn_id": WORDS, "thread_id": WORDS | JUNK, "reason": JUNK,
        "message": WORDS | JUNK, "error": JUNK, "replacement_history": JUNK, "model": JUNK, "cwd": JUNK, "parsed_cmd": JUNK, "result": JUNK,
        "item": st.fixed_dictionaries({"type": st.sampled_from(["CommandExecution", "FileChange"]), "id": st.just("c1")}) | JUNK,
        "source": st.fixed_dictionaries({"subagent": st.fixed_dictionaries({"thread_spawn": JUNK}) | JUNK}) | JUNK, "history_base": JUNK,
        "internal_chat_message_metadata_passthrough": JUNK, "phase": JUNK, "git": JUNK, "author": JUNK, "encrypted_content": JUNK,
    },
)  # fmt: skip
KINDS = [
    "session_meta",
    "response_item",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "token_usage_record",
    "world_state",
]
RECORD = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | JUNK, "payload": PAYLOAD | JUNK},
    optional={"timestamp": st.just("2026-04-11T10:00:00Z") | JUNK, "metadata": JUNK, "ordinal": JUNK},
)
SLOW = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def sample():
    """Return a fork with a record of every kind."""
    rollout = (
        Rollout(THREAD, forked_from_id=PARENT)
        .meta(PARENT)
        .turn(OLD_TURN)
        .user("Sell tea \u2028 \ud800")
        .think()
        .say("Hm")
        .patch("c1")
    )
    rollout.event("patch_apply_end", call_id="c1", success=True, changes={"a": {"type": "add", "content": "x"}}).output(
        "c1"
    )
    rollout.count(tokens(10, 5), tokens(10, 5)).turn(NEW_TURN).user("More").call("c2").call("c3").output("c3").count(
        tokens(30, 9)
    )
    rollout.event("thread_rolled_back", num_turns=1).user("Else").user("<turn_aborted>").event(
        "turn_aborted", reason="interrupted"
    )
    rollout.add("compacted", {"message": "m", "replacement_history": [{"a": 1.0}]}).say("On").event(
        "error", message="gone"
    )
    return rollout.event("thread_name_updated", thread_name="Tea").data()


SAMPLE = sample()


@SLOW
@given(st.lists(RECORD | JUNK, max_size=8))
def test_any_shape_of_record_is_kept(records):
    """C-28: wrong shapes; C-32: ids of any text."""
    read("".join(json.dumps(record) + "\n" for record in records).encode())


@SLOW
@given(st.lists(PAYLOAD, min_size=1, max_size=8), st.integers(0, 3))
def test_any_history_is_kept_and_only_open_messages_change(payloads, cut):
    """Storage, open messages: what a longer source may change is at the end."""
    rollout = Rollout()
    for payload in payloads:
        rollout.add("response_item" if payload["type"] in ITEMS else "event_msg", payload)
    data = rollout.data()
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    whole, before = messages_of(data), closed_messages(data[: ends[cut % len(ends)]])
    assert before == whole[: len(before)]


@SLOW
@given(st.data())
def test_a_rollout_with_damaged_bytes_is_kept(data):
    read(draw_damaged(data, SAMPLE))


@SLOW
@given(st.integers(0, len(SAMPLE)))
def test_a_rollout_truncated_anywhere_is_read_to_its_end(size):
    """C-21."""
    before, whole = closed_messages(SAMPLE[:size]), messages_of(SAMPLE)
    assert before == whole[: len(before)]


@pytest.mark.parametrize(
    "line", [b'{"a":' * 500 + b"1" + b"}" * 500, b'{"type":"x","n":' + b"9" * 5000 + b"}", b'{"type":"x","s":"\xff"}']
)
def test_an_invalid_line_is_kept(line):
    """C-23, C-24, C-27."""
    events = read(Rollout().data() + line + b"\n" + Rollout(None).user("Hi").data())
    assert len(unparsed(events)) == 1
    assert len(drafts(events)) == 1
