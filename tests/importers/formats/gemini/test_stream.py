"""What `gemini -p` prints as `stream-json` and as `json`."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.gemini.format import Gemini
from tests.importers.formats.gemini.test_gemini import (
    CALL,
    SESSION,
    STREAM,
    TIME,
    ended,
    event,
    init,
    lines,
    message,
    read,
)
from tests.importers.reading import drafts, events_of, states, unparsed

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


def test_the_session_is_that_of_the_first_record():
    session = read(*STREAM)[0]
    assert (session.native_id, session.created, session.is_stream) == (SESSION, TIME.format(0), True)


def test_the_name_of_a_stream_stays_the_same_while_it_grows():
    names = {read(*STREAM[:count])[0].sub_file for count in range(2, len(STREAM) + 1)}
    assert len(names) == 1
    assert read(init(), piece(1, "Something else."))[0].sub_file not in names


def test_a_stream_without_its_first_record_is_a_session_of_its_own():
    assert len({read(*STREAM[count:])[0].native_id for count in range(4)}) == 4


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


def test_two_results_without_the_id_of_a_call_are_two_results():
    anonymous = [event("tool_result", number, status="success", output=str(number)) for number in (2, 3)]
    (results,) = drafts(read(init(), *anonymous))
    assert [part.fields["output"] for part in results.parts] == ["2", "3"]


@pytest.mark.parametrize(
    ("fields", "output", "failed"),
    [
        ({"output": "ok"}, "ok", False),
        ({}, "", False),
        ({"output": None}, None, False),
        ({"output": {"deep": [1]}}, {"deep": [1]}, False),
        ({"status": "error", "error": {"type": "x", "message": "denied"}, "output": "no"}, "denied", True),
        ({"status": "error", "output": "no"}, "no", True),
        ({"status": "error", "error": {"message": ""}, "output": "no"}, "no", True),
        ({"status": "error", "error": "denied", "output": "no"}, "no", True),
        ({"status": None, "output": "ok"}, "ok", True),
        ({"status": "new-word"}, "", True),
    ],
)
def test_a_result_is_an_error_unless_its_status_is_success(fields, output, failed):
    part = drafts(read(init(), tool_use(), tool_result(**fields)))[-1].parts[0]
    assert (part.fields["output"], part.fields["is_error"]) == (output, failed)


def test_a_call_without_an_id_is_named_by_its_place_and_keeps_its_arguments():
    records = [{**tool_use(), "tool_id": each, "tool_name": None} for each in (None, "", 7)]
    (answer,) = drafts(read(init(), *records))
    assert [part.fields["name"] for part in answer.parts] == ["tool"] * 3
    assert len({part.fields["call_id"] for part in answer.parts}) == 3
    assert all(part.fields["input"] == {"command": "make"} for part in answer.parts)


def test_answers_have_the_model_of_the_first_record():
    models = {(draft.kind, draft.model) for draft in drafts(read(*STREAM))}
    assert models == {("prompt", None), ("answer", "gemini-2.5-pro"), ("tool-results", None)}


@pytest.mark.parametrize(
    "record",
    [
        {"type": "message", "role": "user", "content": None},
        {"type": "message", "role": "user", "content": [{"text": "x"}]},
        {"type": "error"},
        {"type": "error", "message": 7},
        {"type": "thought", "content": "x"},
        {"type": None},
        {},
    ],
)
def test_a_record_of_unknown_shape_is_noted_and_its_neighbours_are_read(record):
    events = read(init(), PROMPT, record, piece(3, "Done."))
    assert (shape(events), unparsed(events)) == (
        [("prompt", "Run it."), ("answer", "Done.")],
        ["a record of unknown type"],
    )


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
    ("stats", "usage", "seconds"),
    [
        ({"input_tokens": 30, "cached": 10, "output_tokens": 4, "duration_ms": 1500}, (20, 10, 4), 1.5),
        ({"input_tokens": 30, "output_tokens": 4}, (30, 0, 4), None),
        ({"input_tokens": 3, "cached": 10, "output_tokens": 4, "duration_ms": 0}, (0, 10, 4), 0.0),
        ({"input_tokens": "3", "output_tokens": 4, "duration_ms": "1"}, (0, 0, 4), None),
        ({"input_tokens": -3, "cached": True, "output_tokens": 4, "duration_ms": None}, (0, 0, 4), None),
        ({"models": {"a": {"tokens": {"prompt": 5, "candidates": 1}}, "b": {"tokens": {"prompt": 2, "thoughts": 2}}}}, (7, 0, 3), None),
        ({"models": {"a": 7, "b": {"tokens": None}, "c": {"tokens": {"prompt": 5, "cached": 4}}}}, (1, 4, 0), None),
        ({"models": ["a"]}, None, None),
        ({"cached": 10}, None, None),
        ({}, None, None),
        (None, None, None),
    ],
)  # fmt: skip
def test_the_end_has_the_tokens_and_the_duration_of_the_run(stats, usage, seconds):
    found = read(init(), PROMPT, {**ended(), "stats": stats})[-1].run_end
    known = (
        None if found.usage is None else tuple(found.usage[each] for each in ("input_uncached", "cache_read", "output"))
    )
    assert (known, found.seconds) == (usage, seconds)


def test_a_duration_of_four_thousand_digits_is_left_out():
    record = json.dumps({**ended(), "stats": {"input_tokens": 30, "duration_ms": 10**4000}})
    end = events_of(Gemini(), lines(init(), PROMPT) + record.encode())[-1].run_end
    assert (end.status, end.seconds, end.usage["input_uncached"]) == ("success", None, 30)


def test_the_last_end_record_counts():
    assert read(init(), ended("error"), PROMPT, ended())[-1].run_end.status == "success"


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


@pytest.mark.parametrize("noise", [b"", b"Loaded cached credentials.\n", b"YOLO mode is enabled.\n\n{not json}\n"])
def test_lines_of_other_programs_are_archived(noise):
    events = events_of(Gemini(), noise + lines(*STREAM) + noise)
    assert shape(events) == shape(read(*STREAM))
    assert len(unparsed(events)) == 2 * bool(noise)


def test_an_indented_array_of_the_events_is_the_same_run():
    events = events_of(Gemini(), json.dumps(list(STREAM), indent=2).encode())
    assert (shape(events), events[-1].run_end) == (shape(read(*STREAM)), read(*STREAM)[-1].run_end)


def test_the_calls_of_another_run_may_have_the_same_ids():
    other = [init("other"), *STREAM[1:]]
    found = [
        part.fields["call_id"]
        for draft in drafts(read(*STREAM, *other))
        for part in draft.parts
        if part.type == "tool_call"
    ]
    assert found == [CALL, CALL]


def test_the_same_first_record_twice_is_one_run():
    events = read(init(), PROMPT, init(), piece(3, "Done."))
    assert (shape(events), states(events)) == ([("prompt", "Run it."), ("answer", "Done.")], ["init", "init"])
