"""Ids of branches: what a branch is on every machine, whatever it is called."""

from __future__ import annotations

import re

from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import delete_branch, new, rename_branch
from scopes.conversation.undo import redo, undo
from scopes.history.metadata import read_metadata
from scopes.ids import BranchName
from scopes.model.conversation import (
    BranchEntry,
    branch_id,
    decode_branch_entry,
    encode_branch_entry,
    random_branch_id,
)
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo

CONV = "conv-001"
RANDOM = re.compile(r"[0-9a-f]{12}")


def ids(repository):
    """Return the ids of the branches of the conversation, by name."""
    return {name: branch_id(name, entry) for name, entry in read_metadata(repository, CONV).branches.items()}


def import_fork(repository, tmp_path, words="a b x<a"):
    """Import a session with a fork; return the name of the fork's branch, if it has still the one it was given."""
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", words)))
    return next((name for name in ids(repository) if name.startswith("fork/")), None)


def test_main_has_the_id_of_its_name_and_other_branches_one_of_their_own(repository):
    new(repository)
    for name in ("fix", "try"):
        branch(repository, CONV, name=name)
    found = ids(repository)
    assert found.pop("main") == "name:main"
    assert len(set(found.values())) == 2
    assert all(map(RANDOM.fullmatch, found.values()))


def test_a_rename_keeps_the_id(repository):
    new(repository)
    branch(repository, CONV, name="fix")
    before = ids(repository)["fix"]
    rename_branch(repository, CONV, "fix", "better")
    assert ids(repository) == {"main": "name:main", "better": before}


def test_a_new_branch_with_the_name_of_a_renamed_one_is_another_branch(repository):
    new(repository)
    branch(repository, CONV, name="fix")
    rename_branch(repository, CONV, "fix", "better")
    branch(repository, CONV, name="fix")
    found = ids(repository)
    assert len(set(found.values())) == 3


def test_undo_and_redo_of_a_branch_give_it_the_same_id(repository):
    new(repository)
    branch(repository, CONV, name="fix")
    before = ids(repository)
    undo(repository)
    redo(repository)
    assert ids(repository) == before


def test_a_deleted_branch_that_is_restored_has_its_id_and_one_that_is_created_again_another(repository):
    new(repository)
    branch(repository, CONV, name="fix", switch=False)
    before = ids(repository)["fix"]
    delete_branch(repository, CONV, "fix")
    undo(repository)
    assert ids(repository)["fix"] == before
    delete_branch(repository, CONV, "fix")
    branch(repository, CONV, name="fix")
    assert ids(repository)["fix"] != before


def test_imported_branches_have_the_ids_of_their_names(repository, tmp_path):
    fork = import_fork(repository, tmp_path)
    assert ids(repository) == {"main": "name:main", fork: f"name:{fork}"}


def test_an_imported_branch_that_is_renamed_keeps_the_id_of_its_first_name(repository, tmp_path):
    fork = import_fork(repository, tmp_path)
    rename_branch(repository, CONV, fork, "mine")
    assert ids(repository)["mine"] == f"name:{fork}"
    rename_branch(repository, CONV, "mine", "yours")
    assert ids(repository)["yours"] == f"name:{fork}"


def test_an_import_that_finds_a_renamed_branch_still_follows_it(repository, tmp_path):
    fork = import_fork(repository, tmp_path)
    rename_branch(repository, CONV, fork, "mine")
    import_fork(repository, tmp_path, "a b x<a y<b z<x")
    assert ids(repository) == {"main": "name:main", "mine": f"name:{fork}"}


def test_a_name_that_git_does_not_accept_is_none():
    """It would become a ref, and may come from another machine."""
    for name in ("../x", "a b", "x.lock", "a~1", "", "-x", "x" * 201):
        odd = decode_branch_entry(encode_branch_entry(BranchEntry(name=BranchName(name))))
        assert (odd.name, odd.extra) == (None, {"name": name})


def test_an_entry_keeps_its_id_and_an_id_of_another_form_stays_unknown():
    entry = BranchEntry(id="0123456789ab", name=BranchName("fix"))
    assert decode_branch_entry(encode_branch_entry(entry)) == entry
    odd = decode_branch_entry(b'{"id":"../x","v":1}')
    assert (odd.id, odd.extra) == (None, {"id": "../x"})
    assert b'"id":"../x"' in encode_branch_entry(odd)


def test_an_entry_without_an_id_is_stored_as_before():
    assert encode_branch_entry(BranchEntry(created="2026-01-01T00:00:00Z")) == (
        b'{"created":"2026-01-01T00:00:00Z","status":"active","v":1}\n'
    )


def test_an_id_comes_from_the_operation_and_the_name():
    made = {random_branch_id(operation, name) for operation in ("a" * 26, "b" * 26) for name in ("fix", "try")}
    assert len(made) == 4
    assert all(map(RANDOM.fullmatch, made))
