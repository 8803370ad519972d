"""`scopes conflicts resolve --continue`: the last resolution finishes the merge, rebase or cherry-pick."""

from __future__ import annotations

import pytest

from scopes.conversation.merge import continue_merge
from tests.render.rendering import seen_lines
from tests.support.store import open_store


@pytest.fixture
def disagreed(conversation):
    """A conversation with two contradictory claims on main and fix."""
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    conversation.append_on_both("method", {"goal": "x", "approach": "fast"}, {"goal": "x", "approach": "slow"})
    return conversation


@pytest.mark.parametrize("steps", [("merge", "fix", "--target", "main"), ("cherry-pick", "fix~1", "fix", "-b", "main")])
def test_the_last_resolution_finishes_the_merge_or_cherry_pick(disagreed, steps):
    disagreed.run("conv", steps[0], disagreed.id, *steps[1:], "--json", code=3)
    rounds = [disagreed.list_conflicts()]
    while rounds[-1]:
        code = 3 if steps[0] == "cherry-pick" and len(rounds) == 1 else 0
        last = disagreed.resolve(rounds[-1][0], "--take", "source", "--continue", code=code)
        rounds.append(disagreed.list_conflicts())
    assert len(rounds) == 3
    assert last["kind"] == "resolution"
    assert last["continued"]["kind"] == steps[0]
    assert last["continued"]["operation"] != last["operation"]
    decisions = disagreed.run("conv", "decisions", f"{disagreed.id}/main", "--json")
    assert "files" in str(decisions)
    assert disagreed.branches()["main"]["active"]


def test_a_rebase_is_finished_too(disagreed):
    disagreed.run("conv", "rebase", disagreed.id, "--branch", "fix", "--onto", "main", "--json", code=3)
    (conflict,) = disagreed.list_conflicts()
    again = disagreed.resolve(conflict, "--take", "theirs", "--continue", code=3)
    assert again["continued"]["result"] == "conflict"
    (conflict,) = disagreed.list_conflicts()
    assert disagreed.resolve(conflict, "--take", "source", "--continue")["continued"]["result"] == "rebased"


def test_with_another_open_conflict_only_this_one_is_resolved(disagreed):
    disagreed.merge(code=3)
    done = disagreed.resolve(disagreed.list_conflicts()[0], "--take", "source", "--continue")
    assert (done["remaining"], "continued" in done) == (1, False)
    assert done["notes"] == [{"text": "the merge was not continued: 1 conflict is still open"}]
    assert len(disagreed.list_conflicts()) == 1


def finish(disagreed):
    """Merge with two conflicts, resolve one, then resolve the other and finish the merge; return tips and the last."""
    disagreed.merge(code=3)
    before = disagreed.branches()["main"]["tip"]
    first, second = disagreed.list_conflicts()
    disagreed.resolve(first, "--take", "source")
    done = disagreed.resolve(second, "--take", "source", "--continue")
    after = disagreed.branches()["main"]["tip"]
    assert before != after
    return before, after, second, done


def test_undo_takes_back_the_resolution_and_the_merge_in_one_step(disagreed):
    """Findings of the fourth day, S1: undo took back the merge alone, and nothing said so."""
    before, after, second, done = finish(disagreed)
    preview = disagreed.run("undo", "--dry-run")
    undone = disagreed.run("undo", "--json")
    assert disagreed.branches()["main"]["tip"] == before
    assert [each["id"] for each in disagreed.list_conflicts()] == [second["id"]]
    assert (undone["target"]["id"], undone["also"][0]["id"]) == (done["continued"]["operation"], done["operation"])
    assert "would undo: resolve methods/x of " in preview
    assert f"; merge fix into {disagreed.id}/main, its conflicts resolved" in preview
    disagreed.run("redo")
    assert disagreed.branches()["main"]["tip"] == after
    assert disagreed.list_conflicts() == []
    disagreed.run("undo")
    assert disagreed.resolve(second, "--take", "target", "--continue")["continued"]["result"] == "merged"
    disagreed.run("undo")
    disagreed.run("undo")
    assert len(disagreed.list_conflicts()) == 2


@pytest.mark.parametrize("which", ["operation", "continued"])
def test_either_operation_of_one_command_names_both(disagreed, which):
    before, _, second, done = finish(disagreed)
    named = done["operation"] if which == "operation" else done["continued"]["operation"]
    disagreed.run("undo", named[:12])
    assert disagreed.branches()["main"]["tip"] == before
    assert [each["id"] for each in disagreed.list_conflicts()] == [second["id"]]
    for each in (done["operation"], done["continued"]["operation"]):
        assert "was undone already" in disagreed.run_refused("undo", each, code=1)["message"]


def test_undo_names_the_active_branch_and_the_merge_that_is_in_progress_again(disagreed):
    _, _, second, _ = finish(disagreed)
    (note,) = disagreed.run("undo", "--json")["notes"]
    text = f"active branch: {second['branch']}; the merge of fix into main is in progress"
    assert note["text"] == text
    list_them, abort = f"scopes conflicts list {disagreed.id}", f"scopes merge {disagreed.id} --abort"
    assert note["hint"] == f"to go on: {list_them}; to take back more: scopes undo; to abort it: {abort}"
    assert disagreed.run("redo", "--json")["notes"] == [{"text": "active branch: main"}]
    assert text in disagreed.run_main("undo").stderr


