"""What `claude -p` prints, alone and with the session file of the same run."""

from __future__ import annotations

import json

import pytest

from scopes.history.names import list_branch_tips
from scopes.importers.formats.claude_code import ClaudeCode
from scopes.importers.formats.events import Ending, Session
from tests.importers.reading import drafts, events_of, real_transcript, states, unparsed
from tests.importers.streams import calls_of, import_orders, import_paths, runs_of

SESSION = "1f2f4a66-82a4-42e2-b93d-089998d779e6"
TIME = "2026-01-22T00:38:0{}.000Z"


def init(session=SESSION, **fields):
    return {"type": "system", "subtype": "init", "cwd": "/home/dev/project", "session_id": session, **fields}


def answer(name, *blocks, session=SESSION, **fields):
    message = {"id": name, "type": "message", "role": "assistant", "model": "claude-x", "content": list(blocks)}
    usage = {"input_tokens": 3, "output_tokens": 5}
    return {"type": "assistant", "message": {**message, "usage": usage}, "session_id": session, **fields}


def call(name, command):
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}


def result(name, output, *, failed=False, session=SESSION, **fields):
    block = {"type": "tool_result", "tool_use_id": name, "content": output, "is_error": failed}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "session_id": session, **fields}


def text(words):
    return {"type": "text", "text": words}


def end(**fields):
    known = {"subtype": "success", "is_error": False, "num_turns": 2, "result": "Done.", "total_cost_usd": 0.25}
    return {"type": "result", "duration_ms": 2500, "session_id": SESSION, **known, **fields}


def stream(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


RUN = (
    init(),
    answer("msg_1", call("toolu_1", "ls")),
    answer("msg_1", call("toolu_2", "date")),
    result("toolu_1", "Claude requested permissions to use Bash, but you haven't granted it yet.", failed=True),
    result("toolu_2", "Wed Jan 21"),
    answer("msg_2", text("Done.")),
    end(permission_denials=[{"tool_name": "Bash", "tool_use_id": "toolu_1"}]),
)


def session_file(*records):
    """Write the messages of a stream as the session file has them, after a prompt."""
    lines, parent = [], None
    prompt = {"type": "user", "message": {"role": "user", "content": "What is here?"}}
    for number, record in enumerate([prompt, *(each for each in records if each["type"] in {"user", "assistant"})]):
        common = {"isSidechain": False, "userType": "external", "cwd": "/home/dev/project", "version": "2.1.15"}
        uuid = f"00000000-0000-4000-8000-{number:012}"
        lines.append({**common, **record, "sessionId": SESSION, "parentUuid": parent, "uuid": uuid})
        lines[-1] |= {"timestamp": TIME.format(number)}
        lines[-1].pop("session_id", None)
        parent = uuid
    return stream(*lines)


def read(*records):
    return events_of(ClaudeCode(), stream(*records))


def run_end(*records):
    return read(*records)[-1].run_end


def test_the_lines_of_an_answer_and_the_results_of_parallel_calls_are_one_message_each():
    events = read(*RUN)
    assert [(draft.kind, len(draft.parts)) for draft in drafts(events)] == [
        ("answer", 2),
        ("tool-results", 2),
        ("answer", 1),
    ]
    assert drafts(events)[0].usage["output"] == 5
    assert events[0].is_stream
    assert (events[0].native_id, events[0].cwd) == (SESSION, "/home/dev/project")


def test_the_end_record_has_status_cost_turns_time_and_denials():
    end_of_run = run_end(*RUN)
    assert end_of_run[:6] == ("success", "", 0.25, 2, 2.5, ("toolu_1",))


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"subtype": "error_max_turns", "is_error": True}, "limit"),
        ({"subtype": "error_max_budget_usd"}, "limit"),
        ({"subtype": "error_during_execution", "errors": ["boom"]}, "error"),
        ({"is_error": True, "result": "API Error: 500"}, "error"),
        ({"num_turns": -1, "result": ""}, "success"),
    ],
)
def test_a_limit_and_an_error_differ_from_success(fields, status):
    assert run_end(*RUN[:-1], end(**fields)).status == status


def test_an_api_error_as_the_only_text_is_an_error_even_if_the_end_record_says_success():
    found = run_end(init(), answer("m", text("[API Error: 400 no model]")), end(result="[API Error: 400 no model]"))
    assert (found.status, found.detail) == ("error", "[API Error: 400 no model]")


def test_the_result_object_alone_is_one_answer():
    events = read(end())
    assert [draft.parts[0].text for draft in drafts(events)] == ["Done."]
    assert events[-1].run_end.cost_usd == 0.25


def test_text_between_the_records_is_kept_and_partial_records_are_states():
    partial = {"type": "stream_event", "session_id": SESSION, "event": {"type": "message_start"}}
    data = b"\x1b[31mStarting the agent\x1b[0m\n" + stream(*RUN[:2], partial) + b"[warn] slow\n" + stream(*RUN[2:])
    events = events_of(ClaudeCode(), data)
    assert len(drafts(events)) == 3
    assert unparsed(events) == ["not valid JSON", "not valid JSON"]
    assert "stream_event/message_start" in states(events)


def test_records_that_are_repeated_count_once():
    records = [{**record, "uuid": f"u{number}"} for number, record in enumerate(RUN)]
    twice = [record for record in records for _ in range(2)]
    assert [draft.parts for draft in drafts(read(*twice))] == [draft.parts for draft in drafts(read(*records))]


