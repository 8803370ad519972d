"""`scopes conv merge`, the whole command: its forms, its exit codes, and what goes wrong."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.cli.running import PRODUCT, command_line, environment


@pytest.fixture
def torn(talk):
    """The conversation with a disagreement between main and fix."""
    talk.both_say("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    return talk


@pytest.fixture
def waiting(torn):
    """The conversation with a merge that waits for one resolution."""
    torn.stop = torn.merge(code=3)
    torn.conflict = torn.stop["conflicts"][0]
    return torn


def test_the_command_line_of_the_specification_merges(talk):
    """S4-9, S4-11: what came in is what the source has and the target has not, oldest first."""
    talk.say("main", "on main")
    came = [talk.say("fix", word) for word in ("one", "two")]
    command = ("ai", "conversations", "merge", talk.id, "--source", "fix", "--target", "main", "--json")
    done = talk.run(*command)
    assert (done["kind"], done["result"], done["branch"]) == ("merge", "merged", "main")
    assert (done["merged_messages"], done["conflicts"]) == (came, [])
    assert talk.texts()[-1] == "Merge fix into main"


def test_a_fast_forward_is_made_unless_no_ff_is_given(talk):
    """S4-10."""
    talk.say("fix", "one")
    assert talk.merge("--dry-run")["result"] == "fast-forward"
    assert talk.merge("--no-ff", "--message", "joined")["result"] == "merged"
    assert talk.texts()[-1] == "joined"
    assert talk.merge()["result"] == "up-to-date"


def test_undo_reverts_a_merge(talk):
    talk.say("main", "on main")
    talk.say("fix", "one")
    before = talk.branches()["main"]["tip"]
    assert "undo with" not in talk.run("conv", "merge", talk.id, "--source", "fix")
    talk.run("undo")
    assert talk.branches()["main"]["tip"] == before


def test_the_default_target_is_the_active_branch(talk):
    talk.say("fix", "one")
    assert talk.run("conv", "merge", talk.id, "--source", "fix", "--json")["target"] == "main"


def test_a_conflict_exits_with_3_and_creates_a_branch(torn):
    """S4-16, S4-17: the target stays, the new branch is active, and the merge comes from another process."""
    before = torn.branches()["main"]["tip"]
    stop = torn.merge(code=3)
    after = torn.branches()
    assert (stop["result"], stop["resolution_required"]) == ("conflict", True)
    assert after["main"]["tip"] == before
    assert after[stop["branch"]]["active"]
    assert after[stop["branch"]]["purpose"] == "conflict-resolution"
    assert "Conflict detected, creating resolution branch" in torn.texts(stop["branch"])


def test_in_a_pipe_a_stopped_merge_prints_the_name_of_its_branch(torn):
    words = ("conv", "merge", torn.id, "--source", "fix", "--target", "main")
    assert torn.run(*words, code=3) == "conflict-resolution/fix-into-main\n"


def test_a_dry_run_shows_the_conflicts_and_changes_nothing(torn):
    """S4-18."""
    before = torn.branches()
    seen = torn.merge("--dry-run", code=3)
    assert (seen["result"], seen["dry_run"], seen["conflicts"][0]["key"]) == ("conflict", True, "decisions/db")
    assert torn.branches() == before
    assert torn.listed() == []


@pytest.mark.parametrize(("strategy", "stands"), [("ours", "SQLite"), ("theirs", "files")])
def test_a_strategy_takes_a_side(torn, strategy, stands):
    """S4-14."""
    done = torn.merge("--strategy", strategy)
    assert (done["result"], done["conflicts"][0]["resolution"]["strategy"]) == ("merged", strategy)
    rows = torn.run("conv", "decisions", torn.id, "--json")["decisions"]
    assert [row["decision"] for row in rows if row["stands"]] == [stands]


def test_a_rule_in_the_settings_takes_precedence_over_the_strategy(torn):
    """S4-15."""
    torn.run("config", "set", "scopes.merge.rule.decision-disagreement", "second")
    assert torn.merge("--strategy", "ours")["conflicts"][0]["resolution"]["choice"] == "source"


def test_incomplete_rules_are_ignored_with_a_note(torn):
    torn.run("config", "set", "scopes.merge.rule.edit-edit", "first")
    (note,) = torn.merge(code=3)["notes"]
    assert "they do not cover decision-disagreement" in note["text"]


def test_a_rule_may_forbid_the_merge(torn):
    torn.run("config", "set", "scopes.merge.rule.decision-disagreement", "fail")
    error = torn.refused("conv", "merge", torn.id, "--source", "fix", code=1)
    assert "decision-disagreement" in error["message"]


MIXTURES = {
    "nothing": ((), "no source branch given", "--source"),
    "empty source": (("--source", ""), "no source branch given", "--source"),
    "both ends": (("--continue", "--abort"), "cannot be combined", "leave out"),
    "source and continue": (("--continue", "--source", "fix"), "--continue", "only --branch"),
    "strategy and abort": (("--abort", "--strategy", "ours"), "--abort", "only --branch"),
    "dry run and continue": (("--continue", "--dry-run"), "--continue", "only --branch"),
    "branch and source": (("--source", "fix", "--branch", "main"), "--branch", "--target"),
}


@pytest.mark.parametrize("mixture", MIXTURES)
def test_options_that_cannot_be_combined_are_refused_with_a_hint(talk, mixture):
    words, trouble, cure = MIXTURES[mixture]
    error = talk.refused("conv", "merge", talk.id, *words, code=2)
    assert trouble in error["message"]
    assert cure in error["hint"]


BAD = {
    "unknown source": (("--source", "nowhere"), 4),
    "unknown target": (("--source", "fix", "--target", "nowhere"), 4),
    "ambiguous source": (("--source", "try"), 5),
    "into itself": (("--source", "main", "--target", "main"), 2),
    "a message of its own": (("--source", "main~1", "--target", "main"), 0),
    "no such strategy": (("--source", "fix", "--strategy", "mine"), 2),
    "nothing waits to continue": (("--continue",), 4),
    "nothing waits to abort": (("--abort",), 4),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_has_its_exit_code(talk, case):
    words, code = BAD[case]
    talk.say("main", "more")
    for name in ("try-a", "try-b"):
        talk.run("conv", "branch", talk.id, name, "--no-switch")
    assert talk.within("conv", "merge", talk.id, *words).returncode == code


def test_an_empty_branch_is_up_to_date(talk):
    other = talk.run("conv", "new", "--json")["id"]
    assert talk.merge()["result"] == "up-to-date"
    error = talk.refused("conv", "merge", talk.id, "--source", other, code=1)
    assert "no message in common" in error["message"]
    assert talk.run("conv", "merge", talk.id, "--source", other, "--allow-unrelated", "--json")["result"] == "merged"


def test_a_merge_does_not_continue_with_an_open_conflict(waiting):
    error = waiting.refused("conv", "merge", waiting.id, "--continue", code=3)
    assert error["message"].startswith("1 conflict is still open")


def test_a_branch_with_conflicts_is_neither_source_nor_target(waiting):
    waiting.say("main", "more")
    for words in (("--source", waiting.stop["branch"], "--target", "main"), ("--source", "fix")):
        error = waiting.refused("conv", "merge", waiting.id, *words, code=3)
        assert "open conflict" in error["message"]


def test_an_aborted_merge_leaves_nothing_and_undo_restores_it(waiting):
    done = waiting.run("conv", "merge", waiting.id, "--abort", "--json")
    assert (done["kind"], done["branch"], done["active_branch"]) == ("merge-abort", waiting.stop["branch"], "main")
    assert set(waiting.branches()) == {"main", "fix"}
    waiting.run("undo")
    assert len(waiting.listed()) == 1


def test_a_target_that_moved_in_the_meantime_is_merged_again(waiting):
    waiting.say("main", "meanwhile")
    waiting.resolve(waiting.conflict, "--take", "source")
    assert waiting.finish()["result"] == "merged"
    assert {"meanwhile", "my decision"} <= set(waiting.texts())


def test_a_target_that_moved_into_another_conflict_stops_again_on_the_same_branch(waiting):
    waiting.resolve(waiting.conflict, "--take", "source")
    waiting.state("main", "decision", {"topic": "db", "decision": "PostgreSQL"}, "alice")
    again = waiting.finish(code=3)
    assert (again["result"], again["branch"]) == ("conflict", waiting.stop["branch"])
    (conflict,) = waiting.listed()
    assert [conflict[side]["value"] for side in ("target", "source")] == ["PostgreSQL", "files"]
    assert conflict["number"] == next(each["number"] for each in again["conflicts"] if each["id"] == conflict["id"])
    waiting.run("conflicts", "resolve", waiting.id, str(conflict["number"]), "--take", "target")
    assert waiting.finish()["result"] == "fast-forward"
    assert [row["decision"] for row in waiting.run("conv", "decisions", waiting.id, "--json")["decisions"] if row["stands"]] == [
        "PostgreSQL"
    ]  # fmt: skip


def test_a_deleted_resolution_branch_ends_the_merge(waiting):
    waiting.run("conv", "switch", waiting.id, "main")
    waiting.run("conv", "delete-branch", waiting.id, waiting.stop["branch"], "--force")
    assert waiting.refused("conv", "merge", waiting.id, "--continue", code=4)["hint"]
    assert waiting.listed() == []
    assert waiting.merge(code=3)["branch"] == waiting.stop["branch"]


def test_several_stopped_merges_are_distinguished_by_branch(waiting):
    assert (
        "--abort" in waiting.refused("conv", "merge", waiting.id, "--source", "fix", "--target", "main", code=1)["hint"]
    )
    waiting.run("conv", "branch", waiting.id, "other", "--from", "main", "--no-switch")
    again = waiting.run("conv", "merge", waiting.id, "--source", "fix", "--target", "other", "--json", code=3)["branch"]
    error = waiting.refused("conv", "merge", waiting.id, "--abort", code=5)
    assert again in error["hint"]
    assert waiting.run("conv", "merge", waiting.id, "--abort", "--branch", again, "--json")["branch"] == again
    assert waiting.resolve(waiting.conflict, "--take", "source")["remaining"] == 0


def test_two_concurrent_merges_into_one_target_both_succeed(talk):
    """Neither loses the other's messages, whichever comes first."""
    talk.say("main", "on main")
    for name in ("left", "right"):
        talk.run("conv", "branch", talk.id, name, "--from", talk.first, "--no-switch")
        talk.say(name, f"from {name}")
    lines = [
        command_line(
            "--store",
            talk.store,
            "conv",
            "merge",
            talk.id,
            "--source",
            name,
            "--target",
            "main",
            "--json",
            table=PRODUCT,
        )
        for name in ("left", "right")
    ]
    running = [
        subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) for line in lines
    ]
    outputs = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert [json.loads(output)["result"] for output in outputs] == ["merged", "merged"]
    assert {"on main", "from left", "from right"} <= set(talk.texts())
    assert talk.run("verify", "--json")["sound"]


