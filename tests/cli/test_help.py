"""Help texts of the program, of groups and of commands."""

from __future__ import annotations

import io

import pytest

from scopes.cli.command_line import split_words
from scopes.cli.environment_docs import EXIT_CODES
from scopes.cli.help import (
    answer_without_command,
    explain,
    format_command,
    format_group,
    format_reference,
    parameter_text,
    terminal_width,
)
from scopes.cli.inspect_command import inspect_command
from scopes.cli.invocation import Invocation
from scopes.cli.table import TABLE
from scopes.errors import Invalid
from tests.cli.sample import TABLE as SAMPLE

STATE = """\
usage: scopes conv state [OPTIONS] CONV [TEXT...]

Print the settings of this run.

A paragraph that is wrapped.

arguments:
  CONV                    Which conversation
  TEXT                    What to say

options:
  --branch, -b BRANCH     Which branch (default: main)
  --kind KIND             What it is (one of: plain, decision; default: plain)
  --limit N               How many
  -z, --nul               End rows with NUL

examples:
  scopes conv state conv-001 "hello"
  scopes conv state conv-001 --kind decision

global options (see: scopes help): -C --store -c --json --quiet --verbose
--color --no-pager --no-hints --no-input --yes --help
"""


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


@pytest.mark.parametrize("words", [("state",), ("conv", "state"), ("conversations", "state"), ("ai", "conv", "state")])
def test_help_finds_a_command_by_every_name(words):
    assert explanation(*words) == STATE


def test_help_without_words_lists_every_command():
    text = explanation(table=TABLE)
    assert text.startswith("usage: scopes [OPTIONS] COMMAND [ARGUMENTS]\n")
    assert [c.summary for c in TABLE.commands.values() if c.summary not in text] == []


def test_the_help_of_a_group_lists_its_commands_only():
    text = explanation("conv", table=TABLE)
    assert "operations show" in text
    assert "doctor" not in text
    assert "Long form: scopes ai conversations COMMAND" in text


def test_the_help_of_a_nested_group_has_its_full_name():
    assert explanation("operations", table=TABLE).startswith("usage: scopes conv operations COMMAND [ARGUMENTS]\n")


def test_help_for_an_unknown_command_suggests_the_nearest():
    with pytest.raises(Invalid) as refusal:
        explanation("conv", "stat")
    assert refusal.value.hint == "did you mean scopes conv state?"


def test_no_line_of_a_help_text_is_wider_than_asked():
    for width in (70, 80, 100):
        lines = format_group(TABLE, (), width).splitlines() + format_reference(width).splitlines()
        assert [line for line in lines if len(line) > width] == []


def test_no_help_text_holds_a_color_or_control_character():
    assert [c for c in STATE + format_group(TABLE, (), 80) if not c.isprintable() and c != "\n"] == []


def test_the_root_alone_is_help_and_a_group_alone_is_a_usage_error():
    run = invocation()
    assert answer_without_command(TABLE, split_words(TABLE, []), run) == 0
    assert run.stdout.getvalue().startswith("usage: scopes")
    with pytest.raises(Invalid, match="'scopes conv' needs a command"):
        answer_without_command(TABLE, split_words(TABLE, ["conv"]), run)


def test_a_group_with_the_help_option_is_help():
    run = invocation()
    assert answer_without_command(TABLE, split_words(TABLE, ["conv", "--help"]), run) == 0
    assert run.stdout.getvalue() == format_group(TABLE, ("conversations",), 80)


def test_every_exit_code_is_explained():
    text = format_reference(80)
    assert [code for code, _ in EXIT_CODES if f"\n  {code} " not in text] == []


def test_choices_and_default_follow_the_help_text_of_an_option():
    branch = inspect_command(SAMPLE, SAMPLE.commands["conversations", "state"]).options[0]
    assert parameter_text(branch) == "Which branch (default: main)"


@pytest.mark.parametrize(("columns", "width"), [("120", 100), ("72", 72), ("8", 40), ("no", 80), ("0", 80), ("", 80)])
def test_the_width_is_the_terminals_within_limits(columns, width):
    assert terminal_width({"COLUMNS": columns}) == width
