"""Laws of the comparison of two runs, and what makes two calls equal."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.compare import MODES, compare_runs, describe_call
from scopes.check.policy import Policy
from scopes.history.activity import Tokens
from scopes.importers.formats.events import RunEnd
from scopes.render.table import render_text
from scopes.render.terminal import TerminalView
from tests.check.made_runs import DENIED, FAILED, OK, edit, make_run, shell, write
from tests.check.sessions import run_diff, write_session
from tests.render.results import COMPARED

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

STEPS = st.lists(st.sampled_from([shell("ls"), shell("pytest"), edit("a.py"), edit("b.py")]), max_size=6)


def differs(old, new):
    return {mode: compare_runs(make_run(*old), make_run(*new), mode, Policy()).differs for mode in MODES}


@given(STEPS, STEPS)
def test_a_stricter_mode_never_accepts_what_a_looser_one_refuses(old, new):
    """Strict is inside of unordered, and unordered is subset and superset at once."""
    found = differs(old, new)
    assert found["strict"] or not found["unordered"]
    assert found["unordered"] == (found["subset"] or found["superset"])
    back = differs(new, old)
    assert (found["strict"], found["unordered"]) == (back["strict"], back["unordered"])
    assert (found["subset"], found["superset"]) == (back["superset"], back["subset"])


@given(STEPS)
def test_a_run_does_not_differ_from_itself_and_a_longer_one_is_its_superset(steps):
    assert differs(steps, steps) == dict.fromkeys(MODES, False)
    longer = differs(steps, [*steps, shell("make")])
    assert longer == {"strict": True, "unordered": True, "subset": True, "superset": False}


@given(STEPS, STEPS)
def test_what_one_run_lacks_accounts_for_the_difference_in_length(old, new):
    result = compare_runs(make_run(*old), make_run(*new), "strict", Policy())
    assert len(old) - len(result.only_old) == len(new) - len(result.only_new)
    assert bool(result.order) == result.differs
    assert sum(use.old for use in result.tools) == len(old)
    assert result.exit_code == int(result.differs)


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        (shell("ls"), ("Bash", {"command": "ls", "description": "List"}, OK), True),
        (shell("ls"), shell("ls", 1), True),
        (shell("ls"), shell("ls -l"), False),
        (shell("ls"), ("shell", {"command": "ls"}, OK), False),
        (("query", {"a": 1, "b": 2}, OK), ("query", {"b": 2, "a": 1}, OK), True),
        (("query", {"a": 1}, OK), ("query", {"a": "1"}, OK), False),
        (("query", {"a": [1, 2]}, OK), ("query", {"a": [2, 1]}, OK), False),
        (("apply_patch", "x", OK), ("apply_patch", "x", OK), True),
        (("apply_patch", "x", OK), ("apply_patch", "y", OK), False),
    ],
)
def test_two_calls_are_equal_if_tool_and_arguments_are(first, second, equal):
    old, new = make_run(first), make_run(second)
    assert (describe_call(old.calls[0], old) == describe_call(new.calls[0], new)) is equal


@pytest.mark.parametrize(
    ("command", "directory", "text"),
    [
        ("cd /w/shop && ls /w/shop/a", "/w/shop", "Bash: cd . && ls ./a"),
        ("ls /w/shop-old /w/shop.bak /w/shop_2", "/w/shop", "Bash: ls /w/shop-old /w/shop.bak /w/shop_2"),
        ("ls /w/shop", "/w/shop/", "Bash: ls ."),
        ("ls '/w/shop'", "/w/shop", "Bash: ls '.'"),
        ("ls /a", "/", "Bash: ls /a"),
        ("ls /a", None, "Bash: ls /a"),
        ("ls C:\\w\\a", "C:\\w", "Bash: ls .\\a"),
    ],
)
def test_the_workspace_in_a_command_is_replaced_by_a_dot(command, directory, text):
    run = make_run(shell(command), directory=directory)
    assert describe_call(run.calls[0], run) == text


def test_the_workspace_is_replaced_in_nested_arguments_too():
    run = make_run(("edit", {"files": [{"path": "/w/a", "n": 1}], "/w": "x"}, OK), directory="/w")
    assert describe_call(run.calls[0], run) == 'edit {"/w": "x", "files": [{"n": 1, "path": "./a"}]}'


def test_amounts_are_those_of_both_runs_and_unknown_is_not_zero():
    end = RunEnd("success", cost_usd=0.5, seconds=7)
    old = make_run(shell("a"), shell("b", FAILED), shell("c", DENIED), "Done.", tokens=Tokens(output=5), seconds=9.0)
    new = make_run("Done.", "Done.", end=end, tokens=Tokens(input_uncached=2, cache_read=3), seconds=9.0)
    result = compare_runs(old, new, "subset", Policy())
    assert {each.name: (each.old, each.new) for each in result.amounts} == {
        "calls": (3, 0), "failed calls": (1, 0), "denied calls": (1, 0), "answers": (1, 2), "input tokens": (None, 5),
        "output tokens": (5, None), "cost in USD": (None, 0.5), "seconds": (9.0, 7),
    }  # fmt: skip


def test_commands_are_counted_with_their_subcommand_and_files_relative_to_the_workspace():
    steps = [
        shell("git push -f; git -C x log; ls -l; $x a; make"),
        write("src/a.py"),
        edit("/etc/hosts"),
        shell("ls > b"),
    ]
    result = compare_runs(make_run(*steps), make_run(), "superset", Policy())
    assert [use.name for use in result.commands] == ["? a", "git log", "git push", "ls", "make"]
    assert [use.name for use in result.files] == ["/etc/hosts", "b", "src/a.py"]
    assert (result.tests_old, result.tests_new) == ((), ())


def test_a_long_call_is_cut_when_it_is_shown_and_compared_whole():
    old, new = shell("echo " + "x" * 400), shell("echo " + "x" * 400 + "y")
    result = compare_runs(make_run(old), make_run(new), "strict", Policy())
    assert result.differs
    assert [len(text) for text in (*result.only_old, *result.only_new)] == [301, 301]


@pytest.mark.parametrize(
    ("mode", "left_out"),
    [
        ("strict", "how calls and tests ended"),
        ("unordered", "the order of the calls, and how calls and tests ended"),
        ("subset", "the order of the calls, calls that the new run lacks, and how calls and tests ended"),
        ("superset", "the order of the calls, calls that only the new run has, and how calls and tests ended"),
    ],
)
def test_the_report_says_what_the_mode_does_not_compare(tmp_path, capsys, mode, left_out):
    """Two runs are equal although the tests of the new one failed: the same calls were made."""
    old = write_session(tmp_path / "old.jsonl", ("Bash", {"command": "pytest"}, 0))
    new = write_session(tmp_path / "new.jsonl", ("Bash", {"command": "pytest"}, 1))
    code, output = run_diff(capsys, old, new, "--match", mode)
    assert (code, f"\nnot compared: {left_out}\n" in output) == (0, True), output


def cut_and_whole(tmp_path):
    whole = write_session(tmp_path / "whole.jsonl", ("Bash", {"command": "ls"}, 0), ("Bash", {"command": "make"}, 0))
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(whole.read_text().splitlines(keepends=True)[:3]))
    return whole, cut


@pytest.mark.parametrize("mode", MODES)
def test_a_new_run_that_was_cut_off_is_never_equal_to_one_that_ended(tmp_path, capsys, mode):
    """A killed run calls no tool that the old one lacks: that does not make it one that a job may go on with."""
    whole, cut = cut_and_whole(tmp_path)
    code, output = run_diff(capsys, whole, cut, "--match", mode)
    assert (code, "the new run has no good end" in output) == (1, True), output
    code, output = run_diff(capsys, cut, cut, "--match", mode)
    assert (code, "the old run has no good end: the session file ends with a tool result" in output) == (0, True)
    code, output = run_diff(capsys, cut, whole, "--match", mode)
    assert code == int(mode != "superset")
    document = json.loads(run_diff(capsys, whole, cut, "--match", mode, "--json")[1])
    assert (document["differs"], document["faults_old"], len(document["faults_new"])) == (True, [], 1)


def test_each_row_in_a_pipe_names_its_table(tmp_path, capsys):
    whole, cut = cut_and_whole(tmp_path)
    rows = [line.split("\t") for line in run_diff(capsys, whole, cut)[1].splitlines() if "\t" in line]
    assert {len(row) for row in rows} == {4}
    assert {row[0] for row in rows} == {"number", "tool", "command"}
    assert ["tool", "Bash", "2", "1"] in rows


def test_a_call_of_the_diff_breaks_between_words_on_a_narrow_terminal():
    text = StringIO()
    words = " ".join(["def", "return", "value"] * 12)
    result = replace(COMPARED, order=(f"+Bash: {words}",))
    render_text(result, TerminalView(text.write, width=80, color=False))
    lines = text.getvalue().splitlines()
    start = next(number for number, line in enumerate(lines) if "Bash: def" in line)
    assert {word for line in lines[start : start + 4] for word in line.split()} >= {"def", "return", "value"}
    assert not any(line.rstrip().endswith((" re", " r", " ret", " valu", " d")) for line in lines)
