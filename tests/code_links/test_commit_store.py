"""Records of commits in a store: found by commit, session and identity; damage is left out."""

from __future__ import annotations

from itertools import pairwise

import pytest

from scopes.code_links.commit_record import CommitRecord
from scopes.code_links.commit_store import (
    MAX_STEPS,
    CommitRecords,
    record_changes,
    rewrite_changes,
    store_records,
    summary_of,
)
from scopes.code_links.record_fsck import walk_commit_record_defects
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Refused
from scopes.history.metadata import write_metadata
from scopes.history.transaction import RefTransaction
from scopes.store.refs import COMMITS
from scopes.store.transactions import exclusive_write
from tests.support.store import remove_object

A, B, C = "a" * 40, "b" * 40, "c" * 40
SAME = "5" * 32


def record(commit=A, session="s", **fields):
    return CommitRecord(
        commit=commit, recorded_by="hook", at="2026-01-01T00:00:00Z", tool="codex", session=session, **fields
    )


def store(repository, *changes):
    with exclusive_write(repository):
        merged = {path: value for each in changes for path, value in each.items()}
        return store_records(repository, CommitRecords(repository), merged, "record commit")


def test_a_record_is_found_by_its_commit_its_session_and_its_identity(repository):
    one = record(identity=SAME)
    store(repository, record_changes(one))
    records = CommitRecords(repository)
    assert records.find(A) == [one]
    assert records.commits_of(one.session_key) == records.list_same(SAME) == [A]
    assert records.session_keys() == [one.session_key]
    assert records.find(B) == records.commits_of("x") == records.list_same("x") == records.list_same("6" * 32) == []


def test_an_empty_store_has_no_records(repository):
    records = CommitRecords(repository)
    assert records.find(A) == records.session_keys() == records.list_earlier(A) == []
    assert records.notes == ()


def test_two_sessions_may_have_made_one_commit(repository):
    store(repository, record_changes(record(session="s")))
    store(repository, record_changes(record(session="t")))
    assert [each.session for each in CommitRecords(repository).find(A)] == ["s", "t"]


def test_the_same_record_again_is_no_operation(repository):
    assert store(repository, record_changes(record())) is not None
    assert store(repository, record_changes(record())) is None


def test_a_rewritten_commit_leads_to_the_earlier_ones_even_in_a_circle(repository):
    store(repository, rewrite_changes(A, B), rewrite_changes(B, C), rewrite_changes(C, A))
    assert CommitRecords(repository).list_earlier(C) == [B, A]


def test_a_chain_of_rewrites_is_followed_for_a_limited_number_of_steps(repository):
    names = [f"{number:040x}" for number in range(MAX_STEPS + 20)]
    store(repository, *(rewrite_changes(old, new) for old, new in pairwise(names)))
    assert len(CommitRecords(repository).list_earlier(names[-1])) == MAX_STEPS


def write_tree(repository, files):
    with exclusive_write(repository):
        transaction = RefTransaction(repository)
        transaction.move_ref(COMMITS, repository.find_ref(COMMITS), write_metadata(repository, None, files, "foreign"))
        transaction.commit("test", "foreign records")


def test_what_is_damaged_or_in_a_wrong_place_is_left_out_with_a_note(repository):
    (content,) = [data for path, data in record_changes(record(B)).items() if path.startswith("commits/")]
    write_tree(repository, {
        f"commits/aa/{A}/1=": b"no json", f"commits/aa/{A}/2=": b"{}\n", f"commits/aa/{A}/3=": content,
        f"commits/aa/{A}/4/5=": content, f"rewritten/aa/{A}/%%%=": b"", f"rewritten/aa/{A}/short=": b"",
        "sessions/%zz/x=": b"", "sessions/k/%zz=": b"", "identities/55/" + SAME: b"a file",
    })  # fmt: skip
    records = CommitRecords(repository)
    assert records.find(A) == records.list_earlier(A) == records.list_same(SAME) == records.commits_of("k") == []
    assert records.session_keys() == ["k"]
    assert "records of commits cannot be read" in records.notes[0].text


def test_verify_names_records_that_are_damaged_or_in_a_wrong_place(repository):
    (content,) = [data for path, data in record_changes(record(B)).items() if path.startswith("commits/")]
    write_tree(
        repository, {f"commits/aa/{A}/1=": b"no json", f"commits/bb/{B}/2=": content, f"commits/aa/{A}/3=": content}
    )
    found = verify(repository, (walk_commit_record_defects,)).findings
    assert [(each.severity, each.where) for each in found] == [
        ("error", f"{COMMITS}:commits/aa/{A}/1="),
        ("error", f"{COMMITS}:commits/aa/{A}/3="),
    ]


def test_verify_finds_nothing_in_what_was_recorded(repository):
    assert verify(repository, (walk_commit_record_defects,)).findings == ()
    store(repository, record_changes(record(identity=SAME)), rewrite_changes(A, B))
    assert verify(repository, (walk_commit_record_defects,)).findings == ()


def test_undo_takes_back_one_record_and_leaves_those_that_came_since(repository):
    first = store(repository, record_changes(record(A)))
    store(repository, record_changes(record(B, "t")))
    undo(repository, first)
    records = CommitRecords(repository)
    assert (records.find(A), len(records.find(B))) == ([], 1)


def test_undo_says_which_commit_has_changed_since(repository):
    first = store(repository, record_changes(record(A)))
    store(repository, record_changes(record(A, subject="later")))
    with pytest.raises(Refused, match="was changed again since"):
        undo(repository, first)


def test_an_operation_names_its_commits():
    assert summary_of([A]) == "record commit aaaaaaaa"
    assert summary_of([A, B, A]) == "record commits aaaaaaaa, bbbbbbbb"
    assert summary_of([f"{number:040x}" for number in range(5)]).endswith("00000000, ...")


def test_verify_names_the_ref_if_its_commit_cannot_be_read(repository):
    store(repository, record_changes(record(identity=SAME)))
    remove_object(repository, repository.find_ref(COMMITS))
    (found,) = walk_commit_record_defects(repository)
    assert (found.severity, found.where) == ("error", COMMITS)
