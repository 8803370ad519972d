"""The stored form of what was seen when a commit was made."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.code_links.commit_record import (
    CommitRecord,
    commit_identity,
    decode_record,
    encode_record,
    is_new_commit,
    makes_commit,
)
from scopes.errors import Corrupt
from scopes.history.sources import source_key

A = "a" * 40
TEXT = st.text(max_size=20)


@given(st.builds(
    CommitRecord, commit=st.sampled_from([A, "b" * 64]), recorded_by=st.sampled_from(["hook", "turn"]), at=TEXT,
    tool=TEXT.filter(bool) | st.none(), session=TEXT.filter(bool) | st.none(), call_id=TEXT.filter(bool) | st.none(),
    conversation=TEXT.filter(bool) | st.none(), message=TEXT.filter(bool) | st.none(), action=TEXT, subject=TEXT,
    identity=TEXT.filter(bool) | st.none(), root=TEXT, is_shared=st.booleans(),
).filter(lambda record: record.at))  # fmt: skip
def test_a_record_is_what_was_stored(record):
    data = encode_record(record)
    assert decode_record(data) == record
    assert data.count(b"\n") == 1


@pytest.mark.parametrize(
    "document",
    [[], None, 5, {}, {"commit": A}, {"commit": A[1:], "recorded_by": "hook", "at": "x"},
     {"commit": A, "recorded_by": "guess", "at": "x"}, {"commit": A, "recorded_by": "hook", "at": 5},
     {"commit": A, "recorded_by": ["hook"], "at": "x"}],
)  # fmt: skip
def test_what_is_no_record_is_refused(document):
    with pytest.raises(Corrupt):
        decode_record(json.dumps(document).encode())


def test_fields_of_another_type_are_left_out():
    document = {"commit": A, "recorded_by": "hook", "at": "x", "session": 5, "is_shared": "yes", "newer": [1]}
    record = decode_record(json.dumps(document).encode())
    assert record == CommitRecord(commit=A, recorded_by="hook", at="x")


def test_a_session_is_found_by_the_key_of_its_source_or_the_uuid_of_its_conversation():
    by_hook = CommitRecord(commit=A, recorded_by="hook", at="x", tool="codex", session="s")
    assert by_hook.session_key == source_key("codex", "s", None)
    assert CommitRecord(commit=A, recorded_by="turn", at="x", conversation="u").session_key == "u"
    assert CommitRecord(commit=A, recorded_by="hook", at="x", tool="gemini").session_key is None


@pytest.mark.parametrize(
    ("action", "made", "new"),
    [
        ("commit: fix", True, True), ("commit (initial): fix", True, True), ("commit (merge): Merge x", True, True),
        ("commit (amend): fix", True, False), ("cherry-pick: fix", True, False), ("revert: Revert x", True, False),
        ("rebase (pick): fix", True, False), ("rebase -i (fixup): fix", True, False), ("am: fix", True, False),
        ("merge fix: Merge made by the 'ort' strategy.", True, False), ("pull: Merge made by x", True, False),
        ("rebase (start): checkout main", False, False), ("rebase (finish): returning", False, False),
        ("merge fix: Fast-forward", False, False), ("pull: Fast-forward", False, False), ("reset: moving", False, False),
        ("checkout: moving from commit: x to y", False, False), ("clone: from x", False, False), ("", False, False),
    ],
)  # fmt: skip
def test_the_action_tells_whether_a_commit_was_made_and_whether_it_is_new(action, made, new):
    assert (makes_commit(action), is_new_commit(action)) == (made, new)


def test_author_time_and_subject_are_the_identity():
    one = commit_identity(b"alice <a@x> 5 +0000", b"fix")
    assert (
        len({one, commit_identity(b"alice <a@x> 6 +0000", b"fix"), commit_identity(b"alice <a@x> 5 +0000", b"fi")}) == 3
    )
    assert one == commit_identity(b"alice <a@x> 5 +0000", b"fix")
