"""The text of a message id, against the standard base32 of Python."""

from __future__ import annotations

from base64 import b32encode
from hashlib import sha256

from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.ids import MessageId
from scopes.importers.identity import content_bytes, message_id, shorter_ids
from scopes.model.message import Author, Message, Part
from tests.support.examples import examples


def test_a_message_id_is_the_first_130_bits_of_a_hash_in_base32():
    parent = None
    for number in range(2000):
        content = b"content %d" % number
        digest = sha256(b"\0".join((b"message", (parent or "").encode(), content))).digest()
        expected = b32encode(digest[:20]).decode().lower()[:26]
        parent = message_id(parent, content)
        assert parent == expected


def test_the_first_message_has_an_empty_parent():
    assert message_id(None, b"x") == message_id(MessageId(""), b"x")


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))
PARTS = st.lists(
    st.builds(lambda text: Part("text", {"text": text}), st.text())
    | st.builds(lambda name, value: Part("tool_call", {"name": name, "input": {"x": value}}), st.text(), JSON),
    min_size=1,
    max_size=6,
)


@given(PARTS, st.none() | st.just(MessageId("a" * 26)))
@settings(max_examples=examples(200), deadline=None)
def test_the_shorter_ids_of_a_message_are_those_of_its_beginnings(parts, parent):
    def of(count):
        return Message(id=MessageId(""), author=Author("claude", "agent"), parts=tuple(parts[:count]))

    expected = [message_id(parent, content_bytes(of(count))) for count in range(1, len(parts))]
    assert list(shorter_ids(of(len(parts)), parent)) == expected
