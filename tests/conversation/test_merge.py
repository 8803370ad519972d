"""`merge`: fast-forwards, merge commits, and merges stopped by conflicts."""

from __future__ import annotations

import shutil

import pytest

from scopes.conversation.append import retract
from scopes.conversation.branch import branch, rewind, switch
from scopes.conversation.conflicts import list_conflicts, resolve_conflict
from scopes.conversation.decisions import decisions
from scopes.conversation.diff import diff
from scopes.conversation.merge import (
    FastForwarded,
    MergeConflicted,
    Merged,
    MergeOptions,
    UpToDate,
    abort_merge,
    continue_merge,
    merge,
)
from scopes.conversation.rebase import cherry_pick
from scopes.conversation.show import show
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Conflicted, Invalid, Refused
from scopes.history.messages import message_id_of
from scopes.history.names import list_branch_tips, read_active_branch
from scopes.merge.compare import state_of
from scopes.merge.in_progress import list_in_progress
from scopes.merge.plan import list_conflicts_at
from scopes.model.message import Author
from scopes.store.objects import read_commit, walk_blobs
from scopes.store.repository import Caller, create_store, open_repository
from tests.support.history import history, say, texts
from tests.support.store import assert_sound, git, open_store


def decide(repository, where, choice, *, author="carol", topic="auth"):
    """Append a decision to a branch."""
    return say(
        repository,
        where,
        f"we use {choice}",
        author=author,
        kind="decision",
        decision={"topic": topic, "decision": choice},
    )


def test_a_target_without_messages_of_its_own_moves_forward(repository):
    """S4-10."""
    drawn = history(repository, "main: a b", "fix@b: c d")
    done = merge(repository, "conv-001", "fix", target="main")
    assert isinstance(done, FastForwarded)
    assert done.messages == (drawn.ids["c"], drawn.ids["d"])
    assert list_branch_tips(repository, drawn.conversation)["main"] == drawn.oids["d"]


def test_a_merged_branch_is_up_to_date(repository):
    history(repository, "main: a b", "fix@b: c d")
    merge(repository, "conv-001", "fix", target="main")
    done = merge(repository, "conv-001", "fix", target="main")
    assert isinstance(done, UpToDate)
    assert done.messages == ()


def test_diverged_branches_without_conflicts_get_a_merge_commit_with_two_parents(repository):
    drawn = history(repository, "main: a b", "fix@a: c d")
    done = merge(repository, "conv-001", "fix", target="main")
    assert isinstance(done, Merged)
    assert read_commit(repository, done.tip).parents == (drawn.oids["b"], drawn.oids["d"])
    assert done.messages == (drawn.ids["c"], drawn.ids["d"])
    assert texts(repository, "conv-001/main") == ["a", "b", "c", "d", "Merge 2 messages"]
    assert_sound(repository)


@pytest.mark.parametrize("fork", ["a", "b"])
def test_a_merge_of_the_active_branch_makes_the_target_active_until_it_is_undone(repository, fork):
    drawn = history(repository, "main: a b", f"fix@{fork}: c d")
    switch(repository, "conv-001", "fix")
    done = merge(repository, "conv-001", "fix", target="main")
    assert (done.active_branch, read_active_branch(repository, drawn.conversation)) == ("main", "main")
    undo(repository)
    assert read_active_branch(repository, drawn.conversation) == "fix"


def test_a_branch_that_is_not_the_source_or_not_merged_completely_stays_active(repository):
    drawn = history(repository, "main: a b", "fix@a: c d", "other@a: e")
    switch(repository, "conv-001", "other")
    assert merge(repository, "conv-001", "fix", target="main").active_branch is None
    assert merge(repository, "conv-001", "main", target="fix").active_branch is None
    assert read_active_branch(repository, drawn.conversation) == "other"
    say(repository, "conv-001/other", "f")
    assert merge(repository, "conv-001", "other~1", target="main").active_branch is None
    assert read_active_branch(repository, drawn.conversation) == "other"


