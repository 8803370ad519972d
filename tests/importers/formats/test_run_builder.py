"""The messages of a run from records in order: open messages, lines of sub-agents, calls and their results."""

from __future__ import annotations

import pytest

from scopes.importers.formats.events import ByteRange, RunEnd
from scopes.importers.formats.fields import time_of_milliseconds, time_of_seconds
from scopes.importers.formats.records import Record
from scopes.importers.formats.run_builder import ANSWER, HUMAN, PROMPT, RESULTS, TOOL, ParentLinks, RunBuilder
from scopes.model.message import Author, Part
from tests.importers.reading import drafts, states, unparsed

AGENT = Author("agent", "agent")


@pytest.fixture
def builder():
    return RunBuilder(is_stream=False)


def record(number, value=None, problem=None):
    return Record(number + 1, number, ByteRange(number * 10, 10), value, problem)


def call(name, tool="read_file", **given):
    return Part("tool_call", {"call_id": name, "name": tool, "input": given})


def result(name, **fields):
    return Part("tool_result", {"call_id": name, "output": "ok", **fields})


def text(words):
    return Part("text", {"text": words})


def test_messages_follow_one_another_and_have_the_bytes_of_their_records(builder):
    builder.begin(record(0), HUMAN, PROMPT, [text("Go.")])
    builder.begin(record(1), AGENT, ANSWER, [text("One.")])
    builder.add(record(2), [text("Two.")])
    first, second = drafts(builder.finish())
    assert (first.key, first.parent, second.parent) == ("0", None, "0")
    assert second.spans == (ByteRange(10, 10), ByteRange(20, 10))
    assert [part.text for part in second.parts] == ["One.", "Two."]


def test_one_record_with_two_parts_is_one_range_of_bytes(builder):
    builder.begin(record(0), AGENT, ANSWER, [text("One.")])
    builder.add(record(0), [text("Two.")])
    assert [len(draft.spans) for draft in drafts(builder.finish())] == [1]


def test_a_part_needs_an_open_message(builder):
    builder.begin(record(0), AGENT, ANSWER)
    builder.close()
    with pytest.raises(AssertionError, match="no open message"):
        builder.add(record(1), [text("x")])


def test_an_answer_has_the_model_of_the_run_and_every_message_its_folder(builder):
    builder.model, builder.cwd = "m", "/p"
    for number, kind in enumerate([PROMPT, ANSWER, RESULTS]):
        builder.begin(record(number), AGENT, kind)
    assert [(draft.model, draft.cwd) for draft in drafts(builder.finish())] == [(None, "/p"), ("m", "/p"), (None, "/p")]


@pytest.mark.parametrize(
    ("kind", "line", "answer", "continues"),
    [(ANSWER, None, "a1", True), (RESULTS, None, "a1", False), (ANSWER, "sub", "a1", False), (ANSWER, None, "a2", False), (ANSWER, None, None, False)],
)  # fmt: skip
def test_a_record_continues_the_open_message_of_its_kind_line_and_answer(builder, kind, line, answer, continues):
    found = builder.begin(record(0), AGENT, ANSWER)
    found.answer = "a1"
    assert builder.continues(kind, line, answer) is (found if continues else None)
    builder.close()
    assert builder.continues(kind, line, answer) is None


def test_each_sub_agent_has_a_line_that_begins_at_its_call(builder):
    spawned = {"call_id": "c1"}
    builder.begin(record(0), AGENT, ANSWER, [call("c1", "task")])
    for number in (1, 2):
        builder.begin(record(number), AGENT, ANSWER, line="explore", spawned_by=spawned)
    builder.begin(record(3), TOOL, RESULTS, [result("c1")])
    found = drafts(builder.finish())
    assert [(draft.side, draft.parent, draft.spawned_by) for draft in found] == [
        (None, None, None), ("explore", None, spawned), ("explore", "10", None), (None, "0", None),
    ]  # fmt: skip


def test_the_session_is_at_the_last_message_of_its_main_line(builder):
    builder.begin(record(0), AGENT, ANSWER)
    builder.begin(record(1), AGENT, ANSWER, line="explore")
    ending = builder.finish()[-1]
    assert (ending.active, ending.open) == ("0", "10")


def test_a_finished_run_has_no_open_message_but_its_end(builder):
    builder.begin(record(0), AGENT, ANSWER)
    builder.close()
    ending = builder.finish(title="Run", run_end=RunEnd("success"))[-1]
    assert (ending.active, ending.open, ending.title, ending.run_end) == ("0", None, "Run", RunEnd("success"))


