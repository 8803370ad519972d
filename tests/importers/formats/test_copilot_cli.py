"""Session files of Copilot CLI as messages."""

from __future__ import annotations

import pytest

from scopes.importers.formats.copilot_cli import CopilotCli
from scopes.model.message import FileTouch
from tests.importers.formats.copilot_sessions import (
    FILE,
    PROMPT,
    SESSION,
    START,
    answer,
    call,
    events,
    lines,
    result,
)
from tests.importers.reading import drafts, events_of, real_transcript, states, unparsed


def read(*pairs):
    return events_of(CopilotCli(), lines(events(*pairs)))


def shape(found):
    return [(draft.kind, draft.author.kind, [part.type for part in draft.parts]) for draft in drafts(found)]


def test_a_session_is_a_chain_of_prompts_answers_and_results():
    found = events_of(CopilotCli(), lines(FILE))
    assert shape(found) == [
        ("prompt", "human", ["text"]),
        ("answer", "agent", ["reasoning", "text", "tool_call", "tool_call"]),
        ("tool-results", "tool", ["tool_result", "tool_result"]),
        ("answer", "agent", ["text"]),
    ]
    assert [draft.parent for draft in drafts(found)] == [None, *(draft.key for draft in drafts(found)[:-1])]
    assert unparsed(found) == []


def test_the_start_gives_session_folder_version_and_time():
    session = read(START, PROMPT)[0]
    assert (session.native_id, session.cwd, session.details) == (SESSION, "/home/dev/shop", {"version": "1.0.77"})
    assert session.created == "2026-03-01T10:00:01.000Z"


def test_a_file_without_its_start_is_named_by_its_first_event():
    first, again, other = (read(*pairs)[0] for pairs in ((PROMPT,), (PROMPT, answer("Hi")), (answer("Hi"),)))
    assert first.native_id == again.native_id != other.native_id


def test_answers_have_their_model_tokens_branch_ids_and_time():
    prompt, first, results, last = drafts(events_of(CopilotCli(), lines(FILE)))
    assert (first.model, first.usage["output"], last.usage["output"]) == ("m-2", 12, 3)
    assert (first.native_ids, first.time) == (("e5", "m1", "e6"), "2026-03-01T10:00:05.000Z")
    assert {draft.git_branch for draft in (prompt, first, results, last)} == {"main"}
    assert {draft.cwd for draft in (prompt, last)} == {"/home/dev/shop"}


def test_calls_have_their_results_exit_codes_and_files():
    results = drafts(events_of(CopilotCli(), lines(FILE)))[2]
    assert [(part.fields["call_id"], part.fields.get("exit_code")) for part in results.parts] == [
        ("c1", 0),
        ("c2", None),
    ]
    assert [(touch.path, touch.op) for touch in results.files] == [("/home/dev/shop/a.py", "read")]
    assert results.tool is None


@pytest.mark.parametrize(
    ("tool", "arguments", "touch"),
    [
        ("create", {"path": "a.py", "file_text": "x"}, "edit"),
        ("edit", {"path": "a.py", "old_str": "x", "new_str": "y"}, "edit"),
        ("view", {"path": "a.py"}, "read"),
    ],
)
def test_the_files_of_the_tools_are_known(tool, arguments, touch):
    found = drafts(read(START, answer("", call("c1", tool, **arguments)), result("c1")))[-1]
    assert [(each.path, each.op) for each in found.files] == [("a.py", touch)]


@pytest.mark.parametrize(
    ("fields", "output", "is_error", "exit_code"),
    [
        ({}, "ok", False, None),
        ({"success": False}, "ok", True, None),
        ({"success": None}, "ok", None, None),
        ({"result": {"content": "no\n<exited with exit code 2>"}}, "no\n<exited with exit code 2>", True, 2),
        ({"success": False, "result": None, "error": {"message": "denied", "code": "x"}}, "denied", True, None),
        ({"result": "text"}, "text", False, None),
        ({"result": {"blocks": [1]}}, {"blocks": [1]}, False, None),
    ],
)
def test_a_result_tells_whether_the_call_failed(fields, output, is_error, exit_code):
    part = drafts(read(START, result("c1", **fields)))[0].parts[0].fields
    assert (part["output"], part.get("is_error"), part.get("exit_code")) == (output, is_error, exit_code)


def test_arguments_in_a_string_are_decoded():
    request = {**call("c1"), "arguments": '{"command":"ls"}'}
    (part,) = drafts(read(START, answer("", request)))[0].parts
    assert part.fields == {"call_id": "c1", "name": "bash", "input": {"command": "ls"}}


