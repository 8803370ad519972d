"""A branch as a trajectory of ATIF, valid for the published models, which is imported as the same conversation."""

from __future__ import annotations

import json

import pytest
from atif import Trajectory
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch as make_branch
from scopes.conversation.new_rename_delete import new
from scopes.errors import Invalid
from scopes.exporters.atif import make_step
from scopes.exporters.export import export
from scopes.history.names import list_branch_tips
from scopes.importers.formats.atif import Atif
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sample import import_sample
from scopes.importers.import_sources import import_sources
from scopes.importers.program_versions import find_program_versions
from scopes.model.message import Author, Message, Part
from tests.exporters.building import call, exported, message, put, result
from tests.importers.formats.claude_code.logs import Log
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.store import make_store

PICTURE = {"media_type": "image/png", "data": "aaaa"}


def trajectory(repository, where="conv-001"):
    """Return an export as a value, which the published models accept."""
    text = exported(repository, where, "atif")
    Trajectory.model_validate_json(text, strict=True)
    return json.loads(text)


def steps_of(repository, *messages):
    """Return the steps that messages are exported as."""
    if not repository.find_ref("refs/heads/conv-001/main"):
        new(repository)
    put(repository, "x", list_branch_tips(repository, "conv-001")["main"], *messages)
    return trajectory(repository, "conv-001/x")["steps"]


def outputs(step):
    """Return the results of a step: which call, and what it returned."""
    return [(each.get("source_call_id"), each["content"]) for each in step["observation"]["results"]]


def tool(identity, *results):
    """Return a message with results."""
    return message(identity, "", *results, author="tool", kind="tool")


def test_a_conversation_without_messages_has_no_steps(repository):
    new(repository)
    found = trajectory(repository)
    assert (found["schema_version"], found["steps"], found["final_metrics"]) == ("ATIF-v1.7", [], {"total_steps": 0})
    assert (found["agent"], found["extra"]["branch"]) == ({"name": "unknown", "version": "unknown"}, "main")


@pytest.mark.parametrize(
    ("kind", "source"),
    [("human", "user"), ("agent", "agent"), ("system", "system"), ("injected", "system"), ("new", "system")],
)
def test_each_kind_of_author_has_a_source(repository, kind, source):
    (step,) = steps_of(repository, message("b", "hello", kind=kind))
    assert (step["step_id"], step["source"], step["message"]) == (1, source, "hello")
    assert step["extra"]["author_kind"] == kind


def test_the_results_of_calls_are_in_the_step_of_the_answer(repository):
    found = steps_of(
        repository,
        message("b", "go", call("1", input={"z": 1}), call("2", input={})),
        message("c", "a hook ran", kind="injected"),
        tool("d", result("2", output="two", exit_code=1, is_error=True), result("1", output="one")),
        message("e", "next", kind="human"),
    )
    assert [step["message"] for step in found] == ["go", "a hook ran", "next"]
    assert outputs(found[0]) == [("2", "two"), ("1", "one")]
    assert found[0]["observation"]["results"][0]["extra"] == {"is_error": True, "exit_code": 1}
    assert found[0]["tool_calls"][0] == {"tool_call_id": "1", "function_name": "Bash", "arguments": {"z": 1}}


def test_a_result_without_its_call_is_a_step_of_the_system(repository):
    found = steps_of(
        repository,
        message("b", "go", call("1")),
        message("c", "stop", kind="human"),
        tool("d", result("1", output="late"), result("9", output="nine")),
    )
    assert [step["source"] for step in found] == ["agent", "user", "system"]
    assert outputs(found[2]) == [(None, "late"), (None, "nine")]
    assert found[2]["observation"]["results"][0]["extra"] == {"call_id": "1"}


def test_what_a_message_has_apart_from_results_of_others_is_a_step(repository):
    mixed = message("c", "", Part("text", {"text": "note"}), result("1", output="one"), author="tool", kind="tool")
    found = steps_of(repository, message("b", "go", call("1")), mixed)
    assert [(step["message"], "observation" in step) for step in found] == [("go", True), ("note", False)]


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({"input": {"a": [1]}}, {"a": [1]}),
        ({"input": [1]}, {"input": [1]}),
        ({"input_text": '{"a":1.0}'}, {"a": 1.0}),
        ({"input_text": '{"a":NaN}'}, {"input": '{"a":NaN}'}),
        ({"input_text": "*** Begin"}, {"input": "*** Begin"}),
        ({"input_text": "[1]"}, {"input": "[1]"}),
        ({}, {}),
    ],
)
def test_arguments_are_an_object(repository, fields, arguments):
    (step,) = steps_of(repository, message("b", "", call("1", **fields)))
    assert step["tool_calls"][0]["arguments"] == arguments


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ({"output": None}, ""),
        ({"output": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"output": {"n": 3}}, '{"n":3}'),
        ({"output": [{"type": "new"}]}, '[{"type":"new"}]'),
        ({"output_text": "1.0"}, "1.0"),
        (
            {"output": [{"type": "image", "source": {"type": "base64", **PICTURE}}]},
            [{"type": "image", "source": {"media_type": "image/png", "path": "data:image/png;base64,aaaa"}}],
        ),
    ],
)
def test_outputs_are_texts_or_lists_of_the_specification(repository, output, content):
    (step,) = steps_of(repository, message("b", "", call("1"), result("1", **output)))
    assert outputs(step) == [("1", content)]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (Part("image", PICTURE), {"type": "image", "source": {"media_type": "image/png", "path": "data:image/png;base64,aaaa"}}),
        (Part("image", {"media_type": "image/gif", "path": "a.gif"}), {"type": "image", "source": {"media_type": "image/gif", "path": "a.gif"}}),
    ],
)  # fmt: skip
def test_images_are_parts_of_the_message(repository, part, block):
    (step,) = steps_of(repository, message("b", "look", part, kind="human"))
    assert step["message"] == [{"type": "text", "text": "look"}, block]


