"""Session files of Pi and what `pi --mode json` prints."""

from __future__ import annotations

import json

import pytest

from scopes.history.names import list_branch_tips
from scopes.importers.formats.events import Session
from scopes.importers.formats.pi import Pi
from tests.importers.reading import drafts, events_of
from tests.importers.streams import calls_of, import_orders, import_paths, runs_of

SESSION = "01a2015d-a2b2-7448-aa8f-d1490458cd4e"
HEADER = {"type": "session", "version": 3, "id": SESSION, "timestamp": "2026-11-22T03:47:23.443Z", "cwd": "/home/dev/p"}
USAGE = {"input": 20, "output": 4, "cacheRead": 10, "cacheWrite": 0, "cost": {"total": 0.25}}


def message(role, number, *content, **fields):
    return {"role": role, "content": list(content), "timestamp": 1795319243459 + number, **fields}


def text(words):
    return {"type": "text", "text": words}


def called(name, tool, **given):
    return {"type": "toolCall", "id": name, "name": tool, "arguments": given}


MESSAGES = (
    message("user", 0, text("Fix it.")),
    message("assistant", 1, called("c1", "bash", command="make"), model="m", usage=USAGE, stopReason="toolUse"),
    message("toolResult", 2, text("no"), toolCallId="c1", toolName="bash", isError=True),
    message("assistant", 3, text("Fixed."), model="m", usage=USAGE, stopReason="stop"),
)
FAILED = message(
    "assistant", 1, model="m", usage={**USAGE, "cost": {"total": 0}}, stopReason="error", errorMessage="400 no"
)


def stream(*messages, whole=True):
    ends = [{"type": kind, "message": each} for each in messages for kind in ("message_start", "message_end")]
    last = [{"type": "agent_end", "messages": list(messages)}] if whole else []
    return lines(HEADER, {"type": "agent_start"}, {"type": "turn_start"}, *ends, *last)


def session_file(*messages):
    found = [HEADER, {"type": "model_change", "id": "m0", "parentId": None, "modelId": "m"}]
    for number, each in enumerate(messages, 1):
        common = {"type": "message", "id": f"m{number}", "parentId": f"m{number - 1}"}
        found.append({**common, "timestamp": f"2026-11-22T03:47:2{number}.000Z", "message": each})
    return lines(*found)


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


@pytest.mark.parametrize("data", [stream(*MESSAGES), session_file(*MESSAGES)])
def test_each_message_is_read_once(data):
    found = drafts(events_of(Pi(), data))
    assert [draft.kind for draft in found] == ["prompt", "answer", "tool-results", "answer"]
    assert (found[1].usage["input_uncached"], found[1].time) == (20, "2026-11-22T03:47:23.460Z")
    assert found[2].parts[0].fields["output"] == "no"


def test_the_end_of_a_stream_has_the_cost_and_an_error_that_stopped_it():
    assert events_of(Pi(), stream(*MESSAGES))[-1].run_end[:3] == ("success", "", 0.5)
    found = events_of(Pi(), stream(MESSAGES[0], FAILED))
    assert found[-1].run_end[:2] == ("error", "error: 400 no")
    assert [draft.kind for draft in drafts(found)] == ["prompt", "error"]


def test_a_stream_without_its_end_record_has_no_end():
    assert events_of(Pi(), stream(*MESSAGES, whole=False))[-1].run_end is None


def test_a_record_with_an_earlier_parent_is_a_fork():
    fork = {"type": "message", "id": "x", "parentId": "m1", "message": message("assistant", 9, text("Else."))}
    found = drafts(events_of(Pi(), session_file(*MESSAGES) + lines(fork)))
    assert found[-1].parent == found[0].key


def test_two_runs_in_one_stream_are_two_sessions():
    other = stream(*MESSAGES).replace(SESSION.encode(), b"other")
    found = events_of(Pi(), stream(*MESSAGES) + other)
    assert [each.native_id for each in found if isinstance(each, Session)] == [SESSION, "other"]


@pytest.mark.parametrize("data", [stream(*MESSAGES), session_file(*MESSAGES)])
def test_a_file_cut_at_any_byte_is_read(data):
    for size in range(0, len(data), 11):
        if Pi().sniff(data[:size]):
            events_of(Pi(), data[:size])


@pytest.mark.parametrize("order", range(3))
def test_stream_and_session_file_are_one_line_of_messages(repository, tmp_path, order):
    paths = [tmp_path / "events.jsonl", tmp_path / "session.jsonl"]
    paths[0].write_bytes(stream(*MESSAGES))
    paths[1].write_bytes(session_file(*MESSAGES))
    for step in import_orders(paths)[order]:
        import_paths(repository, *step)
    (run,) = runs_of(repository)
    assert calls_of(run) == [("bash", "failed", None)]
    assert (run.end.cost_usd, run.tokens.answers) == (0.5, 2)
    assert list(list_branch_tips(repository, "conv-001")) == ["main"]
    assert import_paths(repository, *paths).operation is None


def test_a_session_file_alone_tells_the_error_that_ended_it(repository, tmp_path):
    (tmp_path / "session.jsonl").write_bytes(session_file(MESSAGES[0], FAILED))
    import_paths(repository, tmp_path / "session.jsonl")
    assert runs_of(repository)[0].end[:2] == ("error", "400 no")
