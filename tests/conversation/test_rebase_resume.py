"""`rebase --continue`, `--skip` and `--abort`, in another process."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import rewind
from scopes.conversation.conflicts import list_conflicts, resolve_conflict, show_conflict
from scopes.conversation.merge import merge
from scopes.conversation.rebase import ReplayConflicted, Replayed, abort_rebase, continue_rebase, rebase, skip_rebase
from scopes.conversation.show import show
from scopes.conversation.undo import undo
from scopes.errors import Ambiguous, Conflicted, NotFound, Refused
from scopes.history.names import list_branch_tips, read_active_branch
from scopes.merge.in_progress import list_in_progress
from scopes.merge.plan import open_conflicts_at
from scopes.model.message import Author
from tests.support.decisions import decide, decided
from tests.support.history import history, say, texts
from tests.support.store import assert_sound, refs


@pytest.fixture
def stopped(repository):
    """Stop a rebase: main decided jwt; fix has b, a decision for sessions, and c."""
    history(repository, "main: a", "fix@a: b")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions", author="dave")
    say(repository, "conv-001/fix", "c")
    return rebase(repository, "conv-001", branch="fix", onto="main")


def resolve(repository, take="source"):
    """Let erin decide the first conflict."""
    return resolve_conflict(repository, "conv-001", "1", take=take, reason="simpler", author=Author("erin", "human"))


@pytest.mark.parametrize(("take", "expected"), [("source", "sessions"), ("target", "jwt")])
def test_continue_replays_the_rest_after_a_resolution(repository, stopped, take, expected):
    done = resolve(repository, take)
    finished = continue_rebase(repository, "conv-001")
    assert isinstance(finished, Replayed)
    all_texts = ["a", "we use jwt", "b", "we use sessions", f"Resolved decisions/auth: took {take} (simpler)", "c"]
    assert texts(repository, "conv-001/fix") == all_texts
    assert decided(repository, "conv-001/fix") == [expected]
    assert (done.kind, done.remaining, len(finished.messages)) == ("rebase", 0, 3)
    assert_sound(repository)


def test_continue_is_refused_while_a_conflict_is_open(repository, stopped):
    before = repository.list_refs()
    with pytest.raises(Conflicted, match="conv-001/conflict-resolution/fix-onto-main has 1 open conflict"):
        continue_rebase(repository, "conv-001")
    assert repository.list_refs() == before


def test_finishing_a_rebase_is_one_operation_that_undo_reverts(repository, stopped):
    resolve(repository)
    before = refs(repository)
    continue_rebase(repository, "conv-001")
    assert list_in_progress(repository, "conv-001") == []
    assert read_active_branch(repository, "conv-001") == "main"
    undo(repository)
    assert refs(repository) == before


def test_after_a_rebase_show_counts_the_branch_from_its_new_base(repository, stopped):
    resolve(repository)
    continue_rebase(repository, "conv-001")
    rows = {row.name: row for row in show(repository, "conv-001", include_hidden=True).branches}
    assert (rows["fix"].messages, rows["fix"].status) == (4, "active")
    assert rows["conflict-resolution/fix-onto-main"].status == "merged"


def test_skip_leaves_the_message_out_and_replays_the_rest(repository, stopped):
    finished = skip_rebase(repository, "conv-001")
    assert isinstance(finished, Replayed)
    assert texts(repository, "conv-001/fix") == ["a", "we use jwt", "b", "c"]
    assert (decided(repository, "conv-001/fix"), len(finished.messages)) == (["jwt"], 2)
    assert not open_conflicts_at(repository, finished.tip)


def test_the_discussion_of_a_skipped_message_is_kept_on_its_branch(repository, stopped):
    say(repository, f"conv-001/{stopped.branch}", "we need neither")
    skip_rebase(repository, "conv-001")
    row = next(row for row in show(repository, "conv-001", include_hidden=True).branches if row.name == stopped.branch)
    assert row.status == "abandoned"
    assert texts(repository, f"conv-001/{stopped.branch}")[-1] == "we need neither"


def test_abort_restores_the_state_before_the_rebase(repository):
    """P8."""
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions")
    before, view = list_branch_tips(repository, "conv-001"), show(repository, "conv-001")
    waiting = rebase(repository, "conv-001", branch="fix", onto="main")
    done = abort_rebase(repository, "conv-001")
    assert (done.moved_branch, done.branch, done.active_branch) == ("fix", waiting.branch, "main")
    assert (list_branch_tips(repository, "conv-001"), show(repository, "conv-001")) == (before, view)
    undo(repository)
    assert list_in_progress(repository, "conv-001")[0].branch == waiting.branch


def test_the_conflict_is_listed_and_shown_like_that_of_a_merge(repository, stopped):
    (row,) = list_conflicts(repository, "conv-001").conflicts
    assert (row.source, row.target, row.branch, row.number) == ("fix", "main", stopped.branch, 1)
    say(repository, f"conv-001/{stopped.branch}", "I think so")
    view = show_conflict(repository, "conv-001", row.conflict.id)
    assert ([head.subject for head in view.talk], view.row.conflict.status) == (["I think so"], "debate")


def test_a_second_conflict_stops_on_the_same_branch(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/main", "postgres", topic="database")
    decide(repository, "conv-001/fix", "sessions")
    decide(repository, "conv-001/fix", "sqlite", topic="database")
    first = rebase(repository, "conv-001", branch="fix", onto="main")
    resolve(repository)
    second = continue_rebase(repository, "conv-001")
    assert isinstance(second, ReplayConflicted)
    assert (second.branch, second.remaining, len(second.messages)) == (first.branch, 0, 1)
    assert [row.conflict.key for row in list_conflicts(repository, "conv-001").conflicts] == ["decisions/database"]
    assert [(c.key, c.status) for c in second.conflicts] == [("decisions/database", "open")]
    resolve(repository)
    continue_rebase(repository, "conv-001")
    assert decided(repository, "conv-001/fix") == ["sessions", "sqlite"]


def test_a_later_message_that_conflicts_with_the_resolution_stops_again(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions")
    decide(repository, "conv-001/fix", "tokens")
    rebase(repository, "conv-001", branch="fix", onto="main")
    resolve_conflict(repository, "conv-001", "1", value="both", reason="why not", author=Author("erin", "human"))
    (conflict,) = continue_rebase(repository, "conv-001").conflicts
    assert [(p.value, p.agent) for p in (*conflict.target, *conflict.source)] == [("both", "erin"), ("tokens", "carol")]


def test_messages_appended_meanwhile_are_replayed_too(repository, stopped):
    late = say(repository, "conv-001/fix", "meanwhile")
    resolve(repository)
    finished = continue_rebase(repository, "conv-001")
    assert texts(repository, "conv-001/fix")[-2:] == ["c", "meanwhile"]
    assert finished.messages[-1] == late.id
    undo(repository)
    assert list_branch_tips(repository, "conv-001")["fix"] == late.oid


def test_messages_appended_between_two_stops_are_replayed_once(repository):
    history(repository, "main: a", "fix@a:")
    for topic, choice, other in (("auth", "jwt", "sessions"), ("database", "postgres", "sqlite")):
        decide(repository, "conv-001/main", choice, topic=topic)
        decide(repository, "conv-001/fix", other, topic=topic)
    rebase(repository, "conv-001", branch="fix", onto="main")
    say(repository, "conv-001/fix", "first")
    skip_rebase(repository, "conv-001")
    say(repository, "conv-001/fix", "second")
    skip_rebase(repository, "conv-001")
    assert texts(repository, "conv-001/fix")[-2:] == ["first", "second"]
    assert texts(repository, "conv-001/fix").count("first") == 1


def test_continue_is_refused_if_the_branch_was_rewound(repository, stopped):
    rewind(repository, "conv-001/fix")
    resolve(repository)
    with pytest.raises(Refused, match="conv-001/fix was moved since the rebase began"):
        continue_rebase(repository, "conv-001")
    undo(repository, None)


@pytest.mark.parametrize("begin", [
    lambda repository: rebase(repository, "conv-001", branch="fix", onto="main~1"),
    lambda repository: rebase(repository, "conv-001", branch="fix", onto="main", dry_run=True),
])  # fmt: skip
def test_two_rebases_of_one_branch_cannot_overlap(repository, stopped, begin):
    with pytest.raises(Refused, match="a rebase of conv-001/fix is in progress on conflict-resolution/fix-onto-main"):
        begin(repository)


def test_the_target_of_a_merge_in_progress_is_not_rebased(repository):
    history(repository, "main: a b", "fix@a:", "idea@a:")
    decide(repository, "conv-001/fix", "jwt")
    decide(repository, "conv-001/idea", "sessions")
    merge(repository, "conv-001", "idea", target="fix")
    with pytest.raises(Refused, match="a merge of conv-001/fix is in progress"):
        rebase(repository, "conv-001", branch="fix", onto="main")


def test_continue_needs_a_rebase_in_progress(repository):
    history(repository, "main: a", "fix@a: b")
    for resume in (continue_rebase, skip_rebase, abort_rebase):
        with pytest.raises(NotFound, match="no rebase is in progress in conv-001/fix"):
            resume(repository, "conv-001", "fix")


def test_several_stopped_rebases_are_named_by_their_branch(repository, stopped):
    history(repository, "main: z")
    tips = list_branch_tips(repository, "conv-001")
    assert sorted(tips) == ["conflict-resolution/fix-onto-main", "fix", "main"]
    decide(repository, "conv-001/main", "kerberos", topic="login")
    from_a = rebase(repository, "conv-001", branch="main", onto="fix")
    assert isinstance(from_a, ReplayConflicted)
    with pytest.raises(Ambiguous, match="several"):
        abort_rebase(repository, "conv-001")
    assert abort_rebase(repository, "conv-001", "fix").moved_branch == "fix"
    assert abort_rebase(repository, "conv-001").moved_branch == "main"


def test_continue_names_a_deleted_branch_and_the_way_to_restore_it(repository, stopped):
    resolve(repository)
    repository.git.references.delete("refs/heads/conv-001/fix")
    with pytest.raises(NotFound, match="conv-001/fix was deleted") as caught:
        continue_rebase(repository, "conv-001")
    assert "--abort" in caught.value.hint


def test_continue_is_refused_if_the_resolution_branch_was_rewound(repository, stopped):
    rewind(repository, f"conv-001/{stopped.branch}")
    with pytest.raises(Refused, match="no longer contains the commit that it stopped at"):
        continue_rebase(repository, "conv-001")
    assert isinstance(skip_rebase(repository, "conv-001"), Replayed)
