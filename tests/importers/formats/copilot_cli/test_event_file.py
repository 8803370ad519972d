"""Events of Copilot CLI: whole ones, cut ones with others behind them, and strings with line ends inside."""

from __future__ import annotations

from io import BytesIO

import pytest

from scopes.importers.formats.copilot_cli.event_file import first_events, is_event, walk_event_file
from tests.importers.formats.copilot_cli.sessions import FILE, lines


def records_of(data):
    found = list(walk_event_file(BytesIO(data), len(data)))
    assert [record.span.offset for record in found] == [
        sum(record.span.length for record in found[:number]) for number in range(len(found))
    ]
    assert sum(record.span.length for record in found) == len(data)
    assert [record.number for record in found] == list(range(len(found)))
    return found


def ids(records):
    return [record.value["id"] if record.value is not None else record.problem for record in records]


def test_each_line_is_an_event():
    assert ids(records_of(lines(FILE))) == [record["id"] for record in FILE]


@pytest.mark.parametrize("cut", [20, 60, 110])
def test_an_event_behind_a_cut_one_is_read(cut):
    """https://github.com/github/copilot-cli/issues/4098."""
    data = lines(FILE[:2]) + lines(FILE[2:3])[:cut] + lines(FILE[3:])
    assert ids(records_of(data)) == ["e1", "e2", "a cut event", *(record["id"] for record in FILE[3:])]


def test_several_events_behind_a_cut_one_are_read():
    data = lines(FILE[:1])[:40] + lines(FILE[1:2]).strip() + lines(FILE[2:3])[:30] + lines(FILE[3:4]) + b"\n"
    assert ids(records_of(data)) == ["a cut event", "e2", "a cut event", "e4"]


def test_a_cut_event_at_the_end_is_noted():
    found = records_of(lines(FILE[:2]) + lines(FILE[2:3])[:50])
    assert ids(found) == ["e1", "e2", "not valid JSON"]


def test_two_events_on_one_line_are_two():
    assert ids(records_of(lines(FILE[:1]).strip() + lines(FILE[1:2]))) == ["e1", "e2"]


def test_a_line_end_inside_of_a_string_is_part_of_the_text():
    """https://github.com/github/copilot-cli/issues/2649."""
    data = lines(FILE[:4]).replace(b"List the files", b"List\nthe\r\nfiles")
    found = records_of(data)
    assert ids(found) == ["e1", "e2", "e3", "e4"]
    assert found[2].value["data"]["content"] == "List\nthe\r\nfiles"


def test_objects_inside_of_a_cut_event_are_no_events():
    call = lines(FILE[5:6])
    cut = call[: call.index(b'"messageId"')]
    assert ids(records_of(cut + b"\n" + lines(FILE[6:7]))) == ["not valid JSON", "e7"]


@pytest.mark.parametrize("text", ["é\u2028日本", "\\u00e9", "{", '{"type":"x"}', "}{"])
def test_the_spans_behind_a_cut_event_are_right_for_any_text(text):
    event = {**FILE[2], "data": {"content": text}}
    data = lines([event])[:-9] + lines([event]) + lines(FILE[3:4])
    found = records_of(data)
    assert data[found[-1].span.offset :] == lines(FILE[3:4])
    assert ids(found)[-2:] == ["e3", "e4"]


@pytest.mark.parametrize(("data", "problem"), [(b'"x"\n', "not an object"), (b"\xff\n", "not valid UTF-8"), (b'{"a":"\xff"}\n', "not valid UTF-8")])  # fmt: skip
def test_what_is_no_event_is_noted(data, problem):
    assert ids(records_of(data + lines(FILE[:1]))) == [problem, "e1"]


def test_the_first_events_of_a_file_are_found_behind_others():
    assert [value["id"] for value in first_events(b'{"x":1}\n' + lines(FILE))] == [record["id"] for record in FILE]


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ({"type": "x", "data": {}, "parentId": None}, True),
        ({"type": "x", "data": {}}, False),
        ({"type": "x", "data": [], "parentId": None}, False),
        ({"type": 7, "data": {}, "parentId": None}, False),
    ],
)
def test_an_event_has_a_type_data_and_a_parent(value, known):
    assert is_event(value) is known


@pytest.mark.parametrize("piece", [b'{"type":', b'{"type":"x","data":{"a":['])
def test_many_beginnings_without_an_end_take_no_long_time(piece):
    assert len(records_of(piece * 20_000)) >= 1
