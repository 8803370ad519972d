"""What `gemini -p` prints as `stream-json` and as `json`."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.gemini import Gemini
from tests.importers.formats.gemini.test_gemini import (
    SESSION,
    STREAM,
    ended,
    event,
    init,
    lines,
    message,
    read,
)
from tests.importers.reading import drafts, events_of

PROMPT = event("message", 1, role="user", content="Run it.")


def piece(number, text, **fields):
    return event("message", number, **{"role": "assistant", "content": text, **fields})


def tool_use(name="c1", number=2, **fields):
    return event(
        "tool_use", number, tool_id=name, tool_name="run_shell_command", parameters={"command": "make"}, **fields
    )


def tool_result(name="c1", number=3, status="success", **fields):
    return event("tool_result", number, tool_id=name, status=status, **fields)


def shape(events):
    """Return the kind of each message with its texts and the types of its other parts."""
    return [(draft.kind, *(part.text or part.type for part in draft.parts)) for draft in drafts(events)]


def test_the_name_of_a_stream_stays_the_same_while_it_grows():
    names = {read(*STREAM[:count])[0].sub_file for count in range(2, len(STREAM) + 1)}
    assert len(names) == 1
    assert read(init(), piece(1, "Something else."))[0].sub_file not in names


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([piece(1, "I "), piece(2, "run.")], [("answer", "I ", "run.")]),
        ([piece(1, "I ", delta=True), piece(2, "run.", delta=True)], [("answer", "I run.")]),
        ([piece(1, "I ", delta=True), piece(2, "run.", delta="yes")], [("answer", "I ", "run.")]),
        ([piece(1, "I", delta=True), tool_use(), piece(3, "do", delta=True)], [("answer", "I", "tool_call", "do")]),
        ([piece(1, "A", delta=True), PROMPT, piece(3, "B", delta=True)], [("answer", "A"), ("prompt", "Run it."), ("answer", "B")]),
        ([tool_use("c1"), tool_use("c2")], [("answer", "tool_call", "tool_call")]),
        ([tool_use("c1"), tool_use("c1")], [("answer", "tool_call")]),
        ([tool_use("c1"), tool_result("c1"), tool_use("c2")], [("answer", "tool_call"), ("tool-results", "tool_result"), ("answer", "tool_call")]),
        ([tool_use("c1"), tool_use("c2"), tool_result("c2"), tool_result("c1")], [("answer", "tool_call", "tool_call"), ("tool-results", "tool_result", "tool_result")]),
        ([tool_result("c1"), tool_use("c1")], [("tool-results", "tool_result"), ("answer", "tool_call")]),
        ([tool_use("c1"), tool_result("c1"), tool_result("c1")], [("answer", "tool_call"), ("tool-results", "tool_result")]),
        ([piece(1, "")], [("answer", "text")]),
        ([piece(1, "hi", role="model")], [("answer", "hi")]),
        ([event("error", 1, severity="warning", message="Loop detected.")], []),
    ],
)  # fmt: skip
def test_pieces_calls_and_results_become_messages(records, expected):
    assert shape(read(init(), *records)) == expected


@pytest.mark.parametrize(
    ("record", "status", "detail"),
    [
        (ended(), "success", ""),
        (ended("error", error={"type": "FatalTurnLimitedError", "message": "too many"}), "limit", "too many"),
        (ended("error", error={"type": "Error", "message": "Maximum session turns exceeded"}), "limit", "Maximum session turns exceeded"),
        (ended("error", error={"type": "Error", "message": "max turns of patience"}), "error", "max turns of patience"),
        (ended("error", error={"type": "Error"}), "error", "error"),
        (ended("error", error="text"), "error", "error"),
        (ended("error"), "error", "error"),
        (ended(None), "error", "None"),
        (ended("stopped"), "error", "stopped"),
    ],
)  # fmt: skip
def test_the_end_record_decides_how_the_run_ended(record, status, detail):
    found = read(init(), PROMPT, record)[-1].run_end
    assert (found.status, found.detail) == (status, detail)


@pytest.mark.parametrize(
    ("value", "kind", "text", "status"),
    [
        ({"response": "Done.", "stats": {}}, "answer", "Done.", "success"),
        ({"response": "", "stats": {}}, None, None, "success"),
        ({"response": None, "stats": {}}, None, None, "success"),
        ({"error": {"type": "Error", "message": "no model", "code": 400}}, "error", "no model", "error"),
        ({"error": {"message": "Reached max session turns"}}, "error", "Reached max session turns", "limit"),
        ({"error": {}}, "error", "error", "error"),
        ({"response": "Half.", "stats": {}, "error": {"message": "stopped"}}, "error", "Half.", "error"),
    ],
)
def test_the_only_object_of_json_output_is_an_answer_or_an_error(value, kind, text, status):
    events = events_of(Gemini(), json.dumps({"session_id": SESSION, **value}).encode())
    assert [(draft.kind, draft.parts[0].text) for draft in drafts(events)] == ([] if kind is None else [(kind, text)])
    assert events[-1].run_end.status == status


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (init(), True),
        (PROMPT, False),  # any program may print such a record
        (tool_use(), True),
        (tool_result(), True),
        (ended(), False),
        ({"session_id": SESSION, "response": "x", "stats": {}}, True),
        ({"session_id": SESSION, "error": {"message": "x"}}, True),
        ({"sessionId": SESSION, "projectHash": "1afb"}, True),
        ({"sessionId": SESSION, "projectHash": "1afb", "messages": []}, False),  # of the years before JSON lines
        ({"session_id": SESSION, "response": "x"}, False),
        ({"session_id": SESSION, "error": "x"}, False),
        ({"session_id": SESSION, "type": "init"}, False),
        ({"tool_id": "c1", "type": "tool_use"}, False),
        (message("p", "user", 1, "no header"), False),
        ({"type": "result", "session_id": SESSION, "subtype": "success", "is_error": False}, False),  # of Claude Code
    ],
)
def test_a_file_is_recognized_by_any_of_its_records(record, known):
    assert Gemini().sniff(lines({"other": 1}, record)) is known


def by_model(**tokens):
    """Return the sums of a run as `--output-format json` has them; those of the roles repeat them."""
    models = {name: {"tokens": each, "roles": {"main": {"tokens": each}}} for name, each in tokens.items()}
    return {"models": models}


@pytest.mark.parametrize("is_stream", [True, False])
def test_the_tokens_of_a_run_are_those_of_its_last_answer(is_stream):
    """constellation-works/orbit#227: the counts of the roles repeat those of the model."""
    pro = {"input": 400, "prompt": 1000, "candidates": 60, "cached": 600, "thoughts": 30, "tool": 0, "total": 1090}
    stats = by_model(flash={"prompt": 7, "candidates": 2}, pro=pro)
    if is_stream:
        events = read({**init(), "model": "pro"}, piece(1, "Done."), {**ended(), "stats": stats})
    else:
        events = events_of(Gemini(), json.dumps({"session_id": SESSION, "response": "Done.", "stats": stats}).encode())
    (answer,) = drafts(events)
    counts = {"input_uncached": 400, "cache_read": 600, "output": 90, "reasoning": 30}
    flash = {"model": "flash", "input_uncached": 7, "cache_read": 0, "output": 2, "reasoning": 0}
    assert (answer.model, answer.usage) == ("pro", {**counts, "others": [flash], "raw": stats["models"]})
    assert events[-1].run_end.usage == {"input_uncached": 407, "cache_read": 600, "output": 92, "reasoning": 30}


def test_tokens_without_models_are_those_of_the_model_of_the_stream():
    (answer,) = drafts(read(init(), piece(1, "Done."), ended()))
    assert (answer.model, answer.usage["input_uncached"], answer.usage["output"]) == ("gemini-2.5-pro", 20, 4)
