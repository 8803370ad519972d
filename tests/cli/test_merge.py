"""`scopes merge`: options, exit codes and errors."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.cli.running import PRODUCT, command_line, environment
from tests.support.store import git


@pytest.fixture
def conflicting(conversation):
    """A conversation with different decisions on main and fix."""
    conversation.append_on_both("decision", {"topic": "db", "decision": "SQLite"}, {"topic": "db", "decision": "files"})
    return conversation


@pytest.fixture
def stopped(conflicting):
    """A conversation with a merge that stopped on one conflict."""
    conflicting.stop = conflicting.merge(code=3)
    conflicting.conflict = conflicting.stop["conflicts"][0]
    return conflicting


def test_the_command_line_of_the_specification_merges(conversation):
    """S4-9, S4-11: what came in is what the source has and the target has not, oldest first."""
    conversation.append("main", "on main")
    came = [conversation.append("fix", word) for word in ("one", "two")]
    command = ("ai", "conversations", "merge", conversation.id, "--source", "fix", "--target", "main", "--json")
    done = conversation.run(*command)
    assert (done["kind"], done["result"], done["branch"]) == ("merge", "merged", "main")
    assert (done["merged_messages"], done["conflicts"]) == (came, [])
    assert conversation.texts()[-1] == "Merge 2 messages"


def test_a_fast_forward_is_made_unless_no_ff_is_given(conversation):
    """S4-10."""
    conversation.append("fix", "one")
    assert conversation.merge("--dry-run")["result"] == "fast-forward"
    assert conversation.merge("--no-ff", "--message", "joined")["result"] == "merged"
    assert conversation.texts()[-1] == "joined"
    assert conversation.merge()["result"] == "up-to-date"


def test_undo_reverts_a_merge(conversation):
    conversation.append("main", "on main")
    conversation.append("fix", "one")
    before = conversation.branches()["main"]["tip"]
    assert "undo with" not in conversation.run("conv", "merge", conversation.id, "--source", "fix")
    conversation.run("undo")
    assert conversation.branches()["main"]["tip"] == before


def test_the_default_target_is_the_active_branch(conversation):
    conversation.append("fix", "one")
    assert conversation.run("conv", "merge", conversation.id, "--source", "fix", "--json")["target"] == "main"


def test_a_conflict_exits_with_3_and_creates_a_branch(conflicting):
    """S4-16, S4-17: the target stays, the new branch is active, and the merge comes from another process."""
    before = conflicting.branches()["main"]["tip"]
    stop = conflicting.merge(code=3)
    after = conflicting.branches()
    assert (stop["result"], stop["resolution_required"]) == ("conflict", True)
    assert after["main"]["tip"] == before
    assert after[stop["branch"]]["active"]
    assert after[stop["branch"]]["purpose"] == "conflict-resolution"
    assert "Conflict detected, creating resolution branch" in conflicting.texts(stop["branch"])


def test_in_a_pipe_a_stopped_merge_prints_the_name_of_its_branch(conflicting):
    words = ("conv", "merge", conflicting.id, "--source", "fix", "--target", "main")
    assert conflicting.run(*words, code=3) == "conflict-resolution/fix-into-main\n"


@pytest.mark.parametrize(
    ("words", "unchanged", "steps"),
    [
        (("merge", "--source", "fix", "--target", "main"), "main is unchanged: 1 conflict with fix", "merge"),
        (("merge", "--source", "fix", "--dry-run"), "main would be unchanged: 1 conflict with fix", None),
        (("rebase", "--branch", "fix", "--onto", "main"), "fix is unchanged: 1 conflict at message", "rebase"),
        (("cherry-pick", "fix", "--branch", "main"), "main is unchanged: 1 conflict at message", "cherry-pick"),
    ],
)
def test_in_a_pipe_the_conflicts_and_the_next_commands_are_notes(conflicting, words, unchanged, steps):
    done = conflicting.run_main("conv", words[0], conflicting.id, *words[1:])
    assert done.returncode == 3
    assert done.stdout.count("\n") == 1
    assert f"note: {conflicting.id}/{unchanged}" in done.stderr
    assert "decision-disagreement decisions/db" in done.stderr
    assert (f"scopes {steps} {conflicting.id} --abort" in done.stderr) == (steps is not None)
    assert ("--take source --continue" in done.stderr) == (steps is not None)


@pytest.mark.parametrize(
    ("command", "note"),
    [
        ("merge", "{}/main would be fast-forwarded to fix: 1 message"), ("merge --no-ff", "fix would be merged into {}/main: 1 message"),
        ("rebase", "{}/fix is already based on main"), ("cherry-pick", "1 message would be picked onto {}/main"),
    ],
)  # fmt: skip
def test_in_a_pipe_a_dry_run_writes_in_a_note_what_would_happen(conversation, command, note):
    """M14: the name of the branch alone told nothing; a merge writes a row."""
    verb, *options = command.split()
    conversation.append("fix", "one")
    sides = {
        "merge": ("--source", "fix"),
        "rebase": ("--branch", "fix", "--onto", "main"),
        "cherry-pick": ("fix", "--branch", "main"),
    }
    done = conversation.run_main("conv", verb, conversation.id, *sides[verb], *options, "--dry-run")
    outcome = "merged" if options else "fast-forward"
    row = f"{outcome}\t{conversation.id}\tmain\tfix\t1\t0\n"
    written = {"merge": row, "rebase": "fix\n", "cherry-pick": "main\n"}
    assert (done.returncode, done.stdout) == (0, written[verb])
    assert f"note: {note.format(conversation.id)}\n" in done.stderr


def test_a_dry_run_shows_the_conflicts_and_changes_nothing(conflicting):
    """S4-18."""
    before = conflicting.branches()
    seen = conflicting.merge("--dry-run", code=3)
    assert (seen["result"], seen["dry_run"], seen["conflicts"][0]["key"]) == ("conflict", True, "decisions/db")
    assert conflicting.branches() == before
    assert conflicting.list_conflicts() == []


@pytest.mark.parametrize(("strategy", "decision"), [("ours", "SQLite"), ("theirs", "files")])
def test_a_strategy_takes_a_side(conflicting, strategy, decision):
    """S4-14."""
    done = conflicting.merge("--strategy", strategy)
    assert (done["result"], done["conflicts"][0]["resolution"]["strategy"]) == ("merged", strategy)
    rows = conflicting.run("conv", "decisions", conflicting.id, "--json")["decisions"]
    assert [row["decision"] for row in rows if row["stands"]] == [decision]


def test_a_rule_in_the_settings_takes_precedence_over_the_strategy(conflicting):
    """S4-15."""
    conflicting.run("config", "scopes.merge.rule.decision-disagreement", "second")
    assert conflicting.merge("--strategy", "ours")["conflicts"][0]["resolution"]["choice"] == "source"


def test_incomplete_rules_are_ignored_with_a_note(conflicting):
    conflicting.run("config", "scopes.merge.rule.edit-edit", "first")
    (note,) = conflicting.merge(code=3)["notes"]
    assert "they do not cover decision-disagreement" in note["text"]


def test_a_rule_may_forbid_the_merge(conflicting):
    conflicting.run("config", "scopes.merge.rule.decision-disagreement", "fail")
    error = conflicting.run_refused("conv", "merge", conflicting.id, "--source", "fix", code=1)
    assert "decision-disagreement" in error["message"]


def test_a_rule_for_no_type_of_conflict_is_refused_wherever_it_was_set(conflicting):
    """A10: `git config` writes the same file."""
    git(conflicting.store, "config", "scopes.merge.rule.nosuch", "first")
    error = conflicting.run_refused("conv", "merge", conflicting.id, "--source", "fix", code=2)
    assert error["message"] == "'nosuch' is not a valid conflict type"


MIXTURES = {
    "nothing": ((), "merge needs a branch to merge", "branches of"),
    "empty source": (("--source", ""), "merge needs a branch to merge", "branches of"),
    "both ends": (("--continue", "--abort"), "cannot be combined", "leave out"),
    "source and continue": (("--continue", "--source", "fix"), "--continue", "scopes merge [CONV] --continue"),
    "strategy and abort": (("--abort", "--strategy", "ours"), "--abort", "scopes merge [CONV] --abort"),
    "branch and source": (("--source", "fix", "--branch", "main"), "--branch", "--target"),
}


@pytest.mark.parametrize("mixture", MIXTURES)
def test_options_that_cannot_be_combined_are_refused_with_a_hint(conversation, mixture):
    words, trouble, cure = MIXTURES[mixture]
    error = conversation.run_refused("conv", "merge", conversation.id, *words, code=2)
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
def test_bad_input_has_its_exit_code(conversation, case):
    words, code = BAD[case]
    conversation.append("main", "more")
    for name in ("try-a", "try-b"):
        conversation.run("conv", "branch", conversation.id, name)
    assert conversation.run_main("conv", "merge", conversation.id, *words).returncode == code


def test_an_empty_branch_is_up_to_date(conversation):
    other = conversation.run("conv", "new", "--json")["id"]
    assert conversation.merge()["result"] == "up-to-date"
    error = conversation.run_refused("conv", "merge", conversation.id, "--source", other, code=1)
    assert "no message in common" in error["message"]
    assert (
        conversation.run("conv", "merge", conversation.id, "--source", other, "--allow-unrelated", "--json")["result"]
        == "merged"
    )


def test_a_merge_does_not_continue_with_an_open_conflict(stopped):
    error = stopped.run_refused("conv", "merge", stopped.id, "--continue", code=3)
    assert "has 1 open conflict" in error["message"]


def test_a_branch_with_conflicts_is_neither_source_nor_target(stopped):
    stopped.append("main", "more")
    for words in (("--source", stopped.stop["branch"], "--target", "main"), ("--source", "fix")):
        error = stopped.run_refused("conv", "merge", stopped.id, *words, code=3)
        assert "open conflict" in error["message"]


def test_an_aborted_merge_leaves_nothing_and_undo_restores_it(stopped):
    done = stopped.run("conv", "merge", stopped.id, "--abort", "--json")
    assert (done["kind"], done["branch"], done["active_branch"]) == ("merge-abort", stopped.stop["branch"], "main")
    assert set(stopped.branches()) == {"main", "fix"}
    stopped.run("undo")
    assert len(stopped.list_conflicts()) == 1


def test_a_target_that_moved_in_the_meantime_is_merged_again(stopped):
    stopped.append("main", "meanwhile")
    stopped.resolve(stopped.conflict, "--take", "source")
    assert stopped.continue_merge()["result"] == "merged"
    assert {"meanwhile", "my decision"} <= set(stopped.texts())


def test_a_target_that_moved_into_another_conflict_stops_again_on_the_same_branch(stopped):
    stopped.resolve(stopped.conflict, "--take", "source")
    stopped.append_typed("main", "decision", {"topic": "db", "decision": "PostgreSQL"}, "alice")
    again = stopped.continue_merge(code=3)
    assert (again["result"], again["branch"]) == ("conflict", stopped.stop["branch"])
    (conflict,) = stopped.list_conflicts()
    assert [conflict[side]["value"] for side in ("target", "source")] == ["PostgreSQL", "files"]
    assert conflict["number"] == next(each["number"] for each in again["conflicts"] if each["id"] == conflict["id"])
    stopped.run("conflicts", "resolve", stopped.id, str(conflict["number"]), "--take", "target")
    assert stopped.continue_merge()["result"] == "merged"
    assert [row["decision"] for row in stopped.run("conv", "decisions", stopped.id, "--json")["decisions"] if row["stands"]] == [
        "PostgreSQL"
    ]  # fmt: skip


def test_a_deleted_resolution_branch_ends_the_merge(stopped):
    stopped.run("conv", "switch", stopped.id, "main")
    stopped.run("conv", "delete-branch", stopped.id, stopped.stop["branch"], "--force")
    assert stopped.run_refused("conv", "merge", stopped.id, "--continue", code=4)["hint"]
    assert stopped.list_conflicts() == []
    assert stopped.merge(code=3)["branch"] == stopped.stop["branch"]


def test_several_stopped_merges_are_distinguished_by_branch(stopped):
    assert (
        "--abort"
        in stopped.run_refused("conv", "merge", stopped.id, "--source", "fix", "--target", "main", code=1)["hint"]
    )
    stopped.run("conv", "branch", stopped.id, "other", "--from", "main")
    again = stopped.run("conv", "merge", stopped.id, "--source", "fix", "--target", "other", "--json", code=3)["branch"]
    error = stopped.run_refused("conv", "merge", stopped.id, "--abort", code=5)
    assert again in error["hint"]
    assert stopped.run("conv", "merge", stopped.id, "--abort", "--branch", again, "--json")["branch"] == again
    assert stopped.resolve(stopped.conflict, "--take", "source")["remaining"] == 0


@pytest.mark.slow
def test_two_concurrent_merges_into_one_target_both_succeed(conversation):
    """Neither loses the other's messages, whichever comes first."""
    conversation.append("main", "on main")
    for name in ("left", "right"):
        conversation.run("conv", "branch", conversation.id, name, "--from", conversation.first)
        conversation.append(name, f"from {name}")
    lines = [
        command_line(
            "--store",
            conversation.store,
            "conv",
            "merge",
            conversation.id,
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
    assert {"on main", "from left", "from right"} <= set(conversation.texts())
    assert conversation.run("verify", "--json")["sound"]


def test_changes_lists_a_merge_and_what_was_decided_in_it(stopped):
    """S4-50: with the actor as the cause."""
    stopped.resolve(stopped.conflict, "--take", "source", "--as", "erin", "--reason", "simpler")
    stopped.continue_merge()
    rows = stopped.run("conv", "changes", stopped.id, "--json")
    changes = [(row["operation"], row["field_path"], row["cause"]) for row in rows]
    assert [(verb, cause) for verb, field, cause in changes if field.startswith("decisions.")][-1] == (
        "UPDATE",
        "agent:erin",
    )
    assert ("CREATE", f"branches.{stopped.stop['branch']}", "user:user") in changes
    assert ("MERGE", "branches.main", "user:user") in changes


def test_operations_name_the_merged_branches(stopped):
    kinds = [row["kind"] for row in stopped.run("operations", "-a", "--json")["operations"]]
    assert kinds[0] == "merge-conflict"
    stopped.resolve(stopped.conflict, "--take", "source")
    stopped.continue_merge()
    rows = stopped.run("operations", "-a", "-n", "2", "--json")["operations"]
    assert [row["kind"] for row in rows] == ["merge", "resolve"]


def test_a_rewound_resolution_branch_is_not_a_finished_merge(stopped):
    """Without its merge it has no open conflict, and nothing of the source either."""
    stopped.run("conv", "rewind", f"{stopped.id}/{stopped.stop['branch']}")
    error = stopped.run_refused("conv", "merge", stopped.id, "--continue", code=1)
    assert "no longer contains the commit that it stopped at" in error["message"]
    stopped.run("undo")
    stopped.resolve(stopped.conflict, "--take", "target")
    assert stopped.continue_merge()["result"] == "merged"


def test_a_merge_in_progress_is_named_by_its_branch_as_hints_name_it(stopped):
    """M12."""
    where = f"{stopped.id}/{stopped.stop['branch']}"
    done = stopped.run("conv", "merge", where, "--abort", "--json")
    assert (done["kind"], done["branch"]) == ("merge-abort", stopped.stop["branch"])


def test_show_tells_what_is_in_progress(stopped):
    branch = "conflict-resolution/fix-into-main"
    assert stopped.run("show", stopped.id, "--json")["in_progress"] == [
        {
            "kind": "merge",
            "source": "fix",
            "target": "main",
            "branch": branch,
            "open_conflicts": 1,
            "conflict": stopped.conflict["id"],
        }
    ]
    assert "\nmerge of fix into main in progress, 1 open conflict\n" in stopped.run("show", stopped.id)
    stopped.run("merge", stopped.id, "--abort")
    assert "in progress" not in stopped.run("show", stopped.id)


@pytest.mark.parametrize("command", ["merge", "rebase", "cherry-pick"])
def test_continuing_where_nothing_is_in_progress_says_how_to_find_it(command, stopped):
    other = stopped.run("new", "--json")["id"]
    error = stopped.run_refused(command, other, "--continue", code=4)
    assert error["hint"] == "what is open in any conversation: scopes conflicts list"


def test_in_a_pipe_a_merge_that_had_nothing_to_do_says_so(conversation):
    done = conversation.run_main("conv", "merge", conversation.id, "fix", "--target", "main")
    assert (done.stdout, done.stderr) == ("main\n", "note: conv-001/main is already up to date with fix\n")


@pytest.mark.parametrize("step", ["--continue", "--abort"])
def test_a_step_of_a_merge_takes_no_source(stopped, step):
    """The error was that the source was given twice."""
    assert f"{step} takes no source" in stopped.run_refused("merge", stopped.id, "fix", step, code=2)["message"]


def test_a_merge_of_an_earlier_message_is_not_called_by_the_branch(conflicting):
    conflicting.append("fix", "more")
    outcome = conflicting.run("merge", conflicting.id, "fix~1", "--target", "main", "--json", code=3)
    assert outcome["source"] == "fix~1"


def test_a_source_that_grew_while_the_merge_was_stopped_is_named(stopped):
    stopped.append("fix", "one more")
    done = stopped.run_main("conflicts", "resolve", stopped.id, "1", "--take", "source", "--continue")
    assert "note: 1 newer message of fix is not merged" in done.stderr
    assert f"scopes merge {stopped.id} fix --target main" in done.stderr


def test_in_a_pipe_each_automatic_resolution_is_a_note(conflicting):
    done = conflicting.run_main("merge", conflicting.id, "fix", "--target", "main", "--strategy", "theirs")
    assert "resolved automatically: decision-disagreement decisions/db: took the source (theirs)" in done.stderr


def test_redo_does_not_leave_new_messages_on_a_branch_that_no_list_shows(stopped):
    stopped.run("conflicts", "resolve", stopped.id, "1", "--take", "source", "--json")
    stopped.run("merge", stopped.id, "--continue", "--json")
    stopped.run("undo", "--json")
    stopped.append("conflict-resolution/fix-into-main", "new thoughts")
    refusal = stopped.run_refused("redo", code=1)
    assert "has new messages since" in refusal["message"]
    stopped.run(*refusal["hint"].removeprefix("finish the merge with them: scopes ").split(), "--json")
    assert "new thoughts" in stopped.run("log", f"{stopped.id}/main")


def test_a_resolution_is_not_undone_alone_after_its_merge_has_ended(stopped):
    """It said that it was undone, and the target kept it."""
    resolved = stopped.run("conflicts", "resolve", stopped.id, "1", "--take", "source", "--json")
    stopped.run("merge", stopped.id, "--continue", "--json")
    assert "has ended since" in stopped.run_refused("undo", resolved["operation"], code=1)["message"]
    stopped.run("undo", "--json")
    stopped.run("undo", "--json")
    assert [each["status"] for each in stopped.list_conflicts()] == ["open"]
