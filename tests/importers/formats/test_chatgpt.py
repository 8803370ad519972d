"""ChatGPT: a conversation is a tree of messages, and every conversation of an export is its own session."""

from __future__ import annotations

import json

import pytest

from scopes.history.names import conversation_ids, list_branch_tips
from scopes.importers.formats.chatgpt import ChatGpt
from scopes.importers.formats.events import Ending, Session
from scopes.model.message import Part
from tests.importers.reading import drafts, events_of, states, unparsed
from tests.importers.stores import branch_words
from tests.importers.streams import import_paths


def node(name, parent, role=None, content=None, **fields):
    """Make a node; one without a role has no message."""
    message = None
    if role is not None:
        parts = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
        message = {
            "id": name, "author": {"role": role, "name": fields.pop("tool", None), "metadata": {}}, "content": parts,
            "create_time": 1_700_000_000.25, "status": "finished_successfully", "recipient": "all", "metadata": {}, **fields,
        }  # fmt: skip
    return {"id": name, "message": message, "parent": parent, "children": []}


def conversation(name, *nodes, current=None):
    return {
        "title": f"About {name}", "create_time": 1_700_000_000.0, "update_time": 1_700_000_100.5,
        "mapping": {each["id"]: each for each in nodes}, "current_node": current or nodes[-1]["id"],
        "conversation_id": f"conversation-{name}", "id": f"conversation-{name}",
    }  # fmt: skip


ROOT = node("root", None)
HIDDEN = node("hidden", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True})
ASK = node("ask", "hidden", "user", "Name a colour")
RED = node("red", "ask", "assistant", "Red", metadata={"model_slug": "gpt-4o", "finish_details": {"type": "stop"}})
BLUE = node("blue", "ask", "assistant", "Blue", metadata={"model_slug": "o3"})
MORE = node("more", "blue", "user", "And a tone?")
ANSWER = node("answer", "more", "assistant", "Dark blue")
TREE = [ROOT, HIDDEN, ASK, RED, BLUE, MORE, ANSWER]
EXPORT = [conversation("a", *TREE), conversation("b", ROOT, node("hi", "root", "user", "Hi"))]


def read(*conversations):
    return events_of(ChatGpt(), json.dumps(conversations, indent=1).encode())


def parts_of(role, content, **fields):
    """Return the parts of a message with this content."""
    found = drafts(read(conversation("x", ROOT, node("n", "root", role, content, **fields))))
    return found[0].parts if found else ()


def test_every_conversation_is_a_session_with_its_id_and_title():
    sessions = [event for event in read(*EXPORT) if isinstance(event, Session)]
    assert [(session.native_id, session.title) for session in sessions] == [
        ("conversation-a", "About a"),
        ("conversation-b", "About b"),
    ]
    assert sessions[0].created == "2023-11-14T22:13:20.000Z"


def test_messages_follow_their_parents_through_nodes_without_a_message():
    found = drafts(read(EXPORT[0]))
    names = {draft.key: draft.native_ids[0] for draft in found}
    assert {names[draft.key]: names.get(draft.parent) for draft in found} == {
        "ask": None, "red": "ask", "blue": "ask", "more": "blue", "answer": "more",
    }  # fmt: skip
    assert states(read(EXPORT[0])) == ["conversation", "node", "empty/system"]


@pytest.mark.parametrize(
    ("current", "expected"), [("answer", "answer"), ("red", "red"), ("root", "answer"), ("gone", "answer")]
)
def test_the_current_node_is_where_the_conversation_is(current, expected):
    events = read(conversation("a", *TREE, current=current))
    active = next(draft for draft in drafts(events) if draft.key == events[-1].active)
    assert active.native_ids == (expected,)


def test_a_regenerated_answer_is_a_branch(repository, tmp_path):
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(EXPORT))
    import_paths(repository, path)
    first = conversation_ids(repository)[0]
    assert branch_words(repository, conversation=first) == "Name a colour Blue And a tone? Dark blue"
    (other,) = set(list_branch_tips(repository, first)) - {"main"}
    assert branch_words(repository, other, first) == "Name a colour Red"
    assert import_paths(repository, path).operation is None


def test_a_later_export_adds_its_new_conversations_and_messages_only(repository, tmp_path):
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(EXPORT))
    import_paths(repository, path)
    next_node = node("next", "answer", "user", "Thanks")
    path.write_text(
        json.dumps([conversation("c", ROOT, ASK | {"parent": "root"}), conversation("a", *TREE, next_node), EXPORT[1]])
    )
    done = import_paths(repository, path)
    assert sum(row.new_messages for row in done.conversations) == 2
    assert len(conversation_ids(repository)) == 3


def test_a_message_may_come_before_its_parent():
    found = drafts(read(conversation("a", *reversed(TREE), current="answer")))
    assert found[0].native_ids == ("ask",)


def test_a_message_that_is_its_own_ancestor_is_kept_and_counted():
    loop = [node("x", "y", "user", "a"), node("y", "x", "user", "b"), node("z", "z", "user", "c")]
    assert unparsed(read(conversation("a", ROOT, *loop, ASK))) == ["a message that is its own ancestor"] * 3


def test_model_stop_reason_and_time_are_those_of_the_answer():
    red = next(draft for draft in drafts(read(EXPORT[0])) if draft.native_ids == ("red",))
    assert (red.model, red.stop_reason, red.time) == ("gpt-4o", "stop", "2023-11-14T22:13:20.250Z")