@pytest.mark.parametrize(
    ("data", "counts"),
    [
        ({"outputTokens": 3}, {"output": 3}),
        ({"inputTokens": 100, "cacheReadTokens": 60, "cacheWriteTokens": 10, "outputTokens": 3}, {"input_uncached": 30, "cache_read": 60, "cache_write": 10, "output": 3}),
        ({"outputTokens": 0}, None),
        ({"outputTokens": "3"}, None),
        ({"outputTokens": True}, None),
    ],
)  # fmt: skip
def test_the_tokens_of_an_answer_are_counted_without_the_cache(data, counts):
    usage = drafts(read(START, answer("x", **data)))[0].usage
    assert (None if usage is None else {name: usage[name] for name in usage if name != "raw"}) == counts


def test_the_usage_event_belongs_to_the_answer_before_it():
    usage = ("assistant.usage", {"model": "m-3", "inputTokens": 5, "outputTokens": 2})
    (found,) = drafts(read(START, answer("x", outputTokens=2), usage))
    assert (found.model, found.usage["input_uncached"], len(found.spans)) == ("m-3", 5, 2)
    assert states(read(START, usage, PROMPT)) == ["session.start", "assistant.usage"]


def test_an_answer_in_several_events_is_one_message():
    found = drafts(read(START, answer("One", messageId="m1", chunkIndex=0), answer("Two", messageId="m1"), answer("Three", messageId="m2")))  # fmt: skip
    assert [[part.text for part in draft.parts] for draft in found] == [["One", "Two"], ["Three"]]


def test_reasoning_that_is_in_two_events_is_read_once():
    reasoning = ("assistant.reasoning", {"content": "Why?"})
    (found,) = drafts(read(START, reasoning, answer("So.", messageId="m1", reasoningText="Why?")))
    assert [(part.type, part.text) for part in found.parts] == [("reasoning", "Why?"), ("text", "So.")]


def test_opaque_reasoning_is_kept():
    (found,) = drafts(read(START, answer("x", reasoningOpaque="sig")))
    assert found.parts[0].fields == {"text": "", "opaque": "sig"}


@pytest.mark.parametrize(
    ("event", "kind", "author", "text"),
    [
        (("system.message", {"content": "You are"}), "system", "injected", "You are"),
        (("system.notification", {"content": "done"}), "notice", "system", "done"),
        (("session.error", {"message": "400", "errorType": "query"}), "error", "system", "400"),
        (("session.compaction_complete", {"summaryContent": "so far"}), "compaction", "injected", "so far"),
        (("abort", {"reason": "user initiated"}), "interrupt", "system", "user initiated"),
        (("user.message", {"content": "x", "source": "skill"}), "prompt", "injected", "x"),
        (("user.message", {"content": "x", "parentAgentTaskId": "t"}), "prompt", "injected", "x"),
        (("user.message", {"content": "x", "source": "user"}), "prompt", "human", "x"),
    ],
)
def test_other_events_are_messages_of_their_kind(event, kind, author, text):
    found = drafts(read(START, event))[0]
    assert (found.kind, found.author.kind, found.parts[0].text) == (kind, author, text)


def test_an_abort_marks_the_answer_as_interrupted():
    found = drafts(read(START, PROMPT, answer("I will"), ("abort", {})))
    assert [draft.status for draft in found] == [None, "interrupted", None]


def test_attached_files_are_mentioned_and_other_attachments_kept():
    data = {"content": "See", "attachments": [{"type": "file", "path": "a.py"}, {"type": "new", "x": 1}]}
    found = read(START, ("user.message", data))
    assert [part.type for part in drafts(found)[0].parts] == ["text", "file_ref", "raw"]
    assert unparsed(found) == ["unknown part 'new', kept raw in its message"]


def test_the_model_and_the_branch_change_during_a_session():
    resumed = ("session.resume", {"context": {"cwd": "/home/dev/other", "branch": "fix"}})
    changed = ("session.model_change", {"newModel": "m-9"})
    found = drafts(read(START, answer("a"), resumed, changed, answer("b")))
    assert [(draft.model, draft.cwd, draft.git_branch) for draft in found] == [
        ("m-1", "/home/dev/shop", "main"),
        ("m-9", "/home/dev/other", "fix"),
    ]


def test_the_last_title_counts():
    titles = [("session.title_changed", {"title": title}) for title in ("One", "Two")]
    assert read(START, *titles, PROMPT)[-1].title == "Two"


def test_a_sub_agent_is_a_line_of_its_own_with_the_call_that_started_it():
    own = {"parentToolCallId": "c1"}
    found = drafts(read(START, PROMPT, answer("", call("c1", "task")), answer("Sub", call("c2"), **own), result("c2", **own), result("c1"), answer("Main")))  # fmt: skip
    assert [draft.side for draft in found] == [None, None, "c1", "c1", None, None]
    assert found[2].spawned_by == {"call_id": "c1"}
    assert [draft.parent for draft in found[3:]] == [found[2].key, found[1].key, found[4].key]


