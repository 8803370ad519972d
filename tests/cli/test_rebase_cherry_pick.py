"""`rebase` and `cherry-pick`: JSON, exit codes, help, and a resolution by later commands."""

from __future__ import annotations

import json
import signal

import pytest

from scopes import clock
from scopes.cli.main import main
from scopes.cli.table import TABLE
from tests.cli.running import PRODUCT, scopes
from tests.support.random_ids import hashed_counter


@pytest.fixture
def answer(capsys, sealed_world, monkeypatch):
    """Return a function that runs scopes with --json in this process and returns the document."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())

    def run(*words, code=0):
        assert main(["-c", "scopes.durability=fast", *words, "--json"], TABLE) == code
        shown = capsys.readouterr()
        return json.loads(shown.out or shown.err)

    interrupt = signal.getsignal(signal.SIGINT)
    yield run
    signal.signal(signal.SIGINT, interrupt)


@pytest.fixture
def drawn(answer):
    """A conversation with a and b on main, and c on fix, which forks at a; return the id of c."""
    answer("conv", "new")
    append = ("conv", "append", "conv-001", "--as", "carol", "--branch")
    answer(*append, "main", "a")
    answer("conv", "branch", "conv-001", "fix")
    answer(*append, "main", "b")
    return answer(*append, "fix", "c")["id"]


@pytest.fixture
def divided(answer, drawn):
    """Main decides jwt and fix decides sessions, in the message whose id is returned."""
    ids = [
        answer(
            *("conv", "append", "conv-001", "--branch", branch, f"we use {choice}", "--as", "carol"),
            *("--kind", "decision", "--data", json.dumps({"topic": "auth", "decision": choice})),
        )["id"]
        for branch, choice in (("main", "jwt"), ("fix", "sessions"))
    ]
    return ids[1]


def test_a_rebase_is_planned_done_and_then_up_to_date(answer, drawn):
    """S4-20."""
    words = ("conv", "rebase", "conv-001", "--branch", "fix", "--onto", "main")
    planned, done, again = answer(*words, "--dry-run"), answer(*words), answer(*words)
    assert (planned["result"], planned["dry_run"], planned["map"]) == ("rebased", True, done["map"])
    assert (done["kind"], done["result"], done["messages"], done["branch"]) == ("rebase", "rebased", [drawn], "fix")
    assert [row["id"] for row in done["map"]] == [drawn]
    assert (again["result"], again["map"], "operation" in again) == ("up-to-date", [], False)


def test_a_pick_is_planned_done_and_then_up_to_date(answer, drawn):
    words = ("conv", "cherry-pick", "conv-001", "fix", "--branch", "main")
    planned, done, again = answer(*words, "--dry-run"), answer(*words), answer(*words)
    assert (planned["dry_run"], planned["map"]) == (True, done["map"])
    assert (done["kind"], done["result"], done["messages"]) == ("cherry-pick", "picked", [drawn])
    assert again["result"] == "up-to-date"


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
def test_a_stopped_rebase_or_pick_is_resolved_and_continued(answer, divided, verb):
    begin = {"rebase": ["--branch", "fix", "--onto", "main"], "cherry-pick": ["fix", "--branch", "main"]}[verb]
    stopped = answer("conv", verb, "conv-001", *begin, code=3)
    assert (stopped["result"], stopped["stopped"], stopped["remaining"]) == ("conflict", divided, 0)
    (conflict,) = stopped["conflicts"]
    assert (conflict["number"], conflict["type"]) == (1, "decision-disagreement")
    assert (conflict["target"]["value"], conflict["source"]["value"]) == ("jwt", "sessions")
    refused = answer("conv", verb, "conv-001", "--continue", code=3)
    assert refused["error"]["kind"] == "conflicted"
    answer("conflicts", "resolve", "conv-001", "1", "--take", "source", "--as", "erin")
    assert answer("conv", verb, "conv-001", "--continue")["operation"]
    assert answer("undo")["kind"]


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
def test_a_stopped_rebase_or_pick_is_skipped_or_aborted(answer, divided, verb):
    begin = {"rebase": ["--branch", "fix", "--onto", "main"], "cherry-pick": ["fix", "--branch", "main"]}[verb]
    answer("conv", verb, "conv-001", *begin, code=3)
    assert answer("conv", verb, "conv-001", "--abort")["kind"] == f"{verb}-abort"
    answer("conv", verb, "conv-001", *begin, code=3)
    moved = {"rebase": 1, "cherry-pick": 0}[verb]
    assert len(answer("conv", verb, "conv-001", "--skip")["messages"]) == moved
    assert answer("conv", verb, "conv-001", "--continue", code=4)["error"]["kind"] == "not-found"


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
def test_the_conflict_of_a_skipped_message_is_closed(answer, divided, verb):
    """Findings of the fourth day, B1: it stayed open, and could be resolved with nothing in progress."""
    begin = {"rebase": ["--branch", "fix", "--onto", "main"], "cherry-pick": ["fix", "--branch", "main"]}[verb]
    stopped = answer("conv", verb, "conv-001", *begin, code=3)["conflicts"][0]
    answer("conv", verb, "conv-001", "--skip")
    assert answer("conflicts", "list", "conv-001")["conflicts"] == []
    (listed,) = answer("conflicts", "list", "conv-001", "--all")["conflicts"]
    assert (listed["id"], listed["status"]) == (stopped["id"], "aborted")
    assert listed["source_branch"]
    refused = answer("conflicts", "resolve", "conv-001", "1", "--take", "source", code=1)["error"]
    assert "skipped with its message" in refused["message"]
    if verb == "cherry-pick":
        open_again = answer("conv", "merge", "conv-001", "--source", "fix", "--target", "main", code=3)["conflicts"]
        assert [each["status"] for each in open_again] == ["open"]
        assert "decided_before" not in open_again[0]


def test_the_undo_of_a_skip_names_what_was_skipped(answer, divided):
    """C6: it was `pick 0 for conv-001/main`."""
    answer("conv", "cherry-pick", "conv-001", "fix", "--branch", "main", code=3)
    answer("conv", "cherry-pick", "conv-001", "--skip")
    assert answer("undo")["target"]["summary"] == f"skip {divided[:8]} for conv-001/main"


@pytest.mark.parametrize("words", [
    ("rebase", "conv-001"),
    ("cherry-pick", "conv-001"),
    ("rebase", "conv-001", "--continue", "--abort"),
    ("rebase", "conv-001", "--onto", "main", "--skip"),
    ("cherry-pick", "conv-001", "--abort", "--skip"),
])  # fmt: skip
def test_no_step_or_several_steps_are_a_usage_error(answer, words):
    answer("conv", "new")
    done = answer("conv", *words, code=2)
    assert done["error"]["kind"] == "invalid"
    assert done["error"]["hint"]


@pytest.mark.parametrize("verb", ["rebase", "cherry-pick"])
def test_help_explains_the_steps(verb):
    shown = scopes("conv", verb, "--help", table=PRODUCT).stdout
    for word in ("--continue", "--skip", "--abort", "examples:"):
        assert word in shown