def test_two_runs_in_one_file_are_two_sessions():
    other = [{**record, "session_id": "other"} for record in RUN]
    events = read(*RUN, *other)
    assert [event.native_id for event in events if isinstance(event, Session)] == [SESSION, "other"]
    assert [event.run_end.status for event in events if isinstance(event, Ending)] == ["success", "success"]


def test_the_messages_of_a_sub_agent_are_a_line_that_its_call_began():
    spawn = {"type": "tool_use", "id": "toolu_9", "name": "Task", "input": {"subagent_type": "Explore"}}
    inner = answer("msg_3", call("toolu_3", "ls"), parent_tool_use_id="toolu_9")
    found = drafts(read(init(), answer("msg_1", spawn), inner, result("toolu_3", "a", parent_tool_use_id="toolu_9")))
    assert [(draft.side, draft.parent, draft.spawned_by) for draft in found[1:]] == [
        ("Explore", None, {"call_id": "toolu_9"}),
        ("Explore", found[1].key, None),
    ]


@pytest.mark.parametrize("order", range(3))
def test_stream_and_session_file_in_any_order_are_one_run_with_each_call_once(repository, tmp_path, order):
    paths = [tmp_path / "out.jsonl", tmp_path / "session.jsonl"]
    paths[0].write_bytes(stream(*RUN))
    paths[1].write_bytes(session_file(*RUN))
    for step in import_orders(paths)[order]:
        import_paths(repository, *step)
    (run,) = runs_of(repository)
    assert calls_of(run) == [("Bash", "denied", None), ("Bash", "ok", None)]
    assert (run.end.status, run.end.cost_usd) == ("success", 0.25)
    assert sorted(source.kind for source in run.sources) == ["session", "stream"]
    assert run.texts[0].text == "What is here?"
    assert run.tokens.answers == 2
    assert [text.text for text in run.texts].count("Done.") == 1
    assert import_paths(repository, *paths).operation is None


def test_a_stream_that_came_first_is_kept_on_an_abandoned_branch(repository, tmp_path):
    (tmp_path / "out.jsonl").write_bytes(stream(*RUN))
    (tmp_path / "session.jsonl").write_bytes(session_file(*RUN))
    import_paths(repository, tmp_path / "out.jsonl")
    (stream_run,) = runs_of(repository)
    assert (stream_run.is_stream_only, len(stream_run.calls)) == (True, 2)
    done = import_paths(repository, tmp_path / "session.jsonl")
    assert sorted(list_branch_tips(repository, "conv-001")) == ["abandoned/1", "main"]
    text = "the session file replaces the event stream of conv-001, which is kept on abandoned/1"
    assert [note.text for note in done.notes] == [text]
    assert import_paths(repository, tmp_path / "out.jsonl").operation is None


def test_a_call_that_only_the_stream_has_stays(repository, tmp_path):
    (tmp_path / "out.jsonl").write_bytes(stream(*RUN))
    (tmp_path / "session.jsonl").write_bytes(session_file(RUN[1], RUN[3]))
    import_paths(repository, tmp_path / "out.jsonl", tmp_path / "session.jsonl")
    (run,) = runs_of(repository)
    assert [call.shell for call in run.calls] == ["ls", "date"]
    assert calls_of(run)[1] == ("Bash", "ok", None)


def test_the_streams_of_a_resumed_session_are_one_conversation(repository, tmp_path):
    (tmp_path / "1.jsonl").write_bytes(stream(*RUN))
    again = [init(), answer("msg_7", call("toolu_7", "make")), result("toolu_7", "ok"), end(total_cost_usd=0.5)]
    (tmp_path / "2.jsonl").write_bytes(stream(*again))
    import_paths(repository, tmp_path / "1.jsonl")
    import_paths(repository, tmp_path / "2.jsonl")
    (run,) = runs_of(repository)
    assert [call.shell for call in run.calls] == ["ls", "date", "make"]
    assert run.end.cost_usd == 0.75


def test_the_denials_of_a_real_stream_are_denied_calls(repository):
    import_paths(repository, real_transcript("headless", "claude-code", "v2.1.15_stream-json_permission-denials.jsonl"))
    (run,) = runs_of(repository)
    assert [call.outcome for call in run.calls] == ["denied", "ok", "denied"]
    assert run.final_text.text.startswith("Here are the results")


def test_the_real_execution_file_and_result_object_are_read(repository):
    import_paths(repository, real_transcript("headless", "claude-code", "claude-code-action_sample-turns.json"))
    import_paths(repository, real_transcript("headless", "claude-code", "aug-2025_output-format-json_result.json"))
    first, second = runs_of(repository)
    assert [call.name for call in first.calls][:2] == ["Read", "Edit"]
    assert (len(first.calls), first.end.cost_usd) == (3, 0.0347)
    assert (second.calls, second.end.status) == ((), "success")


def test_what_the_command_line_of_cursor_prints_is_not_taken():
    """It has the same envelope, and would be a session of another agent."""
    words = {"role": "assistant", "content": [text("Done.")]}
    records = [
        init(apiKeySource="login", model="auto", permissionMode="default"),
        {"type": "user", "message": {"role": "user", "content": [text("Look")]}, "session_id": SESSION},
        {"type": "assistant", "message": words, "session_id": SESSION},
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "duration_ms": 9,
            "result": "Done.",
            "session_id": SESSION,
        },
    ]
    assert not ClaudeCode().sniff(stream(*records))
    assert ClaudeCode().sniff(stream(init(tools=["Bash"])))
