"""Encoding and decoding messages: nothing is lost, unknown fields are kept, other bytes are corrupt."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Corrupt, Invalid
from scopes.ids import MessageId
from scopes.model import canonical_json
from scopes.model.message import MAX_MESSAGE_BYTES, Author, FileTouch, Message, Part, decode, encode, text_parts
from tests.support.documents import json_values, messages, texts

ID = MessageId("a" * 26)
CAROL = {"name": "carol", "kind": "agent"}
PLAIN = {"v": 1, "id": ID, "kind": "plain", "author": CAROL, "parts": []}
known_fields = st.sampled_from(
    ["v", "kind", "author", "parts", "to", "files", "time", "model", "decision", "amends", "new"]
)


def plain(**fields):
    return Message(id=ID, author=Author("carol"), **{"parts": (), **fields})


def stored(**fields):
    return canonical_json.dump(PLAIN | fields)


# What goes in comes out


@given(messages())
def test_a_decoded_message_equals_the_encoded_one(message):
    assert decode(encode(message)) == message


@given(messages())
def test_encoding_a_decoded_message_gives_the_same_bytes(message):
    """Equal messages are equal blobs."""
    data = encode(message)
    assert encode(decode(data)) == data
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    json.loads(data)


def test_the_document_of_a_message_has_this_form():
    """The complete format, written out once."""
    message = plain(
        kind="decision",
        parts=(*text_parts("hi"), Part("tool_call", {"name": "Edit", "input": {"z": 1, "a": 2}})),
        time="2026-01-01T00:00:00Z",
        to=("dave",),
        files=(FileTouch("b", "rename", None, "a"),),
        payload={"topic": "t", "decision": "d"},
        extra={"usage": {"z": 1, "a": 2}},
    )
    assert encode(message).decode() == (
        '{"author":{"kind":"agent","name":"carol"},"decision":{"decision":"d","topic":"t"},"files":[{"from":"a","op":"rename","path":"b"}],'
        '"id":"aaaaaaaaaaaaaaaaaaaaaaaaaa","kind":"decision","parts":[{"text":"hi","type":"text"},'
        '{"input":{"z":1,"a":2},"name":"Edit","type":"tool_call"}],"time":"2026-01-01T00:00:00Z","to":["dave"],"usage":{"a":2,"z":1},"v":1}\n'
    )


@pytest.mark.parametrize(
    "text",
    ["", " ", "\0", "a\r\nb\r\n", "\n\nx\n\n", "\ud800", "\udc00\ud800", "\u2028\u2029\x85", "\U0001f600", "\x1b[31m", "Scopes-Kind: root", "<<<<<<< HEAD\n=======\n>>>>>>> x\n"],
)  # fmt: skip
def test_every_text_is_stored_unchanged(text):
    """B-11, B-13, B-14, B-16, B-17, B-20."""
    data = encode(plain(parts=text_parts(text)))
    assert decode(data).text == text
    assert len(data.splitlines()) == 1 or data.count(b"\n") == 1


@pytest.mark.parametrize("field", ["input", "output", "structured", "json"])
def test_tool_input_keeps_its_key_order_and_other_keys_are_sorted(field):
    value = {"z": {"b": 1, "a": 2}, "a": [{"d": 1, "c": 2}]}
    message = plain(parts=(Part("tool_call", {field: value, "other": value}),))
    ordered, unordered = (
        (list(v), list(v["z"]), list(v["a"][0])) for v in (value, canonical_json.load(canonical_json.dump(value)))
    )
    part = decode(encode(message)).parts[0].fields
    assert (list(part[field]), list(part[field]["z"]), list(part[field]["a"][0])) == ordered
    assert (list(part["other"]), list(part["other"]["z"]), list(part["other"]["a"][0])) == unordered


def test_unknown_fields_are_absent_and_not_null():
    assert set(json.loads(encode(plain()))) == {"author", "id", "kind", "parts", "v"}


# What is not understood is kept


@given(
    st.dictionaries(
        known_fields,
        json_values | st.lists(st.dictionaries(known_fields, json_values, max_size=2), max_size=2),
        max_size=5,
    )
)
def test_fields_of_another_version_are_written_back(fields):
    """Unknown kinds, fields, parts and shapes; only absent fields get defaults, and an empty list is left out."""
    document = canonical_json.load(canonical_json.dump({"id": ID, **fields}))
    again = canonical_json.load(encode(decode(canonical_json.dump(document))))
    document = {key: value for key, value in document.items() if key not in {"to", "files"} or value != []}
    assert {key: again[key] for key in document} == document
    assert again.keys() - document.keys() <= PLAIN.keys()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("v", 2), ("v", "1"), ("kind", 5), ("kind", ""), ("kind", None), ("author", "carol"), ("author", {"kind": "agent"}),
        ("author", {"name": "carol", "kind": "agent", "avatar": "x"}), ("author", {"name": "carol"}), ("author", None),
        ("parts", "text"), ("parts", [{"text": "no type"}]), ("parts", ["text"]), ("parts", [{"type": 5}]), ("parts", {}),
        ("files", {"path": "a"}), ("files", [{"path": "a"}]), ("files", [{"path": "a", "op": "edit", "new": 1}]), ("files", [None]),
        ("files", [{"path": 5, "op": "edit"}]), ("files", [{"path": "a", "op": "edit", "content_hash": None}]), ("files", []),
        ("to", "dave"), ("to", [5]), ("to", []), ("time", 5), ("time", None), ("reply_to", ["x"]), ("model", {}),
    ],
)  # fmt: skip
def test_a_field_of_another_type_is_kept_as_unknown(field, value):
    data = stored(**{field: value})
    message = decode(data)
    again = json.loads(encode(message))
    assert again.get(field, value) == value
    assert isinstance(message.author.name, str)
    assert all(isinstance(part.type, str) for part in message.parts)
    assert all(isinstance(touch.path, str) for touch in message.files)
    assert all(isinstance(name, str) for name in message.to)


@pytest.mark.parametrize("payload", ["text", [], 5, None, True])
def test_a_payload_that_is_not_an_object_is_kept_as_unknown(payload):
    message = decode(stored(kind="decision", decision=payload))
    assert message.payload is None
    assert json.loads(encode(message))["decision"] == payload


def test_a_payload_field_of_another_kind_is_kept_as_unknown():
    payload = {"topic": "t"}
    assert decode(stored(kind="decision", decision=payload)).payload == payload
    assert decode(stored(kind="plain", decision=payload)).extra == {"decision": payload}
    assert decode(stored(kind="collaboration-request", collaboration_request=payload)).payload == payload


def test_an_unknown_kind_is_kept():
    message = decode(
        stored(kind="hologram", parts=[{"type": "smell", "notes": ["oak"]}], author={"name": "x", "kind": "alien"})
    )
    assert (message.kind, message.author, message.parts) == (
        "hologram",
        Author("x", "alien"),
        (Part("smell", {"notes": ["oak"]}),),
    )


# What is no message


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"null", b"[]", b"5", b'"text"', b"{}", b'{"id":5}', b'{"id":null}', b"{", b"\xff\xfe", b'{"id":"x","a":NaN}',
     b'{"id":"x","a":1e999}', b"[" * 100_000, b'{"id":' * 100_000, b'{"id":"x","n":' + b"9" * 5000 + b"}"],
    ids=lambda data: repr(data[:16]),
)  # fmt: skip
def test_bytes_that_are_not_a_message_are_corrupt(data):
    """C-23, C-24, C-25."""
    with pytest.raises(Corrupt):
        decode(data)


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_decoded_or_corrupt(data):
    try:
        message = decode(data)
    except Corrupt:
        return
    assert isinstance(message.id, str)


# Limits


def test_the_size_limit_of_a_message_is_64_mib():
    """B-15, P15."""
    empty = len(encode(plain(parts=text_parts(""))))
    assert len(encode(plain(parts=text_parts("x" * (MAX_MESSAGE_BYTES - empty))))) == MAX_MESSAGE_BYTES
    with pytest.raises(Invalid, match="64 MiB large; the limit is 64 MiB") as caught:
        encode(plain(parts=text_parts("x" * (MAX_MESSAGE_BYTES - empty + 1))))
    assert "mention it" in caught.value.hint


def test_a_message_nested_too_deeply_is_refused():
    value: object = []
    for _ in range(300):
        value = [value]
    with pytest.raises(Invalid, match="nested deeper than 200 levels"):
        encode(plain(parts=(Part("tool_call", {"input": value}),)))


@given(texts)
def test_the_text_of_a_message_is_that_of_its_text_parts(text):
    message = plain(
        parts=(
            *text_parts("first"),
            Part("reasoning", {"text": "hidden"}),
            Part("text", {"text": text}),
            Part("text", {"text": 5}),
        )
    )
    assert message.text == f"first\n{text}\n"


@given(messages())
def test_a_decoded_message_is_frozen_and_can_be_copied(message):
    decoded = decode(encode(message))
    assert type(decoded) is Message
    assert replace(decoded, kind="notice").kind == "notice"
    assert pickle.loads(pickle.dumps(decoded)) == decoded
    with pytest.raises(FrozenInstanceError):
        decoded.kind = "notice"


USUAL = {
    "author": {"kind": "agent", "name": "carol"},
    "id": "a" * 26,
    "kind": "plain",
    "parts": [{"type": "text", "text": "hello"}, {"type": "raw"}],
    "time": "2026-01-01T12:00:00Z",
    "v": 1,
}
OTHER_VALUES = [
    None,
    1,
    True,
    "",
    "text",
    [],
    {},
    ["x"],
    [{"type": 1}],
    [{"type": "text"}, 5],
    {"name": "x", "kind": 2},
]


@pytest.mark.parametrize("value", OTHER_VALUES, ids=repr)
@pytest.mark.parametrize("field", [name for name in USUAL if name != "id"])
def test_a_message_with_the_usual_fields_is_decoded_as_one_with_more(field, value):
    document = USUAL | {field: value}
    usual = decode(json.dumps(document).encode())
    other = decode(json.dumps(document | {"unknown": 1}).encode())
    assert usual == replace(other, extra={key: kept for key, kept in other.extra.items() if key != "unknown"})
