"""`scopes bisect run`: the command, its input and environment, exit codes, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

JUDGE = "import os, sys; text = sys.stdin.read(); print(len(text)); sys.exit({})"


@pytest.fixture
def searched(conversation):
    """A conversation in which the fourth message of six is the first with the word broken."""
    for text in ("one", "two", "it is broken", "four", "five"):
        conversation.append("main", text)
    return conversation


def judge(expression):
    """Return the words of a command that ends with the value of an expression."""
    return "--", sys.executable, "-c", JUDGE.format(expression)


@pytest.mark.parametrize(
    ("options", "expression"),
    [
        ((), "'broken' in text"),
        (("--input", "context", "--max-tokens", "4000"), "'broken' in text"),
    ],
)
def test_the_first_bad_message_is_found_by_its_context(searched, options, expression):
    done = searched.run_main("bisect", "run", "conv-001/main", *options, *judge(expression))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\t")[0] == "first-bad"
    assert done.stdout.rstrip().endswith("it is broken")
    assert "about 2 steps left" in done.stderr


def test_a_message_or_a_state_may_be_judged(searched):
    searched.append_typed("main", "decision", {"topic": "auth", "decision": "jwt"}, "carol")
    searched.append("main", "six")
    by_message = judge(
        "bool(text) and __import__('json').loads(text)['id'] == {!r}".format(searched.append("main", "7"))
    )
    found = searched.run("bisect", "run", "--json", "--input", "message", *by_message)
    assert found["first_bad"]["subject"] == "7"
    by_state = judge("any(claim['key'] == 'decisions/auth' for claim in __import__('json').loads(text)['claims'])")
    found = searched.run("bisect", "run", "--json", "--input", "state", *by_state)
    assert found["first_bad"]["message_kind"] == "decision"
    assert [step["role"] for step in found["steps"][:2]] == ["good", "bad"]


def test_the_environment_names_the_message(searched, tmp_path):
    log = tmp_path / "log"
    expression = (
        f"open({str(log)!r}, 'a').write('|'.join(os.environ['SCOPES_' + name] for name in "
        "('CONVERSATION', 'MESSAGE', 'REVISION', 'STORE')) + chr(10)) and bool(os.environ['SCOPES_MESSAGE'])"
    )
    found = searched.run("bisect", "run", "main", "--input", "none", "--json", *judge(expression))
    rows = [line.split("|") for line in log.read_text().splitlines()]
    assert [row[1] for row in rows] == [step.get("id", "") for step in found["steps"]]
    assert {(row[0], row[3]) for row in rows} == {("conv-001", searched.store)}
    assert searched.run("cat", rows[1][2], "--json")["id"] == rows[1][1]


def test_skipped_messages_are_listed_with_exit_code_1(searched):
    expression = "125 if text and 'five' not in text else bool(text)"
    done = searched.run_main("bisect", "run", "conv-001", *judge(expression))
    assert done.returncode == 1
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["skipped"] * 5 + ["bad"]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("conv-001",), 2, "no command given"),
        (("conv-001", "more", "--", "true"), 2, "too many arguments: more"),
        (("--input", "everything", "--", "true"), 2, "not a valid value of --input"),
        (("--timeout", "0", "--", "true"), 2, "invalid timeout 0"),
        (("--timeout", "nan", "--", "true"), 2, "invalid timeout nan"),
        (("--timeout", "inf", "--", "true"), 2, "invalid timeout inf"),
        (("--", ""), 2, "no command given"),
        (("--", "/nowhere/judge"), 1, "cannot start /nowhere/judge"),
        (("--", "true"), 1, "the bad end of the search, is good for the command (exit code 0)"),
        (("--no-verify", "--", "sh", "-c", "exit 200"), 1, "stopped the search"),
        (
            ("--timeout", "0.2", "--", "sleep", "30"),
            1,
            "the good end of the search, is skip for the command (it could not be tested)",
        ),
    ],
)
def test_what_cannot_be_searched_is_one_error(searched, words, code, text):
    done = searched.run_main("bisect", "run", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert text in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_and_leaves_nothing(searched, tmp_path, number):
    pid_file = tmp_path / "pid"
    script = f"echo $$ > {pid_file}; sleep 60"
    words = ("bisect", "run", "conv-001", "--input", "none", "--", "sh", "-c", script)
    started = [sys.executable, "-m", "scopes", "--store", searched.store, *words]
    process = subprocess.Popen(started, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (pid_file.exists() and pid_file.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(30) == (130 if number == signal.SIGINT else -signal.SIGTERM)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_nothing_is_stored(searched):
    before = json.dumps(searched.run("operations", "list", "--json"))
    searched.run("bisect", "run", "conv-001", *judge("'broken' in text"))
    assert json.dumps(searched.run("operations", "list", "--json")) == before


def test_a_command_that_kills_itself_stops_the_search(searched):
    done = searched.run_main("bisect", "run", "conv-001", "--no-verify", "--", "sh", "-c", "kill -9 $$")
    assert (done.returncode, done.stdout) == (1, "")
    assert "stopped the search" in done.stderr
    assert "signal 9" in done.stderr


def test_a_message_whose_run_takes_too_long_is_skipped(searched):
    script = 'case "$(cat)" in *"it is broken"*) exit 1;; *two*) sleep 30;; esac'
    done = searched.run_main("bisect", "run", "conv-001", "--timeout", "1", "--no-verify", "--", "sh", "-c", script)
    assert done.returncode == 1
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["skipped", "bad"]


def test_the_output_of_the_command_goes_to_standard_error(searched):
    words = ("bisect", "run", "conv-001", "--", "sh", "-c", "echo from-the-command; ! grep -q broken")
    started = [sys.executable, "-m", "scopes", "--store", searched.store, *words]
    done = subprocess.run(started, capture_output=True, text=True, check=True)
    assert done.stderr.count("from-the-command") == done.stderr.count("testing ") > 2
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["first-bad"]
