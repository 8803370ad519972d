"""SWE-agent: the history is read, the trajectory that repeats it is kept, and the counts of the run are given once."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

from scopes.importers.formats.base import SNIFF_BYTES
from scopes.importers.formats.swe_agent import SweAgent
from scopes.model.message import FileTouch, Part
from tests.importers.reading import drafts, events_of, real_transcript, states, unparsed

EDIT = {"command": "str_replace", "path": "/repo/app.py", "old_str": "a", "new_str": "b"}


def call(name, **arguments):
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


SYSTEM = {"role": "system", "content": "SETTING: use the shell", "agent": "main", "message_type": "system_prompt"}
TASK = {
    "role": "user",
    "content": [{"type": "text", "text": "Fix app.py"}],
    "agent": "main",
    "message_type": "observation",
}
ANSWER = {
    "role": "assistant", "content": "I edit it.", "thought": "I edit it.", "action": "str_replace_editor ...",
    "agent": "main", "tool_calls": [call("str_replace_editor", **EDIT)], "message_type": "action",
}  # fmt: skip
RESULT = {"role": "tool", "content": [{"type": "text", "text": "edited"}], "agent": "main", "tool_call_ids": ["call_1"]}
LAST = {"role": "assistant", "content": "Done.\n```\nsubmit\n```", "action": "submit", "agent": "main"}
SUBMITTED = {"role": "user", "content": "diff --git a/app.py b/app.py", "agent": "main", "message_type": "observation"}
HISTORY = [SYSTEM, TASK, ANSWER, RESULT, LAST, SUBMITTED]
STATS = {"instance_cost": 0.5, "tokens_sent": 900, "tokens_received": 30, "api_calls": 2}
STEP = {
    "action": "ls",
    "observation": "app.py",
    "response": "I look.",
    "thought": "I look.",
    "state": {"working_dir": "/repo"},
}
DOCUMENT = {
    "trajectory": [STEP, {**STEP, "action": "submit"}],
    "history": HISTORY,
    "info": {"exit_status": "submitted", "model_stats": STATS},
    "replay_config": json.dumps({"agent": {"model": {"name": "gpt-4o"}}, "problem_statement": {"id": "repo-7"}}),
    "environment": "main",
}


def read(document):
    return events_of(SweAgent(), json.dumps(document, indent=2).encode())


def test_a_history_is_a_line_of_prompts_answers_and_results():
    found = drafts(read(DOCUMENT))
    assert [(draft.kind, draft.author.kind) for draft in found] == [
        ("system", "injected"), ("prompt", "human"), ("answer", "agent"), ("tool-results", "tool"), ("answer", "agent"),
        ("tool-results", "tool"),
    ]  # fmt: skip
    assert [draft.parent for draft in found[1:]] == [draft.key for draft in found[:-1]]


def test_the_session_has_the_directory_the_model_and_the_name_of_the_problem():
    events = read(DOCUMENT)
    assert (events[0].cwd, events[0].title) == ("/repo", "repo-7")
    assert {draft.model for draft in drafts(events) if draft.kind == "answer"} == {"gpt-4o"}


def test_a_result_is_paired_with_its_call_and_names_the_file_that_was_changed():
    result = drafts(read(DOCUMENT))[3]
    assert result.parts == (Part("tool_result", {"call_id": "call_1", "output": "edited"}),)
    assert (result.tool, result.files) == ("str_replace_editor", (FileTouch("/repo/app.py", "edit"),))


@pytest.mark.parametrize(("command", "operation"), [("view", "read"), ("create", "edit"), ("insert", "edit")])
def test_the_command_of_the_file_editor_says_what_it_did(command, operation):
    answer = {**ANSWER, "tool_calls": [call("str_replace_editor", command=command, path="/repo/x.py")]}
    result = drafts(read({**DOCUMENT, "history": [SYSTEM, TASK, answer, RESULT]}))[3]
    assert result.files == (FileTouch("/repo/x.py", operation),)


def test_an_action_without_a_call_is_a_command_and_the_next_message_its_result():
    answer, result = drafts(read(DOCUMENT))[4:]
    assert answer.parts[1] == Part("tool_call", {"call_id": "action-4", "name": "bash", "input": {"command": "submit"}})
    assert result.parts[0].fields["call_id"] == "action-4"
    assert result.tool == "bash"


def test_the_counts_of_a_finished_run_are_those_of_its_last_answer():
    history = HISTORY[:-1]
    found = drafts(read({**DOCUMENT, "history": history}))
    assert [draft.usage for draft in found[:-1]] == [None] * 4
    assert found[-1].usage == {"input_uncached": 900, "output": 30, "raw": STATS}


def test_a_run_that_goes_on_has_no_counts_yet():
    info = {"model_stats": STATS}
    assert not any(draft.usage for draft in drafts(read({**DOCUMENT, "history": HISTORY[:-1], "info": info})))


@pytest.mark.parametrize(
    ("status", "expected"), [("submitted", "success"), ("exit_cost", "limit"), ("submitted (exit_cost)", "limit"), ("exit_error", "error")]
)  # fmt: skip
def test_the_exit_status_is_the_end_of_the_run(status, expected):
    end = read({**DOCUMENT, "info": {"exit_status": status, "model_stats": STATS}})[-1].run_end
    assert (end.status, end.cost_usd, end.turns) == (expected, 0.5, 2)


def test_a_demonstration_is_injected_and_not_what_the_session_is_named_after():
    demo = [{**ANSWER, "is_demo": True}, {**RESULT, "is_demo": True}]
    events = read({**DOCUMENT, "history": [SYSTEM, *demo, *HISTORY[1:]]})
    assert [(draft.kind, draft.author.kind) for draft in drafts(events)[1:4]] == [
        ("meta", "injected"), ("meta", "injected"), ("prompt", "human"),
    ]  # fmt: skip


def test_the_session_keeps_its_name_while_the_file_grows():
    names = {read({**DOCUMENT, "history": HISTORY[:count]})[0].native_id for count in range(3, 7)}
    other = deepcopy(HISTORY)
    other[2]["content"] = "Another answer."
    assert len(names) == 1
    assert read({**DOCUMENT, "history": other})[0].native_id not in names


def test_thinking_is_reasoning():
    answer = {**ANSWER, "thinking_blocks": [{"type": "thinking", "thinking": "hm"}]}
    found = drafts(read({**DOCUMENT, "history": [SYSTEM, TASK, answer]}))[-1]
    assert found.parts[0] == Part("reasoning", {"text": "hm"})


def test_a_message_in_an_unknown_role_is_kept_and_counted():
    events = read({**DOCUMENT, "history": [*HISTORY, {"role": "critic", "content": "x", "agent": "main"}, 7]})
    assert unparsed(events) == ["a message in the role 'critic'", "a message in the role none"]
    assert states(events) == ["conversation"]


def test_a_trajectory_longer_than_the_sniffed_head_is_recognized():
    long = {**DOCUMENT, "trajectory": [{**STEP, "observation": "x" * SNIFF_BYTES}]}
    assert SweAgent().sniff(json.dumps(long).encode()[:SNIFF_BYTES])
    assert SweAgent().sniff(json.dumps({"history": HISTORY}).encode())
    assert not SweAgent().sniff(json.dumps({"history": [{"role": "user", "content": "x"}]}).encode())


@pytest.mark.parametrize(
    ("name", "messages", "cwd"),
    [
        ("fc_replace_marshmallow-code__marshmallow-1867.traj", 28, "/testbed"),
        ("function_calling_simple.traj", 12, None),
        ("i_got_id_demo.traj", 43, "/__Users__talora__LLM_CTF_Dataset_Dev__2016__CSAW-Quals__web__I-Got-Id"),
    ],
)
def test_a_real_trajectory_is_read_whole(name, messages, cwd):
    with open(real_transcript("swe-agent", name), "rb") as file:
        events = events_of(SweAgent(), file.read())
    assert (len(drafts(events)), events[0].cwd, unparsed(events)) == (messages, cwd, [])
