"""Session files of Gemini CLI and what `gemini -p` prints."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.gemini import Gemini
from tests.importers.reading import drafts, events_of, unparsed
from tests.importers.streams import calls_of, import_orders, import_paths, runs_of

SESSION = "053a415d-409a-4f1e-ab5a-baa539f15cfe"
TIME = "2026-11-22T03:44:18.6{:02}Z"
CALL = "run_shell_command__run_shell_command_1"
CONTEXT = "<session_context>\n- **Workspace Directories:**\n  - /home/dev/project\n</session_context>"


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def event(kind, number, **fields):
    return {"type": kind, "timestamp": TIME.format(number), **fields}


def init(session=SESSION):
    return event("init", 0, session_id=session, model="gemini-2.5-pro")


def ended(status="success", **fields):
    return event("result", 9, status=status, stats={"input_tokens": 30, "cached": 10, "output_tokens": 4}, **fields)


STREAM = (
    init(),
    event("message", 1, role="user", content="Run the tests."),
    event("message", 2, role="assistant", content="I will ", delta=True),
    event("message", 3, role="assistant", content="run them.", delta=True),
    event("tool_use", 4, tool_name="run_shell_command", tool_id=CALL, parameters={"command": "make test"}),
    event("tool_result", 5, tool_id=CALL, status="success", output="FAILED"),
    event("message", 6, role="assistant", content="Done.", delta=True),
    ended(),
)


def message(name, kind, number, content, **fields):
    return {"id": name, "timestamp": TIME.format(number), "type": kind, "content": content, **fields}


def shell_call(output):
    response = {"id": CALL, "name": "run_shell_command", "response": {"output": output}}
    call = {"id": CALL, "name": "run_shell_command", "args": {"command": "make test"}, "status": "success"}
    return {**call, "result": [{"functionResponse": response}]}, [{"functionResponse": response}]


OUTPUT = "<untrusted_context>\nOutput: FAILED\nExit Code: 2\n</untrusted_context>"
DONE, RESPONSE = shell_call(OUTPUT)
TOKENS = {"input": 30, "output": 4, "cached": 10, "thoughts": 1, "tool": 0, "total": 35}
FILE = (
    {"sessionId": SESSION, "projectHash": "1afb", "startTime": TIME.format(0), "lastUpdated": TIME.format(0)},
    {"$set": {"messages": [message("c", "user", 0, [{"text": CONTEXT}])], "lastUpdated": TIME.format(0)}},
    message("p", "user", 1, [{"text": "Run the tests."}]),
    message("a", "gemini", 2, "I will run them.", tokens=TOKENS, model="gemini-2.5-pro"),
    message("a", "gemini", 2, "I will run them.", tokens=TOKENS, model="gemini-2.5-pro", toolCalls=[DONE]),
    message("r", "user", 5, RESPONSE),
    {"$set": {"lastUpdated": TIME.format(5)}},
    message("b", "gemini", 6, "Done.", tokens=TOKENS, model="gemini-2.5-pro"),
)


def read(*records):
    return events_of(Gemini(), lines(*records))


def test_pieces_of_a_text_are_joined_and_results_follow_their_calls():
    found = drafts(read(*STREAM))
    assert [draft.kind for draft in found] == ["prompt", "answer", "tool-results", "answer"]
    assert [part.text for part in found[1].parts if part.type == "text"] == ["I will run them."]
    assert "exit_code" not in found[2].parts[0].fields


@pytest.mark.parametrize(
    ("error", "status"),
    [("[API Error: 400]", "error"), ("Reached max session turns for this session.", "limit")],
)
def test_an_error_ends_the_run_and_is_a_message(error, status):
    events = read(*STREAM[:2], ended("error", error={"type": "unknown", "message": error}))
    assert events[-1].run_end[:2] == (status, error)
    assert [(draft.kind, draft.parts[0].text) for draft in drafts(events)][1:] == [("error", error)]


def test_an_error_object_below_other_text_is_read():
    data = b"Warning: basic terminal\n" + lines({"session_id": SESSION, "error": {"message": "no model", "code": 400}})
    events = events_of(Gemini(), data)
    assert events[-1].run_end[:2] == ("error", "no model")
    assert unparsed(events) == ["not valid JSON"]


def test_a_message_that_is_written_again_is_one_message_with_its_calls_and_exit_code():
    events = read(*FILE)
    assert [draft.kind for draft in drafts(events)] == ["meta", "prompt", "answer", "tool-results", "answer"]
    answer, results = drafts(events)[2:4]
    assert [part.type for part in answer.parts] == ["text", "tool_call"]
    assert (results.parts[0].fields["exit_code"], results.parts[0].fields["is_error"]) == (2, True)
    assert answer.usage["input_uncached"] == 20
    assert events[0].cwd == "/home/dev/project"


def test_a_list_of_messages_replaces_those_before_and_its_new_ones_share_its_bytes():
    new = [message("x", "user", 8, "One."), message("y", "gemini", 8, "Two.")]
    found = drafts(read(*FILE[:3], {"$set": {"messages": new}}))
    assert [draft.parts[0].text for draft in found[-2:]] == ["One.", "Two."]
    assert found[-1].parent == found[-2].key


@pytest.mark.parametrize("order", range(3))
def test_stream_and_session_file_are_one_run_with_the_exit_code(repository, tmp_path, order):
    paths = [tmp_path / "stdout.jsonl", tmp_path / "session-1.jsonl"]
    paths[0].write_bytes(lines(*STREAM))
    paths[1].write_bytes(lines(*FILE))
    for step in import_orders(paths)[order]:
        import_paths(repository, *step)
    (run,) = runs_of(repository)
    assert calls_of(run) == [("run_shell_command", "failed", 2)]
    assert (run.end.status, run.tokens.answers) == ("success", 2)
    assert import_paths(repository, *paths).operation is None
