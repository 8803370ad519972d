"""Parsing and running one command: option positions, usage errors, exit codes."""

import json
import os
from typing import Annotated

import pytest
import typer

from scopes.cli.command_line import split_words
from scopes.cli.main import main
from scopes.cli.parser import make_context
from scopes.cli.table import Command, Table
from scopes.loading import load
from tests.cli.running import SAMPLE


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a sample command in this process; return exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = main(list(words), load(SAMPLE))
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return run


@pytest.fixture
def state(run):
    """Run the verb that prints the settings of its run."""

    def state(*words):
        code, out, err = run(*words)
        assert (code, err) == (0, "")
        return json.loads(out)

    return state


def test_arguments_and_options_reach_the_function(state):
    seen = state("conv", "state", "conv-001", "a", "b", "--branch", "fix", "--kind=decision", "-z", "--limit", "3")
    assert {name: seen[name] for name in ("conversation", "text", "branch", "kind", "nul", "limit")} == {
        "conversation": "conv-001",
        "text": ["a", "b"],
        "branch": "fix",
        "kind": "decision",
        "nul": True,
        "limit": 3,
    }


def test_without_options_the_defaults_apply(state):
    seen = state("conv", "state", "c")
    assert seen["text"] in (None, [])
    assert (seen["color"], seen["pager"], seen["json"], seen["quiet"]) == (
        "auto",
        True,
        False,
        False,
    )
    assert seen["command"] == "scopes state"
    assert seen["store"] is None


@pytest.mark.parametrize(
    "options",
    [
        ["--json", "-q", "--no-pager", "--color", "never", "--yes", "-v"],
        ["-qv", "--json", "--no-pager", "--color=never", "--yes"],
    ],
)
def test_global_options_work_before_between_and_after_the_command(state, options):
    behind = state("conv", "state", "c", *options)
    assert behind == state(*options, "conv", "state", "c") == state("conv", *options, "state", "c")
    assert (behind["json"], behind["quiet"], behind["verbose"], behind["pager"]) == (
        True,
        True,
        True,
        False,
    )
    assert (behind["color"], behind["yes"]) == ("never", True)


def test_repeated_options_add_up_in_the_order_typed(state, tmp_path):
    os.makedirs(tmp_path / "a" / "b")
    seen = state("-C", "a", "-c", "scopes.author=ann", "conv", "state", "c", "-C", "b", "-c", "scopes.author=bob")
    assert seen["cwd"] == str(tmp_path / "a" / "b")
    assert seen["settings"] == ["scopes.author=ann", "scopes.author=bob"]


def test_the_last_store_wins(state, tmp_path):
    seen = state("--store", "one", "conv", "state", "c", "--store", "two")
    assert seen["store_path"] == str(tmp_path / "two")


def test_a_double_dash_ends_the_options(state):
    seen = state("conv", "state", "c", "--", "--json", "-q")
    assert seen["text"] == ["--json", "-q"]
    assert not seen["json"]


def test_a_lifted_command_is_the_same_command(state):
    assert state("state", "c") == state("ai", "conversations", "state", "c")


def test_a_function_gives_the_exit_code(run):
    assert run("conv", "answer", "3") == (3, "", "")


def test_a_missing_argument_is_a_usage_error(run):
    code, out, err = run("conv", "state")
    assert (code, out) == (2, "")
    assert err == "error: missing argument 'CONV'\nhint: see: scopes help state\n"


def test_an_unknown_option_is_a_usage_error_with_the_nearest_one(run):
    code, _, err = run("conv", "state", "c", "--branhc", "x")
    assert code == 2
    assert err == "error: no such option: --branhc\nhint: did you mean --branch?\n"


def test_a_hint_explains_the_separator_for_words_like_options(run):
    code, _, err = run("conv", "state", "-failed")
    assert code == 2
    assert err.splitlines()[1:] == [
        "hint: see: scopes help state",
        "hint: if -failed is not an option, put it after --: scopes state -- -failed",
    ]
    assert run("conv", "state", "a b", "-1 day failed")[2].endswith("scopes state 'a b' -- '-1 day failed'\n")
    assert "after --" not in run("conv", "state", "--failed")[2] + run("conv", "state", "-f")[2]


def test_a_global_option_can_be_suggested(run):
    assert "did you mean --verbose?" in run("conv", "state", "c", "--verbo")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kind", "guess"), "'guess' is not one of 'plain', 'decision'"),
        (("--limit", "-1"), "-1 is not in the range x>=0"),
        (("--limit", "many"), "'many' is not a whole number"),
        (("--branch",), "option '--branch' requires an argument"),
    ],
)
def test_a_bad_value_is_a_usage_error(run, words, message):
    """A-9."""
    code, _, err = run("conv", "state", "c", *words)
    assert code == 2
    assert message in err
    assert "see: scopes help state" in err


def test_too_many_words_are_a_usage_error(run):
    code, _, err = run("conv", "answer", "1", "2")
    assert code == 2
    assert "too many arguments: 2" in err


def test_with_json_a_usage_error_is_one_document_on_standard_error(run):
    code, out, err = run("conv", "state", "--json", "c", "--nope")
    assert (code, out) == (2, "")
    assert json.loads(err)["error"]["kind"] == "invalid"
    assert json.loads(err)["error"]["message"] == "no such option: --nope"


@pytest.mark.parametrize("help_option", ["-h", "--help"])
def test_help_needs_no_arguments_and_does_not_run_the_command(run, help_option):
    for words in (
        ("conv", "state", help_option),
        (help_option, "conv", "state"),
        ("conv", "state", "--limit", "-1", help_option),
    ):
        code, out, err = run(*words)
        assert (code, err) == (0, "")
        assert out.startswith("Print the settings of this run\n")


def test_a_value_that_looks_like_an_option_is_a_value_of_the_option_before_it(state):
    assert state("conv", "state", "c", "--branch", "--json")["branch"] == "--json"
    assert not state("conv", "state", "c", "--branch", "--json")["json"]


def test_what_is_left_out_is_written_out():
    """`-b BRANCH` belongs to the place before it; a value that may be left out is empty; `-3` is `-n 3`."""

    def command(
        where: Annotated[str, typer.Argument(metavar="WHERE")] = "@",
        text: Annotated[str, typer.Argument(metavar="TEXT")] = "",
        limit: Annotated[int, typer.Option("-n")] = 1,
        watch: Annotated[str | None, typer.Option("--watch", metavar="[=SECONDS]")] = None,
        create: Annotated[bool, typer.Option("-c")] = False,
    ) -> None:
        pass

    def parsed(words):
        line = split_words(Table((Command(("x",), "", "X", ""),)), words.split())
        _, context = make_context(command, line, "scopes x", None)
        return [context.params[name] for name in ("where", "text", "limit", "watch", "create", "global_settings")]

    assert parsed("x conv-001 -b try hi -3") == ["conv-001/try", "hi", 3, None, False, ()]
    assert parsed("x -b try --watch") == ["@/try", "", 1, "", False, ()]
    assert parsed("x --watch=60 -n 2 conv-001 --branch=try") == ["conv-001/try", "", 2, "60", False, ()]
    assert parsed("-c a=b x -c") == ["@", "", 1, None, True, ("a=b",)]
    assert parsed("x -- conv-001 -3") == ["conv-001", "-3", 1, None, False, ()]
