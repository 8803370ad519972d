"""`rewind`: move a branch back to an earlier message."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import rewind, switch, tag
from scopes.conversation.log import log
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import list_operations, undo
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.history.names import list_branch_tips
from tests.support.history import history, say, texts
from tests.support.store import git, refs


def test_rewind_removes_the_last_message_by_default(repository):
    drawn = history(repository, "main: a b c")
    result = rewind(repository, "conv")
    assert (result.branch, result.messages, result.message) == ("main", 1, drawn.ids["b"])
    assert (result.old, result.new) == (drawn.oids["c"], drawn.oids["b"])
    assert texts(repository, "conv-001") == ["a", "b"]


@pytest.mark.parametrize(("count", "left"), [(1, "ab"), (2, "a"), (3, "")])
def test_rewind_removes_the_given_number_of_messages(repository, count, left):
    history(repository, "main: a b c")
    assert rewind(repository, "conv-001", count=count).messages == count
    assert "".join(texts(repository, "conv-001")) == left


@pytest.mark.parametrize("to", ["main~2", "conv-001~2", "conv-001/main~2", "conv/main~2", "v1", "id", "oid", "fix~1"])
def test_a_branch_is_rewound_to_any_message_of_its_history(repository, to):
    drawn = history(repository, "main: a b c", "fix@a: d")
    tag(repository, "conv-001", "v1", "main~2")
    result = rewind(repository, "conv-001", to={"id": drawn.ids["a"][:6], "oid": drawn.oids["a"][:6]}.get(to, to))
    assert (result.messages, result.message) == (2, drawn.ids["a"])


def test_a_branch_is_rewound_to_the_root(repository):
    drawn = history(repository, "main: a b")
    for to in ("main~2", drawn.root[:12]):
        result = rewind(repository, "conv-001", to=to)
        assert (result.messages, result.message, result.new) == (2, None, drawn.root)
        assert texts(repository, "conv-001") == []
        undo(repository)
    rewind(repository, "conv-001", count=2)
    assert say(repository, "conv-001", "fresh").branch == "main"
    assert texts(repository, "conv-001") == ["fresh"]


@pytest.mark.parametrize("options", [{"count": 3}, {"to": "main~3"}, {"count": 10**12}])
def test_rewinding_past_the_root_is_refused(repository, options):
    history(repository, "main: a b")
    before = refs(repository)
    with pytest.raises(NotFound, match="not that many messages") as refusal:
        rewind(repository, "conv-001", **options)
    assert refusal.value.hint == "see: scopes log conv-001"
    assert refs(repository) == before


def test_rewinding_an_empty_conversation_is_refused(repository):
    new(repository)
    with pytest.raises(NotFound, match="not that many messages"):
        rewind(repository, "conv-001")


def test_rewinding_to_a_message_that_is_not_an_ancestor_is_refused(repository):
    drawn = history(repository, "main: a b c", "fix@a: d")
    rewind(repository, "conv-001/main")
    before = refs(repository)
    for target in ("fix", drawn.ids["d"], drawn.oids["d"][:9]):
        with pytest.raises(Refused, match="not in the history of conv-001/main") as refusal:
            rewind(repository, "conv-001", to=target)
        assert refusal.value.hint == "see: scopes log conv-001/main"
    with pytest.raises(Refused, match="not in the history of conv-001/fix"):
        rewind(repository, "conv-001/fix", to="main")
    assert refs(repository) == before


def test_rewinding_to_a_message_of_another_conversation_is_refused(repository):
    history(repository, "main: a")
    other = history(repository, "main: b")
    with pytest.raises(NotFound):
        rewind(repository, "conv-001", to=other.ids["b"])
    with pytest.raises(NotFound):
        rewind(repository, "conv-001", to="conv-002/main")


def test_rewinding_to_the_tip_is_not_an_operation(repository):
    history(repository, "main: a")
    result = rewind(repository, "conv-001", to="main")
    assert (result.messages, result.operation, result.old) == (0, None, result.new)
    assert len(list_operations(repository).operations) == 1


@pytest.mark.parametrize(
    ("where", "branch"), [("conv-001/fix", None), ("conv-001", "fix"), ("conv/f", None), ("conv", "fi")]
)
def test_the_branch_is_given_by_path_or_option(repository, where, branch):
    history(repository, "main: a", "fix: b c")
    assert rewind(repository, where, branch=branch).branch == "fix"
    assert texts(repository, "conv-001/main") == ["a"]


def test_the_active_branch_is_rewound_by_default(repository):
    history(repository, "main: a", "fix: b c")
    switch(repository, "conv-001", "fix")
    assert rewind(repository, "conv-001").branch == "fix"


@pytest.mark.parametrize(
    ("options", "refused", "words"),
    [
        ({"to": "main", "count": 1}, Invalid, "either a message or a number"),
        ({"count": 0}, Invalid, "cannot rewind 0"),
        ({"count": -2}, Invalid, "cannot rewind -2"),
        ({"to": ""}, Invalid, "the message is not named"),
        ({"branch": ""}, Invalid, "name is empty"),
        ({"branch": "fix"}, Ambiguous, "fix-1, fix-2"),
        ({"branch": "nope"}, NotFound, "there is no branch 'nope'"),
        ({"to": "nope"}, NotFound, "there is no"),
    ],
)
def test_contradictory_rewind_options_are_refused(repository, options, refused, words):
    history(repository, "main: a", "fix-1:", "fix-2:")
    before = refs(repository)
    with pytest.raises(refused, match=words) as refusal:
        rewind(repository, "conv-001", **options)
    assert refusal.value.hint
    assert refs(repository) == before


def test_rewound_messages_stay_in_the_store_and_undo_restores_them(repository):
    drawn = history(repository, "main: a b c")
    rewind(repository, "conv-001", count=2)
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "-q", "--prune=now")
    assert undo(repository).target.summary == "take back 2 of conv-001/main"
    assert list_branch_tips(repository, drawn.conversation)["main"] == drawn.oids["c"]


def test_other_branches_are_not_rewound(repository):
    history(repository, "main: a b c", "fix@b: d")
    rewind(repository, "conv-001", count=3)
    assert texts(repository, "conv-001/fix") == ["a", "b", "d"]


def test_rewinding_is_one_operation_of_one_ref(repository):
    drawn = history(repository, "main: a b")
    result = rewind(repository, "conv-001")
    last = list_operations(repository).operations[0]
    assert (last.id, last.kind, last.summary) == (result.operation, "rewind", "take back 1 of conv-001/main")
    [change] = last.changes
    assert (change.ref, change.old, change.new) == ("refs/heads/conv-001/main", drawn.oids["b"], drawn.oids["a"])


@pytest.fixture
def merged(repository):
    """Make a branch whose log is after, the merge, f2, f1, m1, base."""
    history(repository, "main: base m1", "fix@base: f1 f2")
    merge(repository, "conv-001", "fix", target="main")
    say(repository, "conv-001/main", "after")
    return repository


def shown(repository, count=None):
    return [entry.head.id for entry in log(repository, "conv-001/main", limit=count, bodies=False).items]


@pytest.mark.parametrize("count", [1, 4, 5, 6])
def test_what_a_log_of_n_messages_shows_is_what_is_taken_back(merged, count):
    """D13: -n 3 took back 4 across a merge."""
    before, last = shown(merged), shown(merged, count)
    planned = rewind(merged, "conv-001/main", count=count, dry_run=True)
    assert planned.removed == last
    assert shown(merged) == before
    assert rewind(merged, "conv-001/main", count=count).messages == count
    assert shown(merged) == before[count:]


@pytest.mark.parametrize("count", [2, 3])
def test_a_part_of_what_a_merge_brought_is_refused(merged, count):
    before = refs(merged)
    with pytest.raises(
        Refused, match=f"the last {count} messages of conv-001/main are only a part of what a merge"
    ) as r:
        rewind(merged, "conv-001/main", count=count)
    assert r.value.hint == (
        "take back the whole merge: scopes rewind conv-001/main -n 4; or only the messages after it: -n 1"
    )
    assert refs(merged) == before


def test_without_a_count_a_merge_is_taken_back_with_all_that_it_brought(merged):
    rewind(merged, "conv-001/main")
    assert rewind(merged, "conv-001/main").messages == 3
    assert texts(merged, "conv-001/main") == ["base", "m1"]


def test_a_dry_run_lists_the_messages_and_changes_nothing(repository):
    drawn = history(repository, "main: a b c")
    before, log_before = refs(repository), list_operations(repository)
    planned = rewind(repository, "conv-001", to="main~2", dry_run=True)
    assert planned.removed == [drawn.ids["c"], drawn.ids["b"]]
    assert (planned.messages, planned.message, planned.operation, planned.dry_run) == (2, drawn.ids["a"], None, True)
    assert (refs(repository), list_operations(repository)) == (before, log_before)
