"""Documents with a list of records: every record has its bytes, whatever is around it, before it or wrong with it."""

from __future__ import annotations

import json

import pytest

from scopes.importers.formats.documents import MAX_MEMBER, Shape, read_in_order, rest_event, split_record, walk_sessions
from scopes.importers.formats.events import Ending, Session, SessionRecord, Unparsed
from scopes.importers.formats.fields import short_word
from scopes.importers.formats.records import digest_of_values
from scopes.importers.formats.run_builder import HUMAN, PROMPT, RunBuilder
from tests.importers.reading import bytes_source, check_spans

SHAPE = Shape(("items",), lambda found: found.found and "id" in found.members)


class Reader:
    """Makes a message of every record with a text."""

    def __init__(self, found):
        self.session = Session(format="test", native_id=str(found.members["id"]))
        self.builder = RunBuilder(is_stream=False)

    def read(self, record):
        if isinstance(record.value, str):
            self.builder.begin(record, HUMAN, PROMPT)
        else:
            self.builder.reject(record)
        yield from self.builder.take_ready()

    def finish(self):
        yield from self.builder.finish()


def walk(data):
    """Read a source of such documents, and check that every byte is in one event."""
    data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    events = list(walk_sessions(bytes_source(data), SHAPE, "test", lambda found: read_in_order(found, Reader(found))))
    check_spans(events, len(data))
    return events


def sessions(events):
    return [event.native_id for event in events if isinstance(event, Session)]


def reasons(events):
    return [event.reason for event in events if isinstance(event, Unparsed)]


def pieces(data):
    """Return the bytes of each record of the first document, as text."""
    events = walk(data)
    spans = [span for event in events if hasattr(event, "parts") for span in event.spans]
    return [data.encode()[span.offset : span.offset + span.length].decode() for span in spans]


def test_a_record_has_the_bytes_up_to_the_next_one_and_the_last_one_those_up_to_its_end():
    assert pieces('{"id": 1, "items": ["a", "é" ,\n "b"] }\n') == ['"a", ', '"é" ,\n ', '"b"']


def test_the_values_of_an_object_are_records_with_their_names():
    assert pieces('{"items": {"x": "a", "y": "b"}, "id": 1}') == ['"x": "a", ', '"y": "b"']


def test_the_bytes_around_the_records_are_one_state():
    events = walk('\ufeff{"id": 1, "items": ["a"], "more": [1, 2]}\n')
    (state,) = [event for event in events if isinstance(event, SessionRecord)]
    assert (state.key, len(state.spans), state.spans[0].offset) == ("conversation", 2, 0)


def test_members_are_kept_without_large_ones_and_of_other_arrays_only_the_beginning():
    found = SHAPE.read(
        json.dumps({"id": 7, "big": "x" * MAX_MEMBER, "info": {"a": [1]}, "steps": [{"n": 1}, 2], "items": []})
    )
    assert found.members == {"id": 7, "info": {"a": [1]}}
    assert found.beginnings == {"steps": {"n": 1}}
    assert SHAPE.read('{"id": 1, "none": [], "items": []}').beginnings == {}


def test_the_beginning_of_an_array_is_known_also_if_the_array_is_cut_off():
    found = Shape(("items",), lambda found: "steps" in found.beginnings).read('{"steps": [{"n": 1}, {"n"')
    assert (found.beginnings, found.complete) == ({"steps": {"n": 1}}, False)


@pytest.mark.parametrize(
    "data", ["", " ", "7", "[1]", '{"id": 1}', '{"items": []}', '{"items"}', "{7: 1}", '{"id": 1, "items": 3}']
)
def test_other_documents_are_not_of_the_shape(data):
    assert not SHAPE.recognizes(data.encode())
    assert SHAPE.read(data) is None


@pytest.mark.parametrize(
    "data",
    [
        '{"id": 1, "items": ["a"]}',
        ' \n[ {"id": 1, "items": []}',
        '\ufeff{"id": 1, "items": {"x": 1',
        '{"id":1,"items":["a',
    ],
)
def test_one_document_an_array_and_a_cut_one_are_recognized(data):
    assert SHAPE.recognizes(data.encode())


@pytest.mark.parametrize(
    "joined",
    ['[{"id": 1, "items": ["a"]}, {"id": 2, "items": []}]', '{"id": 1, "items": []}\n{"id": 2, "items": ["b"]}\n'],
)
def test_every_document_of_an_array_or_a_sequence_is_a_session(joined):
    events = walk(joined)
    assert sessions(events) == ["1", "2"]
    assert sum(isinstance(event, Ending) for event in events) == 2


