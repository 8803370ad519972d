"""ATIF: steps are messages, and what is not as the specification says is read and noted."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.atif import Atif
from scopes.importers.identity import content_bytes
from scopes.model.message import Part
from tests.importers.reading import drafts, events_of, real_transcript, states, unparsed

TIME = "2026-02-03T04:05:06Z"
METRICS = {
    "prompt_tokens": 500, "completion_tokens": 40, "cached_tokens": 300, "cost_usd": 0.1, "logprobs": [-0.1]
}  # fmt: skip
USER = {"step_id": 1, "timestamp": TIME, "source": "user", "message": "Fix it"}
AGENT = {
    "step_id": 2, "timestamp": TIME, "source": "agent", "model_name": "m-2", "message": "I look.", "reasoning_content": "hm",
    "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}],
    "observation": {"results": [{"source_call_id": "c1", "content": "app.py"}]}, "metrics": METRICS,
}  # fmt: skip
SYSTEM = {"step_id": 3, "source": "system", "message": "Context was reset"}
DONE = {"step_id": 4, "source": "agent", "message": [{"type": "text", "text": "Done."}]}
STEPS = [USER, AGENT, SYSTEM, DONE]
DOCUMENT = {
    "schema_version": "ATIF-v1.6", "session_id": "run-1", "agent": {"name": "harbor", "version": "2", "model_name": "m-1"},
    "steps": STEPS, "final_metrics": {"total_cost_usd": 0.3},
}  # fmt: skip


def read(document):
    return events_of(Atif(), json.dumps(document, indent=2).encode())


def with_steps(*steps, **members):
    return read({**DOCUMENT, "steps": list(steps), **members})


def test_steps_are_messages_of_their_source():
    events = read(DOCUMENT)
    assert [(draft.kind, draft.author.name, draft.author.kind) for draft in drafts(events)] == [
        ("prompt", "user", "human"), ("answer", "harbor", "agent"), ("system", "user", "injected"), ("answer", "harbor", "agent"),
    ]  # fmt: skip
    assert (events[0].native_id, events[0].created, events[-1].notes) == ("run-1", TIME, ())


def test_a_step_of_the_agent_has_reasoning_text_calls_and_results():
    assert drafts(read(DOCUMENT))[1].parts == (
        Part("reasoning", {"text": "hm"}),
        Part("text", {"text": "I look."}),
        Part("tool_call", {"call_id": "c1", "name": "bash", "input": {"command": "ls"}}),
        Part("tool_result", {"call_id": "c1", "output": "app.py"}),
    )


def test_the_metrics_of_a_step_are_its_counts_without_the_cached_ones():
    raw = {name: value for name, value in METRICS.items() if name != "logprobs"}
    found = drafts(read(DOCUMENT))
    assert found[1].usage == {"input_uncached": 200, "cache_read": 300, "output": 40, "raw": raw}
    assert [draft.model for draft in found] == [None, "m-2", None, "m-1"]
    assert read(DOCUMENT)[-1].run_end.cost_usd == 0.3


def test_a_step_that_was_copied_for_context_is_injected_and_not_counted_again():
    found = drafts(with_steps({**USER, "is_copied_context": True}, {**AGENT, "is_copied_context": True}))
    assert (found[0].author.kind, found[1].usage) == ("injected", None)


@pytest.mark.parametrize("given", [{"message_id": "m-1"}, {"extra": {"message_id": "m-1", "kind": "prompt"}}])
def test_a_message_id_is_the_best_id_of_a_step_and_changes_nothing_else(given):
    with_id, without = drafts(with_steps({**USER, **given})), drafts(with_steps(USER))
    assert [draft.native_ids for draft in (*with_id, *without)] == [("m-1", "1"), ("1",)]
    assert content_bytes(with_id[0]) == content_bytes(without[0])
    assert drafts(with_steps({**USER, "message_id": 7}))[0].native_ids == ("1",)


def test_a_result_names_the_trajectory_of_the_sub_agent_it_is_from():
    reference = [{"session_id": "run-2", "trajectory_path": "sub.json"}]
    result = {"source_call_id": "c1", "content": "ok", "subagent_trajectory_ref": reference}
    found = drafts(with_steps(USER, {**AGENT, "observation": {"results": [result]}}))[1]
    assert found.parts[-1].fields["structured"] == {"subagent_trajectory_ref": reference}


def test_results_in_a_step_of_the_system_answer_the_calls_they_name():
    steps = [
        {"step_id": 2, "source": "system", "message": "Tool result for c1", "observation": {"content": "no", "result": {"success": False}}},
        {"step_id": 3, "source": "system", "message": "Tool result for c2", "observation": {"content": "yes"}},
    ]  # fmt: skip
    found = drafts(with_steps(USER, *steps))
    assert [part.fields for part in found[1].parts] == [
        {"call_id": "c1", "output": "no", "is_error": True},
        {"call_id": "c2", "output": "yes"},
    ]
    assert (found[1].kind, len(found)) == ("tool-results", 2)


def test_images_keep_their_path():
    image = {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}}
    assert drafts(with_steps({**USER, "message": [image]}))[0].parts == (
        Part("image", {"media_type": "image/png", "path": "images/1.png"}),
    )


def test_a_document_that_deviates_from_the_specification_is_read():
    step = {**USER, "step_id": 7, "metrics": METRICS, "observation": {"results": True}}
    events = with_steps(step, schema_version="1.4", agent={}, session_id=None)
    assert (len(drafts(events)), unparsed(events)) == (1, [])


def test_a_call_with_other_field_names_is_a_call_and_one_without_a_name_is_raw():
    found = drafts(
        with_steps({**AGENT, "tool_calls": [{"id": "c9", "name": "Write", "arguments": "{}"}, {"id": "c8"}, 7]})
    )[0]
    calls = [part for part in found.parts if part.type in {"tool_call", "raw"}]
    assert calls[0] == Part("tool_call", {"call_id": "c9", "name": "Write", "input": {}})
    assert [part.type for part in calls] == ["tool_call", "raw", "raw"]


def test_a_trajectory_without_an_id_is_named_by_its_first_steps():
    names = [with_steps(*STEPS[:count], session_id=None)[0].native_id for count in (2, 3, 4)]
    assert len(set(names)) == 1
    assert names[0] != with_steps(USER, DONE, session_id=None)[0].native_id


def test_a_step_of_an_unknown_source_is_kept_and_counted():
    events = with_steps(USER, {"step_id": 2, "source": "critic", "message": "x"}, 7)
    assert unparsed(events) == ["a step of the source 'critic'", "a step of the source none"]
    assert states(events) == ["conversation"]


@pytest.mark.parametrize("value", [{"steps": [{"name": "build"}]}, {"steps": 7}, {"steps": []}, [USER]])
def test_other_steps_are_not_taken(value):
    assert not Atif().sniff(json.dumps(value).encode())


def test_a_real_trajectory_that_deviates_is_read_whole():
    with open(real_transcript("atif", "openagents_regex-log_trajectory.json"), "rb") as file:
        events = events_of(Atif(), file.read())
    calls, results = (
        {part.fields["call_id"] for draft in drafts(events) for part in draft.parts if part.type == kind}
        for kind in ("tool_call", "tool_result")
    )
    assert (len(drafts(events)), unparsed(events), len(calls), calls) == (6, [], 5, results)
