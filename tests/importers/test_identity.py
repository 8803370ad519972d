"""The text of a message id, against the standard base32 of Python."""

from __future__ import annotations

from base64 import b32encode
from hashlib import sha256

from scopes.ids import MessageId
from scopes.importers.identity import message_id


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
