"""Two merges of one conversation that both stopped: their numbers, hints, endings, and the branch that is active."""

from __future__ import annotations

import pytest


def decide(conversation, branch, decision, topic="db"):
    conversation.append_typed(branch, "decision", {"topic": topic, "decision": decision}, "carol")


@pytest.fixture
def two(conversation):
    """Alt is active; merges of alt and b2 into main both stopped, in this order, on different decisions."""
    for name in ("alt", "b2"):
        conversation.run("conv", "branch", conversation.id, name, "--from", "main")
    decide(conversation, "main", "files")
    decide(conversation, "main", "REST", "api")
    decide(conversation, "alt", "SQLite")
    decide(conversation, "b2", "RPC", "api")
    conversation.run("conv", "switch", conversation.id, "alt")
    conversation.run("conv", "merge", conversation.id, "alt", "--target", "main", "--json", code=3)
    return conversation


def merge_second(two):
    return two.run_main("conv", "merge", two.id, "b2", "--target", "main")


def active(conversation):
    return next(name for name, each in conversation.branches().items() if each["active"])


def test_hints_of_the_second_merge_name_its_conflict_by_number_and_its_branch(two):
    """They named a conflict of the first merge, and an --abort that was refused."""
    done = merge_second(two)
    branch = "conflict-resolution/b2-into-main"
    assert "conflict 2: decision-disagreement decisions/api" in done.stderr
    assert f"scopes conflicts resolve {two.id} 2 --take source --continue" in done.stderr
    assert f"scopes merge {two.id}/{branch} --abort" in done.stderr
    assert [(row["number"], row["key"]) for row in two.list_conflicts()] == [(1, "decisions/db"), (2, "decisions/api")]
    two.run("conv", "merge", two.id, "--abort", "--branch", branch, "--json")


def test_the_number_of_an_open_conflict_stays_when_another_merge_begins(two):
    """Merges were listed by name: a3 came before alt."""
    two.run("conv", "branch", two.id, "a3", "--from", "b2")
    two.run("conv", "merge", two.id, "a3", "--target", "main", "--json", code=3)
    assert [(row["number"], row["key"]) for row in two.list_conflicts()] == [(1, "decisions/db"), (2, "decisions/api")]


def test_a_merge_that_stops_again_is_active_again_and_ends_on_the_target(two):
    """--continue said that its branch was active, which main was; at the end the merged branch was active."""
    merge_second(two)
    two.run("conflicts", "resolve", two.id, "2", "--take", "source", "--continue", "--json")
    assert active(two) == "conflict-resolution/alt-into-main"
    decide(two, "main", "a server")
    two.run("conv", "switch", two.id, "main")
    two.run("conflicts", "resolve", two.id, "1", "--take", "source", "--continue", "--json", code=3)
    assert active(two) == "conflict-resolution/alt-into-main"
    assert [row["status"] for row in two.list_conflicts("--all") if row["key"] == "decisions/db"].count("resolved") == 1
    two.run("conflicts", "resolve", two.id, "1", "--take", "source", "--continue", "--json")
    assert active(two) == "main"


def test_each_conflict_that_has_ended_is_listed_with_its_own_merge(two):
    """All were listed under the merge that began first."""
    merge_second(two)
    two.run("conflicts", "resolve", two.id, "2", "--take", "source", "--continue", "--json")
    two.run("conflicts", "resolve", two.id, "1", "--take", "source", "--continue", "--json")
    rows = two.run(
        "conflicts", "list", two.id, "--all", "--format", "{key} {source_branch} {target_branch}"
    ).splitlines()
    assert sorted(rows) == ["decisions/api b2 main", "decisions/db alt main"]
