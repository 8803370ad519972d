"""The short way to check the commit of a message accepts nothing that the long way does not accept."""

from __future__ import annotations

import json

import pytest

from scopes.errors import Corrupt
from scopes.history.messages import format_message_commit
from scopes.ids import MessageId, Oid
from scopes.model.message import Author, Message, Part, decode, encode, text_parts
from scopes.store.git_program import add_signature
from scopes.store.objects import MAX_TIME_SECONDS, parse_commit
from scopes.sync.exact_commits import check_message_commit, find_usual, says_message
from tests.sync.test_hostile_commits import CHANGED, HARMLESS, SIGNATURE, TEXTS

TREE, PARENT, NOON = Oid("1" * 40), Oid("2" * 40), 1_767_268_800
TOOL_CALL = (Part("text", {"text": HARMLESS}), Part("tool_call", {"call_id": "1", "tool": "Bash", "input": {}}))


def message(parts=None, **fields):
    """Return a message of carol's."""
    author = Author("carol", "agent")
    return Message(id=MessageId("a" * 26), author=author, parts=parts or text_parts(HARMLESS), **fields)


def accepts(data, stored):
    """Return whether the short way accepts a commit of a message."""
    usual = find_usual(data)
    return usual is not None and says_message(usual, encode(stored))


@pytest.mark.parametrize("text", [*TEXTS, "", " ", HARMLESS * 20, "\u2028", '"quoted" \\ and \t', "\U0001f600" * 80])
@pytest.mark.parametrize("fields", [{}, {"reply_to": "b" * 26}, {"kind": "note-to-self"}, {"model": "m", "tool": "t"}])
def test_what_scopes_writes_is_accepted(text, fields):
    stored = message(text_parts(text), time="2026-01-01T12:00:00Z", **fields)
    assert accepts(format_message_commit(TREE, (PARENT,), stored, NOON), stored)


def test_messages_with_other_parts_are_accepted():
    stored = message(TOOL_CALL)
    assert accepts(format_message_commit(TREE, (PARENT,), stored, NOON), stored)


@pytest.mark.parametrize("change", CHANGED.values(), ids=list(CHANGED))
@pytest.mark.parametrize("parts", [None, TOOL_CALL], ids=["plain", "with a call"])
def test_what_scopes_does_not_write_is_not_accepted(change, parts):
    stored = message(parts, time="2026-01-01T12:00:00Z")
    data = format_message_commit(TREE, (PARENT,), stored, NOON)
    assert change(data) != data
    assert not accepts(change(data), stored)


@pytest.mark.parametrize(
    "stored",
    [
        message(text_parts(HARMLESS + " more")),
        message(kind="decision"),
        message(TOOL_CALL, kind="decision"),
        Message(id=MessageId("b" * 26), author=Author("carol", "agent"), parts=text_parts(HARMLESS)),
        Message(id=MessageId("a" * 26), author=Author("carol", "human"), parts=text_parts(HARMLESS)),
        Message(id=MessageId("a" * 26), author=Author("boss", "agent"), parts=text_parts(HARMLESS)),
        message(to=("boss",)),
    ],
    ids=["text", "kind", "kind with a call", "id", "kind of author", "author", "receiver"],
)
def test_another_message_is_not_accepted(stored):
    assert not accepts(format_message_commit(TREE, (PARENT,), message(), NOON), stored)


@pytest.mark.parametrize("kind", ["root", "manifest"])
def test_other_kinds_of_commits_are_looked_at_closely(kind):
    stored = message(kind=kind)
    assert find_usual(format_message_commit(TREE, (PARENT,), stored, NOON)) is None


@pytest.mark.parametrize("parents", [(), (PARENT, Oid("3" * 40))], ids=["none", "two"])
def test_other_numbers_of_parents_are_looked_at_closely(parents):
    assert find_usual(format_message_commit(TREE, parents, message(), NOON)) is None


@pytest.mark.parametrize("time", [str(MAX_TIME_SECONDS + 1), "01767268800", "-1", "1" * 12, ""])
def test_times_that_scopes_does_not_write_are_not_accepted(time):
    data = format_message_commit(TREE, (PARENT,), message(), NOON).replace(str(NOON).encode(), time.encode())
    assert not accepts(data, message())


@pytest.mark.parametrize("time", [0, 9, MAX_TIME_SECONDS])
def test_the_first_and_the_last_time_are_accepted(time):
    assert accepts(format_message_commit(TREE, (PARENT,), message(), time), message())


def test_signed_commits_are_looked_at_closely():
    data = format_message_commit(TREE, (PARENT,), message(), NOON)
    assert find_usual(add_signature(data, SIGNATURE)) is None


def test_what_is_no_message_is_refused():
    usual = find_usual(format_message_commit(TREE, (PARENT,), message(), NOON))
    assert usual is not None
    with pytest.raises(Corrupt):
        says_message(usual, b'{"id":"a","id":"b"}\n')


ODD = {
    "no parts": {"parts": None},
    "parts that are none": {"parts": [1]},
    "a part without a type": {"parts": [{"text": HARMLESS}, {"type": "text", "text": HARMLESS}]},
    "a text that is a number": {"parts": [{"type": "text", "text": 1}, {"type": "text", "text": "b"}]},
    "no text": {"parts": [{"type": "tool_call", "input": {}}]},
    "several texts": {"parts": [{"type": "text", "text": "a"}, {"type": "x"}, {"type": "text", "text": "\ud800b"}]},
    "an author without a kind": {"author": {"name": "carol"}},
    "an author with more": {"author": {"name": "carol", "kind": "agent", "host": "x"}},
    "an author that is a text": {"author": "carol"},
    "an empty kind": {"kind": ""},
    "a kind that is a number": {"kind": 1},
    "a receiver": {"to": ["boss"]},
    "a receiver that is none": {"to": 1},
    "another version": {"v": 2, "new": {"a": [1]}},
}  # fmt: skip


@pytest.mark.parametrize("changes", ODD.values(), ids=list(ODD))
@pytest.mark.parametrize("shown", [{}, *({"parts": text_parts(text)} for text in (HARMLESS, "a\n\ud800b", "\nb"))])
def test_what_the_short_way_accepts_the_long_way_does(changes, shown):
    document = {"v": 1, "id": "a" * 26, "kind": "plain", "author": {"name": "carol", "kind": "agent"}} | changes
    data = json.dumps(document).encode() + b"\n"
    decoded = decode(data)
    for stored in (decoded, message(**shown)):
        commit = format_message_commit(TREE, (PARENT,), stored, NOON)
        usual = find_usual(commit)
        if usual is not None and says_message(usual, data):
            check_message_commit(parse_commit(PARENT, commit), commit, decoded)


@pytest.mark.parametrize("change", ["no text", "several texts", "another version", "a text that is a number"])
def test_messages_of_other_shapes_are_accepted(change):
    document = {"v": 1, "id": "a" * 26, "kind": "plain", "author": {"name": "carol", "kind": "agent"}} | ODD[change]
    data = json.dumps(document).encode() + b"\n"
    usual = find_usual(format_message_commit(TREE, (PARENT,), decode(data), NOON))
    assert usual is not None
    assert says_message(usual, data)
