"""Claude.ai: messages that name their parents are a tree, others a line; calls and results are in the answers."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.claude_ai import ClaudeAi
from scopes.importers.formats.events import Session
from scopes.model.message import Part
from tests.importers.reading import drafts, events_of, states, unparsed

NO_PARENT = "00000000-0000-4000-8000-000000000000"
TIME = "2024-05-01T12:00:00.123456Z"


def message(name, sender, *blocks, **fields):
    texts = [{"type": "text", "text": each, "citations": []} if isinstance(each, str) else each for each in blocks]
    return {
        "uuid": name, "text": "the text", "content": texts, "sender": sender, "created_at": TIME, "updated_at": TIME,
        "attachments": [], "files": [], **fields,
    }  # fmt: skip


def conversation(name, *messages, **fields):
    return {
        "uuid": name, "name": f"About {name}", "created_at": TIME, "updated_at": TIME, "account": {"uuid": "me"},
        "chat_messages": list(messages), **fields,
    }  # fmt: skip


LINE = [message("m1", "human", "Hi"), message("m2", "assistant", "Hello"), message("m3", "human", "Bye")]
TREE = [
    message("m1", "human", "Hi", parent_message_uuid=NO_PARENT), message("m2", "assistant", "One", parent_message_uuid="m1"),
    message("m3", "assistant", "Two", parent_message_uuid="m1"), message("m4", "human", "Go on", parent_message_uuid="m2"),
]  # fmt: skip
EXPORT = [conversation("c1", *LINE), conversation("c2", *TREE)]


def read(*conversations):
    return events_of(ClaudeAi(), json.dumps(conversations, indent=1).encode())


def parents(events):
    """Return the parent of each message, by their own ids."""
    names = {draft.key: draft.native_ids for draft in drafts(events)}
    return [names.get(draft.parent) for draft in drafts(events)]


def parts_of(*blocks, **fields):
    return drafts(read(conversation("c", message("m", "assistant", *blocks, **fields))))[0].parts


def test_every_conversation_is_a_session_with_its_id_and_title():
    sessions = [event for event in read(*EXPORT) if isinstance(event, Session)]
    assert [(each.native_id, each.title, each.created) for each in sessions] == [
        ("c1", "About c1", TIME),
        ("c2", "About c2", TIME),
    ]


def test_messages_without_parents_are_a_line():
    events = read(EXPORT[0])
    assert [(draft.kind, draft.author.kind) for draft in drafts(events)] == [
        ("prompt", "human"), ("answer", "agent"), ("prompt", "human"),
    ]  # fmt: skip
    assert [draft.parent for draft in drafts(events)] == [None, *(draft.key for draft in drafts(events)[:-1])]
    assert events[-1].active == drafts(events)[-1].key


def test_messages_with_parents_are_a_tree_whose_last_message_is_active():
    events = read(EXPORT[1])
    found = {draft.native_ids[0]: draft for draft in drafts(events)}
    assert (found["m2"].parent, found["m3"].parent) == (found["m1"].key, found["m1"].key)
    assert (found["m4"].parent, events[-1].active) == (found["m2"].key, found["m4"].key)


def test_the_leaf_that_a_conversation_names_is_active():
    events = read(conversation("c2", *TREE, current_leaf_message_uuid="m3", model="claude-x"))
    active = next(draft for draft in drafts(events) if draft.key == events[-1].active)
    assert (active.native_ids, active.model) == (("m3",), "claude-x")


def test_an_answer_holds_reasoning_calls_and_results():
    blocks = [
        {"type": "thinking", "thinking": "hm", "summaries": []}, {"type": "tool_use", "name": "web_search", "input": {"query": "x"}},
        {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "found"}], "is_error": False},
        {"type": "token_budget"}, "Done.",
    ]  # fmt: skip
    assert parts_of(*blocks) == (
        Part("reasoning", {"text": "hm"}),
        Part("tool_call", {"call_id": "m-1", "name": "web_search", "input": {"query": "x"}}),
        Part("tool_result", {"call_id": "m-1", "output": "found"}),
        Part("text", {"text": "Done."}),
    )


def test_ids_of_calls_are_kept():
    blocks = [
        {"type": "tool_use", "id": "t1", "name": "x", "input": {}},
        {"type": "tool_result", "tool_use_id": "t1", "content": 7, "is_error": True},
    ]
    assert [part.fields["call_id"] for part in parts_of(*blocks)] == ["t1", "t1"]
    assert parts_of(*blocks)[1].fields["is_error"] is True


def test_an_old_message_without_blocks_has_its_text():
    assert parts_of(content=[], text="Old") == (Part("text", {"text": "Old"}),)


def test_attachments_and_files_are_parts_with_the_text_that_was_read_from_them():
    attachment = {"file_name": "a.txt", "file_size": 3, "file_type": "text/plain", "extracted_content": "abc"}
    found = parts_of("See", attachments=[attachment], files=[{"file_name": "b.png"}, 7])
    assert found[1] == Part("file", {"media_type": "text/plain", "path": "a.txt", "text": "abc"})
    assert [part.type for part in found] == ["text", "file", "file", "raw"]


def test_a_truncated_answer_is_marked():
    events = read(conversation("c", message("m", "assistant", "Ha", truncated=True, stop_reason="max_tokens")))
    assert (drafts(events)[0].status, drafts(events)[0].stop_reason) == ("truncated", "max_tokens")


def test_an_empty_message_is_a_state_and_those_after_it_follow_the_one_before():
    events = read(conversation("c", LINE[0], message("x", "assistant", content=[], text=""), LINE[2]))
    assert states(events) == ["conversation", "empty/assistant"]
    assert parents(events) == [None, ("m1",)]


def test_a_message_of_an_unknown_sender_and_an_unknown_block_are_kept_and_counted():
    events = read(conversation("c", *LINE, message("x", "robot", "hm"), message("y", "human", {"type": "hologram"})))
    assert unparsed(events) == ["a message of the sender 'robot'", "unknown part 'hologram', kept raw in its message"]


@pytest.mark.parametrize("value", [EXPORT, EXPORT[0], [conversation("empty"), *EXPORT]])
def test_an_export_is_recognized(value):
    assert ClaudeAi().sniff(json.dumps(value).encode())


@pytest.mark.parametrize(
    "value", [[], [{"uuid": "x", "full_name": "me"}], {"chat_messages": 7}, [{"chat_messages": [{"sender": "bot"}]}]]
)
def test_other_documents_are_not_taken(value):
    assert not ClaudeAi().sniff(json.dumps(value).encode())
