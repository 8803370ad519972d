"""`scopes bisect run`: which commands can judge a message, what they read, and what they cannot break."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from tests.support.store import files_of

BROKEN = "it is broken"


@pytest.fixture
def searched(conversation):
    """Seven messages on main; the fourth and all later ones have the word broken, so each can be judged alone."""
    for text in ("one", "two", BROKEN, "broken four", "broken five", "broken six"):
        conversation.append("main", text)
    return conversation


def run_shell(conversation, script, *words, where="conv-001/main", given="message"):
    """Search with a shell script, which reads the message unless another input is given; return the finished command."""
    return conversation.run_main("bisect", where, "--input", given, *words, "--", "sh", "-c", script)


def find(conversation, script, *words, **options):
    """Search with a shell script; return the document with the result."""
    done = run_shell(conversation, script, "--json", *words, **options)
    assert done.returncode in {0, 1}, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("code", [1, 2, 124, 126, 127])
def test_every_exit_code_of_failure_below_128_is_bad(searched, code):
    found = find(searched, f"! grep -q broken || exit {code}")
    assert found["first_bad"]["subject"] == BROKEN
    assert {step["exit_code"] for step in found["steps"]} == {0, code}


@pytest.mark.parametrize("code", [128, 130, 137, 255])
def test_every_exit_code_from_128_stops_the_search(searched, code):
    done = run_shell(searched, f"! grep -q broken || exit {code}")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"with exit code {code}" in done.stderr


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV", "PIPE"])
def test_a_command_that_is_killed_stops_the_search_and_its_message_is_named(searched, name):
    done = run_shell(searched, f"! grep -q broken || kill -{name} $$")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the command stopped the search at message " in done.stderr


def test_a_skipped_answer_is_listed_with_its_neighbour(searched):
    """Exit code 125 for the one message that would decide."""
    script = f'case "$(cat)" in *"{BROKEN}"*) exit 125;; *broken*) exit 1;; esac'
    done = run_shell(searched, script)
    assert done.returncode == 1
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["skipped", "bad"]
    assert [line.rsplit("\t", 1)[-1] for line in done.stdout.splitlines()] == [BROKEN, "broken four"]


@pytest.mark.slow
def test_megabytes_of_output_go_by_without_a_limit(searched):
    script = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; ! grep -q broken"
    assert find(searched, script)["first_bad"]["subject"] == BROKEN


@pytest.mark.parametrize("script", ["exec <&-; exit 1", "exit 1", "head -c 5 > /dev/null; exit 1"])
def test_a_command_that_does_not_read_its_input_is_judged_by_its_exit_code(searched, script):
    """The last input is larger than a pipe takes at once; every message is bad, and so is the good end."""
    searched.append("main", "x" * 300_000)
    done = run_shell(searched, script)
    assert "the good end of the search, is bad for the command (exit code 1)" in done.stderr


def test_input_of_megabytes_is_read_whole(searched):
    searched.append("main", "y" * 1_500_000)
    found = find(searched, 'test "$(wc -c)" -lt 1000000')
    assert found["first_bad"]["subject"].startswith("yyy")


def test_without_input_the_command_reads_nothing(searched):
    script = 'test -z "$(cat)" || exit 200; test -z "$SCOPES_MESSAGE" || exit 1; exit 0'
    assert find(searched, script, given="none")["first_bad"]["subject"] == "How shall we do it?"


def test_the_command_may_use_scopes_itself(searched):
    """`SCOPES_STORE` and `SCOPES_REVISION` are enough to read the message; the process is the point."""
    inner = "import sys; from scopes.cli.main import main; from scopes.cli.table import TABLE; sys.exit(main(sys.argv[1:], TABLE))"
    script = f'{sys.executable} -c {shlex.quote(inner)} conv log "$SCOPES_REVISION" --oneline | (! grep -q broken)'
    found = find(searched, script, "--good", "main~4", "--bad", "main~1", given="none")
    assert found["first_bad"]["subject"] == BROKEN


@pytest.mark.parametrize(
    ("good", "bad", "tested"),
    [("main~5", "main~1", 4), ("main~4", "main~3", 2), ("conv-001/main~6", "conv-001/main", 5)],
)
def test_the_ends_may_be_named_in_every_form(searched, good, bad, tested):
    found = find(searched, "! grep -q broken", "--good", good, "--bad", bad)
    assert found["first_bad"]["subject"] == BROKEN
    assert len(found["steps"]) <= tested + 1
    assert [step["role"] for step in found["steps"][:2]] == ["good", "bad"]


def test_an_id_may_name_an_end(searched):
    log = searched.run("log", "conv-001/main", "--json")
    good = next(entry["id"] for entry in log if entry["text"] == "one")
    found = find(searched, "! grep -q broken", "--good", good[:12])
    assert found["good"]["id"] == good


def test_another_branch_is_searched_by_its_name(searched):
    searched.append("fix", "fine")
    searched.append("fix", "broken too")
    found = json.loads(run_shell(searched, "! grep -q broken", "--json", where="conv-001/fix").stdout)
    assert found["first_bad"]["subject"] == "broken too"


def test_a_merged_branch_is_one_step_and_the_merge_is_the_first_bad_message(searched):
    """The messages of the merged branch are searched on that branch, then."""
    searched.append_typed("fix", "decision", {"topic": "db", "decision": "smelly"}, "bob")
    searched.append("fix", "fine")
    searched.merge()
    searched.append("main", "after the merge")
    found = find(searched, "! grep -q smelly", given="state")
    assert found["first_bad"]["message_kind"] == "merge"
    inside = find(searched, "! grep -q smelly", given="state", where="conv-001/fix")
    assert (inside["first_bad"]["message_kind"], inside["first_bad"]["author"]) == ("decision", "bob")


def test_the_context_of_a_message_has_the_text_before_a_later_amendment(searched):
    """What a model would have read then does not change."""
    searched.run("rewind", "conv-001/main", "-n", "3")
    broken = next(entry["id"] for entry in searched.run("log", "conv-001/main", "--json") if entry["text"] == BROKEN)
    searched.run("amend", "conv-001/main", broken, "all is well")
    assert find(searched, "! grep -q broken", "--bad", "main~1", given="context")["first_bad"]["subject"] == BROKEN
    done = run_shell(searched, "! grep -q broken", given="context")
    assert "the bad end of the search, is good for the command" in done.stderr


def test_a_context_after_a_compaction_begins_with_its_summary(searched):
    searched.run("summarize", "conv-001/main", "--compact", "--all")
    searched.append("main", "after the compaction")
    found = find(searched, "! grep -q 'Summary of what came before'", "--good", "main~2", given="context")
    assert found["first_bad"]["message_kind"] == "compaction"


def test_a_decision_in_the_state_is_found_with_its_value(searched):
    searched.append_typed("main", "decision", {"topic": "db", "decision": "sqlite"}, "alice")
    searched.append("main", "go on")
    searched.append_typed("main", "decision", {"topic": "db", "decision": "postgres"}, "bob")
    found = find(searched, "! grep -q postgres", given="state")
    assert found["first_bad"]["author"] == "bob"


@pytest.mark.slow
def test_columns_of_the_result_can_be_chosen(searched):
    shown = run_shell(searched, "! grep -q broken", "--format", "{first_bad.subject}").stdout
    assert shown == f"{BROKEN}\n"
    assert run_shell(searched, "! grep -q broken", "-z").stdout.endswith("\0")


def test_a_search_changes_nothing_and_undo_takes_back_what_was_done_before(searched):
    searched.run("tag", "conv-001", "v1")
    before = files_of(searched.store)
    assert run_shell(searched, "! grep -q broken").returncode == 0
    assert files_of(searched.store) == before
    assert "v1" in searched.run("undo", "--dry-run")


def test_a_search_of_a_past_state_is_refused(searched):
    """The command may write to the store, which an earlier state cannot take."""
    done = searched.run_main("bisect", "--at", "@", "--", "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--at cannot be combined with" in done.stderr


@pytest.mark.slow
def test_the_steps_are_announced_with_the_number_of_messages_left(searched):
    done = run_shell(searched, "! grep -q broken")
    lines = [line for line in done.stderr.splitlines() if line.startswith("testing ")]
    assert "(7 messages, about 3 steps left)" in lines[0]
    assert all(line.endswith("left)") or " left): " in line for line in lines), "the count is before the text"
    assert len(lines) <= 3
    assert run_shell(searched, "! grep -q broken", "--quiet").stderr == ""