def test_what_is_no_image_of_the_specification_is_named(repository):
    drawing = Part("image", {"media_type": "image/svg+xml", "path": "a.svg"})
    (step,) = steps_of(repository, message("b", "look", drawing, Part("file", {}), kind="human"))
    assert step["message"] == "look\n[image: a.svg]\n[file: unknown]"


def test_only_steps_of_the_agent_have_model_reasoning_and_metrics(repository):
    usage = {"usage": {"input_uncached": 5, "cache_read": 10, "cache_write": 1, "output": 7, "reasoning": 2}}
    parts = Part("reasoning", {"text": "hm"}), Part("reasoning", {"opaque": "sig"})
    found = steps_of(
        repository,
        message("b", "q", *parts, kind="human", model="m-1", extra=usage),
        message("c", "a", *parts, model="m-1", extra=usage),
    )
    assert trajectory(repository, "conv-001/x")["agent"]["model_name"] == "m-1"
    assert not found[0].keys() & {"model_name", "reasoning_content", "metrics"}
    assert (found[1]["model_name"], found[1]["reasoning_content"]) == ("m-1", "hm")
    assert found[1]["metrics"] == {
        "prompt_tokens": 16, "completion_tokens": 7, "cached_tokens": 10,
        "extra": {"cache_write_tokens": 1, "reasoning_tokens": 2},
    }  # fmt: skip


def test_tokens_of_copied_steps_are_not_in_the_totals(repository):
    new(repository)
    usage = {"usage": {"input_uncached": 5, "output": 7}}
    copied = message("b", "old", extra={**usage, "precision": "restamped"})
    put(repository, "main", list_branch_tips(repository, "conv-001")["main"], copied, message("c", "new", extra=usage))
    found = trajectory(repository)
    assert [step.get("is_copied_context") for step in found["steps"]] == [True, None]
    assert found["final_metrics"] == {"total_prompt_tokens": 5, "total_completion_tokens": 7, "total_steps": 2}


def test_what_a_branch_shares_with_its_parent_is_copied_context(repository):
    history(repository, "main: a b", "fix@b: c")
    found = trajectory(repository, "conv-001/fix")
    assert [step.get("is_copied_context") for step in found["steps"]] == [True, True, None]
    assert found["trajectory_id"] == f"{found['session_id']}/fix"
    assert not any("is_copied_context" in step for step in trajectory(repository)["steps"])


def test_amended_messages_have_their_new_text_and_retracted_ones_are_left_out(repository):
    drawn = history(repository, "main: old wrong last")
    amend(repository, "conv-001", drawn.ids["old"], "new", author=Author("bot"))
    retract(repository, "conv-001", drawn.ids["wrong"], "no", author=Author("bot"))
    assert [step["message"] for step in trajectory(repository)["steps"]] == ["new", "last"]


def test_a_typed_document_replaces_a_missing_text(repository):
    new(repository)
    say(repository, "conv-001", "", kind="decision", decision={"topic": "db", "decision": "SQLite"})
    assert trajectory(repository)["steps"][0]["message"] == '{"decision":{"decision":"SQLite","topic":"db"}}'


def with_sub_agents(repository, root):
    """Write a main branch whose calls start agents, one of which starts another one."""
    main = message("b", "go", call("t1", "Task"), call("t2", "Task"))
    put(repository, "main", root, main, tool("c", result("t1", output="ok"), result("t2", output="ok")))
    for branch, identity, starter, started_by in [("one", "d", main.id, "t1"), ("two", "e", "d".ljust(26, "a"), "t3")]:
        spawned = {"spawned_by": {"message": starter, "call_id": started_by}}
        make_branch(repository, "conv-001", name=branch, start=root, switch=False)
        calls = [call("t3", "Task"), result("t3", output="done")] if branch == "one" else []
        put(repository, branch, root, message(identity, branch, *calls, author=f"agent-{branch}", extra=spawned))


