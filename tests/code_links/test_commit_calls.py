"""Calls that ran `git commit`: which are, what they printed, and which commit they made."""

from __future__ import annotations

import pytest

from scopes.code_links.commit_calls import MAX_COMMAND, CommitCall, made_commit, may_commit, read_commit_call
from scopes.model.message import Part

BEGAN, ENDED = "2026-01-01T12:00:00.250Z", "2026-01-01T12:00:30Z"
NOON = 1_767_268_800.0
COMMIT = "a9c4475b1d0f2e3a4b5c6d7e8f90a1b2c3d4e5f6"


def shell(command, name="Bash"):
    return Part("tool_call", {"call_id": "c1", "name": name, "input": {"command": command}})


def printed(text):
    return Part("tool_result", {"call_id": "c1", "output": text})


def read(command, text, began=BEGAN, ended=ENDED):
    return read_commit_call(shell(command), printed(text), began, ended)


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'x'",
        "cd /p && git add -A && git commit -q -F - <<'EOF'\nx\nEOF",
        "git -C /p -c user.name=x commit --amend --no-edit",
        "gt create -m x",
        "jj commit -m x",
    ],
)
def test_commands_that_may_commit(command):
    assert may_commit(shell(command))


@pytest.mark.parametrize("command", ["git status", "git log; echo commit", "ls", "cat committed.txt", "gitk commit"])
def test_commands_that_make_no_commit(command):
    assert not may_commit(shell(command))


def test_a_call_of_another_tool_makes_no_commit():
    assert not may_commit(Part("tool_call", {"name": "Edit", "input": {"command": "git commit"}}))
    assert read_commit_call(shell("ls"), printed("[main a9c4475] x"), BEGAN, ENDED) is None


def test_a_commit_call_has_its_time_and_what_it_printed():
    call = read("git commit -m 'Add status'", "[main a9c4475] Add status\n 1 file changed, 5 insertions(+)")
    assert (call.began, call.ended) == (NOON + 0.25, NOON + 30)
    assert call.printed == (("a9c4475", "Add status"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[main (root-commit) a9c4475] Begin", ("a9c4475", "Begin")),
        ("[feature/x-1 a9c4475b1d] Fix: [a] b", ("a9c4475b1d", "Fix: [a] b")),
        ("[detached HEAD a9c4475] Pick", ("a9c4475", "Pick")),
        ("hook says hello\n[main a9c4475] Add\n", ("a9c4475", "Add")),
    ],
)
def test_what_git_prints_in_all_its_forms(text, expected):
    assert read("git commit", text).printed == (expected,)


def test_several_commits_of_one_call_are_all_read():
    call = read("git commit -m a; git commit -m b", "[main aaaaaaa] First one\nx\n[main bbbbbbb] Second one\n")
    assert call.printed == (("aaaaaaa", "First one"), ("bbbbbbb", "Second one"))


def test_the_output_may_come_in_blocks():
    blocks = [{"type": "text", "text": "[main a9c4475] Add"}, {"type": "image"}, "x"]
    assert read_commit_call(shell("git commit"), printed(blocks), BEGAN, ENDED).printed == (("a9c4475", "Add"),)


@pytest.mark.parametrize(("began", "ended"), [(None, ENDED), (BEGAN, None), ("yesterday", ENDED)])
def test_a_call_at_an_unknown_time_proves_nothing(began, ended):
    assert read("git commit", "[main a9c4475] Add", began, ended) is None


def test_a_very_long_command_is_cut():
    assert len(read("git commit -m " + "x" * 50_000, "").command) == MAX_COMMAND


def made(call, commit=COMMIT, time=NOON + 10, subject="Add status"):
    return made_commit(call, commit, time, subject)


QUIET = CommitCall("git commit -q -m 'Add status'", NOON, NOON + 30)
LOUD = CommitCall("git commit -F msg", NOON, NOON + 30, (("a9c4475", "Add status"),))


def test_the_printed_id_shows_the_commit():
    assert made(LOUD, subject="another subject") == "printed this commit"


def test_the_printed_subject_shows_a_commit_that_was_rewritten_since():
    assert made(LOUD, commit="f" * 40) == "printed this subject"


def test_a_quiet_commit_is_shown_by_the_subject_in_the_command():
    assert made(QUIET) == "names this subject"


@pytest.mark.parametrize("time", [NOON - 2.5, NOON + 32.5, NOON - 86_400])
def test_a_commit_outside_of_the_time_of_the_call_was_not_made_by_it(time):
    """Amend, rebase and cherry-pick print the commits of others in the same form."""
    assert made(LOUD, time=time) is None
    assert made(QUIET, time=time) is None


@pytest.mark.parametrize("time", [NOON - 2, NOON + 32])
def test_two_seconds_more_are_allowed_because_commits_have_whole_seconds(time):
    assert made(LOUD, time=time) is not None


def test_another_subject_and_another_id_show_nothing():
    assert made(LOUD, commit="f" * 40, subject="Other") is None
    assert made(QUIET, subject="Other") is None


def test_a_subject_of_a_few_letters_in_a_command_shows_nothing():
    assert made(CommitCall("git commit -m wip", NOON, NOON + 30), subject="wip") is None


def test_a_command_that_printed_another_commit_is_not_judged_by_its_text():
    call = CommitCall("git commit -m 'Add status'", NOON, NOON + 30, (("fffffff", "Other"),))
    assert made(call) is None
