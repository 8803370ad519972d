"""What stands for a purged message: a function of what was there, without its content."""

from __future__ import annotations

import pytest

from scopes.errors import Corrupt
from scopes.model.message import (
    PURGED_TEXT,
    Author,
    FileTouch,
    Message,
    Part,
    decode,
    encode,
    is_purged,
    purge_message,
    text_parts,
)

SECRET = "hush-hush-hush"
WHOLE = Message(
    id="k3x9abcdefghijklmnopqrstuv", author=Author("claude"), kind="answer", time="2026-01-02T03:04:05Z", to=("carol",),
    reply_to="m4y8abcdefghijklmnopqrstuv", amends="n4y8abcdefghijklmnopqrstuv", model="m", tool="Bash", task=SECRET,
    parts=(
        Part("text", {"text": SECRET}), Part("reasoning", {"text": SECRET, "opaque": SECRET}),
        Part("tool_call", {"call_id": "c1", "name": "Bash", "input": {"command": SECRET}}),
        Part("tool_result", {"call_id": "c1", "output": SECRET, "is_error": True, "structured": {"x": SECRET}}),
        Part("image", {"media_type": "image/png", "data": SECRET}),
        Part("file_ref", {"path": "a.py", "op": "edit", "patch": SECRET, "content_hash": "sha256:0"}),
    ),
    files=(FileTouch("a.py", "edit", "sha256:0"),),
    extra={"precision": "exact", "usage": {"note": SECRET}, "cwd": SECRET, "open": True,
           "spawned_by": {"message": "o4y8abcdefghijklmnopqrstuv", "call_id": "c0", "prompt": SECRET}},
)  # fmt: skip


def purged(message, parts=None):
    return decode(purge_message(encode(message), parts))


def test_nothing_of_the_content_is_left():
    assert SECRET.encode() not in purge_message(encode(WHOLE))
    assert purged(WHOLE).text == PURGED_TEXT
    assert is_purged(purged(WHOLE))
    assert not is_purged(WHOLE)


def test_id_author_time_and_links_stay():
    new = purged(WHOLE)
    for name in ("id", "author", "kind", "time", "to", "reply_to", "amends"):
        assert getattr(new, name) == getattr(WHOLE, name), name
    assert new.extra["spawned_by"] == {"message": "o4y8abcdefghijklmnopqrstuv", "call_id": "c0"}
    assert new.files == ()


@pytest.mark.parametrize("parts", [None, {0}, {2, 3}, {0, 1, 2, 3, 4, 5}])
def test_to_purge_twice_is_to_purge_once(parts):
    once = purge_message(encode(WHOLE), parts)
    assert purge_message(once, parts) == once


@pytest.mark.parametrize("kind", ["decision", "proposal", "summary", "compaction"])
def test_a_kind_that_means_nothing_without_its_document_becomes_a_notice(kind):
    payload = {"topic": "t", "decision": SECRET} if kind == "decision" else None
    message = Message(
        id=WHOLE.id, author=Author("carol", "human"), parts=text_parts(SECRET), kind=kind, payload=payload
    )
    assert purged(message).kind == "notice"
    assert purged(message).payload is None


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        (2, {"call_id": "c1", "name": "Bash"}),
        (3, {"call_id": "c1", "is_error": True}),
        (5, {"path": "a.py", "op": "edit"}),
        (0, {}),
        (4, {}),
    ],
)
def test_a_purged_part_keeps_what_others_find_it_by(number, kept):
    new = purged(WHOLE, {number})
    assert SECRET not in str(new.parts[number])
    assert kept.items() <= new.parts[number].fields.items()
    others = [part for place, part in enumerate(new.parts) if place != number]
    assert others == [part for place, part in enumerate(WHOLE.parts) if place != number]


def test_the_hash_of_a_file_goes_with_its_content():
    assert purged(WHOLE, {5}).files == (FileTouch("a.py", "edit"),)


def test_what_is_no_message_is_refused():
    with pytest.raises(Corrupt):
        purge_message(b"[]\n")
