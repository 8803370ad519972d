"""Branches as tasks of A2A: the messages of its SDK parse every line, strictly."""

from __future__ import annotations

import json

import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given, settings

from scopes.conversation.branch import abandon
from scopes.conversation.new_rename_delete import new
from scopes.exporters.a2a import EXTENSION, _part
from scopes.history.names import list_branch_tips
from scopes.importers.import_sample import import_sample
from scopes.model.message import Part
from tests.exporters.building import call, exported, message, put, result
from tests.exporters.test_atif import parts
from tests.support.examples import examples
from tests.support.history import history, say

a2a_pb2 = pytest.importorskip("a2a.types", reason="A2A's own messages are in the extra `peers`").a2a_pb2


def tasks(repository, where="conv-001", **options):
    """Return the tasks of an export, which the SDK has parsed."""
    found = [json.loads(line) for line in exported(repository, where, "a2a", **options).splitlines()]
    for each in found:
        ParseDict(each, a2a_pb2.Task())
    return found


def messages_of(repository, *messages):
    """Return the history that messages are exported as."""
    new(repository)
    put(repository, "x", list_branch_tips(repository, "conv-001")["main"], *messages)
    (task,) = tasks(repository, "conv-001/x")
    return task["history"]


def test_a_branch_is_a_task_in_the_context_of_its_conversation(repository):
    drawn = history(repository, "main: a b")
    (task,) = tasks(repository)
    assert task["id"] == f"{task['contextId']}/main"
    assert [each["messageId"] for each in task["history"]] == [drawn.ids["a"], drawn.ids["b"]]
    assert {(each["contextId"], each["taskId"]) for each in task["history"]} == {(task["contextId"], task["id"])}
    assert task["metadata"][EXTENSION] == {"conversation": "conv-001", "branch": "main"}


def test_all_branches_are_tasks_and_a_fork_refers_to_its_parent(repository):
    history(repository, "main: a b", "fix@a: c")
    main, fix = tasks(repository, all_branches=True)
    assert [each["parts"][0]["text"] for each in fix["history"]] == ["c"]
    assert fix["history"][0]["referenceTaskIds"] == [main["id"]]
    assert "referenceTaskIds" not in main["history"][0]


@pytest.mark.parametrize(
    ("kind", "role"),
    [("human", "USER"), ("agent", "AGENT"), ("tool", "AGENT"), ("system", "USER"), ("injected", "USER")],
)
def test_each_kind_of_author_has_a_role(repository, kind, role):
    (each,) = messages_of(repository, message("b", "hello", kind=kind, author="x", to=("y",), model="m"))
    assert each["role"] == f"ROLE_{role}"
    facts = each["metadata"][EXTENSION]
    assert (facts["author"], facts["to"], facts["model"]) == ({"name": "x", "kind": kind}, ["y"], "m")
    assert len(facts["commit"]) == 40


def test_calls_and_results_are_data_and_reasoning_is_marked(repository):
    (each,) = messages_of(
        repository,
        message("b", "", Part("reasoning", {"text": "hm"}), call("1", input={"a": 1}), result("1", output="ok")),
    )
    types = [part["metadata"][EXTENSION]["type"] for part in each["parts"]]
    assert types == ["reasoning", "tool_call", "tool_result"]
    assert each["parts"][1]["data"] == {"call_id": "1", "name": "Bash", "input": {"a": 1}}


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"media_type": "image/png", "data": "aaaa", "path": "a/b.png"}, {"raw": "aaaa", "mediaType": "image/png", "filename": "b.png"}),
        ({"path": "https://example.org/a.png"}, {"url": "https://example.org/a.png", "filename": "a.png"}),
        ({"path": "a.png", "data": "no base64!"}, {"data": {"path": "a.png", "data": "no base64!"}, "metadata": {EXTENSION: {"type": "image"}}}),
    ],
)  # fmt: skip
def test_files_are_bytes_addresses_or_data(repository, fields, part):
    (each,) = messages_of(repository, message("b", "", Part("image", fields)))
    assert each["parts"] == [part]


def test_a_typed_message_has_its_document(repository):
    new(repository)
    say(repository, "conv-001", "we take it", kind="decision", decision={"topic": "db", "decision": "SQLite"})
    (task,) = tasks(repository)
    assert task["history"][0]["parts"][1]["data"] == {"decision": {"topic": "db", "decision": "SQLite"}}


def test_the_state_says_whose_turn_it_is(repository):
    new(repository)
    assert tasks(repository)[0]["status"] == {"state": "TASK_STATE_SUBMITTED"}
    say(repository, "conv-001", "do it", author={"name": "carol", "kind": "human"})
    assert tasks(repository)[0]["status"]["state"] == "TASK_STATE_WORKING"
    say(repository, "conv-001", "done", author="bot")
    status = tasks(repository)[0]["status"]
    assert (status["state"], status["timestamp"][-1]) == ("TASK_STATE_INPUT_REQUIRED", "Z")


def test_an_abandoned_branch_is_canceled(repository):
    history(repository, "main: a", "fix@a: b")
    abandon(repository, "conv-001", "fix")
    assert tasks(repository, "conv-001/fix")[0]["status"]["state"] == "TASK_STATE_CANCELED"


def test_every_branch_of_the_sample_is_a_valid_task(repository):
    import_sample(repository)
    assert sum(len(task["history"]) for task in tasks(repository, all_branches=True)) == 15


@given(part=parts)
@settings(max_examples=examples(120), deadline=None)
def test_any_part_is_valid(part):
    written = _part(part)
    if written is not None:
        ParseDict(json.loads(json.dumps(written)), a2a_pb2.Part())
