"""Help texts of the program, of groups and of commands."""

from __future__ import annotations

import io
import json
import re

import pytest

from scopes.cli.command_line import split_words
from scopes.cli.environment_docs import EXIT_CODES
from scopes.cli.help import (
    answer_without_command,
    explain,
    format_command,
    format_group,
    format_overview,
    format_reference,
    parameter_text,
    terminal_width,
)
from scopes.cli.inspect_command import inspect_command
from scopes.cli.invocation import Invocation
from scopes.cli.table import TABLE
from scopes.errors import Invalid
from scopes.store.config import SETTINGS
from tests.cli.sample import TABLE as SAMPLE

STATE = """\
usage: scopes state [OPTIONS] CONV [TEXT...]

Print the settings of this run.

examples:
  scopes state conv-001 "hello"
  scopes state conv-001 --kind decision

A paragraph that is wrapped.

arguments:
  CONV                    Which conversation
  TEXT                    What to say

options:
  --branch, -b BRANCH     Which branch (default: main)
  --kind KIND             What it is (one of: plain, decision; default: plain)
  --limit N               How many
  -z, --nul               End rows with NUL

global options (see: scopes help --all): -C --store -c --json --fields --format
-z --porcelain --quiet --verbose --debug --color --no-pager --no-hints
--no-input --yes --help
"""


@pytest.mark.parametrize("path", TABLE.commands, ids=" ".join)
def test_no_help_text_says_a_thing_twice(path):
    """`import --help` had "(may be repeated)" twice for --project."""
    docs = inspect_command(TABLE.commands[path])
    for part in (*docs.arguments, *docs.options):
        text = parameter_text(part)
        assert [each for each in ("may be repeated", "one of:", "default:", "required") if text.count(each) > 1] == []
        brackets = re.findall(r"\(.*?\)", text)
        assert len(brackets) == len(set(brackets)), text


def invocation():
    made = Invocation([], {"COLUMNS": "80"})
    made.stdout = io.StringIO()
    return made


def explanation(*words, table=SAMPLE):
    run = invocation()
    assert explain(table, list(words), run) == 0
    return run.stdout.getvalue()


def test_the_help_of_a_command_is_exactly_this():
    assert format_command(inspect_command(SAMPLE, SAMPLE.commands["conversations", "state"]), 80) == STATE


@pytest.mark.parametrize("words", [("state",), ("conv", "state"), ("ai", "conv", "state")])
def test_help_finds_a_command_by_every_name(words):
    assert explanation(*words) == STATE


def test_help_with_all_lists_every_command():
    run = invocation()
    explain(TABLE, [], run, include_all=True)
    text = run.stdout.getvalue()
    assert text.startswith("usage: scopes [OPTIONS] COMMAND [ARGUMENTS]\n")
    assert [c.summary for c in TABLE.commands.values() if c.summary not in text] == []
    assert "exit codes:" in text


@pytest.mark.parametrize("words", [[], ["conv"], ["memory"], ["config"], ["tokens"], ["conv", "conflicts"], ["--help"]])
def test_a_program_or_group_without_a_command_prints_one_screen(words):
    run = invocation()
    assert answer_without_command(TABLE, split_words(TABLE, words), run) == 0
    lines = run.stdout.getvalue().splitlines()
    assert len(lines) < 24
    assert [line for line in lines if len(line) > 80] == []
    assert "scopes help" in lines[-1]


def test_help_without_words_is_the_overview_and_names_the_full_list():
    run = invocation()
    answer_without_command(TABLE, split_words(TABLE, []), run)
    assert explanation(table=TABLE) == run.stdout.getvalue()
    assert run.stdout.getvalue().endswith("All commands: scopes help --all. One command: scopes help COMMAND\n")


def test_every_command_of_the_overview_exists():
    names = [name for names in TABLE.overview.values() for name in names]
    assert [name for name in names if split_words(TABLE, name.split()).command is None] == []


@pytest.mark.parametrize("command", [command for command in TABLE.commands.values() if command.path != ("help",)])
def test_the_examples_come_before_everything_but_usage_and_summary(command):
    text = explanation(*command.path, table=TABLE)
    assert text.split("\n\n")[2].startswith("examples:\n  ")


