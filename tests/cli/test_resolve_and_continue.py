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


def test_undo_takes_back_the_merge_and_then_the_resolution(disagreed):
    disagreed.merge(code=3)
    before = disagreed.branches()["main"]["tip"]
    first, second = disagreed.list_conflicts()
    disagreed.resolve(first, "--take", "source")
    disagreed.resolve(second, "--take", "source", "--continue")
    assert disagreed.branches()["main"]["tip"] != before
    disagreed.run("undo")
    assert disagreed.branches()["main"]["tip"] == before
    assert disagreed.list_conflicts() == []
    disagreed.run("undo")
    assert [each["id"] for each in disagreed.list_conflicts()] == [second["id"]]
    assert disagreed.resolve(second, "--take", "target", "--continue")["continued"]["result"] == "merged"


def test_an_intervention_continues_too(disagreed):
    disagreed.merge(code=3)
    first, second = disagreed.list_conflicts()
    disagreed.resolve(first, "--take", "base")
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