def test_changes_lists_a_merge_its_conflicts_and_their_resolution(waiting):
    """S4-50: with the actor as the cause."""
    waiting.resolve(waiting.conflict, "--take", "source", "--as", "erin", "--reason", "simpler")
    waiting.finish()
    rows = waiting.run("conv", "changes", waiting.id, "--json")
    told = [(row["operation"], row["field_path"], row["cause"]) for row in rows]
    name = f"conflicts.{waiting.conflict['id']}"
    assert ("CREATE", name, "user:user") in told
    assert ("UPDATE", name, "agent:erin") in told
    assert ("CREATE", f"branches.{waiting.stop['branch']}", "user:user") in told
    assert ("MERGE", "branches.main", "user:user") in told
    update = next(row for row in rows if (row["operation"], row["field_path"]) == ("UPDATE", name))
    assert (update["after"]["choice"], update["after"]["reason"]) == ("source", "simpler")


def test_operations_name_the_merged_branches(waiting):
    kinds = [row["kind"] for row in waiting.run("operations", "list", "--json")["operations"]]
    assert kinds[0] == "merge-conflict"
    waiting.resolve(waiting.conflict, "--take", "source")
    waiting.finish()
    rows = waiting.run("operations", "list", "-n", "2", "--json")["operations"]
    assert [row["kind"] for row in rows] == ["merge", "resolve"]


def test_a_rewound_resolution_branch_is_not_a_finished_merge(waiting):
    """Without its merge it has no open conflict, and nothing of the source either."""
    waiting.run("conv", "rewind", f"{waiting.id}/{waiting.stop['branch']}")
    error = waiting.refused("conv", "merge", waiting.id, "--continue", code=1)
    assert "does not hold its merge any more" in error["message"]
    waiting.run("undo")
    waiting.resolve(waiting.conflict, "--take", "target")
    assert waiting.finish()["result"] == "fast-forward"