@pytest.mark.parametrize("verb", ["get", "set", "unset"])
def test_the_help_of_config_lists_every_setting(verb):
    text = explanation("config", verb, table=TABLE)
    assert [name for name in SETTINGS if f"\n  {name}" not in text] == []


def test_the_help_of_a_command_as_json_is_one_document():
    run = invocation()
    run.json = True
    explain(TABLE, ["merge"], run)
    document = json.loads(run.stdout.getvalue())
    assert (document["scopes"], document["kind"], document["command"]) == (1, "help", "scopes merge")
    assert "scopes merge conv-001 --abort" in document["examples"]
    assert {"--abort"} < {name for option in document["options"] for name in option["names"]}


def test_the_help_of_a_group_as_json_is_refused():
    run = invocation()
    run.json = True
    with pytest.raises(Invalid, match="--json needs one command") as refusal:
        explain(TABLE, ["conv"], run)
    assert refusal.value.hint == "for example: scopes help merge --json"
    assert run.stdout.getvalue() == ""


def test_the_help_of_a_group_lists_its_commands_only():
    text = explanation("conv", table=TABLE)
    assert "operations show" in text
    assert "doctor" not in text
    assert "Long form: scopes ai conversations COMMAND" in text


def test_the_help_of_a_nested_group_has_its_full_name():
    assert explanation("operations", table=TABLE).startswith("usage: scopes operations COMMAND [ARGUMENTS]\n")


def test_help_for_an_unknown_command_suggests_the_nearest():
    with pytest.raises(Invalid) as refusal:
        explanation("conv", "stat")
    assert refusal.value.hint == "did you mean scopes state?"


def test_no_line_of_a_help_text_is_wider_than_asked():
    for width in (70, 80, 100):
        lines = format_group(TABLE, (), width).splitlines() + format_reference(width).splitlines()
        assert [line for line in lines if len(line) > width] == []


def test_no_help_text_holds_a_color_or_control_character():
    assert [c for c in STATE + format_group(TABLE, (), 80) if not c.isprintable() and c != "\n"] == []


def test_a_group_with_the_help_option_is_its_overview():
    run = invocation()
    assert answer_without_command(TABLE, split_words(TABLE, ["conv", "--help"]), run) == 0
    assert run.stdout.getvalue() == format_overview(TABLE, ("conversations",), 80)


def test_every_exit_code_is_explained():
    text = format_reference(80)
    assert [code for code, _ in EXIT_CODES if f"\n  {code} " not in text] == []


def test_choices_and_default_follow_the_help_text_of_an_option():
    branch = inspect_command(SAMPLE, SAMPLE.commands["conversations", "state"]).options[0]
    assert parameter_text(branch) == "Which branch (default: main)"


@pytest.mark.parametrize(("columns", "width"), [("120", 100), ("72", 72), ("8", 40), ("no", 80), ("0", 80), ("", 80)])
def test_the_width_is_the_terminals_within_limits(columns, width):
    assert terminal_width({"COLUMNS": columns}) == width


def explanation_of_all(*words):
    run = invocation()
    explain(TABLE, list(words), run, include_all=True)
    return run.stdout.getvalue()


@pytest.mark.parametrize("group", ["facts", "proposals", "agents", "conv"])
def test_all_of_a_group_does_not_repeat_what_is_the_same_for_every_group(group):
    """It printed all exit codes, environment variables, files and refs after each group."""
    text = explanation_of_all(group)
    assert text.startswith(explanation(group, table=TABLE))
    assert "environment variables:" not in text
    last = text.splitlines()[-1]
    assert last == "Exit codes, global options, environment variables and files: scopes help --all"


def test_all_of_a_group_has_the_manuals_of_its_commands():
    text, alone = explanation_of_all("facts"), explanation_of_all("facts", "run")
    assert "\nfacts run: programs of agents:\n" in text
    assert alone.partition("programs of agents:\n")[2].partition("\n\n")[0] in text
    assert "environment variables:" in explanation_of_all()
