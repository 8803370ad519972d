"""`rebase`: the messages of a branch are replayed on a new base, with the same ids and new commits."""

from __future__ import annotations

import os

import pytest

from scopes.conversation.append import retract
from scopes.conversation.branch import branch, rewind
from scopes.conversation.merge import MergeOptions, merge
from scopes.conversation.rebase import ReplayConflicted, Replayed, ReplayUpToDate, cherry_pick, rebase
from scopes.conversation.show import cat, show
from scopes.conversation.undo import show_operation, undo
from scopes.errors import Conflicted, NotFound, Refused
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from scopes.store.graph import is_ancestor
from scopes.store.objects import read_commit, read_tree
from tests.support.decisions import decide, decided
from tests.support.history import history, say, texts
from tests.support.store import assert_sound, refs


def test_the_messages_of_the_branch_keep_their_ids_on_the_new_base(repository):
    """S4-20."""
    drawn = history(repository, "main: a b", "fix@a: c d")
    done = rebase(repository, "conv-001", branch="fix", onto="main")
    assert isinstance(done, Replayed)
    assert texts(repository, "conv-001/fix") == ["a", "b", "c", "d"]
    assert done.messages == (drawn.ids["c"], drawn.ids["d"])
    assert [moved.old for moved in done.replayed] == [drawn.oids["c"], drawn.oids["d"]]
    assert read_commit(repository, done.replayed[0].new).parents == (drawn.oids["b"],)
    assert list_branch_tips(repository, "conv-001")["fix"] == done.tip == done.replayed[-1].new
    assert_sound(repository)


