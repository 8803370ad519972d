"""Every way in which a conflict ends is in `conflicts list --all` and `conflicts show`, whatever happens afterwards."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch, rewind
from scopes.conversation.conflicts import escalate_conflict, list_conflicts, resolve_conflict, show_conflict
from scopes.conversation.merge import MergeOptions, abort_merge, continue_merge, merge
from scopes.conversation.new_rename_delete import delete_branch, rename_branch, rename_conversation
from scopes.conversation.rebase import (
    ReplayConflicted,
    abort_rebase,
    continue_cherry_pick,
    continue_rebase,
    rebase,
    skip_cherry_pick,
    skip_rebase,
)
from scopes.conversation.undo import undo
from scopes.errors import Ambiguous, Conflicted, NotFound
from scopes.model.message import Author
from tests.support.decisions import decide
from tests.support.history import history, say
from tests.support.replays import replay
from tests.support.store import assert_sound, with_settings

ERIN = Author("erin", "human")
OURS, THEIRS = MergeOptions(strategy="ours"), MergeOptions(strategy="theirs")
SKIPS = {"rebase": skip_rebase, "cherry-pick": skip_cherry_pick}
CONTINUES = {"rebase": continue_rebase, "cherry-pick": continue_cherry_pick}


@pytest.fixture
def branches(repository):
    """Main, rel and dev decide pg, fix decides my."""
    history(repository, "main: a", "fix@a:", "rel@a:", "dev@a:")
    for name in ("main", "rel", "dev"):
        decide(repository, f"conv-001/{name}", "pg", author="alice")
    decide(repository, "conv-001/fix", "my", author="bob")


def listed(repository, conversation="conv-001", **options):
    options = options or {"include_all": True}
    return list_conflicts(repository, conversation, **options).conflicts


def endings(repository, conversation="conv-001"):
    """Return key, status and resolutions of each listed conflict."""
    return [
        (row.conflict.key, row.conflict.status, resolutions(row.conflict)) for row in listed(repository, conversation)
    ]


def resolutions(conflict):
    """Return strategy and choice of each resolution of a conflict, the first one first."""
    found = conflict.resolution
    return [] if found is None else [(found.strategy, found.choice)]


def conflicting(repository, *topics):
    """Decide each topic differently on main and fix; return the messages of fix."""
    history(repository, "main: a", "fix@a:")
    for topic in topics:
        decide(repository, "conv-001/main", "jwt", topic=topic, author="alice")
    return [decide(repository, "conv-001/fix", "sessions", topic=topic, author="bob").id for topic in topics]


@pytest.mark.parametrize(("options", "ending"), [(OURS, ("ours", "target")), (THEIRS, ("theirs", "source"))])
def test_a_conflict_that_a_strategy_answered_is_listed_and_shown(repository, branches, options, ending):
    """S4-57."""
    (conflict,) = merge(repository, "conv-001", "fix", target="main", options=options).conflicts
    (row,) = listed(repository)
    assert (row.branch, row.target) == ("main", "main")
    assert resolutions(row.conflict) == [ending]
    view = show_conflict(repository, "conv-001", conflict.id)
    assert view.row.conflict == row.conflict
    assert view.sides == ()
    assert sorted(view.texts.values()) == ["we use my", "we use pg"]
    assert listed(repository, status="open") == ()
    assert listed(repository, status="resolved") == (row,)


def test_a_key_that_two_ended_conflicts_have_stays_ambiguous(repository, branches):
    """Several resolutions of one conflict are one thing; two conflicts about one key are not."""
    merge(repository, "conv-001", "fix", target="main", options=OURS)
    for name, choice in (("main", "redis"), ("fix", "files")):
        decide(repository, f"conv-001/{name}", choice, author=name)
    merge(repository, "conv-001", "fix", target="main", options=OURS)
    one, other = (row.conflict.id for row in listed(repository))
    assert one != other
    with pytest.raises(Ambiguous, match="matches 2 conflicts") as error:
        show_conflict(repository, "conv-001", "decisions/auth")
    assert one in error.value.hint
    assert other in error.value.hint
    for name in (one, other):
        assert show_conflict(repository, "conv-001", name).row.conflict.id == name


@pytest.mark.parametrize("rule", ["first", "second", "skip"])
def test_a_conflict_that_a_rule_answered_in_a_merge_is_listed(repository, branches, rule):
    """S4-15."""
    merge(with_settings(repository, rule_decision_disagreement=rule), "conv-001", "fix", target="main")
    choice = {"first": "target", "second": "source", "skip": "base"}[rule]
    assert endings(repository) == [("decisions/auth", "resolved", [(f"rule {rule}", choice)])]


@pytest.mark.parametrize("after", ["delete source", "rename source", "rename target", "rename conversation", "later"])
def test_an_ending_outlives_what_happens_to_its_branches(repository, branches, after):
    """M15."""
    merge(repository, "conv-001", "fix", target="rel", options=OURS)
    conversation = "conv-001"
    if after == "delete source":
        delete_branch(repository, "conv-001", "fix", force=True)
    elif after == "rename conversation":
        rename_conversation(repository, "conv-001", "login")
        conversation = "login"
    elif after == "later":
        decide(repository, "conv-001/rel", "neo4j")
        decide(repository, "conv-001/fix", "neo4j")
        merge(repository, "conv-001", "fix", target="rel")
    else:
        rename_branch(repository, "conv-001", "fix" if after == "rename source" else "rel", "new")
    assert endings(repository, conversation) == [("decisions/auth", "resolved", [("ours", "target")])]


def test_an_undone_merge_has_not_ended_its_conflict(repository, branches):
    merge(repository, "conv-001", "fix", target="main", options=OURS)
    undo(repository)
    assert listed(repository) == ()
    merge(repository, "conv-001", "fix", target="main", options=THEIRS)
    assert endings(repository) == [("decisions/auth", "resolved", [("theirs", "source")])]


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
def test_every_skipped_conflict_of_a_replay_is_listed(repository, verb):
    """Only the last one was: the branch that held the others had gone on."""
    outcome = replay(repository, verb, conflicting(repository, "x", "y", "z"))
    while isinstance(outcome, ReplayConflicted):
        outcome = SKIPS[verb](repository, "conv-001")
    rows = listed(repository)
    assert sorted(row.conflict.key for row in rows) == ["decisions/x", "decisions/y", "decisions/z"]
    assert {(row.conflict.status, row.source and row.target) for row in rows} == {("aborted", "main")}
    for row in rows:
        view = show_conflict(repository, "conv-001", row.conflict.id)
        assert (view.sides, sorted(view.texts.values())) == ((), ["we use jwt", "we use sessions"])
    assert [row.number for row in rows] == [1, 2, 3]


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
def test_a_replay_that_was_skipped_and_continued_lists_both_kinds(repository, verb):
    messages = conflicting(repository, "x", "y", "z")
    replay(repository, verb, messages)
    second = SKIPS[verb](repository, "conv-001")
    resolve_conflict(repository, "conv-001", second.conflicts[0].id, take="source", author=ERIN)
    CONTINUES[verb](repository, "conv-001")
    SKIPS[verb](repository, "conv-001")
    found = {key: (status, ended) for key, status, ended in endings(repository)}
    assert found == {
        "decisions/x": ("aborted", []),
        "decisions/y": ("resolved", [("manual", "source")]),
        "decisions/z": ("aborted", []),
    }
    assert_sound(repository)


def test_a_skipped_conflict_is_listed_while_the_rebase_waits_at_the_next_one(repository):
    conflicting(repository, "x", "y")
    replay(repository, "rebase", [])
    skip_rebase(repository, "conv-001")
    assert [(key, status) for key, status, _ in endings(repository)] == [
        ("decisions/y", "open"), ("decisions/x", "aborted"),
    ]  # fmt: skip
    assert [row.conflict.key for row in listed(repository, include_all=False)] == ["decisions/y"]


def test_a_skipped_conflict_keeps_its_discussion_and_its_addressee(repository):
    """S4-56."""
    conflicting(repository, "x", "y")
    stopped = replay(repository, "rebase", [])
    escalate_conflict(repository, "conv-001", "1", to="lead", author=ERIN)
    skip_rebase(repository, "conv-001")
    skip_rebase(repository, "conv-001")
    view = show_conflict(repository, "conv-001", stopped.conflicts[0].id)
    assert (view.row.conflict.status, view.escalated_to) == ("aborted", "lead")


def test_undo_of_a_skip_opens_its_conflict_again(repository):
    conflicting(repository, "x", "y")
    stopped = replay(repository, "rebase", [])
    skip_rebase(repository, "conv-001")
    undo(repository)
    assert [(key, status) for key, status, _ in endings(repository)] == [("decisions/x", "open")]
    resolve_conflict(repository, "conv-001", stopped.conflicts[0].id, take="target", author=ERIN)
    again = continue_rebase(repository, "conv-001")
    resolve_conflict(repository, "conv-001", again.conflicts[0].id, take="target", author=ERIN)
    continue_rebase(repository, "conv-001")
    assert {status for _, status, _ in endings(repository)} == {"resolved"}


def test_skipped_conflicts_outlive_the_branch_that_held_them(repository):
    """M15: they were in no list any more."""
    conflicting(repository, "x", "y")
    stopped = replay(repository, "rebase", [])
    skip_rebase(repository, "conv-001")
    skip_rebase(repository, "conv-001")
    delete_branch(repository, "conv-001", stopped.branch, force=True)
    assert [(key, status) for key, status, _ in endings(repository)] == [
        ("decisions/y", "aborted"), ("decisions/x", "aborted"),
    ]  # fmt: skip


def test_a_deleted_resolution_branch_ends_its_conflicts_as_an_abort_does(repository, branches):
    stopped = merge(repository, "conv-001", "fix", target="main")
    branch(repository, "conv-001", name="elsewhere", start="fix")
    delete_branch(repository, "conv-001", stopped.branch, force=True)
    assert endings(repository) == [("decisions/auth", "aborted", [])]
    undo(repository)
    assert endings(repository) == [("decisions/auth", "open", [])]


def test_an_aborted_rebase_after_a_skip_lists_what_was_skipped_and_what_was_aborted(repository):
    conflicting(repository, "x", "y")
    replay(repository, "rebase", [])
    skip_rebase(repository, "conv-001")
    abort_rebase(repository, "conv-001")
    assert sorted((key, status) for key, status, _ in endings(repository)) == [
        ("decisions/x", "aborted"), ("decisions/y", "aborted"),
    ]  # fmt: skip


def test_a_new_conversation_does_not_inherit_the_endings_of_a_renamed_one(repository):
    conflicting(repository, "x")
    rebase(repository, "conv-001", branch="fix", onto="main")
    abort_rebase(repository, "conv-001")
    rename_conversation(repository, "conv-001", "login")
    history(repository, "main: b", conversation="conv-001")
    assert listed(repository) == ()


def test_a_conflict_that_was_aborted_and_then_answered_by_a_rebase_is_resolved(repository):
    conflicting(repository, "x")
    merge(repository, "conv-001", "fix", target="main")
    abort_merge(repository, "conv-001")
    rebase(with_settings(repository, rule_decision_disagreement="second"), "conv-001", branch="fix", onto="main")
    assert ("decisions/x", "resolved", [("rule second", "source")]) in endings(repository)


def test_a_debate_and_an_escalation_are_open_and_end_as_resolved(repository, branches):
    """S4-56."""
    stopped = merge(repository, "conv-001", "fix", target="main")
    say(repository, f"conv-001/{stopped.branch}", "I would take my", author="bob")
    assert [row.conflict.status for row in listed(repository)] == ["debate"]
    escalate_conflict(repository, "conv-001", "1", to="lead", author=ERIN)
    assert [row.conflict.status for row in listed(repository, status="escalated")] == ["escalated"]
    with pytest.raises(Conflicted, match="has 1 open conflict"):
        continue_merge(repository, "conv-001")
    resolve_conflict(repository, "conv-001", "1", take="source", author=ERIN)
    continue_merge(repository, "conv-001")
    view = show_conflict(repository, "conv-001", stopped.conflicts[0].id)
    assert (view.row.conflict.status, view.escalated_to) == ("resolved", "lead")
    assert resolutions(view.row.conflict) == [("manual", "source")]


@pytest.mark.parametrize("options", [{"take": "source"}, {"take": "target"}, {"value": "files"}])
def test_a_resolution_by_hand_is_listed_with_actor_reason_and_what_it_rejected(repository, branches, options):
    """S4-57."""
    merge(repository, "conv-001", "fix", target="main")
    resolve_conflict(repository, "conv-001", "1", reason="measured", author=ERIN, **options)
    continue_merge(repository, "conv-001")
    (row,) = listed(repository)
    found = row.conflict.resolution
    assert (found.strategy, found.actor, found.reason) == ("manual", "erin", "measured")
    expected = {"source": ("pg",), "target": ("my",)}.get(options.get("take"), ("pg", "my"))
    assert (found.rejected, found.value) == (expected, options.get("value"))


def test_rewinding_behind_a_resolution_opens_the_conflict_again(repository, branches):
    stopped = merge(repository, "conv-001", "fix", target="main")
    resolve_conflict(repository, "conv-001", "1", take="source", author=ERIN)
    rewind(repository, "conv-001", branch=stopped.branch, count=1)
    assert endings(repository) == [("decisions/auth", "open", [])]


def test_conflicts_of_all_conversations_are_listed_with_their_endings(repository, branches):
    merge(repository, "conv-001", "fix", target="main", options=OURS)
    history(repository, "main: q", "fix@q:", conversation="conv-002")
    decide(repository, "conv-002/main", "pg")
    decide(repository, "conv-002/fix", "my")
    merge(repository, "conv-002", "fix", target="main")
    abort_merge(repository, "conv-002")
    rows = list_conflicts(repository, include_all=True).conflicts
    assert sorted((row.conversation, row.conflict.status) for row in rows) == [
        ("conv-001", "resolved"), ("conv-002", "aborted"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["9", "ffffffffffff", "decisions/nothing", ""])
def test_a_conflict_that_never_was_is_not_found(repository, branches, name):
    merge(repository, "conv-001", "fix", target="main", options=OURS)
    with pytest.raises(NotFound, match="there is no conflict"):
        show_conflict(repository, "conv-001", name)


def test_a_question_that_two_merges_answered_differently_is_listed_once(repository, branches):
    merge(repository, "conv-001", "fix", target="main", options=OURS)
    merge(repository, "conv-001", "fix", target="rel", options=THEIRS)
    (row,) = listed(repository)
    assert resolutions(row.conflict)[0] in {("ours", "target"), ("theirs", "source")}