def test_the_operation_log_marks_operations_of_one_command(disagreed):
    *_, done = finish(disagreed)
    newest, earlier = disagreed.run("conv", "operations", "-a").splitlines()[:2]
    assert f"(one step with {done['operation'][:8]})" in newest
    assert "one step" not in earlier
    shown = disagreed.run("conv", "operations", done["continued"]["operation"])
    assert f"One step with: {done['operation']}" in shown


def test_an_operation_that_was_continued_alone_is_undone_alone(disagreed):
    disagreed.merge(code=3)
    for conflict in disagreed.list_conflicts():
        disagreed.resolve(conflict, "--take", "source")
    disagreed.run("conv", "merge", disagreed.id, "--continue")
    assert "also" not in disagreed.run("undo", "--json")
    hint = disagreed.run("redo", "--json") and disagreed.run("undo", "--json")["notes"][0]["hint"]
    assert hint.startswith(f"to go on: scopes merge {disagreed.id} --continue; ")


@pytest.mark.parametrize(
    "words",
    [
        ("context", "--max-tokens", "8000"),
        ("history", "--for-prompt"),
        ("export",),
        ("export", "--output", "FILE"),
    ],
)
def test_readers_of_an_active_conflict_resolution_branch_name_it_and_the_target(disagreed, words, tmp_path):
    """S1: context handed over the conflict-resolution branch, and nothing said so."""
    disagreed.merge(code=3)
    branch = disagreed.list_conflicts()[0]["branch"]
    verb, *options = (str(tmp_path / "out") if word == "FILE" else word for word in words)
    errors = disagreed.run_main("conv", verb, disagreed.id, *options).stderr
    assert f"this is the active branch, {branch}: the merge of fix into main is in progress" in errors
    assert f"the target: scopes {verb} {disagreed.id}/main" in errors
    for name in ("main", branch):
        named = disagreed.run_main("conv", verb, f"{disagreed.id}/{name}", *options)
        assert "active branch" not in named.stderr


def test_an_intervention_continues_too(disagreed):
    disagreed.merge(code=3)
    first, second = disagreed.list_conflicts()
    disagreed.resolve(first, "--take", "target")
    words = ("conflicts", "intervene", disagreed.id, second["id"], "--take", "source", "--reason", "law", "--continue")
    assert disagreed.run(*words, "--json")["continued"]["result"] == "merged"


def test_in_a_pipe_both_names_are_printed(disagreed):
    disagreed.merge(code=3)
    first, second = disagreed.list_conflicts()
    disagreed.resolve(first, "--take", "source")
    words = ("conflicts", "resolve", disagreed.id, second["id"], "--take", "source", "--continue")
    assert disagreed.run(*words) == f"{second['id']}\nmain\n"


@pytest.mark.parametrize(("word", "side"), [("ours", "target"), ("theirs", "source")])
def test_a_side_has_the_name_that_git_gives_it(disagreed, word, side):
    disagreed.merge(code=3)
    done = disagreed.resolve(disagreed.list_conflicts()[0], "--take", word)
    assert done["conflict"]["resolution"]["choice"] == side


def test_the_error_about_a_side_names_both_words(disagreed):
    disagreed.merge(code=3)
    conflict = disagreed.list_conflicts()[0]
    hint = disagreed.run_refused("conflicts", "resolve", disagreed.id, conflict["id"], "--take", "left", code=2)["hint"]
    assert all(word in hint for word in ("source", "target", "ours", "theirs"))


def test_the_screen_counts_the_messages_of_the_source(disagreed):
    """It counted the resolution and the notice of scopes, and the merge message said another number."""
    disagreed.merge(code=3)
    first, second = disagreed.list_conflicts()
    disagreed.append(first["branch"], "what now?")
    disagreed.resolve(first, "--take", "source")
    disagreed.resolve(second, "--take", "source")
    merged = continue_merge(open_store(disagreed.store), disagreed.id)
    assert seen_lines(merged)[0].endswith(": 2 messages")
    assert "Merge 2 messages" in disagreed.texts()


def test_a_second_undo_takes_the_merge_back_as_the_hint_of_the_first_one_says(disagreed):
    disagreed.merge(code=3)
    first, second = disagreed.list_conflicts()
    disagreed.resolve(first, "--take", "source")
    disagreed.resolve(second, "--take", "source", "--continue")
    (note,) = disagreed.run("undo", "--json")["notes"]
    assert "to take back more: scopes undo" in note["hint"]
    disagreed.run("undo")
    disagreed.run("undo")
    assert disagreed.list_conflicts() == []
    assert not any("conflict-resolution" in name for name in disagreed.branches())


def test_in_a_pipe_a_note_names_the_next_step_after_a_resolution(disagreed):
    disagreed.merge(code=3)
    first, second = disagreed.list_conflicts()
    steps = ("conflicts", "resolve", disagreed.id)
    assert f"scopes conflicts list {disagreed.id}" in disagreed.run_main(*steps, first["id"], "--take", "source").stderr
    last = disagreed.run_main(*steps, second["id"], "--take", "source")
    assert f"scopes merge {disagreed.id} --continue" in last.stderr
    assert len(last.stdout.splitlines()) == 1
