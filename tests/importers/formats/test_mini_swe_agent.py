"""mini-swe-agent: each answer of the API is one message, also one that is only in a complaint about it."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.base import choose_format
from scopes.importers.formats.mini_swe_agent import MiniSweAgent
from scopes.importers.formats.registry import FORMATS
from scopes.model.message import Part
from tests.importers.reading import bytes_source, drafts, events_of, real_transcript, states, unparsed

USAGE = {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60}}


def response(number, text, reason="tool_calls"):
    return {
        "id": f"chatcmpl-{number}", "created": 1_795_244_527, "model": "gpt-5", "usage": USAGE,
        "choices": [{"finish_reason": reason, "message": {"role": "assistant", "content": text}}],
    }  # fmt: skip


CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls é"}'}}
SYSTEM = {"role": "system", "content": "You can use a computer."}
TASK = {"role": "user", "content": "List files — 日本語"}
LOOK = {
    "content": "I look.", "role": "assistant", "tool_calls": [CALL],
    "extra": {"response": response(1, "I look."), "timestamp": 1_795_244_527.49},
}  # fmt: skip
FOUND = {
    "content": '{"returncode": 2}', "extra": {"returncode": 2, "timestamp": 1_795_244_528.5}, "tool_call_id": "c1", "role": "tool"
}  # fmt: skip
COMPLAINT = {
    "role": "user", "content": "No tool calls found.",
    "extra": {"interrupt_type": "FormatError", "response": response(2, "Ends here — é.", "stop")},
}  # fmt: skip
EXIT = {"role": "exit", "content": "the diff", "extra": {"exit_status": "Submitted", "submission": "the diff"}}
MESSAGES = [SYSTEM, TASK, LOOK, FOUND, COMPLAINT, EXIT]
INFO = {
    "model_stats": {"instance_cost": 0.25, "api_calls": 2}, "mini_version": "2.4.6", "exit_status": "Submitted",
    "config": {"agent_type": "x.DefaultAgent", "model": {"model_name": "openai/gpt-5"}, "environment": {"cwd": "/repo"}},
}  # fmt: skip
DOCUMENT = {"info": INFO, "messages": MESSAGES, "trajectory_format": "mini-swe-agent-1.1"}


def read(document):
    return events_of(MiniSweAgent(), json.dumps(document, ensure_ascii=False, indent=1).encode())


def test_a_run_is_a_line_of_messages():
    found = drafts(read(DOCUMENT))
    assert [(draft.kind, draft.author.kind) for draft in found] == [
        ("system", "injected"), ("prompt", "human"), ("answer", "agent"), ("tool-results", "tool"), ("answer", "agent"),
        ("meta", "injected"), ("notice", "system"),
    ]  # fmt: skip
    assert [draft.parent for draft in found[1:]] == [draft.key for draft in found[:-1]]


def test_every_answer_has_its_own_counts_model_id_and_stop_reason():
    answers = [draft for draft in drafts(read(DOCUMENT)) if draft.kind == "answer"]
    assert [draft.usage for draft in answers] == [
        {"input_uncached": 40, "cache_read": 60, "output": 9, "raw": USAGE}
    ] * 2
    assert [(draft.model, draft.native_ids, draft.stop_reason) for draft in answers] == [
        ("gpt-5", ("chatcmpl-1",), "tool_calls"),
        ("gpt-5", ("chatcmpl-2",), "stop"),
    ]


def test_an_answer_in_a_complaint_is_a_message_before_it_with_the_bytes_it_is_in():
    data = json.dumps(DOCUMENT, ensure_ascii=False, indent=1).encode()
    answer, complaint = drafts(events_of(MiniSweAgent(), data))[4:6]
    assert answer.parts == (Part("text", {"text": "Ends here — é."}),)
    assert complaint.parts == (Part("text", {"text": "No tool calls found."}),)
    (inside,), (before,) = answer.spans, complaint.spans
    assert data[inside.offset :].startswith(b'"extra"')
    assert (before.offset + before.length, complaint.parent) == (inside.offset, answer.key)


def test_a_return_code_is_that_of_the_result():
    result = drafts(read(DOCUMENT))[3]
    fields = {"call_id": "c1", "output": '{"returncode": 2}', "exit_code": 2, "is_error": True}
    assert (result.parts, result.tool) == ((Part("tool_result", fields),), "bash")


def test_times_are_those_of_the_messages():
    events = read(DOCUMENT)
    assert events[0].created == "2026-11-21T07:02:07.490Z"
    assert [draft.time for draft in drafts(events)][:4] == [
        None,
        None,
        "2026-11-21T07:02:07.490Z",
        "2026-11-21T07:02:08.500Z",
    ]


@pytest.mark.parametrize(("agent", "author"), [("InteractiveAgent", "human"), ("DefaultAgent", "injected")])
def test_later_messages_of_the_user_are_typed_only_in_interactive_runs(agent, author):
    info = {**INFO, "config": {"agent_type": f"x.{agent}".lower()}}
    document = {**DOCUMENT, "info": info, "messages": [SYSTEM, TASK, LOOK, {"role": "user", "content": "Go on"}]}
    assert drafts(read(document))[-1].author.kind == author


def test_results_of_version_1_are_messages_of_the_user():
    answer = {"role": "assistant", "content": "```bash\nls\n```", "extra": {"response": response(1, "x")}}
    result = {"role": "user", "content": "<returncode>0</returncode>\n<output>a</output>"}
    found = drafts(
        read({**DOCUMENT, "messages": [SYSTEM, TASK, answer, result], "trajectory_format": "mini-swe-agent-1"})
    )
    assert (found[-1].kind, found[-1].parts[0].fields["output"]) == ("tool-results", result["content"])


@pytest.mark.parametrize(
    ("status", "expected"), [("Submitted", "success"), ("LimitsExceeded", "limit"), ("RuntimeError", "error")]
)
def test_the_exit_status_is_the_end_of_the_run(status, expected):
    end = read({**DOCUMENT, "info": {**INFO, "exit_status": status}})[-1].run_end
    assert (end.status, end.turns, end.cost_usd) == (expected, 2, 0.25)


def test_a_run_that_goes_on_has_no_end_and_keeps_its_name():
    info = {**INFO, "exit_status": ""}
    found = [read({**DOCUMENT, "info": info, "messages": MESSAGES[:count]}) for count in range(3, 7)]
    assert {events[-1].run_end for events in found} == {None}
    assert len({events[0].native_id for events in found}) == 1


def test_a_file_is_not_taken_for_a_list_of_messages_of_the_openai_api():
    assert choose_format(FORMATS, bytes_source(json.dumps(DOCUMENT).encode())).name == "mini-swe-agent"
    assert not MiniSweAgent().sniff(json.dumps({"messages": MESSAGES, "note": "mini"}).encode())


def test_a_message_in_an_unknown_role_is_kept_and_counted():
    events = read({**DOCUMENT, "messages": [*MESSAGES, {"role": "critic"}]})
    assert (unparsed(events), states(events)) == (["a message in the role 'critic'"], ["conversation"])


def test_a_real_trajectory_is_read_whole():
    with open(real_transcript("mini-swe-agent", "gen_v2_trajectory.traj.json"), "rb") as file:
        events = events_of(MiniSweAgent(), file.read())
    found = drafts(events)
    assert (len(found), unparsed(events)) == (526, [])
    assert sum(draft.kind == "answer" for draft in found) == 262  # as many as `api_calls`
    assert sum(draft.usage["output"] for draft in found if draft.usage) == 59605
