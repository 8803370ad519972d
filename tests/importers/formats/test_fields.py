"""Fields of untrusted records: what is missing or of another type counts as absent."""

from __future__ import annotations

import pytest

from scopes.importers.formats.claude_code import ClaudeCode
from scopes.importers.formats.fields import file_content_hash, number_field, object_field, text_field, time_field
from scopes.importers.formats.gemini import Gemini
from scopes.importers.formats.opencode import OpenCode
from scopes.importers.formats.pi import Pi
from scopes.importers.formats.records import decode
from tests.importers.reading import events_of

OTHERS = [None, False, 0, 1.5, [], ["x"]]


@pytest.mark.parametrize("value", [*OTHERS, "", {}])
def test_only_a_string_with_characters_is_a_text(value):
    assert text_field({"name": value}, "name") is None
    assert text_field({"name": "x"}, "name") == "x"


@pytest.mark.parametrize("value", [*OTHERS, "{}"])
def test_only_an_object_is_an_object(value):
    assert object_field({"name": value}, "name") == {}
    assert object_field({"name": {"a": value}}, "name") == {"a": value}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0.0), ("7", 7.0), ("-1.5", -1.5), ("1e3", 1000.0), ("-0", 0.0),
        ("NaN", None), ("Infinity", None), ("-Infinity", None), ("1e999", None), ("1" + "0" * 4000, None),
        ("true", None), ('"7"', None), ("null", None), ("[7]", None), ("{}", None),
    ],
)  # fmt: skip
def test_only_a_finite_number_is_a_number(text, number):
    assert number_field(decode(f'{{"name": {text}}}'), "name") == number
    assert number_field({}, "name") is None


@pytest.mark.parametrize("time", ["2026-11-22T03:47:23.443Z", "2026-11-22T03:47:23+05:30", "2026-11-22T03:47:23Z"])
def test_a_time_is_kept_as_it_is_written(time):
    assert time_field({"timestamp": time}) == time


@pytest.mark.parametrize("time", [*OTHERS, "", "now", "2026-13-22T03:47:23Z", "2026-11-22T25:00:00Z", "1795319121"])
def test_a_text_that_is_no_time_of_the_calendar_is_absent(time):
    assert time_field({"timestamp": time}) is None


def test_a_content_has_a_hash_only_if_it_is_text_of_utf_8():
    assert file_content_hash("") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert [file_content_hash(each) for each in (None, b"x", 7, "\ud800")] == [None] * 4
    assert str(file_content_hash("\ud800", "surrogatepass")).startswith("sha256:")


NUMBERS = ["NaN", "-Infinity", "1e999", "9" * 400, '"1"', "null", "true"]
ENDS = {
    "claude": (ClaudeCode(), '{"type":"result","session_id":"s","is_error":false,"num_turns":@,"total_cost_usd":@,"duration_ms":@}'),
    "gemini": (Gemini(), '{"session_id":"s","response":"x","stats":{"duration_ms":@,"input_tokens":@}}'),
    "opencode": (OpenCode(), '{"type":"step_finish","sessionID":"ses_1","part":{"id":"p","messageID":"m","reason":"stop","cost":@}}'),
    "pi": (Pi(), '{"type":"message_end","message":{"role":"assistant","usage":{"input":3,"cost":{"total":@}}}}\n{"type":"agent_end"}'),
}  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ENDS)
def test_a_cost_or_duration_that_is_no_number_is_left_out_of_the_end(name, number):
    form, line = ENDS[name]
    end = events_of(form, line.replace("@", number).encode())[-1].run_end
    assert (end.cost_usd, end.turns, end.seconds) == (None, None, None)