def test_an_event_with_an_earlier_parent_is_a_fork():
    file = events(START, PROMPT, answer("One"), answer("Two", messageId="m2"))
    file[3]["parentId"] = "e2"
    found = drafts(events_of(CopilotCli(), lines(file)))
    assert [draft.parent for draft in found] == [None, found[0].key, found[0].key]


def test_an_unknown_event_is_counted_and_a_repeated_one_is_a_state():
    file = events(START, PROMPT, ("session.telepathy", {"x": 1}), answer("Done"))
    found = events_of(CopilotCli(), lines([*file[:2], file[1], *file[2:]]))
    assert unparsed(found) == ["an event of the unknown type 'session.telepathy'"]
    assert states(found) == ["session.start", "repeated/user.message"]
    assert [draft.kind for draft in drafts(found)] == ["prompt", "answer"]


def test_a_session_that_was_resumed_behind_a_cut_event_is_whole():
    data = lines(FILE[:5]) + lines(FILE[5:6])[:70] + lines(FILE[6:])
    found = events_of(CopilotCli(), data)
    assert [draft.kind for draft in drafts(found)] == ["prompt", "answer", "tool-results", "answer"]
    assert unparsed(found) == ["not valid JSON"]


@pytest.mark.parametrize("kind", ["user.message", "assistant.message", "tool.execution_complete", "system.message"])
def test_every_message_makes_a_file_recognizable(kind):
    assert CopilotCli().sniff(lines(events((kind, {}))))


@pytest.mark.parametrize("data", [b"", b"{}", b'{"type":"x","data":{},"parentId":null}', b'{"type":"message","parentId":null,"data":[]}'])  # fmt: skip
def test_other_files_are_not_recognized(data):
    assert not CopilotCli().sniff(data)


def test_the_file_of_a_session_is_found_by_its_id(tmp_path):
    (tmp_path / SESSION).mkdir()
    (tmp_path / SESSION / "events.jsonl").touch()
    (tmp_path / "older.jsonl").touch()
    find = CopilotCli().standard_folders.find_session
    assert [find(str(tmp_path), name) for name in (SESSION, "older", "none")] == [
        str(tmp_path / SESSION / "events.jsonl"),
        str(tmp_path / "older.jsonl"),
        None,
    ]


@pytest.mark.parametrize(("name", "messages"), [("small.jsonl", 15), ("schema_drift.jsonl", 3)])
def test_real_sessions_are_read_whole(name, messages):
    with open(real_transcript("copilot-cli", name), "rb") as stream:
        found = events_of(CopilotCli(), stream.read())
    assert (len(drafts(found)), unparsed(found)) == (messages, [])
    assert FileTouch("x", "read") not in [touch for draft in drafts(found) for touch in draft.files]


def shutdown(**metrics):
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    models = {
        name: {"requests": {"count": 1}, "usage": dict(zip(names, counts, strict=True))}
        for name, counts in metrics.items()
    }
    return "session.shutdown", {"shutdownType": "routine", "modelMetrics": models}


def test_the_tokens_of_each_time_that_the_program_ran_are_those_of_its_end():
    """An answer tells its output alone; the end of the run tells the input, by model (github.com/getagentseal/codeburn#676)."""
    pairs = (
        START, PROMPT, answer("One.", messageId="m1", model="m-2", outputTokens=60),
        answer("Two.", messageId="m2", model="m-2", outputTokens=40), shutdown(**{"m-2": (10000, 7000, 2000, 100)}),
        ("session.resume", {"context": {}}), PROMPT, answer("Three.", messageId="m3", model="m-2", outputTokens=300),
        ("assistant.turn_end", {"turnId": "1"}), shutdown(**{"m-2": (20000, 17000, 1000, 300), "mini": (4000, 0, 0, 40)}),
    )  # fmt: skip
    data = lines(events(*pairs)) + b"\0" * 1728
    found = drafts(events_of(CopilotCli(), data))
    usage = [draft.usage for draft in found if draft.usage is not None]
    totals = {
        name: sum(each.get(name, 0) for each in usage)
        for name in ("input_uncached", "cache_read", "cache_write", "output")
    }
    assert totals == {"input_uncached": 3000, "cache_read": 24000, "cache_write": 3000, "output": 400}
    assert usage[-1]["others"] == [
        {"model": "mini", "input_uncached": 4000, "cache_read": 0, "cache_write": 0, "output": 40}
    ]
    assert len(found) == 5


def test_a_string_with_a_line_end_inside_is_read():
    """github/copilot-cli#2649."""
    data = lines(events(START, PROMPT, answer("One\ntwo."))).replace(b"One\\n", b"One\n")
    assert drafts(events_of(CopilotCli(), data))[-1].parts[0].text == "One\ntwo."
