"""Reading and changing single members of JSON-RPC messages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.server.acp.envelope import (
    NotJson,
    change_params,
    error_code,
    is_request,
    is_response,
    key_of,
    put_first,
    read_line,
    split_members,
)
from scopes.server.acp.lines import read_lines

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), JSON), st.sampled_from([None, 1]))
def test_the_members_of_an_object_are_its_own_text(value, indent):
    text = json.dumps(value, indent=indent)
    members = split_members(text)
    assert {name: json.loads(member) for name, member in members.items()} == value
    assert all(member in text for member in members.values())


@given(st.lists(JSON), st.dictionaries(st.text(), JSON))
def test_blocks_go_before_the_own_ones_of_a_prompt_and_nothing_else_changes(blocks, others):
    message = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {**others, "prompt": blocks}}
    changed = json.loads(put_first(json.dumps(message).encode(), [{"type": "text", "text": "é"}]))
    assert changed == {**message, "params": {**others, "prompt": [{"type": "text", "text": "é"}, *blocks]}}


def test_numbers_and_escapes_of_other_members_keep_their_text():
    line = b'{ "method":"x", "params" : {"a":1.50,"b":"\\ud800\\/","sessionId":"old","c":[1e400,NaN]}, "id":"\xff" }\n'
    changed = change_params(line, {"sessionId": '"new"'})
    assert (
        changed
        == b'{"method":"x","params":{"a":1.50,"b":"\\ud800\\/","sessionId":"new","c":[1e400,NaN]},"id":"\xff"}\n'
    )


@pytest.mark.parametrize(
    "line",
    [b"[INFO] x\n", b"words\n", b"\n", b'{"level":"info"}\n', b"{broken\n", b"[]\n", b"[1]\n", b'"text"\n', b"7\n"],
)
def test_a_line_that_is_no_message_is_noise(line):
    with pytest.raises(NotJson):
        read_line(line)


@pytest.mark.parametrize("depth", [800, 960, 100_000])
def test_a_line_that_is_nested_too_deeply_is_passed_on_unread(depth):
    assert read_line(b'{"id":' + b"[" * depth + b"]" * depth + b"}\n") is None


@pytest.mark.parametrize("value", [b"[" * 799 + b"]" * 799, b'"' + b"[{" * 900 + b'"', b"[" + b"[],{}," * 900 + b"1]"])
def test_many_brackets_that_are_not_deep_are_read(value):
    assert read_line(b'{"id":' + value + b"}\n") == {"id": json.loads(value)}


def test_a_member_that_is_nested_too_deeply_cannot_be_taken_apart():
    with pytest.raises(ValueError, match="nested too deeply"):
        split_members('{"a":' + "[" * 100_000 + "]" * 100_000 + "}")


@pytest.mark.parametrize("line", [b'{"id":1,"x":NaN}\n', b'{"id":1,"x":"\\ud800"}\n', b'{"id":1,"x":1e999}\n'])
def test_what_only_some_parsers_read_is_a_message(line):
    assert read_line(line)["id"] == 1


def test_ids_are_compared_with_their_type():
    assert len({key_of(each) for each in (1, "1", None, 1.5, True)}) == 5


def test_a_request_has_a_method_and_an_id_and_a_response_only_an_id():
    assert is_request({"id": 1, "method": "a"})
    assert not is_request({"method": "a"})
    assert is_response({"id": None, "result": 1})
    assert error_code({"id": 1, "error": {"code": "text"}}) is None


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_lines_are_read_whole_whatever_their_length(tmp_path, end):
    lines = [b"a\n", b"\n", b"x" * 200_000 + b"\n", b"\xff\x00 last" + end]
    (tmp_path / "file").write_bytes(b"".join(lines))
    with open(tmp_path / "file", "rb") as file:
        assert list(read_lines(file.fileno())) == lines
