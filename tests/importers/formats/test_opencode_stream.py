"""What `opencode run --format json` prints: whole parts, neither a prompt nor an end record."""

from __future__ import annotations

import pytest

from scopes.importers.formats.opencode import OpenCode
from tests.importers.formats.test_opencode import DENIED, PARTS, SESSION, TOKENS, events, lines, read, tool
from tests.importers.reading import drafts, events_of, states, unparsed

START = {"type": "step-start", "id": "s1", "messageID": "msg_1"}
TEXT = {"type": "text", "id": "t1", "messageID": "msg_1", "text": "Hi."}


def finish(reason="stop", name="f1", message="msg_1", **fields):
    return {
        "type": "step-finish",
        "id": name,
        "messageID": message,
        "reason": reason,
        "tokens": TOKENS,
        "cost": 0.5,
        **fields,
    }


def failure(**error):
    return {"type": "error", "timestamp": 1795319123400, "sessionID": SESSION, "error": error}


def end_of(*records):
    return read(*records)[-1].run_end


def test_the_session_and_its_time_are_those_of_the_first_event():
    session = read({"type": "noise"}, *events(*PARTS))[0]
    assert (session.native_id, session.created, session.is_stream) == (SESSION, "2026-11-22T03:45:23.326Z", True)


def test_the_name_of_a_stream_stays_the_same_while_it_grows():
    assert len({read(*events(*PARTS[:count]))[0].sub_file for count in range(1, len(PARTS) + 1)}) == 1


@pytest.mark.parametrize(
    ("record", "known"),
    [
        (events(TEXT)[0], True),
        (failure(name="x"), True),
        ({**events(TEXT)[0], "type": "text.delta"}, False),
        ({**events(TEXT)[0], "sessionID": ""}, False),
        ({**events(TEXT)[0], "part": "text"}, False),
        ({"type": "error", "sessionID": SESSION}, False),
        ({"sessionID": SESSION}, False),
    ],
)
def test_a_stream_is_recognized_by_one_of_its_events(record, known):
    assert OpenCode().sniff(lines({"other": "sessionID"}, record)) is known


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([TEXT], [["text"]]),
        ([TEXT, {**TEXT, "id": "t2"}], [["text", "text"]]),
        ([TEXT, {**TEXT, "id": "t2", "messageID": "msg_2"}], [["text"], ["text"]]),
        ([TEXT, {**TEXT, "id": "t2", "messageID": "msg_2"}, {**TEXT, "id": "t3"}], [["text"], ["text"], ["text"]]),
        ([START], []),
        ([START, TEXT, finish()], [["text"]]),
        ([{"type": "reasoning", "id": "r1", "messageID": "msg_1", "text": "Why?"}, TEXT], [["reasoning", "text"]]),
        ([tool("c1", "bash", {}, "running")], [["tool_call"]]),
        ([tool("c1", "bash", {}, "running"), tool("c1", "bash", {}, "completed", output="ok")], [["tool_call"]]),
        ([tool("c1", "read", {}, output="a"), tool("c2", "read", {}, output="b")], [["tool_call", "tool_result"] * 2]),
    ],
)
def test_the_parts_of_one_message_are_one_answer(parts, expected):
    assert [[part.type for part in draft.parts] for draft in drafts(read(*events(*parts)))] == expected


def test_answers_without_the_id_of_a_message_are_one_answer():
    nameless = [{**TEXT, "messageID": None, "id": f"t{number}"} for number in range(3)]
    (draft,) = drafts(read(*events(*nameless)))
    assert (len(draft.parts), draft.native_ids) == (3, ())


def test_parts_without_ids_differ_by_their_place():
    (draft,) = drafts(read(*events(*[{**TEXT, "id": None}] * 3)))
    assert len(draft.parts) == 3


def test_a_refused_call_is_an_error_and_touched_no_file():
    call = tool("c1", "edit", {"filePath": "/p/a.py"}, "error", error=DENIED)
    (draft,) = drafts(read(*events(call)))
    assert (draft.parts[1].fields["is_error"], draft.parts[1].fields["output"], draft.files) == (True, DENIED, ())


def test_a_call_that_succeeded_names_its_file():
    call = tool("c1", "edit", {"filePath": "/p/a.py", "oldString": "x", "newString": "y"}, output="ok")
    (draft,) = drafts(read(*events(call)))
    assert [(touch.path, touch.op) for touch in draft.files] == [("/p/a.py", "edit")]


@pytest.mark.parametrize(
    ("parts", "end"),
    [
        ([START, TEXT, finish("stop")], ("success", "", 0.5)),
        ([START, TEXT, finish("tool-calls")], None),
        ([START, TEXT, finish("length")], None),
        ([START, TEXT, finish(None)], None),
        ([START, TEXT, finish(), START | {"id": "s2"}], None),
        ([START, finish(cost=None)], ("success", "", None)),
        ([finish(cost=True)], ("success", "", None)),
        ([finish(cost="1")], ("success", "", None)),
        ([finish(cost=0)], ("success", "", 0.0)),
        ([finish("tool-calls"), finish(name="f2", cost=2)], ("success", "", 2.5)),
        ([finish(), finish()], ("success", "", 0.5)),
    ],
)
def test_the_last_step_decides_the_end_and_every_step_costs(parts, end):
    found = end_of(*events(*parts))
    assert (found and found[:3]) == end


@pytest.mark.parametrize("after", [[], events(TEXT, finish())])
def test_an_error_is_the_end_whatever_comes_after_it(after):
    found = end_of(*events(START), failure(name="APIError", data={"message": "no"}), *after)
    assert (found.status, found.detail) == ("error", "APIError: no")


@pytest.mark.parametrize(
    "record",
    [
        {"type": "text", "sessionID": SESSION},
        {"type": "text", "part": TEXT},
        {"type": "new", "sessionID": SESSION, "part": TEXT},
        {"type": 7, "sessionID": SESSION, "part": TEXT},
        {},
    ],
)
def test_a_record_of_unknown_shape_is_noted_and_its_neighbours_are_read(record):
    found = read(*events(START, TEXT), record, *events(finish()))
    assert (len(drafts(found)), unparsed(found)) == (1, ["not a known record"])


def test_an_unknown_part_is_kept_in_its_message_and_noted():
    odd = {"type": "text", "id": "t9", "messageID": "msg_1", "text": {"rich": True}}
    found = read(*events(TEXT, odd))
    assert [part.type for part in drafts(found)[0].parts] == ["text", "raw"]
    assert unparsed(found) == ["unknown part 'text', kept raw in its message"]


def test_steps_without_a_message_are_states():
    assert states(read(*events(START, finish()), *events(START))) == [
        "step_start",
        "step_finish",
        "repeated/step_start",
    ]


def test_the_last_step_gives_the_tokens_and_the_reason_of_its_message():
    steps = [START, TEXT, finish("tool-calls"), finish("stop", "f2", tokens={"input": 7})]
    (draft,) = drafts(read(*events(*steps)))
    assert (draft.usage["input_uncached"], draft.stop_reason) == (7, "stop")


def test_a_half_written_last_line_is_noted_and_its_run_has_no_success():
    data = lines(*events(*PARTS))
    found = events_of(OpenCode(), data[:-20])
    assert (len(unparsed(found)), found[-1].run_end) == (1, None)
    assert [draft.parts for draft in drafts(found)] == [draft.parts for draft in drafts(events_of(OpenCode(), data))]
