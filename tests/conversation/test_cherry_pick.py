"""`cherry-pick`: messages from anywhere in the store are appended to a branch and keep their ids."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import rewind
from scopes.conversation.conflicts import list_conflicts, resolve_conflict
from scopes.conversation.merge import Merged, merge
from scopes.conversation.rebase import (
    ReplayConflicted,
    Replayed,
    ReplayUpToDate,
    abort_cherry_pick,
    cherry_pick,
    continue_cherry_pick,
    rebase,
    skip_cherry_pick,
)
from scopes.conversation.show import show
from scopes.conversation.undo import show_operation, undo
from scopes.errors import Conflicted, NotFound, Refused
from scopes.history.names import list_branch_tips, read_active_branch
from scopes.merge import replay as replay_plan
from scopes.model.message import Author
from tests.support.decisions import decide, decided
from tests.support.history import history, say, texts
from tests.support.store import assert_sound, refs


def test_a_picked_message_keeps_its_id(repository):
    drawn = history(repository, "main: a b", "fix@a: c d")
    done = cherry_pick(repository, "conv-001", [drawn.ids["d"]], branch="main")
    assert isinstance(done, Replayed)
    assert texts(repository, "conv-001/main") == ["a", "b", "d"]
    assert (done.messages, done.replayed[0].old) == ((drawn.ids["d"],), drawn.oids["d"])
    assert texts(repository, "conv-001/fix") == ["a", "c", "d"]
    assert_sound(repository)


def test_several_are_picked_in_the_order_given(repository):
    history(repository, "main: a", "fix@a: c d e")
    cherry_pick(repository, "conv-001", ["fix", "fix~2"], branch="main")
    assert texts(repository, "conv-001/main") == ["a", "e", "c"]


def test_a_message_already_on_the_branch_is_not_picked_twice(repository):
    history(repository, "main: a", "fix@a: c")
    cherry_pick(repository, "conv-001", ["fix"], branch="main")
    before = repository.list_refs()
    done = cherry_pick(repository, "conv-001", ["fix", "fix"], branch="main")
    assert isinstance(done, ReplayUpToDate)
    assert (done.operation, repository.list_refs()) == (None, before)
    assert done.notes[0].text.startswith("conv-001/main already contains: ")


def test_messages_already_on_the_branch_are_skipped_and_the_others_picked(repository):
    drawn = history(repository, "main: a", "fix@a: c d")
    cherry_pick(repository, "conv-001", ["fix"], branch="main")
    done = cherry_pick(repository, "conv-001", ["fix~1", "fix"], branch="main")
    assert (done.messages, texts(repository, "conv-001/main")) == ((drawn.ids["c"],), ["a", "d", "c"])


def test_state_and_author_of_a_message_are_picked_too(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/fix", "jwt", author="dave")
    say(repository, "conv-001/fix", "and so on", author="dave")
    cherry_pick(repository, "conv-001", ["fix~1", "fix"], branch="main")
    assert decided(repository, "conv-001/main") == ["jwt"]
    assert show(repository, "conv-001").participants == ("carol", "dave")


def test_a_message_of_another_conversation_can_be_picked(repository):
    history(repository, "main: a")
    other = history(repository, "main: x y", author="dave")
    cherry_pick(repository, "conv-001", [other.ids["y"]], branch="main")
    assert texts(repository, "conv-001/main") == ["a", "y"]
    assert show(repository, "conv-001").participants == ("carol", "dave")


def test_among_many_picked_messages_a_copy_in_the_conversation_itself_comes_first(repository):
    drawn = history(repository, "main: a", "fix@a: c d")
    copy = history(repository, "main: x")
    cherry_pick(repository, copy.conversation, [drawn.ids["c"], drawn.ids["d"]])
    done = cherry_pick(repository, "conv-001", [drawn.ids["c"], drawn.ids["d"]], branch="main")
    assert [each.old for each in done.replayed] == [drawn.oids["c"], drawn.oids["d"]]


def test_a_branch_with_a_picked_message_can_be_merged_with_the_one_it_came_from(repository):
    drawn = history(repository, "main: a", "fix@a: c d")
    cherry_pick(repository, "conv-001", ["fix"], branch="main")
    done = merge(repository, "conv-001", "fix", target="main")
    assert isinstance(done, Merged)
    assert done.messages == (drawn.ids["c"],)
    assert texts(repository, "conv-001/main") == ["a", "c", "d", "Merge 1 message"]


def test_a_merge_and_a_root_cannot_be_picked(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    merge(repository, "conv-001", "fix", target="main")
    with pytest.raises(Refused, match="is a merge"):
        cherry_pick(repository, "conv-001", ["main"], branch="fix")
    with pytest.raises(NotFound, match="is the root of a conversation"):
        cherry_pick(repository, "conv-001", [drawn.root], branch="fix")
    with pytest.raises(NotFound, match="there is no"):
        cherry_pick(repository, "conv-001", ["nothing"], branch="fix")


def test_the_operation_records_the_commits_and_undo_reverts_it(repository):
    history(repository, "main: a b", "fix@a: c d")
    before = refs(repository)
    done = cherry_pick(repository, "conv-001", ["fix~1", "fix"], branch="main")
    details = show_operation(repository, done.operation).operation.details
    assert details == {"map": {moved.old: moved.new for moved in done.replayed}}
    undo(repository)
    assert refs(repository) == before


def test_a_dry_run_writes_nothing(repository):
    history(repository, "main: a", "fix@a: c d")
    before = repository.list_refs()
    planned = cherry_pick(repository, "conv-001", ["fix"], branch="main", dry_run=True)
    assert (planned.dry_run, planned.tip, repository.list_refs()) == (True, None, before)
    assert planned.replayed == cherry_pick(repository, "conv-001", ["fix"], branch="main").replayed


@pytest.fixture
def stopped(repository):
    """Stop a cherry-pick of b, a decision for sessions and c, because main decided jwt."""
    history(repository, "main: a", "fix@a: b")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions", author="dave")
    say(repository, "conv-001/fix", "c")
    return cherry_pick(repository, "conv-001", ["fix~2", "fix~1", "fix"], branch="main")


def resolve(repository, take="source"):
    """Let erin decide the first conflict."""
    return resolve_conflict(repository, "conv-001", "1", take=take, author=Author("erin", "human"))


def test_the_branch_of_several_picks_is_named_after_the_first_one(repository, stopped):
    """M14."""
    picked = stopped.replayed[0].id[:8]
    assert stopped.branch == f"conflict-resolution/{picked}-and-2-more-into-main"


def test_a_conflict_stops_at_the_message_and_is_recorded(repository, stopped):
    assert isinstance(stopped, ReplayConflicted)
    assert (stopped.exit_code, stopped.remaining, len(stopped.messages)) == (3, 1, 1)
    assert stopped.branch.startswith("conflict-resolution/")
    assert read_active_branch(repository, "conv-001") == stopped.branch
    assert texts(repository, "conv-001/main") == ["a", "we use jwt"]
    (row,) = list_conflicts(repository, "conv-001").conflicts
    positions = (*row.conflict.target, *row.conflict.source)
    assert [(p.value, p.agent) for p in positions] == [("jwt", "carol"), ("sessions", "dave")]
    assert all(position.message for position in positions)


def test_continue_picks_the_rest_after_a_resolution(repository, stopped):
    with pytest.raises(Conflicted, match="has 1 open conflict"):
        continue_cherry_pick(repository, "conv-001")
    resolve(repository)
    before = refs(repository)
    finished = continue_cherry_pick(repository, "conv-001")
    positions = ["a", "we use jwt", "b", "we use sessions", "Resolved decisions/auth: took source", "c"]
    assert texts(repository, "conv-001/main") == positions
    assert (decided(repository, "conv-001/main"), len(finished.messages)) == (["sessions"], 3)
    assert read_active_branch(repository, "conv-001") == "main"
    assert_sound(repository)
    undo(repository)
    assert refs(repository) == before


def test_a_skipped_message_is_left_out(repository, stopped):
    finished = skip_cherry_pick(repository, "conv-001")
    assert texts(repository, "conv-001/main") == ["a", "we use jwt", "b", "c"]
    assert (decided(repository, "conv-001/main"), len(finished.messages)) == (["jwt"], 2)


def test_abort_restores_the_state_before_the_pick(repository, stopped):
    """P8."""
    done = abort_cherry_pick(repository, "conv-001")
    assert (done.moved_branch, done.active_branch) == ("main", "main")
    assert sorted(list_branch_tips(repository, "conv-001")) == ["fix", "main"]
    assert texts(repository, "conv-001/main") == ["a", "we use jwt"]


def test_continue_is_refused_if_messages_were_appended_until_they_are_gone(repository, stopped):
    resolve(repository)
    say(repository, "conv-001/main", "meanwhile")
    with pytest.raises(Refused, match="was moved since the cherry-pick began"):
        continue_cherry_pick(repository, "conv-001")
    rewind(repository, "conv-001/main")
    assert isinstance(continue_cherry_pick(repository, "conv-001"), Replayed)


def test_continue_is_refused_if_the_target_was_rewound(repository, stopped):
    rewind(repository, "conv-001/main")
    with pytest.raises(Refused, match="was moved since the cherry-pick began"):
        skip_cherry_pick(repository, "conv-001")


def test_no_other_verb_rewrites_a_branch_in_progress(repository, stopped):
    with pytest.raises(Refused, match="a cherry-pick of conv-001/main is in progress"):
        cherry_pick(repository, "conv-001", ["fix"], branch="main")
    with pytest.raises(Refused, match="a cherry-pick of conv-001/main is in progress"):
        rebase(repository, "conv-001", branch="main", onto="fix")


def test_continue_needs_a_cherry_pick_in_progress(repository):
    history(repository, "main: a")
    with pytest.raises(NotFound, match="no cherry-pick is in progress in conv-001"):
        continue_cherry_pick(repository, "conv-001")


def test_a_message_with_a_conflict_resolved_later_cannot_be_picked_alone(repository, stopped):
    resolve(repository)
    continue_cherry_pick(repository, "conv-001")
    with pytest.raises(Conflicted, match="a later message resolves them"):
        cherry_pick(repository, "conv-001", ["main~2"], branch="fix")


def test_picks_of_a_line_are_compared_with_the_target_once(repository, monkeypatch):
    words = [f"w{number}" for number in range(12)]
    drawn = history(repository, "main: a b", f"fix@a: {' '.join(words)}")
    bases = []
    find = replay_plan.list_merge_bases
    monkeypatch.setattr(replay_plan, "list_merge_bases", lambda *given: bases.append(given) or find(*given))
    cherry_pick(repository, "conv-001", [drawn.ids[word] for word in words], branch="main")
    assert texts(repository, "conv-001/main") == ["a", "b", *words]
    assert len(bases) == 1


def test_messages_of_several_conversations_are_picked_by_their_ids(repository):
    history(repository, "main: a")
    other, third = history(repository, "main: b c"), history(repository, "main: d")
    cherry_pick(repository, "conv-001", [third.ids["d"], other.ids["c"]], branch="main")
    assert texts(repository, "conv-001/main") == ["a", "d", "c"]
