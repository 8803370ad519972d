"""What `opencode run --format json` and `opencode export` print."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.events import Session
from scopes.importers.formats.opencode import OpenCode
from tests.importers.reading import drafts, events_of, unparsed
from tests.importers.streams import calls_of, import_orders, import_paths, runs_of

SESSION = "ses_dfea43b0bffeOjXeCJbKrOTd7r"
DENIED = "The user has specified a rule which prevents you from using this specific tool call. [...]"
TOKENS = {"input": 20, "output": 4, "reasoning": 1, "cache": {"write": 0, "read": 10}}


def tool(name, tool_name, given, status="completed", **state):
    state = {"status": status, "input": given, **state}
    return {
        "type": "tool",
        "id": f"prt_{name}",
        "messageID": "msg_1",
        "tool": tool_name,
        "callID": name,
        "state": state,
    }


PARTS = (
    {"type": "step-start", "id": "prt_0", "messageID": "msg_1"},
    tool("c1", "bash", {"command": "make"}, output="no", metadata={"exit": 2, "output": "no"}),
    tool("c2", "bash", {"command": "git push"}, "error", error=DENIED),
    {
        "type": "step-finish",
        "id": "prt_3",
        "messageID": "msg_1",
        "reason": "tool-calls",
        "tokens": TOKENS,
        "cost": 0.25,
    },
    {"type": "step-start", "id": "prt_4", "messageID": "msg_2"},
    {"type": "text", "id": "prt_5", "messageID": "msg_2", "text": "Done."},
    {"type": "step-finish", "id": "prt_6", "messageID": "msg_2", "reason": "stop", "tokens": TOKENS, "cost": 0.5},
)
NAMES = {"tool": "tool_use", "step-start": "step_start", "step-finish": "step_finish"}


def events(*parts, session=SESSION):
    kinds = (NAMES.get(part["type"], part["type"]) for part in parts)
    return [
        {
            "type": kind,
            "timestamp": 1795319123326 + number,
            "sessionID": session,
            "part": {**part, "sessionID": session},
        }
        for number, (kind, part) in enumerate(zip(kinds, parts, strict=True))
    ]


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def export(*messages):
    info = {"id": SESSION, "directory": "/home/dev/project", "title": "Run it", "time": {"created": 1795319121140}}
    listed = [{"info": {"sessionID": SESSION, **head}, "parts": parts} for head, parts in messages]
    return json.dumps({"info": info, "messages": listed}, indent=2).encode()


EXPORT = export(
    ({"id": "msg_0", "role": "user", "time": {"created": 1795319121275}}, [{"type": "text", "text": "Run it. 🎉"}]),
    ({"id": "msg_1", "role": "assistant", "tokens": TOKENS, "modelID": "m"}, list(PARTS[:4])),
    ({"id": "msg_2", "role": "assistant", "tokens": TOKENS, "modelID": "m"}, list(PARTS[4:])),
)


def read(*records):
    return events_of(OpenCode(), lines(*records))


def test_the_parts_of_a_message_are_one_answer_with_calls_and_results():
    found = drafts(read(*events(*PARTS)))
    assert [[part.type for part in draft.parts] for draft in found] == [
        ["tool_call", "tool_result", "tool_call", "tool_result"],
        ["text"],
    ]
    assert found[0].parts[1].fields["exit_code"] == 2
    assert found[0].usage["output"] == 5


def test_the_reason_of_the_last_step_is_the_end_and_costs_add_up():
    assert read(*events(*PARTS))[-1].run_end[:3] == ("success", "", 0.75)


@pytest.mark.parametrize("count", [1, 3, 4, 6])
def test_a_stream_that_stops_in_a_step_has_no_end(count):
    assert read(*events(*PARTS[:count]))[-1].run_end is None


def test_an_error_event_is_the_end_and_a_message():
    error = {
        "type": "error",
        "timestamp": 1,
        "sessionID": SESSION,
        "error": {"name": "APIError", "data": {"message": "no"}},
    }
    found = read(error)
    assert found[-1].run_end[:2] == ("error", "APIError: no")
    assert [draft.kind for draft in drafts(found)] == ["error"]


def test_an_export_has_the_prompt_and_every_message_its_own_bytes():
    found = events_of(OpenCode(), EXPORT)
    assert [draft.kind for draft in drafts(found)] == ["prompt", "answer", "answer"]
    assert (found[0].cwd, found[0].title) == ("/home/dev/project", "Run it")
    for draft in drafts(found):
        (span,) = draft.spans
        assert json.loads(EXPORT[span.offset : span.offset + span.length].decode().rstrip().removesuffix(","))


def test_parts_that_are_repeated_count_once():
    twice = [record for record in events(*PARTS) for _ in range(2)]
    assert [draft.parts for draft in drafts(read(*twice))] == [draft.parts for draft in drafts(read(*events(*PARTS)))]
    assert read(*twice)[-1].run_end.cost_usd == 0.75


def test_text_between_the_events_is_kept():
    found = events_of(OpenCode(), b"! permission requested\n" + lines(*events(*PARTS)))
    assert (len(drafts(found)), unparsed(found)) == (2, ["not valid JSON"])


def test_two_runs_in_one_stream_are_two_sessions():
    found = read(*events(*PARTS), *events(*PARTS, session="ses_other"))
    assert [each.native_id for each in found if isinstance(each, Session)] == [SESSION, "ses_other"]


@pytest.mark.parametrize("data", [lines(*events(*PARTS)), EXPORT])
def test_a_file_cut_at_any_byte_is_read(data):
    for size in range(0, len(data), 11):
        if OpenCode().sniff(data[:size]):
            events_of(OpenCode(), data[:size])


@pytest.mark.parametrize("order", range(3))
def test_stream_and_export_are_one_run(repository, tmp_path, order):
    paths = [tmp_path / "events.jsonl", tmp_path / "export.json"]
    paths[0].write_bytes(lines(*events(*PARTS)))
    paths[1].write_bytes(EXPORT)
    for step in import_orders(paths)[order]:
        import_paths(repository, *step)
    (run,) = runs_of(repository)
    assert calls_of(run) == [("bash", "failed", 2), ("bash", "denied", None)]
    assert (run.end.cost_usd, run.texts[0].text) == (0.75, "Run it. 🎉")
    assert import_paths(repository, *paths).operation is None
