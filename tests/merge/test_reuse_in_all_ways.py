"""Reuse of resolutions in merge, rebase and cherry-pick, in both directions, and after what happens to branches (M7)."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, resolve_conflict, show_conflict
from scopes.conversation.decisions import decisions
from scopes.conversation.merge import MergeConflicted, Merged, MergeOptions, abort_merge, continue_merge, merge
from scopes.conversation.new_rename_delete import delete_branch, rename_branch, rename_conversation
from scopes.conversation.rebase import cherry_pick, continue_cherry_pick, continue_rebase, rebase, skip_rebase
from scopes.conversation.undo import redo, undo
from scopes.errors import Invalid, Refused
from scopes.history.names import list_branch_tips
from scopes.merge.compare import state_of
from scopes.merge.replay import ReplayConflicted, Replayed
from scopes.model.message import Author
from tests.support.decisions import decide, decided
from tests.support.history import history, say
from tests.support.store import assert_sound, refs, with_settings

LEAD, CAROL = Author("lead", "human"), Author("carol", "human")
VERBS = ["merge", "rebase", "cherry-pick"]
REPLAYS = ["rebase", "cherry-pick"]


@pytest.fixture
def branches(repository):
    """Main, two and three decide pg, fix decides my, and the question is open between fix and each of them."""
    history(repository, "main: a", "fix@a:", "two@a:", "three@a:")
    for name in ("main", "two", "three"):
        decide(repository, f"conv-001/{name}", "pg", author="alice")
    decide(repository, "conv-001/fix", "my", author="bob")


def join(store, verb, source="fix", target="two", **options):
    """Bring the decision of `source` to `target`; for a rebase `source` is rebased onto `target`."""
    if verb == "merge":
        return merge(store, "conv-001", source, target=target, **options)
    if verb == "rebase":
        return rebase(store, "conv-001", branch=source, onto=target, **options)
    return cherry_pick(store, "conv-001", [source], branch=target, **options)


def go_on(store, verb):
    return {"merge": continue_merge, "rebase": continue_rebase, "cherry-pick": continue_cherry_pick}[verb](
        store, "conv-001"
    )


def answer(repository, verb="merge", source="fix", target="main", **options):
    """Ask the question, resolve it by lead, and finish."""
    stopped = join(repository, verb, source, target)
    options = {"take": "source", "reason": "it scales", "author": LEAD, **options}
    resolve_conflict(repository, "conv-001", stopped.conflicts[0].id, **options)
    return go_on(repository, verb)


def applying(repository):
    return with_settings(repository, reuse="apply")


def result_of(outcome):
    """Return the branch that holds the result of a merge or replay."""
    return f"conv-001/{outcome.branch}"


@pytest.mark.parametrize("after", VERBS)
@pytest.mark.parametrize("before", VERBS)
def test_what_one_verb_resolved_is_applied_by_every_other_one(repository, branches, before, after):
    """M7."""
    branch(repository, "conv-001", name="copy", start="main~1", switch=False)
    decide(repository, "conv-001/copy", "my", author="bob")
    answer(repository, before)
    done = join(applying(repository), after, source="copy")
    assert isinstance(done, Merged | Replayed)
    (conflict,) = done.conflicts
    assert conflict.resolution.strategy == "reused"
    assert conflict.resolution.reused[1:] == ("lead", "it scales")
    assert decided(repository, result_of(done)) == ["my"]
    assert any("resolved as before by lead, because it scales" in note.text for note in done.notes)
    assert_sound(repository)


@pytest.mark.parametrize("verb", VERBS)
def test_show_is_the_default_it_names_the_earlier_answer_and_asks(repository, branches, verb):
    answer(repository)
    stopped = join(repository, verb)
    assert isinstance(stopped, MergeConflicted | ReplayConflicted)
    (earlier,) = stopped.conflicts[0].earlier
    assert (earlier.values, earlier.actor, earlier.reason) == (("my",), "lead", "it scales")
    assert show_conflict(repository, "conv-001", "1").row.conflict.earlier == (earlier,)
    assert decided(repository, "conv-001/two") == ["pg"]


@pytest.mark.parametrize("verb", VERBS)
def test_off_neither_shows_nor_applies(repository, branches, verb):
    answer(repository)
    off = with_settings(repository, reuse="off")
    stopped = join(off, verb)
    assert stopped.conflicts[0].earlier == ()
    assert list_conflicts(off, "conv-001").conflicts[0].conflict.earlier == ()


@pytest.mark.parametrize("verb", VERBS)
def test_a_dry_run_foresees_what_would_be_applied_and_writes_nothing(repository, branches, verb):
    """S4-18."""
    answer(repository)
    before = refs(repository)
    planned = join(applying(repository), verb, dry_run=True)
    assert refs(repository) == before
    done = join(applying(repository), verb)
    assert type(planned) is type(done)
    assert planned.conflicts == done.conflicts


@pytest.mark.parametrize("verb", VERBS)
def test_as_before_repeats_the_answer_by_hand_and_names_both_people(repository, branches, verb):
    """S4-57."""
    answer(repository)
    stopped = join(repository, verb)
    done = resolve_conflict(repository, "conv-001", stopped.conflicts[0].id, as_before=True, author=CAROL)
    resolution = done.conflict.resolution
    assert (resolution.strategy, resolution.actor, resolution.reused.actor) == ("reused", "carol", "lead")
    assert decided(repository, result_of(go_on(repository, verb))) == ["my"]


@pytest.mark.parametrize(("take", "value"), [("source", "my"), ("target", "pg")])
@pytest.mark.parametrize(("source", "target"), [("fix", "two"), ("two", "fix")])
def test_the_value_is_reused_whichever_side_has_it_now(repository, branches, take, value, source, target):
    """Sides are mapped by value: what was the source is the target in the other direction."""
    answer(repository, take=take)
    done = join(applying(repository), "merge", source, target)
    assert isinstance(done, Merged)
    assert decided(repository, f"conv-001/{target}") == [value]
    expected = take if source == "fix" else {"source": "target", "target": "source"}[take]
    assert done.conflicts[0].resolution.choice == expected


@pytest.mark.parametrize("take", ["source", "target"])
def test_both_directions_end_in_one_state(repository, branches, take):
    """S4-19."""
    answer(repository, take=take)
    for name, start in (("copy", "two"), ("other", "fix")):
        branch(repository, "conv-001", name=name, start=start, switch=False)
    one = join(applying(repository), "merge", "other", "copy")
    two = join(applying(repository), "merge", "two", "fix")
    assert state_of(repository, one.tip) == state_of(repository, two.tip)


def test_a_value_of_neither_side_is_repeated_by_hand_in_a_replay_too(repository, branches):
    answer(repository, take=None, value="duckdb")
    stopped = join(applying(repository), "rebase")
    assert isinstance(stopped, ReplayConflicted)
    resolve_conflict(repository, "conv-001", stopped.conflicts[0].id, as_before=True, author=CAROL)
    continue_rebase(repository, "conv-001")
    assert decided(repository, "conv-001/fix") == ["duckdb"]
    rows = decisions(repository, "conv-001/fix").decisions
    assert [row.decision for row in rows if row.current] == ["duckdb"]


@pytest.mark.parametrize("verb", VERBS)
def test_renamed_branches_and_conversations_ask_the_same_question(repository, branches, verb):
    answer(repository)
    rename_branch(repository, "conv-001", "fix", "login")
    rename_branch(repository, "conv-001", "two", "release")
    rename_conversation(repository, "conv-001", "safari")
    rename_conversation(repository, "safari", "conv-001")
    done = join(applying(repository), verb, "login", "release")
    assert done.conflicts[0].resolution.reused.actor == "lead"


@pytest.mark.parametrize("verb", VERBS)
def test_an_answer_that_was_undone_is_not_reused(repository, branches, verb):
    """A merge that was taken back decided nothing."""
    answer(repository)
    for _ in range(3):  # continue, the resolution, the stop
        undo(repository, any_actor=True)
    assert list_conflicts(repository, "conv-001").conflicts == ()
    stopped = join(applying(repository), verb)
    assert isinstance(stopped, MergeConflicted | ReplayConflicted)
    assert stopped.conflicts[0].earlier == ()
    with pytest.raises(Refused, match="not resolved before"):
        resolve_conflict(repository, "conv-001", "1", as_before=True, author=CAROL)


def test_an_answer_that_was_undone_and_redone_is_reused(repository, branches):
    answer(repository)
    undo(repository)
    redo(repository)
    done = join(applying(repository), "merge")
    assert done.conflicts[0].resolution.reused.actor == "lead"


def test_undo_of_a_merge_that_reused_an_answer_leaves_the_answer(repository, branches):
    """The note of the merge says how to decide again: undo, then merge with reuse=show."""
    answer(repository)
    before = refs(repository)
    done = join(applying(repository), "merge")
    assert "scopes undo" in done.notes[0].hint
    undo(repository)
    assert refs(repository) == before
    stopped = join(repository, "merge")
    assert stopped.conflicts[0].earlier[0].actor == "lead"
    resolve_conflict(repository, "conv-001", "1", take="target", reason="we know it", author=CAROL)
    continue_merge(repository, "conv-001")
    assert decided(repository, "conv-001/two") == ["pg"]


def test_an_answer_on_a_waiting_merge_is_known_before_the_merge_is_continued(repository, branches):
    """Its conflict-resolution branch is a branch like others."""
    stopped = join(repository, "merge", target="main")
    resolve_conflict(repository, "conv-001", stopped.conflicts[0].id, take="source", author=LEAD)
    done = join(applying(repository), "merge", target="two")
    assert done.conflicts[0].resolution.reused.actor == "lead"


def test_an_answer_of_an_aborted_merge_is_not_reused(repository, branches):
    stopped = join(repository, "merge", target="main")
    resolve_conflict(repository, "conv-001", stopped.conflicts[0].id, take="source", author=LEAD)
    abort_merge(repository, "conv-001")
    assert isinstance(join(applying(repository), "merge"), MergeConflicted)


def test_a_skipped_message_is_no_answer(repository, branches):
    join(repository, "rebase", target="two")
    skip_rebase(repository, "conv-001")
    decide(repository, "conv-001/fix", "my", author="bob")
    stopped = join(applying(repository), "rebase", target="three")
    assert isinstance(stopped, ReplayConflicted)
    (conflict,) = stopped.conflicts
    assert conflict.earlier == ()


def test_a_deleted_branch_takes_its_answer_with_it_and_undo_brings_it_back(repository, branches):
    """Records are in the states of branches."""
    answer(repository, target="two")
    for name in ("two", "conflict-resolution/fix-into-two"):
        delete_branch(repository, "conv-001", name, force=True)
    planned = join(applying(repository), "merge", target="three", dry_run=True)
    assert isinstance(planned, MergeConflicted)
    undo(repository)
    undo(repository)
    assert isinstance(join(applying(repository), "merge", target="three", dry_run=True), Merged)


@pytest.mark.parametrize(("strategy", "value"), [("ours", "pg"), ("theirs", "my")])
def test_what_a_strategy_answered_is_no_answer_of_a_person_and_is_not_reused(repository, branches, strategy, value):
    """A strategy answers one merge. Only what somebody decided is decided again."""
    join(repository, "merge", target="main", options=MergeOptions(strategy=strategy))
    assert decided(repository, "conv-001/main") == [value]
    assert isinstance(join(applying(repository), "merge"), MergeConflicted)


@pytest.mark.parametrize("verb", VERBS)
def test_a_reused_answer_is_reused_again_with_the_one_who_decided(repository, branches, verb):
    """The chain leads back to lead, however often it was repeated by hand in between."""
    answer(repository)
    stopped = join(repository, "merge", target="two")
    resolve_conflict(repository, "conv-001", stopped.conflicts[0].id, as_before=True, author=CAROL)
    continue_merge(repository, "conv-001")
    done = join(applying(repository), verb, target="three")
    assert isinstance(done, Merged | Replayed)
    assert decided(repository, result_of(done)) == ["my"]


def test_two_people_who_disagree_leave_the_question_open(repository, branches):
    answer(repository)
    answer(repository, target="two", take="target", reason="we know it", author=CAROL)
    stopped = join(applying(repository), "merge", target="three")
    assert isinstance(stopped, MergeConflicted)
    assert [(each.actor, each.values) for each in stopped.conflicts[0].earlier] == [
        ("carol", ("pg",)), ("lead", ("my",)),
    ]  # fmt: skip
    with pytest.raises(Refused, match="in different ways"):
        resolve_conflict(repository, "conv-001", "1", as_before=True, author=CAROL)


@pytest.mark.parametrize("verb", REPLAYS)
def test_several_questions_of_one_replay_are_answered_one_by_one(repository, verb):
    """Two were answered before, the third one stops the replay."""
    history(repository, "main: a", "fix@a:", "two@a:")
    ids = []
    for topic in ("db", "os", "ui"):
        for name in ("main", "two"):
            decide(repository, f"conv-001/{name}", "old", topic=topic)
        ids.append(decide(repository, "conv-001/fix", "new", topic=topic).id)
    merge(repository, "conv-001", "fix", target="main")
    for key in ("decisions/db", "decisions/os"):
        resolve_conflict(repository, "conv-001", key, take="source", author=LEAD)
    store = applying(repository)
    if verb == "rebase":
        stopped = rebase(store, "conv-001", branch="fix", onto="two")
    else:
        stopped = cherry_pick(store, "conv-001", ids, branch="two")
    assert isinstance(stopped, ReplayConflicted)
    assert [each.key for each in stopped.conflicts if each.status == "open"] == ["decisions/ui"]
    (number,) = [row.number for row in list_conflicts(repository, "conv-001").conflicts if row.branch == stopped.branch]
    resolve_conflict(repository, "conv-001", str(number), take="target", author=CAROL)
    done = go_on(store, verb)
    assert decided(repository, result_of(done)) == ["new", "new", "old"]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("analysis", {"subject": "login", "aspect": "risk", "finding": ...}),
        ("method", {"goal": "fast tests", "approach": ...}),
        ("priority", {"task": "login", "urgency": ...}),
    ],
)
@pytest.mark.parametrize("take", ["source", "target"])
def test_other_kinds_of_questions_are_reused_too(repository, kind, fields, take):
    history(repository, "main: a", "fix@a:", "two@a:")
    for name, word in (("main", "low"), ("two", "low"), ("fix", "high")):
        claim = {field: word if value is ... else value for field, value in fields.items()}
        say(repository, f"conv-001/{name}", "x", author="zoe", kind=kind, **{kind: claim})
    answer(repository, take=take)
    done = join(applying(repository), "merge", target="two")
    assert isinstance(done, Merged)
    assert done.conflicts[0].resolution.choice == take
    assert done.conflicts[0].resolution.reused.actor == "lead"


@pytest.mark.parametrize("value", ["always", "", "Apply", "show ", "1"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_setting_is_refused_before_anything_is_written(repository, branches, verb, value):
    store = with_settings(repository, reuse=value)
    if not value:
        assert join(store, verb, dry_run=True).conflicts[0].earlier == ()
        return
    before = refs(repository)
    with pytest.raises(Invalid, match=r"scopes\.merge\.reuse"):
        join(store, verb)
    assert refs(repository) == before


def test_another_conversation_does_not_inherit_an_answer(repository, branches):
    """People of one conversation do not decide for another one."""
    answer(repository)
    history(repository, "main: q", "fix@q:", conversation="conv-002")
    decide(repository, "conv-002/main", "pg", author="alice")
    decide(repository, "conv-002/fix", "my", author="bob")
    stopped = merge(applying(repository), "conv-002", "fix", target="main")
    assert isinstance(stopped, MergeConflicted)
    assert stopped.conflicts[0].earlier == ()


def test_a_decision_of_the_topic_that_was_made_later_is_another_question(repository, branches):
    answer(repository)
    decide(repository, "conv-001/two", "neo4j", author="alice")
    assert isinstance(join(applying(repository), "merge"), MergeConflicted)


def test_the_tips_of_untouched_branches_do_not_move_when_an_answer_is_applied(repository, branches):
    answer(repository)
    before = list_branch_tips(repository, "conv-001")
    join(applying(repository), "merge")
    after = list_branch_tips(repository, "conv-001")
    assert {name for name in after if after[name] != before.get(name)} == {"two"}
