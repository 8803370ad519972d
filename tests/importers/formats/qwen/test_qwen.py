"""Session files of Qwen Code and what `qwen -p` prints."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.claude_code import ClaudeCode
from scopes.importers.formats.qwen import Qwen
from tests.importers.reading import drafts, events_of, states
from tests.importers.streams import calls_of, import_orders, import_paths, runs_of

SESSION = "e09ca6c0-58be-456f-9fe4-95bea5e6e88a"
REFUSED = 'Qwen Code requires permission to use "run_shell_command", but that permission was declined.'


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def init(**fields):
    known = {"type": "system", "subtype": "init", "uuid": SESSION, "session_id": SESSION, "cwd": "/home/dev/project"}
    return {**known, "qwen_code_version": "0.15.10", **fields}


def answer(name, *blocks):
    usage = {"input_tokens": 30, "output_tokens": 4, "cache_read_input_tokens": 10}
    message = {"id": name, "role": "assistant", "model": "m", "content": list(blocks), "usage": usage}
    return {"type": "assistant", "uuid": name, "session_id": SESSION, "message": message}


def results(name, block):
    return {"type": "user", "uuid": name, "session_id": SESSION, "message": {"role": "user", "content": [block]}}


def ended(text="Done.", **fields):
    return {"type": "result", "subtype": "success", "session_id": SESSION, "is_error": False, "result": text, **fields}


STREAM = (
    init(),
    answer("u1", {"type": "tool_use", "id": "c1", "name": "run_shell_command", "input": {"command": "make"}}),
    results("u2", {"type": "tool_result", "tool_use_id": "c1", "is_error": False, "content": "no"}),
    answer("u3", {"type": "tool_use", "id": "c2", "name": "run_shell_command", "input": {"command": "git push"}}),
    results("u4", {"type": "tool_result", "tool_use_id": "c2", "is_error": True, "content": REFUSED}),
    answer("u5", {"type": "text", "text": "Done."}),
    ended(num_turns=3),
)


def session_file(*records):
    found, parent = [], None
    for number, (kind, fields) in enumerate(records):
        common = {"uuid": f"v{number}", "parentUuid": parent, "sessionId": SESSION, "type": kind}
        stamp = f"2026-11-22T03:47:1{number}.000Z"
        found.append({**common, "timestamp": stamp, "cwd": "/home/dev/project", "version": "0.15.10", **fields})
        parent = f"v{number}"
    return found


def parts(role, *blocks, **fields):
    return {"message": {"role": role, "parts": list(blocks)}, **fields}


def called(name, command):
    return {"functionCall": {"id": name, "name": "run_shell_command", "args": {"command": command}}}


def response(name, **content):
    return {"functionResponse": {"id": name, "name": "run_shell_command", "response": content}}


USAGE = {"promptTokenCount": 30, "candidatesTokenCount": 4, "thoughtsTokenCount": 0, "cachedContentTokenCount": 10}
FILE = session_file(
    ("user", parts("user", {"text": "Push it."})),
    ("system", {"subtype": "ui_telemetry", "systemPayload": {}}),
    ("assistant", parts("model", called("c1", "make"), usageMetadata=USAGE, model="m")),
    ("tool_result", parts("user", response("c1", output="Output: no\nExit Code: 2\nSignal: 0"))),
    ("assistant", parts("model", called("c2", "git push"), usageMetadata=USAGE, model="m")),
    ("tool_result", parts("user", response("c2", error=REFUSED), toolCallResult={"callId": "c2", "status": "error"})),
    ("assistant", parts("model", {"text": "Think.", "thought": True}, {"text": "Done."}, model="m")),
)


def test_a_session_file_is_a_chain_of_messages_through_its_telemetry():
    events = events_of(Qwen(), lines(*FILE))
    found = drafts(events)
    assert [draft.kind for draft in found] == ["prompt", "answer", "tool-results", "answer", "tool-results", "answer"]
    assert [draft.parent for draft in found[1:]] == [draft.key for draft in found[:-1]]
    assert (found[2].parts[0].fields["exit_code"], found[4].parts[0].fields["is_error"]) == (2, True)
    assert [part.type for part in found[-1].parts] == ["reasoning", "text"]
    assert (found[1].usage["input_uncached"], states(events)) == (20, ["system/ui_telemetry"])


def test_the_stream_of_qwen_is_no_stream_of_claude_and_its_input_includes_the_cache():
    data = lines(*STREAM)
    assert (Qwen().sniff(data), ClaudeCode().sniff(data)) == (True, False)
    assert (Qwen().sniff(lines(*STREAM[1:])), ClaudeCode().sniff(lines(*STREAM[1:]))) == (True, False)
    found = events_of(Qwen(), data)
    assert drafts(found)[0].usage["input_uncached"] == 20
    assert (found[0].format, found[-1].run_end.status) == ("qwen", "success")


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize("order", range(3))
def test_stream_and_session_file_are_one_run(repository, tmp_path, order, array):
    paths = [tmp_path / "stdout.jsonl", tmp_path / "chat.jsonl"]
    paths[0].write_bytes(json.dumps(STREAM).encode() if array else lines(*STREAM))
    paths[1].write_bytes(lines(*FILE))
    for step in import_orders(paths)[order]:
        import_paths(repository, *step)
    (run,) = runs_of(repository)
    assert calls_of(run) == [("run_shell_command", "failed", 2), ("run_shell_command", "denied", None)]
    assert (run.end.turns, run.texts[0].text) == (3, "Push it.")
    assert import_paths(repository, *paths).operation is None
