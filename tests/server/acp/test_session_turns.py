"""Whatever an agent sends, the turns of a session never fail, and every text is recorded once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scopes.model.message import Author, decode, encode
from scopes.server.acp.session_turns import SessionTurns, TurnSettings

WILD = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NAMES = (
    "sessionUpdate", "content", "messageId", "toolCallId", "title", "kind", "status", "locations", "rawInput", "rawOutput",
    "entries", "currentModeId", "configOptions", "used", "text", "type", "data", "uri", "resource", "path", "oldText",
)  # fmt: skip
KINDS = (
    "agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan", "unknown",
    "current_mode_update", "session_info_update", "usage_update", "config_option_update", "available_commands_update",
)  # fmt: skip
TYPES = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "diff", "content", "terminal"])
BLOCK = st.fixed_dictionaries({"type": TYPES | WILD}, optional={name: WILD for name in NAMES if name != "type"})
CONTENT = BLOCK | st.lists(BLOCK | st.fixed_dictionaries({"type": TYPES, "content": BLOCK}), max_size=3) | WILD
UPDATE = st.fixed_dictionaries(
    {"sessionUpdate": st.sampled_from(KINDS) | WILD},
    optional={
        **dict.fromkeys(NAMES[2:], WILD),
        "content": CONTENT,
        "toolCallId": st.sampled_from(["1", "2"]) | WILD,
        "status": st.sampled_from(["pending", "completed", "failed"]) | WILD,
        "locations": st.lists(st.fixed_dictionaries({"path": st.text(max_size=3)}) | WILD, max_size=2) | WILD,
    },
)
ANSWER = st.fixed_dictionaries(
    {},
    optional={
        "result": WILD | st.fixed_dictionaries({"stopReason": WILD, "usage": WILD, "_meta": WILD}),
        "error": WILD,
    },
)
STEP = st.one_of(
    st.tuples(st.just("prompt"), st.fixed_dictionaries({}, optional={"prompt": CONTENT, "_meta": WILD})),
    st.tuples(st.just("update"), UPDATE),
    st.tuples(st.just("answered"), ANSWER),
    st.tuples(st.just("permission"), st.fixed_dictionaries({}, optional={"toolCall": UPDATE | WILD, "options": WILD})),
    st.tuples(st.just("editor_call"), st.fixed_dictionaries({}, optional={"path": WILD, "content": WILD})),
)


def new_turns():
    return SessionTurns("s", TurnSettings(Author("user", "human"), Author("stub"), "run"))


def perform(turns, step, value):
    if step == "prompt":
        return turns.prompt(7, value, 0)
    if step == "answered":
        return turns.answered({"id": 7, **value}, 0)
    if step == "permission":
        turns.permission(value, {"outcome": value})
    if step == "editor_call":
        turns.editor_call("fs/write_text_file", value)
    return turns.update(value, 0) if step == "update" else []


@given(st.lists(STEP, max_size=8))
def test_no_message_of_either_side_is_an_error(steps):
    turns = new_turns()
    messages = [message for step in steps for message in perform(turns, *step)]
    messages += turns.end(0)
    for message in messages:
        assert encode(message)
        assert message.kind in {"prompt", "answer", "error", "interrupt", "tool-results"}
    assert turns.is_idle
    assert turns.end(0) == []


@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.text(max_size=3)), max_size=10))
def test_the_texts_of_all_chunks_are_recorded_in_order(chunks):
    turns = new_turns()
    messages = turns.prompt(1, {"prompt": []}, 0)
    for native, text in chunks:
        ids = {} if native is None else {"messageId": native}
        messages += turns.update(
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}, **ids}, 0
        )
    messages += turns.answered({"id": 1, "result": {"stopReason": "end_turn"}}, 0)
    assert "".join(message.text for message in messages) == "".join(text for _, text in chunks)
    assert [decode(encode(message)) for message in messages] == messages
    assert messages[-1].stop_reason == "end_turn"


def test_two_messages_with_their_own_ids_are_not_joined():
    turns = new_turns()
    first = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}, "messageId": "1"}
    assert turns.update(first, 0) == []
    assert [message.text for message in turns.update({**first, "messageId": "2"}, 0)] == ["x"]
    assert [message.text for message in turns.flush(0)] == ["x"]


def test_thoughts_are_not_recorded():
    turns = new_turns()
    for kind in ("agent_thought_chunk", "agent_message_chunk"):
        turns.update({"sessionUpdate": kind, "content": {"type": "text", "text": kind}, "messageId": "1"}, 0)
    [message] = turns.flush(0)
    assert [part.type for part in message.parts] == ["text"]
