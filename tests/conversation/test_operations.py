"""`operations`: the operation log, which records every ref change except appends."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.branch import rewind, tag
from scopes.conversation.new_rename_delete import delete, new
from scopes.conversation.undo import list_operations, show_operation, undo
from scopes.errors import Ambiguous, Invalid, NotFound, ScopesError
from tests.support.history import history, say
from tests.support.store import git, open_store


def test_operations_are_listed_newest_first(repository):
    history(repository, "main: a b", "fix:")
    tag(repository, "conv-001", "v1")
    undo(repository)
    kinds = [operation.kind for operation in list_operations(repository).operations]
    assert kinds == ["undo", "tag", "branch", "new"]


def test_an_append_is_not_an_operation(repository):
    history(repository, "main: a")
    before = list_operations(repository)
    say(repository, "conv-001", "b")
    assert list_operations(repository) == before


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (1, 1), (2, 2), (9, 3), (None, 3)])
def test_a_limit_lists_that_many_operations(repository, limit, count):
    for _ in range(3):
        new(repository)
    found = list_operations(repository, limit=limit).operations
    assert [o.summary for o in found] == ["create conv-003", "create conv-002", "create conv-001"][:count]


def test_a_negative_limit_of_operations_is_refused(repository):
    with pytest.raises(Invalid, match="invalid number of operations -3: must not be negative") as refusal:
        list_operations(repository, limit=-3)
    assert refusal.value.hint == "for example: -n 20"


def test_an_empty_store_has_no_operations(repository):
    assert list_operations(repository).operations == ()


def test_one_operation_is_shown_with_its_commit_and_every_ref(repository):
    drawn = history(repository, "main: a b")
    result = rewind(repository, "conv-001")
    seen = show_operation(repository, result.operation[:6])
    assert seen.operation.id == result.operation
    assert [(c.old, c.new) for c in seen.operation.changes] == [(drawn.oids["b"], drawn.oids["a"])]
    assert git(repository, "rev-parse", "refs/scopes/operations").strip() == seen.commit


def test_an_operation_can_be_named_by_its_place_or_a_time(repository):
    ids = [new(repository).operation for _ in range(3)]
    for name, expected in {"@": ids[2], "@-": ids[1], "@{2}": ids[0], "@{2100-01-01}": ids[2]}.items():
        assert show_operation(repository, name).operation.id == expected
    for unknown in ("@{3}", "@{1990-01-01}"):
        with pytest.raises(NotFound, match="there is no operation") as refusal:
            show_operation(repository, unknown)
        assert refusal.value.hint
    with pytest.raises(ScopesError):
        show_operation(repository, "@x")


def test_an_operation_can_be_read_with_git_and_json_tools(repository):
    """S0-9."""
    history(repository, "main: a b")
    result = rewind(repository, "conv-001")
    document = json.loads(git(repository, "show", "refs/scopes/operations:operation.json"))
    assert (document["id"], document["kind"], document["actor"]) == (result.operation, "rewind", "carol")
    assert (
        git(repository, "log", "-1", "--format=%s", "refs/scopes/operations")
        == "rewind: take back 1 of conv-001/main\n"
    )


def test_old_values_are_parents_so_that_gc_keeps_what_undo_needs(repository):
    """P7."""
    drawn = history(repository, "main: a b")
    rewind(repository, "conv-001")
    parents = git(repository, "log", "-1", "--format=%P", "refs/scopes/operations").split()
    assert {drawn.oids["a"], drawn.oids["b"]} <= set(parents)


def test_another_process_reads_the_same_operation_log(repository):
    history(repository, "main: a")
    delete(repository, "conv-001")
    assert list_operations(open_store(repository.path)) == list_operations(repository)


def test_an_unknown_or_ambiguous_operation_is_refused(repository, monkeypatch):
    monkeypatch.setattr("scopes.store.operations.MIN_PREFIX_LENGTH", 1)
    ids = [new(repository).operation]
    while len({identity[0] for identity in ids}) == len(ids):
        ids.append(new(repository).operation)
    with pytest.raises(Ambiguous, match="matches 2 operations") as refusal:
        show_operation(repository, ids[-1][0])
    assert refusal.value.hint == "type a few more letters"
    for unknown in ("", "zzzz", ids[0] + "a"):
        with pytest.raises(NotFound, match="there is no operation") as refusal:
            show_operation(repository, unknown)
        assert refusal.value.hint is not None
        assert refusal.value.hint.endswith("list them: scopes op -a")