def test_a_continued_merge_of_the_active_branch_makes_the_target_active(repository):
    drawn = history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions", author="dave")
    switch(repository, "conv-001", "fix")
    (conflict,) = merge(repository, "conv-001", "fix", target="main").conflicts
    resolve_conflict(repository, "conv-001", conflict.id, take="source", author=Author("erin", "human"))
    done = continue_merge(repository, "conv-001")
    assert (done.active_branch, read_active_branch(repository, drawn.conversation)) == ("main", "main")
    undo(repository)
    assert read_active_branch(repository, drawn.conversation) == "conflict-resolution/fix-into-main"


def test_two_decisions_on_one_topic_stop_the_merge(repository):
    drawn = history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions", author="dave")
    before = list_branch_tips(repository, drawn.conversation)["main"]
    done = merge(repository, "conv-001", "fix", target="main")
    assert isinstance(done, MergeConflicted)
    assert done.exit_code == 3
    (conflict,) = done.conflicts
    assert (conflict.type, conflict.severity, conflict.key) == ("decision-disagreement", "high", "decisions/auth")
    assert [(p.value, p.agent) for p in (*conflict.target, *conflict.source)] == [
        ("jwt", "carol"),
        ("sessions", "dave"),
    ]
    assert list_branch_tips(repository, drawn.conversation)["main"] == before
    assert read_active_branch(repository, drawn.conversation) == "conflict-resolution/fix-into-main"
    assert list_conflicts_at(repository, done.tip) == {conflict.id: conflict}
    assert list_in_progress(repository, drawn.conversation)[0].source == "fix"
    with pytest.raises(Conflicted, match="1 open conflict"):
        merge(repository, "conv-001", done.branch, target="main")


def test_equal_decisions_do_not_conflict(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "jwt", author="dave")
    assert isinstance(merge(repository, "conv-001", "fix", target="main"), Merged)


def test_a_dry_run_writes_nothing(repository):
    """S4-18."""
    drawn = history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions", author="dave")
    before = repository.list_refs()
    done = merge(repository, drawn.conversation, "fix", target="main", dry_run=True)
    assert isinstance(done, MergeConflicted)
    assert done.dry_run
    assert repository.list_refs() == before


@pytest.mark.parametrize(("source", "target"), [("f2", "f1"), ("f1", "main")])
def test_the_active_branch_is_merged_by_the_command_of_the_hint(repository, source, target):
    """Findings of the fourth day, S2: the hint named no target."""
    history(repository, "main: a")
    branch(repository, "conv-001", name="f1")
    branch(repository, "conv-001", name="f2")
    switch(repository, "conv-001", source)
    with pytest.raises(Invalid, match="into itself") as refusal:
        merge(repository, "conv-001", source)
    assert "it is the active branch" in refusal.value.message
    assert refusal.value.hint == f"scopes merge conv-001 {source} --target {target}"


def test_the_hint_for_an_active_branch_without_a_parent_says_how_to_name_the_target(repository):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="it is the active branch, which is the default target") as refusal:
        merge(repository, "conv-001", "main")
    assert refusal.value.hint == "scopes merge conv-001 main --target BRANCH"


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_branch_of_copies_is_up_to_date_and_has_no_messages_of_its_own(repository, dry_run):
    """A message that was picked onto both branches has one id and two commits, as in an import that joins sessions."""
    drawn = history(repository, "main: a b", "other@a: e c", "copy@a:")
    for name in ("main", "copy"):
        cherry_pick(repository, "conv-001", [drawn.ids["c"]], branch=name)
    tips = list_branch_tips(repository, "conv-001")
    done = merge(repository, "conv-001", "copy", target="main", dry_run=dry_run)
    assert isinstance(done, UpToDate)
    assert list_branch_tips(repository, "conv-001") == tips
    rows = {row.name: row.messages for row in show(repository, "conv-001").branches}
    assert (rows["copy"], rows["other"]) == (0, 1)
    assert diff(repository, "conv-001/main", "conv-001/copy").only_right == ()


