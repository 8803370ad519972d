from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.render.document import error_line, json_line, result_line
from scopes.result import Note
from scopes.sanitize import indented_json
from tests.render.hostile import PAYLOADS, forbidden, hostile_texts
from tests.render.sample import Pet

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | hostile_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile_texts, inner, max_size=3),
    max_leaves=6,
)


def test_a_result_is_one_line_that_begins_with_the_version_and_the_kind():
    assert result_line(Pet(name="Ada")) == '{"scopes":1,"kind":"pet","name":"Ada"}\n'


def test_notes_are_part_of_the_document():
    line = result_line(Pet(name="Ada", notes=(Note("old", hint="feed"), Note("plain"))))
    assert json.loads(line)["notes"] == [{"text": "old", "hint": "feed"}, {"text": "plain"}]


def test_a_refusal_is_one_line_with_its_hint():
    assert error_line("not-found", "no conv-9", "see: scopes list", retryable=False) == (
        '{"error":{"kind":"not-found","message":"no conv-9","hint":"see: scopes list","retryable":false}}\n'
    )


def test_a_hint_that_is_unknown_is_absent():
    assert "hint" not in error_line("busy", "m", None, retryable=True)


def test_text_of_any_language_is_readable():
    assert json_line({"a": "größer 日本 🚀 ❤️"}) == '{"a":"größer 日本 🚀 ❤️"}\n'.replace("\ufe0f", "\\ufe0f")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("\x1b", r"\u001b"), ("\x7f", r"\u007f"), ("\x9b", r"\u009b"), ("\u202e", r"\u202e"), ("\u2028", r"\u2028")],
)
def test_control_characters_are_escaped(text, escaped):
    assert json_line({"a": text}) == '{"a":"' + escaped + '"}\n'


def test_beyond_the_first_plane_an_escape_is_a_pair():
    assert json_line({"a": "\U000e0041"}) == '{"a":"\\udb40\\udc41"}\n'


def test_half_a_pair_is_escaped_and_never_reaches_the_encoder():
    assert json_line({"a": "\ud83d"}).encode() == b'{"a":"\\ud83d"}\n'


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_payload_survives(payload):
    assert forbidden(json_line({payload: payload})) == []


@given(st.dictionaries(hostile_texts, values, max_size=3))
def test_a_reader_gets_back_what_was_written(document):
    line = json_line(document)
    assert line.count("\n") == 1
    assert json.loads(line) == json.loads(json.dumps(document))
    assert forbidden(line) == []


def test_indented_lines_have_escapes_too():
    assert indented_json({"a": ["\x9b", "\x85\u2028\ud800", "ü\n"]}) == (
        '{\n  "a": [\n    "\\u009b",\n    "\\u0085\\u2028\\ud800",\n    "ü\\n"\n  ]\n}'
    )


@given(st.dictionaries(hostile_texts, values, max_size=3))
def test_indented_lines_are_the_same_values_as_one_line(document):
    assert json.loads(indented_json(document)) == json.loads(json_line(document))
    assert not forbidden(indented_json(document).replace("\n", ""))