def test_a_run_without_messages_is_empty(builder):
    assert builder.is_empty
    (ending,) = builder.finish()
    assert (ending.active, ending.open) == (None, None)


@pytest.mark.parametrize(
    ("parts", "files"),
    [
        ([call("c1", file_path="a.py"), result("c1")], [("a.py", "read")]),
        ([call("c1", file_path="a.py"), result("c1", is_error=True)], []),
        ([call("c1", file_path="a.py"), result("c2")], []),
        ([result("c1"), call("c1", file_path="a.py")], []),
        ([call("c1", file_path="a.py"), result("c1"), result("c1")], [("a.py", "read")]),
        ([call(7, file_path="a.py"), result(7)], []),
        ([call("c1", file_path="a.py"), call("c1", file_path="b.py"), result("c1")], [("a.py", "read")]),
    ],
)
def test_a_result_that_succeeded_touches_the_file_of_its_call(builder, parts, files):
    builder.begin(record(0), AGENT, ANSWER, parts)
    (draft,) = drafts(builder.finish())
    assert [(touch.path, touch.op) for touch in draft.files] == files


def test_results_refer_to_their_call_unless_it_is_in_the_message_before(builder):
    builder.begin(record(0), AGENT, ANSWER, [call("c1")])
    builder.begin(record(1), TOOL, RESULTS, [result("c1")])
    builder.begin(record(2), AGENT, ANSWER, [call("c2", "grep")])
    builder.begin(record(3), TOOL, RESULTS, [result("c1"), result("c2")])
    found = drafts(builder.finish())
    assert [(draft.reply_to, draft.tool) for draft in found[1::2]] == [(None, "read_file"), ("0", None)]


def test_states_and_unreadable_records_are_events_in_their_place(builder):
    builder.add_state(record(0, {"mode": 1}), "mode")
    builder.reject(record(1, problem="not valid JSON"), "another reason")
    builder.reject(record(2), "a record of unknown type")
    builder.reject(record(3))
    events = builder.take_ready()
    assert (states(events), events[0].value) == (["mode"], {"mode": 1})
    assert unparsed(events) == ["not valid JSON", "a record of unknown type", "not a known record"]
    assert builder.take_ready() == []


@pytest.mark.parametrize("is_stream", [False, True])
def test_only_messages_of_a_stream_are_marked_so(is_stream):
    builder = RunBuilder(is_stream=is_stream)
    builder.begin(record(0), HUMAN, PROMPT)
    assert [draft.extra for draft in drafts(builder.finish())] == [{"stream": True} if is_stream else {}]


def test_a_message_without_a_time_says_so(builder):
    builder.begin(record(0), HUMAN, PROMPT)
    builder.begin(record(1), HUMAN, PROMPT, time="2026-01-01T00:00:00Z")
    assert [draft.precision for draft in drafts(builder.finish())] == ["none", "exact"]


def test_native_ids_are_kept_once_in_their_order(builder):
    builder.begin(record(0), HUMAN, PROMPT).add_ids("b", None, "a", "b")
    assert drafts(builder.finish())[0].native_ids == ("b", "a")


def test_links_lead_through_records_without_a_message_of_their_own():
    links = ParentLinks()
    links.add("a", "first")
    links.add("b", links.find("a"))
    links.add(None, "unnamed")
    links.add("root", None)
    assert [links.find(name) for name in ("a", "b", "c", "root", None)] == ["first", "first", None, None, None]
    assert [links.knows(name) for name in ("a", "b", "c", "root", None)] == [True, True, False, True, False]


@pytest.mark.parametrize(
    ("milliseconds", "time"),
    [
        (1, "1970-01-01T00:00:00.001Z"),
        (1795319243459, "2026-11-22T03:47:23.459Z"),
        (253402300799999, "9999-12-31T23:59:59.999Z"),
        (253402300800000, None),
        (0, None), (-1, None), (1.5, None), (True, None), ("1", None), (None, None),
    ],
)  # fmt: skip
def test_milliseconds_are_a_time_up_to_the_year_9999(milliseconds, time):
    assert time_of_milliseconds(milliseconds) == time


@pytest.mark.parametrize(
    ("seconds", "time"),
    [
        (1.5, "1970-01-01T00:00:01.500Z"),
        (None, None),
        (0, None),
        (-1.0, None),
        (1e308, None),
        (253_402_300_800.0, None),
    ],
)
def test_seconds_that_are_no_time_are_none(seconds, time):
    assert time_of_seconds(seconds) == time
