"""OpenHands: calls of one response are one answer, and its counts are what the running totals grew by."""

from __future__ import annotations

import json

import pytest

from scopes.errors import CannotImport
from scopes.importers.formats.openhands import OpenHands
from scopes.model.message import FileTouch, Part
from tests.importers.damage import lines
from tests.importers.reading import drafts, events_of, real_transcript, states, unparsed


def event(number, kind, source, **fields):
    return {
        "id": f"e{number}",
        "timestamp": f"2026-06-16T05:39:{number:02}.5",
        "source": source,
        "kind": kind,
        **fields,
    }


def text(words):
    return {"type": "text", "text": words, "cache_prompt": False}


def stats(number, given, output, *, cached=0, name="default"):
    usage = {
        "model": "m",
        "prompt_tokens": given,
        "completion_tokens": output,
        "cache_read_tokens": cached,
        "cache_write_tokens": 0,
    }
    value = {"usage_to_metrics": {name: {"model_name": "m", "accumulated_token_usage": usage}}}
    return event(number, "ConversationStateUpdateEvent", "environment", key="stats", value=value)


def action(number, call, tool, response, arguments, words=""):
    return event(
        number, "ActionEvent", "agent", thought=[text(words)], reasoning_content=None, thinking_blocks=[],
        action={"kind": "X"}, tool_name=tool, tool_call_id=call, llm_response_id=response,
        tool_call={"id": call, "name": tool, "arguments": json.dumps(arguments), "origin": "completion"},
    )  # fmt: skip


def observation(number, call, tool, words, **fields):
    seen = {"content": [text(words)], "is_error": False, "kind": "X", **fields}
    return event(
        number, "ObservationEvent", "environment", tool_name=tool, tool_call_id=call, observation=seen, action_id="e"
    )


STATE = event(
    1,
    "ConversationStateUpdateEvent",
    "environment",
    key="full_state",
    value={"id": "conv-7", "agent": {}, "workspace": {}},
)
PROMPT = event(2, "SystemPromptEvent", "agent", system_prompt=text("You are OpenHands"), tools=[])
TASK = event(3, "MessageEvent", "user", llm_message={"role": "user", "content": [text("Fix app.py")]})
EDIT = {"command": "str_replace", "path": "/repo/app.py", "old_str": "a", "new_str": "b"}
CALLS = [
    action(5, "c1", "file_editor", "r1", EDIT, "I edit."),
    action(6, "c2", "terminal", "r1", {"command": "pytest"}),
]
RESULTS = [
    observation(7, "c1", "file_editor", "edited"),
    observation(8, "c2", "terminal", "1 failed", exit_code=1, metadata={"working_dir": "/repo"}),
]
DONE = event(
    10,
    "MessageEvent",
    "agent",
    llm_message={"role": "assistant", "content": [text("Done.")], "reasoning_content": "ok"},
)
EVENTS = [STATE, PROMPT, TASK, stats(4, 500, 20, cached=100), *CALLS, *RESULTS, stats(9, 1100, 50, cached=600), DONE]


def read(*events):
    return events_of(OpenHands(), lines(events))


def test_calls_of_one_response_are_one_answer_and_their_results_one_message():
    found = drafts(read(*EVENTS))
    assert [(draft.kind, draft.author.kind, len(draft.parts)) for draft in found] == [
        ("system", "injected", 1), ("prompt", "human", 1), ("answer", "agent", 3), ("tool-results", "tool", 2), ("answer", "agent", 2),
    ]  # fmt: skip
    assert [draft.parent for draft in found[1:]] == [draft.key for draft in found[:-1]]
    assert found[2].native_ids == ("r1", "e5", "e6")


def test_an_answer_has_what_the_totals_grew_by():
    answers = [draft for draft in drafts(read(*EVENTS)) if draft.kind == "answer"]
    counts = [{name: n for name, n in draft.usage.items() if name != "raw"} for draft in answers]
    assert counts == [
        {"input_uncached": 400, "cache_read": 100, "cache_write": 0, "output": 20},
        {"input_uncached": 100, "cache_read": 500, "cache_write": 0, "output": 30},
    ]
    assert {draft.model for draft in answers} == {"m"}


def test_totals_after_the_last_answer_are_its_own_and_repeated_ones_add_nothing():
    found = drafts(read(TASK, DONE, stats(11, 70, 7), stats(12, 70, 7)))[-1]
    assert (found.usage["input_uncached"], found.usage["output"]) == (70, 7)


def test_a_call_and_its_result_are_paired():
    call, result = drafts(read(*EVENTS))[2:4]
    assert call.parts[1] == Part("tool_call", {"call_id": "c1", "name": "file_editor", "input": EDIT})
    assert [part.fields["call_id"] for part in result.parts] == ["c1", "c2"]
    assert result.files == (FileTouch("/repo/app.py", "edit"),)