def test_a_branch_is_not_merged_into_itself(repository):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="into itself"):
        merge(repository, "conv-001", "main", target="main")


def test_histories_without_a_common_message_are_refused(repository):
    history(repository, "main: a")
    history(repository, "main: b")
    with pytest.raises(Refused, match="no message in common"):
        merge(repository, "conv-001", "conv-002", target="main")
    done = merge(repository, "conv-001", "conv-002", target="main", options=MergeOptions(allow_unrelated=True))
    assert isinstance(done, Merged)
    assert texts(repository, "conv-001/main")[-3:] == ["a", "b", "Merge 1 message"]


@pytest.fixture
def stopped(repository):
    """Stop a merge: carol decided jwt on main, dave sessions on fix."""
    drawn = history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions", author="dave")
    return drawn, merge(repository, "conv-001", "fix", target="main")


def decided(repository):
    """Return the decision on main."""
    return [row.decision for row in decisions(repository, "conv-001").decisions if row.current]


@pytest.mark.parametrize(("take", "value", "expected"), [("source", None, ["sessions"]), ("target", None, ["jwt"])])
def test_a_resolved_merge_moves_its_target(repository, stopped, take, value, expected):
    """S4-16, S4-57."""
    drawn, waiting = stopped
    with pytest.raises(Conflicted, match="has 1 open conflict"):
        continue_merge(repository, "conv-001")
    done = resolve_conflict(
        repository,
        "conv-001",
        waiting.conflicts[0].id,
        take=take,
        value=value,
        reason="simpler",
        author=Author("erin", "human"),
    )
    assert (done.remaining, done.conflict.resolution.actor, done.conflict.resolution.reason) == (0, "erin", "simpler")
    with pytest.raises(Refused, match="resolved already"):
        resolve_conflict(repository, "conv-001", "1", take="source", author=Author("erin", "human"))
    finished = continue_merge(repository, "conv-001")
    assert isinstance(finished, Merged)
    assert finished.message == message_id_of(read_commit(repository, waiting.tip))
    assert finished.message not in finished.messages
    assert read_active_branch(repository, drawn.conversation) == "main"
    assert decided(repository) == expected
    assert list_in_progress(repository, drawn.conversation) == []
    assert_sound(repository)


def test_a_rewind_does_not_leave_a_merge_without_its_resolution(repository, stopped):
    """The contradicting decision would be in effect again, and nobody would know of the conflict."""
    drawn, _ = stopped
    resolve_conflict(repository, "conv-001", "1", take="source", author=Author("erin", "human"))
    rewind(repository, "conv-001/conflict-resolution/fix-into-main", count=1)  # there it is a change of mind
    resolve_conflict(repository, "conv-001", "1", take="source", author=Author("erin", "human"))
    continue_merge(repository, "conv-001")
    with pytest.raises(Refused, match="without the resolution of its 1 conflict") as refused:
        rewind(repository, "conv-001", count=1)
    before = refused.value.hint.rpartition(" ")[2]
    rewind(repository, "conv-001", to=before)
    assert decided(repository) == ["jwt"]
    assert drawn.conversation == "conv-001"


def test_a_target_that_moved_meanwhile_is_merged_again(repository, stopped):
    say(repository, "conv-001/main", "meanwhile")
    resolve_conflict(repository, "conv-001", "1", value="as both said", author=Author("erin", "human"))
    finished = continue_merge(repository, "conv-001")
    assert isinstance(finished, Merged)
    assert "meanwhile" in texts(repository, "conv-001/main")


def test_an_aborted_merge_restores_the_state_before(repository, stopped):
    """P8."""
    drawn, waiting = stopped
    say(repository, f"conv-001/{waiting.branch}", "I think so")
    assert [row.conflict.status for row in list_conflicts(repository, "conv-001").conflicts] == ["debate"]
    abort_merge(repository, "conv-001")
    assert sorted(list_branch_tips(repository, drawn.conversation)) == ["fix", "main"]
    assert read_active_branch(repository, drawn.conversation) == "main"
    undo(repository)
    assert list_conflicts(repository, "conv-001").conflicts[0].branch == waiting.branch


