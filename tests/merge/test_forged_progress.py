"""A merge, rebase or cherry-pick in progress as another machine recorded it: any value is read or refused.

The record is in the metadata of the conversation, so a store received from someone else can hold any document there.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from scopes.conversation.branch import branch, switch
from scopes.conversation.conflicts import list_conflicts, resolve_conflict
from scopes.conversation.log import log
from scopes.conversation.merge import abort_merge, continue_merge, merge
from scopes.conversation.new_rename_delete import delete_branch
from scopes.conversation.rebase import (
    abort_cherry_pick,
    abort_rebase,
    continue_cherry_pick,
    continue_rebase,
    skip_cherry_pick,
    skip_rebase,
)
from scopes.conversation.show import show
from scopes.conversation.verify import verify
from scopes.errors import NotFound, ScopesError
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips, read_active_branch
from scopes.history.transaction import Transaction
from scopes.merge.in_progress import list_in_progress
from scopes.model.message import Author
from scopes.store.transactions import exclusive_write
from tests.merge.test_recorded_conflicts import fork
from tests.support.replays import replay
from tests.support.store import assert_sound, git

ERIN = Author("erin", "human")
KEY = "waiting"
ENDINGS = {
    "merge": (continue_merge, abort_merge),
    "rebase": (continue_rebase, skip_rebase, abort_rebase),
    "cherry-pick": (continue_cherry_pick, skip_cherry_pick, abort_cherry_pick),
}
COMMON = "kind", "target", "target_tip", "source", "source_tip", "before", "stopped"
OF_A_REPLAY = "branch", "original", "onto", "moved", "todo", "parent"
VALUES = (
    None, True, 7, 1e308, "", " ", "x" * 5000, "../../HEAD", "-", "--force", "main/../x", "a\nb\x1b[2J", "\ud800",
    "0" * 40, "f" * 40, "zz", "main", "fix", "rebase", "merge", [], {}, ["x"], [None], [[]], [["a", "b"]],
    [["a", 1, None]], [["a", "0" * 40, "zz"]], ["0" * 40], {"a": {"b": []}},
)  # fmt: skip
CASES = [
    *itertools.product(["merge"], COMMON, VALUES),
    *itertools.product(["rebase", "cherry-pick"], COMMON + OF_A_REPLAY, VALUES),
]


def stop(repository, verb):
    """Fork a conversation and stop on the conflict of its two branches."""
    fork(repository)
    if verb == "merge":
        merge(repository, "conv-001", "fix", target="main")
    else:
        replay(repository, verb)
    (found,) = list_in_progress(repository, "conv-001")
    return found


def receive(repository, found, document):
    """Write the record of what is in progress, as a fetched store has it."""
    entry = read_metadata(repository, "conv-001").branches[found.branch]
    with exclusive_write(repository):
        tx = Transaction(repository, found.conversation)
        tx.set_branch_entry(found.branch, replace(entry, extra={**entry.extra, KEY: document}))
        tx.commit("fetch", "received")


def record_of(repository, found):
    return read_metadata(repository, "conv-001").branches[found.branch].extra[KEY]


def attempt(act, *arguments, **options):
    """Run a command; return its result, or the error that it reported. Anything else is a crash."""
    try:
        return act(*arguments, **options)
    except ScopesError as error:
        return error


@pytest.mark.parametrize(("verb", "field", "value"), CASES)
@pytest.mark.cases(12)
def test_any_value_in_any_field_is_read_or_refused(repository, verb, field, value):
    found = stop(repository, verb)
    receive(repository, found, {**record_of(repository, found), field: value})
    before = list_branch_tips(repository, "conv-001")
    for read in (list_in_progress, list_conflicts, show, log, read_active_branch):
        attempt(read, repository, "conv-001")
    attempt(resolve_conflict, repository, "conv-001", "1", take="source", author=ERIN)
    for end in itertools.chain(*ENDINGS.values()):
        attempt(end, repository, "conv-001")
    tips = list_branch_tips(repository, "conv-001")
    assert read_active_branch(repository, "conv-001") in tips
    assert {"main", "fix"} <= set(tips)
    for name in ("main", "fix"):
        is_kept = verb != "merge" or tips[name] == before[name] or is_reachable(repository, before[name], tips[name])
        assert is_kept, f"{name} lost messages"
    verify(repository)
    assert_sound(repository)


def is_reachable(repository, old, new):
    return git(repository, "merge-base", old, new).strip() == old


@pytest.mark.parametrize("document", [None, [], "x", 7, {}, {"kind": "merge"}, {"kind": {}}, {"target": "main"}])
@pytest.mark.parametrize("verb", ENDINGS)
def test_a_record_that_is_no_record_means_that_nothing_is_in_progress(repository, verb, document):
    receive(repository, stop(repository, verb), document)
    assert list_in_progress(repository, "conv-001") == []
    for end in ENDINGS[verb]:
        assert isinstance(attempt(end, repository, "conv-001"), ScopesError)
    assert_sound(repository)


@pytest.mark.parametrize("gone", ["before and target", "before"])
def test_an_abort_never_activates_the_branch_that_it_deletes(repository, gone):
    """The branch before was the target, and somebody deleted it."""
    fork(repository)
    branch(repository, "conv-001", name="copy", start="main")
    switch(repository, "conv-001", "copy" if gone == "before and target" else "main")
    merge(repository, "conv-001", "fix", target="copy")
    delete_branch(repository, "conv-001", "copy")
    done = abort_merge(repository, "conv-001")
    assert done.active_branch == "main"
    assert read_active_branch(repository, "conv-001") == "main"
    assert git(repository, "symbolic-ref", "refs/scopes/active/conv-001").strip() == "refs/heads/conv-001/main"
    assert_sound(repository)


def test_a_record_that_names_its_own_branch_as_the_one_before_does_not_activate_it(repository):
    found = stop(repository, "merge")
    receive(repository, found, {**record_of(repository, found), "before": found.branch})
    assert abort_merge(repository, "conv-001").active_branch == "main"
    assert_sound(repository)


@pytest.mark.parametrize("field", ["target_tip", "source_tip", "stopped"])
@pytest.mark.parametrize("oid", ["0" * 40, "f" * 40])
def test_a_merge_whose_commits_are_not_in_the_store_can_be_aborted(repository, field, oid):
    """A store must not stay in a state that no command ends."""
    found = stop(repository, "merge")
    receive(repository, found, {**record_of(repository, found), field: oid})
    refused = attempt(continue_merge, repository, "conv-001")
    assert isinstance(refused, ScopesError)
    abort_merge(repository, "conv-001")
    assert list_in_progress(repository, "conv-001") == []
    with pytest.raises(NotFound):
        abort_merge(repository, "conv-001")
    assert_sound(repository)