def test_an_exit_code_is_that_of_the_result():
    fields = drafts(read(*EVENTS))[3].parts[1].fields
    assert (fields["output"], fields["exit_code"], fields["is_error"]) == ("1 failed", 1, True)
    assert fields["structured"] == {"exit_code": 1, "metadata": {"working_dir": "/repo"}}


@pytest.mark.parametrize(
    ("kind", "field"), [("UserRejectObservation", "rejection_reason"), ("AgentErrorEvent", "error")]
)
def test_a_call_that_did_not_run_failed(kind, field):
    refused = event(9, kind, "environment", tool_name="terminal", tool_call_id="c2", **{field: "no"})
    part = drafts(read(TASK, *CALLS, refused))[-1].parts[0]
    assert part == Part("tool_result", {"call_id": "c2", "output": "no", "is_error": True})


@pytest.mark.parametrize(
    ("kind", "fields", "ours"),
    [
        ("Condensation", {"summary": "so far", "forgotten_event_ids": ["e2"]}, "compaction"),
        ("CondensationSummaryEvent", {"summary": "so far"}, "compaction"),
        ("ConversationErrorEvent", {"code": "X", "detail": "broken"}, "error"),
        ("PauseEvent", {}, "interrupt"),
    ],
)
def test_an_event_that_a_reader_needs_is_a_message(kind, fields, ours):
    events = read(TASK, event(4, kind, "environment", **fields))
    assert (drafts(events)[-1].kind, unparsed(events)) == (ours, [])


def test_the_session_is_named_by_its_state_and_else_by_its_first_event():
    assert read(*EVENTS)[0].native_id == "conv-7"
    assert read(*EVENTS[1:])[0].native_id == read(*EVENTS[1:4])[0].native_id != read(*EVENTS[2:])[0].native_id
    assert read({"id": "conv-8", "agent": {}, "workspace": {}}, *EVENTS[1:])[0].native_id == "conv-8"


def test_a_time_without_a_zone_is_utc():
    assert drafts(read(*EVENTS))[1].time == "2026-06-16T05:39:03.5Z"


def test_messages_in_the_name_of_the_user_are_injected():
    sent = event(4, "MessageEvent", "user", sender="other", llm_message={"role": "user", "content": [text("Hi")]})
    hook = event(5, "MessageEvent", "environment", llm_message={"role": "user", "content": [text("Goal")]})
    assert [draft.author.kind for draft in drafts(read(TASK, sent, hook))] == ["human", "injected", "injected"]


def test_images_and_contents_of_unknown_types_are_parts():
    content = [{"type": "image", "image_urls": ["data:image/png;base64,aaaa", 7]}, {"type": "hologram"}]
    task = event(3, "MessageEvent", "user", llm_message={"role": "user", "content": content})
    events = read(task, TASK | {"id": "x"})
    assert [part.type for part in drafts(events)[0].parts] == ["image", "raw", "raw"]
    assert len(unparsed(events)) == 2


def test_an_event_of_an_unknown_kind_is_kept_and_counted():
    events = read(
        *EVENTS, event(11, "NewEvent", "agent"), event(12, "AgentErrorEvent", "agent"), {"id": "x"}, EVENTS[2]
    )
    assert unparsed(events) == [
        "an event of the kind 'NewEvent'",
        "a result without content, AgentErrorEvent",
        "not an event",
    ]
    assert states(events)[-1] == "repeated/MessageEvent"


@pytest.mark.parametrize("join", [b"", b"\n", b" "])
def test_joined_event_files_and_an_array_of_events_are_the_same_conversation(join):
    joined = events_of(OpenHands(), join.join(json.dumps(each, indent=1).encode() for each in EVENTS))
    array = events_of(OpenHands(), json.dumps(EVENTS).encode())
    assert [draft.parts for draft in drafts(joined)] == [draft.parts for draft in drafts(array)]
    assert joined[0].native_id == array[0].native_id == "conv-7"


def test_one_of_the_files_with_one_event_each_is_refused_with_the_cure():
    data = json.dumps(TASK).encode()
    assert OpenHands().sniff(data)
    with pytest.raises(CannotImport, match="one event of a conversation") as refused:
        events_of(OpenHands(), data)
    assert "import the folder of the conversation" in refused.value.hint
    assert len(drafts(read(TASK))) == 1


@pytest.mark.parametrize(
    "value", [{"kind": "x", "source": "agent"}, {"kind": "x", "source": "cron", "id": "1", "timestamp": "t"}]
)
def test_other_events_are_not_taken(value):
    assert not OpenHands().sniff(json.dumps(value).encode())


def test_a_real_conversation_is_read_whole():
    with open(real_transcript("openhands", "goal_events.jsonl"), "rb") as file:
        events = events_of(OpenHands(), file.read())
    assert (len(drafts(events)), unparsed(events)) == (4, [])
    used = [draft.usage for draft in drafts(events) if draft.usage]
    assert sum(each["input_uncached"] + each["cache_read"] for each in used) == 107_458
    assert sum(each["output"] for each in used) == 1347