def test_documents_with_one_id_are_numbered():
    assert sessions(walk('{"id": 1, "items": []}' * 3)) == ["1", "1#2", "1#3"]


def test_what_is_not_a_document_belongs_to_the_session_before_it_or_to_the_first_one():
    between = walk('[{"id": 1, "items": []}, {"other": 1}, {"id": 2, "items": []}]')
    first = walk('[{"id": 1, "items": ["a"]}, {"other": 1}]')
    assert (sessions(between), len(reasons(between)), len(reasons(first))) == (["1", "2"], 1, 1)


@pytest.mark.parametrize(
    ("data", "count", "reason"),
    [
        ('{"id": 1, "items": ["a", "b"', 2, []), ('{"id": 1, "items": ["a", "b" ', 2, ["truncated or damaged"]),
        ('{"id": 1, "items": ["a", tru', 1, ["truncated or damaged"]), ('{"id": 1, "items": ["a" "b"]}', 1, ["truncated or damaged"]),
        ('{"id": 1, "items": [', 0, ["truncated or damaged"]), ('{"id": 1, "items": ["a"], "x": }', 1, ["truncated or damaged"]),
    ],
)  # fmt: skip
def test_a_cut_or_damaged_document_is_read_up_to_the_error(data, count, reason):
    assert (len(pieces(data)), reasons(walk(data))) == (count, reason)


@pytest.mark.parametrize(
    ("item", "reason"),
    [('"\udcff"', "not valid UTF-8"), ("9" * 5000, "an integer has too many digits"), ("[" * 300 + "]" * 300, "nested too deeply")],
    ids=range(3),
)  # fmt: skip
def test_a_record_that_cannot_be_decoded_is_kept_and_those_around_it_are_read(item, reason):
    events = walk(f'{{"id": 1, "items": ["a", {item}, "b"]}}')
    assert reasons(events) == [reason]
    assert sum(hasattr(event, "parts") for event in events) == 2


@pytest.mark.parametrize("data", ["", " \n\n", "{", '{"other": 1}', "\x00\x01", "[[[["])
def test_a_source_without_any_document_is_one_session_without_messages(data):
    events = walk(data)
    assert len(sessions(events)) == 1
    assert bool(reasons(events)) == bool(data)


@pytest.mark.parametrize(
    ("record", "before", "inside"),
    [
        ('{"a": "é", "extra": 1}', '{"a": "é", ', '"extra": 1}'), ('{ "extra": [2], "a": 1}', "{ ", '"extra": [2], "a": 1}'),
        ('{"a": {"extra": 1}}', "", '{"a": {"extra": 1}}'), ("{}", "", "{}"),
    ],
)  # fmt: skip
def test_a_record_is_divided_where_a_member_begins(record, before, inside):
    data = f'{{"id": "é", "items": ["é", {record}]}}'
    found = SHAPE.read(data)
    events = []

    def read_session(placed):
        first, second = split_record(placed, placed.records[1], "extra")
        events.extend(data.encode()[span.offset : span.offset + span.length].decode() for span in (first, second))
        return read_in_order(placed, Reader(placed))

    list(walk_sessions(bytes_source(data.encode()), SHAPE, "test", read_session))
    assert events == [before, inside]
    assert found.complete


def test_the_rest_of_a_document_without_records_is_a_state_only_if_it_is_whole():
    whole, cut = walk('{"id": 1, "items": []}'), walk('{"id": 1, "items": [ ')
    assert [type(event) for event in whole[1:-1]] == [SessionRecord]
    assert [type(event) for event in cut[1:-1]] == [Unparsed]
    assert list(rest_event(SHAPE.read('{"id": 1, "items": []}'))) == []  # has no place yet


def test_a_digest_depends_on_every_value_and_their_order():
    values = [{"a": 1}, {"a": 2}, "\ud800"]
    assert digest_of_values(iter(values)) == digest_of_values(iter(values))
    assert digest_of_values(iter(values)) != digest_of_values(reversed(values))


@pytest.mark.parametrize(
    ("value", "expected"), [({"r": "x" * 99}, repr("x" * 64)), ({"r": 7}, "none"), ({}, "none"), ({"r": "a"}, "'a'")]
)
def test_a_word_of_a_reason_is_short(value, expected):
    assert short_word(value, "r") == expected
