"""A symbolic ref and the branch that it names are read together: as they are at one moment, and in one look."""

from __future__ import annotations

import pytest

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.history.messages import plain_message
from scopes.model.operation import RefChange
from scopes.store import refs
from scopes.store.repository import Repository
from scopes.store.transactions import set_ref, write_operation
from tests.support.store import HEADS, MAIN, move, open_store, operation, write_bytes, write_chain

ACTIVE = refs.ACTIVE + "conv-001"
NEW = HEADS + "new"


@pytest.fixture
def commits(repository):
    """Two commits; main is at the first one, and active."""
    one, two = write_chain(repository, "one", "two")
    move(repository, (MAIN, None, one), (ACTIVE, None, f"ref: {MAIN}"))
    return one, two


def test_the_value_and_the_branch_are_found(repository, commits):
    assert repository.find_symbolic(ACTIVE) == (f"ref: {MAIN}", commits[0])


def test_a_missing_symbolic_ref_names_nothing(repository, commits):
    assert repository.find_symbolic(refs.ACTIVE + "conv-002") == (None, None)


def test_a_deleted_branch_is_not_found(repository, commits):
    move(repository, (ACTIVE, f"ref: {MAIN}", f"ref: {NEW}"))
    assert repository.find_symbolic(ACTIVE) == (f"ref: {NEW}", None)


@pytest.mark.parametrize("target", [refs.OPERATIONS, "refs/heads/../config", "config", "refs/heads/"])
def test_only_branches_are_followed(repository, commits, target):
    write_bytes(f"{repository.path}/{ACTIVE}", f"ref: {target}\n".encode())
    assert open_store(repository).find_symbolic(ACTIVE)[1] is None


def test_a_pending_operation_is_visible_completely(repository, commits):
    _, two = commits
    what = operation(RefChange(NEW, None, two), RefChange(ACTIVE, f"ref: {MAIN}", f"ref: {NEW}"))
    marker = write_operation(repository, what, repository.raw_ref(refs.OPERATIONS))
    set_ref(repository, RefChange(refs.PENDING, None, marker), "test")
    for reader in (repository, open_store(repository)):
        assert reader.find_symbolic(ACTIVE) == (f"ref: {NEW}", two)
        assert reader.raw_ref(ACTIVE) == f"ref: {MAIN}"


def test_an_earlier_state_is_shown(repository, commits):
    _, two = commits
    repository.override_refs({ACTIVE: f"ref: {NEW}", NEW: two})
    assert repository.find_symbolic(ACTIVE) == (f"ref: {NEW}", two)


def test_an_append_goes_to_the_branch_that_a_pending_operation_made_active(repository):
    new(repository)
    start = append(repository, "conv-001", plain_message("carol", "first")).oid
    main, other = "refs/heads/conv-001/main", "refs/heads/conv-001/other"
    what = operation(RefChange(other, None, start), RefChange(ACTIVE, f"ref: {main}", f"ref: {other}"))
    marker = write_operation(repository, what, repository.raw_ref(refs.OPERATIONS))
    set_ref(repository, RefChange(refs.PENDING, None, marker), "test")
    assert append(open_store(repository), "conv-001", plain_message("carol", "second")).branch == "other"
    assert repository.raw_ref(main) == start


def test_an_append_finds_the_active_branch_if_it_is_renamed_between_two_reads(repository, monkeypatch):
    new(repository)
    main, renamed, original = "refs/heads/conv-001/main", "refs/heads/conv-001/renamed", Repository.raw_ref
    tip = repository.raw_ref(main)
    renames = [[(renamed, None, tip), (main, tip, None), (ACTIVE, f"ref: {main}", f"ref: {renamed}")]]

    def read_and_rename(self, name):
        value = original(self, name)
        if name == ACTIVE and renames:
            move(open_store(self), *renames.pop())
        return value

    monkeypatch.setattr(Repository, "raw_ref", read_and_rename)
    assert append(repository, "conv-001", plain_message("carol", "second")).branch == "renamed"