@pytest.mark.parametrize("keys", [500, pytest.param(10_000, marks=pytest.mark.sweep)])
def test_conflicting_keys_are_found_among_many(repository, keys):
    history(repository, "main: a", "fix@a:")
    for name, others in (("main", "m"), ("fix", "f")):
        mine = [
            {"path": f"src/{others}/{n % 100}/{n}", "op": "edit", "content_hash": f"sha256:{n}"} for n in range(keys)
        ]
        shared = [{"path": f"src/both/{n}", "op": "edit", "content_hash": f"sha256:{name}{n}"} for n in range(3)]
        say(repository, f"conv-001/{name}", "edited", files=[*mine, *shared])
    done = merge(repository, "conv-001", "fix", target="main")
    assert isinstance(done, Merged)
    assert [conflict.key for conflict in done.conflicts] == [f"files/src/both/{n}" for n in range(3)]
    state = state_of(repository, done.tip)
    assert sum(1 for path, _ in walk_blobs(repository, state) if path.startswith("files/")) == 2 * keys + 3


def test_the_same_merge_by_different_users_has_the_same_commit_id(repository, tmp_path):
    """P11: user and time are in the operation, not in the commit."""
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions", author="dave")
    tips = []
    for actor in ("alice", "zed"):
        path = str(tmp_path / f"{actor}.git")
        shutil.copytree(repository.path, path)
        store = open_repository(path, {}, Caller(actor, "scopes merge"))
        tips.append(merge(store, "conv-001", "fix", target="main", options=MergeOptions(strategy="theirs")).tip)
    assert tips[0] == tips[1]


def test_an_unrelated_history_is_merged_over_a_retraction_and_its_conflicts_are_resolved(repository):
    drawn = history(repository, "main: a b")
    retract(repository, "conv-001", drawn.ids["a"], "wrong", author=Author("carol"))
    decide(repository, "conv-001", "jwt")
    history(repository, "main: c")
    decide(repository, "conv-002", "sessions")
    stopped = merge(repository, "conv-001", "conv-002", target="main", options=MergeOptions(allow_unrelated=True))
    assert [conflict.key for conflict in stopped.conflicts] == ["decisions/auth"]
    resolve_conflict(repository, "conv-001", "1", take="source", author=Author("erin", "human"))
    assert isinstance(continue_merge(repository, "conv-001"), Merged)
    assert decided(repository)[-1] == "sessions"


def test_a_topic_has_one_decision(repository, stopped):
    with pytest.raises(Invalid, match="decisions/auth holds one value"):
        resolve_conflict(repository, "conv-001", "1", take="both", author=Author("erin", "human"))


def test_a_merge_into_a_waiting_merge_names_the_conversation_of_its_conflicts(repository, stopped):
    with pytest.raises(Conflicted, match="has 1 open conflict") as raised:
        merge(repository, "conv-001", "fix")
    assert raised.value.hint == "resolve them first: scopes conflicts list conv-001"


def test_a_merge_in_progress_is_not_started_again(repository, stopped):
    with pytest.raises(Refused, match="is in progress on conflict-resolution/fix-into-main"):
        merge(repository, "conv-001", "fix", target="main")


def test_a_waiting_merge_is_finished_in_a_clone(repository, stopped, tmp_path):
    """Git's mirror clone turns the symbolic ref of the active branch into a direct one and omits the settings of scopes."""
    path = str(tmp_path / "clone.git")
    git(repository, "clone", "-q", "--mirror", repository.path, path)
    assert create_store(path)
    clone = open_store(path)
    resolve_conflict(clone, "conv-001", "1", take="source", author=Author("erin", "human"))
    assert isinstance(continue_merge(clone, "conv-001"), Merged)
    assert clone.raw_ref("refs/scopes/pending") is None
    assert read_active_branch(clone, "conv-001") == "main"
    undo(clone)
    assert verify(clone).sound
    assert_sound(clone)
