"""Every value of an object that has a key several times is searched, whichever of them a reader would take."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import SecretsFound
from scopes.model import canonical_json
from scopes.secret_scan.clearance import Gate, without_store
from scopes.secret_scan.repeated_keys import EVERY_VALUE, RepeatedKeys
from scopes.secret_scan.scan import scan_document, walk_texts
from tests.support.planted import FORMS, KINDS

TOKEN, KEY = KINDS[1][1], KINDS[10][1]
LINES = [
    '{"text":"%s","text":"harmless"}', '{"text":"harmless","text":"%s"}', '{"text":"a","text":"%s","text":"b"}',
    '{"parts":[{"text":"%s","text":"b"}]}', '{"text":{"deep":"%s"},"text":1}', '[{"a":{"b":["%s"],"b":[]},"a":{}}]',
    '{"text":{"x":1,"x":{"%s":2}},"text":null}',
]  # fmt: skip


def gate(mode):
    return Gate(mode, lambda rule, value: f"{rule} {value}")


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("hide", [str, FORMS["unicode escapes"], FORMS["base64"]])
def test_a_value_that_readers_do_not_take_is_refused(line, hide):
    data = (line % json.dumps(hide(TOKEN))[1:-1]).encode()
    with pytest.raises(SecretsFound, match="the message, line 1: github-token"):
        gate("refuse").clear_line(data, "the message")
    door = gate("refuse")
    assert door.inspect(data, "the message")
    assert [leak.rule for leak in door.leaks] == ["github-token"]


@pytest.mark.parametrize("line", LINES)
def test_such_a_value_is_replaced_and_the_others_stay(line):
    cleared = without_store().clear_line((line % TOKEN).encode() + b"\n", "x")
    assert cleared == (line % "[redacted:github-token]").encode() + b"\n"


@pytest.mark.parametrize("line", LINES)
def test_a_line_without_a_secret_keeps_every_byte(line):
    data = (line.replace(":", " : ") % "ghp_").encode()
    assert without_store().clear_line(data, "x") == data


def test_what_its_name_says_about_an_earlier_value_counts():
    document = EVERY_VALUE.decode('{"password":"aB3dE5gH7jK9mN1pQ2rS4t","password":"no"}')
    assert [each.found.rule for each in scan_document(document)] == ["assigned-secret"]
    assert without_store().clear_document(document, "x") == EVERY_VALUE.decode(
        '{"password":"[redacted:assigned-secret]","password":"no"}'
    )


def test_a_stored_document_is_decoded_with_every_value():
    document = canonical_json.load(b'{"text":"first","text":"last"}\n', EVERY_VALUE)
    assert document["text"] == "last"
    assert {text for _, text, _ in walk_texts(document)} == {"text", "first", "last"}


def test_objects_with_other_earlier_values_are_not_equal():
    assert RepeatedKeys([("a", 1), ("a", 2)]) == RepeatedKeys([("a", 1), ("a", 2)])
    assert RepeatedKeys([("a", 1), ("a", 2)]) != RepeatedKeys([("a", 3), ("a", 2)])
    assert RepeatedKeys([("a", 1), ("a", 2)]) != {"a": 2}


VALUES = st.recursive(
    st.none() | st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(st.text(), each)
)


@given(VALUES)
def test_a_document_with_every_key_once_is_read_as_ever(value):
    assert EVERY_VALUE.decode(json.dumps(value)) == value


@given(st.lists(st.tuples(st.sampled_from("ab"), VALUES), max_size=5))
def test_an_object_is_written_as_it_was_read(pairs):
    text = "{" + ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in pairs) + "}"
    assert json.dumps(EVERY_VALUE.decode(text)) == text
