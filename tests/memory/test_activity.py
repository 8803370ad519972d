"""An entry says what was changed and how it ended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.append import append, retract
from scopes.history.activity import Activity
from scopes.history.messages import plain_message
from scopes.memory.list import list_memory
from scopes.memory.update import update
from scopes.model.message import Author, FileTouch, Part
from tests.memory.talking import CONVERSATION, say
from tests.support.tool_calls import REFUSED


def call(command, call_id="1", name="Bash"):
    return Part("tool_call", {"name": name, "call_id": call_id, "input": {"command": command}})


def result(output, call_id="1", **fields):
    return Part("tool_result", {"call_id": call_id, "output": output, **fields})


def activity(*parts):
    collected = Activity()
    for part in parts:
        collected.add(replace(plain_message("planner", ""), parts=(part,)))
    return collected


@pytest.mark.parametrize(
    ("command", "fields", "ended"),
    [
        ("cd x && go test ./... 2>&1 | tail -5", {"output": "ok"}, "tests passed (go test ./...)"),
        ("go test ./...", {"output": "--- FAIL: TestA"}, "tests failed (go test ./...)"),
        ("python -m pytest -q tests", {"output": "3 passed", "is_error": True}, "tests failed (python -m pytest -q tests)"),
        (["bash", "-lc", "npm test"], {"output": "Exit code: 1\nOutput:\nno"}, "tests failed (npm test)"),
        ("go test -run 'TestA|TestB' -v | tail", {"output": "ok"}, "tests passed (go test -run 'TestA|TestB' -v)"),
        ('pytest -k "a;b" x\\|y; ls', {"output": "3 passed"}, 'tests passed (pytest -k "a;b" x\\|y)'),
        ("go test -run 'TestA|TestB", {"output": "ok"}, "tests passed (go test -run)"),
        ("make check", {"output": [{"type": "text", "text": "0 failed"}]}, "tests passed (make check)"),
    ],
)  # fmt: skip
def test_the_last_test_run_is_named_with_its_outcome(command, fields, ended):
    assert activity(call(command), result(**fields)).ended_line() == f"Ended: {ended}"


def test_a_refused_call_is_no_test_run():
    refused = call("tox", "2"), result(REFUSED, "2", is_error=True)
    assert activity(call("pytest"), result("3 passed"), *refused).ended_line() == "Ended: tests passed (pytest)"
    assert activity(*refused).ended_line() is None


def test_the_last_commit_is_named():
    outputs = ["[main 1234567] first", "2 files\n[fix-1 (root-commit) 89abcde] Cache the form\n 1 file changed"]
    collected = activity(*(result(output) for output in outputs))
    assert collected.ended_line() == "Ended: commit 89abcde Cache the form"


def test_reading_and_other_commands_are_not_activity():
    collected = activity(call("cat pytest.ini"), result("[tool] x"), call("echo hi", "2"), result("hi", "2"))
    collected.add(replace(plain_message("planner", ""), files=(FileTouch("a.py", "read"),)))
    assert (collected.changed, collected.changed_line(), collected.ended_line()) == ([], None, None)


def test_an_exit_code_of_thousands_of_digits_is_a_failure():
    run = activity(call("pytest"), result("exit code: " + "9" * 5000))
    assert run.last_test == "tests failed (pytest)"


def worked(repository):
    """Record a request, a change without text, a test run, and an answer; return the id of the answer."""
    say(repository, "Cache the login form in redis, please.", author="carol", author_kind="human")
    edit = replace(plain_message("planner", ""), parts=(call("edit"),), files=(FileTouch("src/form.py", "edit"),))
    append(repository, CONVERSATION, edit)
    for part in (call("pytest -q", "2"), result("9 passed", "2")):
        append(repository, CONVERSATION, replace(plain_message("planner", ""), parts=(part,)))
    return say(repository, "This was easy. The redis cache keeps the login form for one day.")[0]


def test_a_summary_has_request_changes_answer_and_end_in_this_order(repository):
    """A sentence that refers to another one is left out."""
    worked(repository)
    (entry,) = update(repository, at_once=True).entries
    assert entry.summary.splitlines() == [
        "Cache the login form in redis, please.", "Changed: form.py", "The redis cache keeps the login form for one day.",
        "Ended: tests passed (pytest -q)",
    ]  # fmt: skip
    assert entry.topics[0] == "form.py"


def test_what_was_done_is_left_out_after_a_retraction(repository):
    answer = worked(repository)
    update(repository, at_once=True)
    retract(repository, CONVERSATION, answer, "", author=Author("carol"))
    (entry,) = list_memory(repository).entries
    assert entry.summary == "Cache the login form in redis, please."
    assert "form.py" not in entry.topics