def test_a_moved_message_keeps_its_bytes_and_its_time(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    (moved,) = rebase(repository, "conv-001", branch="fix", onto="main").replayed
    old, new = (read_commit(repository, oid) for oid in (drawn.oids["c"], moved.new))
    assert (old.author, old.time, old.subject, old.trailers) == (new.author, new.time, new.subject, new.trailers)
    assert read_tree(repository, old.tree)["message.json"] == read_tree(repository, new.tree)["message.json"]


def test_the_operation_records_the_new_commit_of_every_old_one(repository):
    history(repository, "main: a b", "fix@a: c d")
    done = rebase(repository, "conv-001", branch="fix", onto="main")
    details = show_operation(repository, done.operation).operation.details
    assert details["map"] == {moved.old: moved.new for moved in done.replayed}


def test_undo_reverts_a_rebase_exactly(repository):
    history(repository, "main: a b", "fix@a: c d")
    before = refs(repository)
    rebase(repository, "conv-001", branch="fix", onto="main")
    undo(repository)
    assert refs(repository) == before


@pytest.mark.parametrize("onto", ["main", "fix", "fix~1", "main~0"])
def test_a_rebase_onto_the_present_base_writes_nothing(repository, onto):
    history(repository, "main: a b", "fix@b: c d")
    before = repository.list_refs()
    done = rebase(repository, "conv-001", branch="fix", onto=onto)
    assert isinstance(done, ReplayUpToDate)
    assert (done.replayed, done.operation, repository.list_refs()) == ((), None, before)


def test_only_messages_after_the_fork_point_are_rebased(repository):
    history(repository, "main: a b c", "fix@a: d", "idea@d: e")
    rebase(repository, "conv-001", branch="idea", onto="main~1")
    assert texts(repository, "conv-001/idea") == ["a", "b", "e"]


def test_a_note_counts_the_messages_below_the_fork_point_that_are_left_out(repository):
    """Findings of the fourth day, B4: they vanished from the branch without a note."""
    history(repository, "main: a b", "f1@a: c d")
    branch(repository, "conv-001", name="f2", start="f1")
    say(repository, "conv-001/f2", "e")
    planned = rebase(repository, "conv-001", branch="f2", onto="main", dry_run=True)
    done = rebase(repository, "conv-001", branch="f2", onto="main")
    (before,), (after,) = planned.notes, done.notes
    assert before.text == after.text == "2 messages of f1 are left out"
    assert before.hint == "to take them too: scopes rebase conv-001/f2 --onto main --from-base"
    assert after.hint == "to take them too: scopes undo, then scopes rebase conv-001/f2 --onto main --from-base"


def test_from_base_takes_all_messages_since_the_merge_base(repository):
    history(repository, "main: a b", "f1@a: c d", "f2@d: e")
    done = rebase(repository, "conv-001", branch="f2", onto="main", from_base=True)
    assert texts(repository, "conv-001/f2") == ["a", "b", "c", "d", "e"]
    assert done.notes[:1] == () or "left out" not in done.notes[0].text


def test_no_message_is_left_out_that_the_new_base_has(repository):
    history(repository, "main: a b", "f1@a: c d", "f2@d: e")
    rebase(repository, "conv-001", branch="f1", onto="main")
    done = rebase(repository, "conv-001", branch="f2", onto="f1")
    assert texts(repository, "conv-001/f2") == ["a", "b", "c", "d", "e"]
    assert done.notes == ()


def test_a_branch_without_own_messages_moves_to_the_new_base(repository):
    drawn = history(repository, "main: a b c", "fix@a:")
    done = rebase(repository, "conv-001", branch="fix", onto="main")
    assert (done.messages, done.tip) == ((), drawn.oids["c"])


def test_fork_point_and_parent_branch_are_updated_for_show(repository):
    drawn = history(repository, "main: a b", "fix@a: c d", "idea@a: e")
    rebase(repository, "conv-001", branch="idea", onto="fix")
    row = next(row for row in show(repository, "conv-001").branches if row.name == "idea")
    assert (row.messages, row.total, row.parent, row.fork) == (1, 4, "fix", drawn.oids["d"])


def test_main_can_be_rebased_and_still_starts_at_the_root(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    rebase(repository, "conv-001", branch="main", onto="fix")
    assert texts(repository, "conv-001/main") == ["a", "c", "b"]
    assert read_metadata(repository, "conv-001").branches["main"].fork == drawn.root
    assert show(repository, "conv-001").branches[0].messages == 3


def test_state_is_merged_message_by_message(repository):
    history(repository, "main: a", "fix@a:")
    decide(repository, "conv-001/main", "postgres", topic="database")
    decide(repository, "conv-001/fix", "jwt", author="dave")
    rebase(repository, "conv-001", branch="fix", onto="main")
    assert decided(repository, "conv-001/fix") == ["jwt", "postgres"]
    assert show(repository, "conv-001").participants == ("carol", "dave")


def test_participants_from_before_the_former_base_are_kept(repository):
    history(repository, "main: a")
    say(repository, "conv-001/main", "b", author="dave")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    say(repository, "conv-001/fix", "c", author="dave")
    rebase(repository, "conv-001", branch="fix", onto="main~1")
    rewind(repository, "conv-001/main")
    assert show(repository, "conv-001").participants == ("carol", "dave")


def test_a_message_already_on_the_new_base_is_skipped(repository):
    drawn = history(repository, "main: a b", "fix@a: c d")
    cherry_pick(repository, "conv-001", [drawn.ids["c"]], branch="main")
    done = rebase(repository, "conv-001", branch="fix", onto="main")
    assert texts(repository, "conv-001/fix") == ["a", "b", "c", "d"]
    assert done.messages == (drawn.ids["d"],)
    assert done.notes[0].text == "skipped 1 message that the new base already has"


def test_a_merge_whose_sides_are_both_replayed_is_dropped(repository):
    history(repository, "main: a b", "fix@a: c", "idea@a: d")
    merge(repository, "conv-001", "idea", target="fix")
    say(repository, "conv-001/fix", "e")
    done = rebase(repository, "conv-001", branch="fix", onto="main")
    assert texts(repository, "conv-001/fix") == ["a", "b", "c", "d", "e"]
    assert done.notes[0].text == "skipped 1 merge: the replayed history is linear"


def test_a_branch_that_had_merged_its_new_base_becomes_linear(repository):
    history(repository, "main: a b", "fix@a: c")
    merge(repository, "conv-001", "main", target="fix")
    say(repository, "conv-001/fix", "e")
    rebase(repository, "conv-001", branch="fix", onto="main")
    assert texts(repository, "conv-001/fix") == ["a", "b", "c", "e"]


def test_a_merge_with_resolutions_cannot_be_rebased(repository):
    history(repository, "main: a b", "fix@a:", "idea@a:")
    decide(repository, "conv-001/fix", "jwt")
    decide(repository, "conv-001/idea", "sessions")
    merge(repository, "conv-001", "idea", target="fix", options=MergeOptions(strategy="theirs"))
    before = repository.list_refs()
    with pytest.raises(Refused, match="cannot be replayed: it resolved conflicts") as caught:
        rebase(repository, "conv-001", branch="fix", onto="main")
    assert "scopes merge" in caught.value.hint
    assert repository.list_refs() == before


def test_a_dry_run_names_the_new_commits_and_writes_nothing(repository):
    history(repository, "main: a b", "fix@a: c d")
    before, files = repository.list_refs(), sorted(os.listdir(f"{repository.path}/objects/pack"))
    planned = rebase(repository, "conv-001", branch="fix", onto="main", dry_run=True)
    assert (repository.list_refs(), sorted(os.listdir(f"{repository.path}/objects/pack"))) == (before, files)
    assert planned.dry_run
    assert planned.replayed == rebase(repository, "conv-001", branch="fix", onto="main").replayed


def test_a_conflict_stops_at_the_message_and_is_recorded(repository):
    history(repository, "main: a", "fix@a: b")
    decide(repository, "conv-001/main", "jwt")
    replayed = decide(repository, "conv-001/fix", "sessions", author="dave")
    say(repository, "conv-001/fix", "c")
    before = list_branch_tips(repository, "conv-001")["fix"]
    done = rebase(repository, "conv-001", branch="fix", onto="main")
    assert isinstance(done, ReplayConflicted)
    assert (done.exit_code, done.stopped, done.remaining) == (3, replayed.id, 1)
    assert done.branch == "conflict-resolution/fix-onto-main"
    assert list_branch_tips(repository, "conv-001")["fix"] == before
    assert texts(repository, f"conv-001/{done.branch}") == ["a", "we use jwt", "b", "we use sessions"]
    assert decided(repository, f"conv-001/{done.branch}") == ["jwt"]
    assert_sound(repository)


def test_a_conflict_names_the_messages_of_both_sides(repository):
    history(repository, "main: a", "fix@a:")
    ours, theirs = decide(repository, "conv-001/main", "jwt"), decide(repository, "conv-001/fix", "sessions")
    (conflict,) = rebase(repository, "conv-001", branch="fix", onto="main").conflicts
    assert [(p.value, p.message) for p in conflict.target] == [("jwt", ours.id)]
    assert [(p.value, p.message) for p in conflict.source] == [("sessions", theirs.id)]


def test_a_conflict_names_messages_from_before_the_former_base(repository):
    history(repository, "main: a")
    first = decide(repository, "conv-001/main", "cookies")
    decide(repository, "conv-001/main", "jwt")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    decide(repository, "conv-001/fix", "sessions")
    (conflict,) = rebase(repository, "conv-001", branch="fix", onto="main~1").conflicts
    assert [(p.value, p.message) for p in conflict.target] == [("cookies", first.id)]


def test_a_reply_to_a_message_retracted_on_the_new_base_is_a_conflict(repository):
    drawn = history(repository, "main: a b", "fix@b:")
    say(repository, "conv-001/fix", "why?", reply_to=drawn.ids["a"])
    retract(repository, "conv-001", drawn.ids["a"], "wrong", author=Author("carol"), branch="main")
    (conflict,) = rebase(repository, "conv-001", branch="fix", onto="main").conflicts
    assert (conflict.type, conflict.key) == ("delete-edit", f"messages/{drawn.ids['a']}")


def test_retracting_a_message_answered_on_the_new_base_is_a_conflict(repository):
    drawn = history(repository, "main: a b", "fix@b:")
    say(repository, "conv-001/main", "why?", reply_to=drawn.ids["a"])
    retract(repository, "conv-001", drawn.ids["a"], "wrong", author=Author("carol"), branch="fix")
    (conflict,) = rebase(repository, "conv-001", branch="fix", onto="main").conflicts
    assert conflict.type == "delete-edit"


def test_a_low_severity_conflict_is_resolved_without_stopping(repository):
    history(repository, "main: a", "fix@a:")
    say(repository, "conv-001/main", "x", files=[{"path": "a.py", "op": "edit"}])
    say(repository, "conv-001/fix", "y", files=[{"path": "a.py", "op": "edit"}])
    done = rebase(repository, "conv-001", branch="fix", onto="main")
    assert isinstance(done, Replayed)
    assert [(c.type, c.status) for c in done.conflicts] == [("resource-contention", "resolved")]


def test_a_base_with_open_conflicts_and_the_target_of_a_waiting_merge_are_refused(repository):
    history(repository, "main: a", "fix@a:", "idea@a:")
    decide(repository, "conv-001/main", "jwt")
    decide(repository, "conv-001/fix", "sessions")
    waiting = rebase(repository, "conv-001", branch="fix", onto="main").branch
    with pytest.raises(Conflicted, match="1 open conflict"):
        rebase(repository, "conv-001", branch="idea", onto=waiting)
    with pytest.raises(Refused, match="a rebase of conv-001/fix is in progress on"):
        rebase(repository, "conv-001", branch=waiting, onto="main")


def test_an_unknown_branch_or_base_is_not_found(repository):
    history(repository, "main: a", "fix@a: b")
    with pytest.raises(NotFound):
        rebase(repository, "conv-001", branch="fix", onto="nowhere")
    with pytest.raises(NotFound):
        rebase(repository, "conv-001", branch="nothing", onto="main")


def test_many_messages_leave_no_loose_objects_behind(repository):
    words = " ".join(f"w{number}" for number in range(40))
    history(repository, "main: a b", f"fix@a: {words}")
    before = sum(len(files) for top, _, files in os.walk(f"{repository.path}/objects") if "pack" not in top)
    rebase(repository, "conv-001", branch="fix", onto="main")
    after = sum(len(files) for top, _, files in os.walk(f"{repository.path}/objects") if "pack" not in top)
    assert after - before < 14


def test_a_moved_message_is_still_found_by_its_id(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    done = rebase(repository, "conv-001", branch="fix", onto="main")
    assert cat(repository, drawn.ids["c"]).message.text == "c"
    assert is_ancestor(repository, drawn.oids["b"], done.tip)


def test_a_claim_is_written_at_the_new_base_even_if_the_old_base_had_it(repository):
    history(repository, "main: a")
    decide(repository, "conv-001/main", "jwt")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    decide(repository, "conv-001/fix", "jwt", author="dave")
    rebase(repository, "conv-001", branch="fix", onto="main~1")
    assert decided(repository, "conv-001/fix") == ["jwt"]
