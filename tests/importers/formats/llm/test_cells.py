"""Cells of llm's rows: times, token counts, attachments, calls."""

from __future__ import annotations

import pytest

from scopes.importers.formats.llm.cells import (
    read_attachment,
    read_json,
    read_result,
    read_time,
    read_usage,
    time_of_ulid,
)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-03-01T10:00:00.5+00:00", "2026-03-01T10:00:00.5+00:00"),
        ("2026-03-01 10:00:00.5+00:00", "2026-03-01T10:00:00.5+00:00"),
        ("2026-03-01T10:00:00", "2026-03-01T10:00:00Z"),
        ("yesterday", None),
        ("", None),
        (7, None),
    ],
)
def test_a_time_is_in_utc_whatever_the_version_wrote(text, time):
    assert read_time({"datetime_utc": text}) == time


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("01m7yeeecyksberpwegvrg5j7e", "2026-11-21T06:59:34.430Z"),
        ("01M7YEEECYKSBERPWEGVRG5J7E", "2026-11-21T06:59:34.430Z"),
        ("01m7yeeecyksberpwegvrg5j7", None),
        ("u1m7yeeecyksberpwegvrg5j7e", None),
        ("", None),
    ],
)
def test_an_id_that_is_a_ulid_has_the_time_when_it_was_made(name, time):
    assert time_of_ulid(name) == time


def test_cached_tokens_are_not_counted_twice():
    details = '{"prompt_tokens_details": {"cached_tokens": 256}, "completion_tokens_details": {"reasoning_tokens": 7}}'
    usage = read_usage({"input_tokens": 900, "output_tokens": 40, "token_details": details})
    assert {name: usage[name] for name in usage if name != "raw"} == {
        "input_uncached": 644, "cache_read": 256, "output": 40, "reasoning": 7,
    }  # fmt: skip
    assert usage["raw"]["token_details"]["prompt_tokens_details"] == {"cached_tokens": 256}


@pytest.mark.parametrize(
    ("row", "counts"),
    [
        ({}, None),
        ({"input_tokens": None, "output_tokens": "7"}, None),
        ({"input_tokens": 5, "token_details": "not JSON"}, (5, 0, 0)),
        ({"input_tokens": 5, "token_details": '{"prompt_tokens_details": {"cached_tokens": 9}}'}, (0, 5, 0)),
        ({"output_tokens": 3, "token_details": "[]"}, (0, 0, 3)),
    ],
)
def test_counts_that_are_missing_or_wrong_are_not_made_up(row, counts):
    usage = read_usage(row)
    assert (usage and (usage["input_uncached"], usage["cache_read"], usage["output"])) == counts


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ({"type": "image/png", "content": b"\x89P"}, ("image", {"media_type": "image/png", "data": "iVA="})),
        ({"type": "image/png", "path": "/a.png"}, ("image", {"media_type": "image/png", "path": "/a.png"})),
        ({"type": "text/plain", "url": "https://x"}, ("file", {"media_type": "text/plain", "path": "https://x"})),
        ({}, ("file", {})),
    ],
)
def test_an_attachment_has_its_content_or_where_it_is(row, part):
    assert tuple(read_attachment(row)) == part


def test_an_exception_of_a_tool_is_an_error():
    found = read_result({"tool_call_id": "c", "output": "", "exception": "ValueError: x"})
    assert (found.fields["is_error"], found.fields["structured"]) == (True, {"exception": "ValueError: x"})


@pytest.mark.parametrize(("text", "value"), [('{"a": 1}', {"a": 1}), ("{", None), (None, None), ("[" * 5000, None)])
def test_json_that_cannot_be_read_is_none(text, value):
    assert read_json(text) == value
