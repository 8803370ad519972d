"""`scopes merge-requests`: the whole way from a request to its merge, in every form of output."""

from __future__ import annotations

import pytest


@pytest.fixture
def branches(conversation):
    """A conversation whose branch fix has a message that main has not."""
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    return conversation


def opened(conversation, *options):
    source = "fix"
    return conversation.run("mr", "open", conversation.id, "--source", source, "--title", "Review", "--json", *options)


def test_a_request_is_opened_shown_and_merged_through_its_conflict(branches):
    """S4-21."""
    request = opened(branches, "-m", "please")
    assert (request["kind"], request["number"], request["state"], request["change"]) == (
        "merge-request", 1, "open", "opened",
    )  # fmt: skip
    view = branches.run("mr", "show", branches.id, "1", "--json")
    assert (view["outcome"], view["message"], view["gone"]) == ("conflict", "please", [])
    assert [each["key"] for each in view["conflicts"]] == ["decisions/db"]
    assert branches.run("mr", "merge", branches.id, "1", "--json", code=3)["result"] == "conflict"
    branches.run("conflicts", "resolve", branches.id, "1", "--take", "source", "--continue", "--json")
    assert branches.run("mr", "list", "--json")["merge_requests"] == []
    (row,) = branches.run("conv", "mr", "list", branches.id, "--state", "all", "--json")["merge_requests"]
    assert row["state"] == "merged"
    assert row["merge"] == branches.run("mr", "show", row["id"], "--json")["merge"]


def test_a_row_in_a_pipe_has_every_column(branches):
    request = opened(branches)
    cells = branches.run("mr", "list").rstrip("\n").split("\t")
    assert cells[:5] == [branches.id, "1", request["id"], "open", "Review"]
    assert branches.run("mr", "list", "--format", r"{number}\t{title}") == "1\tReview\n"
    assert branches.run("mr", "close", "1") == "1\n"


def test_a_closed_request_is_refused_with_the_next_command(branches):
    opened(branches)
    closed = branches.run("mr", "close", branches.id, "1", "--reason", "later", "--json")
    assert (closed["state"], closed["reason"]) == ("closed", "later")
    assert "mr open" in branches.run_refused("mr", "merge", branches.id, "1", code=1)["hint"]
    assert branches.run_refused("mr", "show", branches.id, "9", code=4)["kind"] == "not-found"


def test_a_hostile_title_is_clean_on_every_output(branches):
    source = "fix"
    title = "\x1b]0;owned\x07 \u202e red \x1b[31m"
    branches.run("mr", "open", branches.id, "--source", source, "--title", title)
    for command in (("mr", "list"), ("mr", "show", "1")):
        text = branches.run(*command)
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_a_request_that_is_closed_while_its_merge_has_stopped_says_so(branches):
    opened(branches)
    branches.run("mr", "merge", branches.id, "1", "--json", code=3)
    assert branches.run("mr", "show", branches.id, "1", "--json")["in_progress"] == "conflict-resolution/fix-into-main"
    done = branches.run_main("mr", "close", branches.id, "1")
    assert "the merge of fix into main is still in progress on conflict-resolution/fix-into-main" in done.stderr
    assert f"scopes merge {branches.id}/conflict-resolution/fix-into-main --abort" in done.stderr


def test_a_request_shows_the_files_that_both_sides_changed(conversation):
    for branch in ("main", "fix"):
        conversation.append(branch, "edited", "--data", '{"files": [{"op": "edit", "path": "a.py"}]}')
    opened(conversation)
    shown = conversation.run("mr", "show", conversation.id, "1", "--json")
    assert [each["path"] for each in shown["files"]] == ["a.py"]
    assert "a.py: both edited" in conversation.run("mr", "show", conversation.id, "1")