def test_reasoning_belongs_to_the_answer_after_it():
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Sky", "content": "It is blue."}]}
    recap = {"content_type": "reasoning_recap", "content": "Thought for 2s"}
    nodes = [
        node("t", "ask", "assistant", thoughts),
        node("r", "t", "assistant", recap),
        node("end", "r", "assistant", "Blue"),
    ]
    found = drafts(read(conversation("a", ROOT, ASK, *nodes)))
    assert [part.type for part in found[-1].parts] == ["reasoning", "reasoning", "text"]
    assert (len(found), len(found[-1].spans), found[-1].native_ids) == (2, 3, ("end", "r", "t"))
    assert found[-1].parts[0].text == "Sky\n\nIt is blue."


def test_reasoning_with_two_answers_after_it_stays_a_message():
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Sky", "content": ""}]}
    nodes = [
        node("t", "ask", "assistant", thoughts),
        node("x", "t", "assistant", "Blue"),
        node("y", "t", "assistant", "Red"),
    ]
    assert len(drafts(read(conversation("a", ROOT, ASK, *nodes)))) == 4


def test_a_message_to_a_tool_is_a_call_and_what_follows_its_results():
    code = {"content_type": "code", "language": "python", "text": "1 + 1"}
    output = {"content_type": "execution_output", "text": "2"}
    nodes = [
        node("call", "ask", "assistant", code, recipient="python"), node("out", "call", "tool", output, tool="python"),
        node("again", "out", "tool", output, tool="python"),
    ]  # fmt: skip
    call, out, again = drafts(read(conversation("a", ROOT, ASK, *nodes)))[1:]
    assert call.parts == (Part("tool_call", {"call_id": "call", "name": "python", "input_text": "1 + 1"}),)
    assert out.parts == (Part("tool_result", {"call_id": "call", "output": "2"}),)
    assert (out.tool, out.reply_to, again.reply_to) == ("python", None, call.key)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"content_type": "text", "parts": ["a", "", "b"]}, [("text", "a"), ("text", "b")]),
        ({"content_type": "code", "text": "x = 1"}, [("text", "x = 1")]),
        ({"content_type": "system_error", "name": "E", "text": "no"}, [("text", "E: no")]),
        ({"content_type": "tether_quote", "text": "said"}, [("text", "said")]),
        ({"content_type": "tether_browsing_display", "result": "found"}, [("text", "found")]),
        ({"content_type": "multimodal_text", "parts": [{"content_type": "audio_transcription", "text": "hi"}]}, [("text", "hi")]),
        ({"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://1"}]}, [("image", "")]),
        ({"content_type": "multimodal_text", "parts": [{"content_type": "audio_asset_pointer", "asset_pointer": "sediment://1"}]}, [("file", "")]),
        ({"content_type": "multimodal_text", "parts": [{"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {"asset_pointer": "a"}}, 7]}, [("file", ""), ("raw", "")]),
        ({"content_type": "super_widget", "x": 1}, [("raw", "")]),
    ],
)  # fmt: skip
def test_a_content_is_parts_by_its_type(content, expected):
    assert [(part.type, part.text) for part in parts_of("assistant", content)] == expected


def test_instructions_that_the_user_set_and_hidden_messages_are_injected():
    context = {"content_type": "user_editable_context", "user_profile": "I am 7", "user_instructions": "Be brief"}
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = [
        node("c", "root", "user", context),
        node("h", "c", "user", "x", metadata=hidden),
        node("s", "h", "system", "Rules"),
    ]
    found = drafts(read(conversation("a", ROOT, *nodes)))
    assert [(draft.kind, draft.author.kind) for draft in found] == [
        ("meta", "injected"),
        ("meta", "injected"),
        ("system", "injected"),
    ]
    assert [part.text for part in found[0].parts] == ["I am 7", "Be brief"]


def test_files_of_a_prompt_are_parts_and_images_only_once():
    image = {
        "content_type": "multimodal_text",
        "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://f1"}, "see"],
    }
    listed = [{"id": "f1", "name": "a.png"}, {"id": "f2", "name": "b.csv", "mime_type": "text/csv"}, 7]
    parts = parts_of("user", image, metadata={"attachments": listed})
    assert [(part.type, part.fields.get("path")) for part in parts] == [
        ("image", "file-service://f1"),
        ("text", None),
        ("file", "b.csv"),
    ]


def test_a_message_in_an_unknown_role_is_kept_and_counted_and_those_after_it_are_read():
    events = read(
        conversation(
            "a",
            ROOT,
            ASK,
            node("odd", "ask", "critic", "x"),
            node("end", "odd", "assistant", "ok"),
            {"id": "bad", "message": 7},
        )
    )
    assert unparsed(events) == ["a message in the role 'critic'", "a node with a message that is none"]
    assert [draft.native_ids for draft in drafts(events)] == [("ask",), ("end",)]


def test_one_conversation_and_an_export_with_an_empty_one_first_are_recognized():
    assert ChatGpt().sniff(json.dumps(EXPORT[0]).encode())
    assert ChatGpt().sniff(json.dumps([{**EXPORT[0], "mapping": {}}, *EXPORT]).encode())
    assert not ChatGpt().sniff(json.dumps([{"mapping": {"a": {"type": "keyword"}}}]).encode())


def test_a_damaged_conversation_is_kept_and_the_others_are_read():
    pieces = [json.dumps(each) for each in (EXPORT[0], EXPORT[1], conversation("c", ROOT, ASK))]
    data = f"[{pieces[0]},\n{pieces[1].replace(':', ' ', 1)},\n{pieces[2]}]".encode()
    events = events_of(ChatGpt(), data)
    assert [event.native_id for event in events if isinstance(event, Session)] == ["conversation-a", "conversation-c"]
    assert unparsed(events) == ["not a conversation, damaged or too large"]
    assert sum(isinstance(event, Ending) for event in events) == 2