def test_sub_agents_are_embedded_where_they_were_started(repository):
    new(repository)
    with_sub_agents(repository, list_branch_tips(repository, "conv-001")["main"])
    found = trajectory(repository)
    (one,) = found["subagent_trajectories"]
    (two,) = one["subagent_trajectories"]
    results = found["steps"][0]["observation"]["results"]
    assert results[0]["subagent_trajectory_ref"] == [{"trajectory_id": one["trajectory_id"]}]
    assert "subagent_trajectory_ref" not in results[1]
    assert [each["agent"]["name"] for each in (one, two)] == ["agent-one", "agent-two"]
    assert one["steps"][0]["observation"]["results"][0]["subagent_trajectory_ref"] == [
        {"trajectory_id": two["trajectory_id"]}
    ]
    assert export(repository, "conv-001", format_name="atif").messages == 4


def test_a_trajectory_holds_one_branch(repository):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="a trajectory holds one branch"):
        export(repository, "conv-001", format_name="atif", all_branches=True)


def test_an_imported_export_has_the_same_texts_calls_and_results(repository, tmp_path):
    import_sample(repository)
    path = tmp_path / "t.json"
    path.write_text(exported(repository, "conv-001", "atif"), encoding="utf-8")
    other = make_store(tmp_path / "other.git")
    done = import_sources(other, [Source(str(path), path.stat().st_size)], (Atif(),))
    first, second = trajectory(repository), trajectory(other)
    kept = ("source", "message", "reasoning_content", "tool_calls", "observation")
    assert [{k: step.get(k) for k in kept} for step in second["steps"]] == [
        {k: step.get(k) for k in kept} for step in first["steps"]
    ]
    assert "model_name" not in first["agent"]  # one of its answers has no model
    assert done.notes == ()  # nothing that is not as specified


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
parts = st.builds(
    Part,
    st.sampled_from(["text", "reasoning", "tool_call", "tool_result", "image", "file", "raw", "new"]),
    st.dictionaries(
        st.sampled_from(["text", "call_id", "name", "input", "input_text", "output", "path", "data", "media_type"]),
        json_values,
        max_size=5,
    ),
)


@given(parts=st.lists(parts, max_size=6), kind=st.sampled_from(["human", "agent", "tool", "odd"]), usage=json_values)
@settings(max_examples=examples(120), deadline=None)
def test_any_parts_make_a_valid_step(parts, kind, usage):
    written = Message(id="a" * 26, author=Author("x", kind), parts=tuple(parts), time="never", extra={"usage": usage})
    step = make_step(written, is_copied=False).document({})
    whole = {"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": [{"step_id": 1, **step}]}
    Trajectory.model_validate_json(json.dumps(whole), strict=True)


def import_claude_code(store, path, version, *texts):
    log = Log()
    for number, text in enumerate(texts):
        log.user(text, version=version)
        log.answer(f"msg_{number}", {"type": "text", "text": f"re {text}"}, stop="end_turn", version=version)
    path.write_bytes(log.data())
    import_sources(store, [Source(str(path), path.stat().st_size)], FORMATS)


def versions_of(store, where="conv-001"):
    """Return name and version of the agent, as the command line exports them, valid for the published models."""
    text = exported(store, where, "atif", find_versions=find_program_versions)
    Trajectory.model_validate_json(text, strict=True)
    agent = json.loads(text)["agent"]
    return agent["name"], agent["version"]


def test_the_version_of_the_agent_is_that_of_its_session(repository, tmp_path):
    import_claude_code(repository, tmp_path / "a.jsonl", "2.1.40", "hello")
    assert versions_of(repository) == ("claude-code", "2.1.40")
    say(repository, "conv-001", "and now?", author={"name": "carol", "kind": "human"})
    assert versions_of(repository) == ("claude-code", "2.1.40")
    assert trajectory(repository)["agent"]["version"] == "unknown"  # without a look at the stored sources


def test_the_version_of_one_agent_is_not_that_of_another_one(repository, tmp_path):
    import_claude_code(repository, tmp_path / "a.jsonl", "2.1.40", "hello")
    for number in range(3):
        say(repository, "conv-001", f"{number}", author={"name": "reviewer", "kind": "agent"})
    assert versions_of(repository) == ("reviewer", "unknown")


@pytest.mark.parametrize("version", [..., "", "2" * 65])
def test_a_session_without_a_version_has_none(repository, tmp_path, version):
    import_claude_code(repository, tmp_path / "a.jsonl", version, "hello")
    assert versions_of(repository) == ("claude-code", "unknown")


def test_the_version_of_a_trajectory_is_exported_again(repository, tmp_path):
    step = {"step_id": 1, "source": "agent", "message": "done", "timestamp": "2026-03-01T10:00:00Z"}
    value = {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "terminus", "version": "0.9"}}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**value, "steps": [step]}))
    import_sources(repository, [Source(str(path), path.stat().st_size)], FORMATS)
    assert versions_of(repository)[1] == "0.9"
