"""Help: the pages of the program and of its groups, of each command, and the manual."""

from __future__ import annotations

import json

import pytest

from scopes.cli.command_help import SHARED, read_docs
from scopes.cli.help import terminal_width
from scopes.cli.table import TABLE
from scopes.store.config import SETTINGS
from tests.cli.running import PRODUCT, imported, scopes

STATE = """\
Print the settings of this run

usage: scopes state CONV [TEXT...] [OPTIONS]

A paragraph that is wrapped.

examples:
  scopes state conv-001 "hello"
  scopes state conv-001 --kind decision

  CONV                 Which conversation
  TEXT                 What to say
  --kind KIND          What it is (one of: plain, decision; default: plain)
  -z, --nul            End rows with NUL
  -b, --branch BRANCH  Which branch (default: main)
  --limit N            How many
  global: scopes help --all

see also: help; its manual: scopes help -a state
"""
COUNT = sum(map(len, TABLE.sections.values()))


def page(*words, table=PRODUCT, code=0):
    done = scopes(*words, table=table, env={"COLUMNS": "80"})
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout


@pytest.mark.parametrize(
    "words", [("help", "state"), ("help", "conv", "state"), ("state", "-h"), ("state", "x", "--help")]
)
def test_the_help_of_a_command_is_exactly_this(words):
    assert page(*words, table="tests.cli.sample:TABLE") == STATE


def test_the_first_page_has_what_people_install_the_program_for():
    text = page("help")
    assert text == page("--help") == page("-h")
    assert text.startswith("scopes - git for agent conversations\n\nTake in\n  import        ")
    assert text.endswith(f"""
One command: scopes help why      All {COUNT}: scopes help --all
The newest conversation is @, and what is meant if you name none.
""")
    assert "\n  push, pull    Send and get conversations, over any git server\n" in text
    assert len(text.splitlines()) < 34


def test_the_page_of_all_commands_has_each_once_by_section():
    text = page("help", "--all")
    assert text.startswith(
        f"scopes - git for agent conversations: all {COUNT} commands\n\nFind and read\n  list          "
    )
    for command in (command for commands in TABLE.sections.values() for command in commands):
        row = f"\n  {command.path[0].ljust(14)}"
        assert text.count(row) == 1
        members = text.partition(row)[2].split("\n")[1].split()
        assert len(command.path) == 1 or command.path[1] in members
    assert "\n      list show resolve argue escalate\n" in text
    assert text.endswith("Environment, files, settings: scopes help -a config   One: scopes help NAME\n")


def test_a_group_is_a_line_for_each_of_its_verbs():
    text = page("help", "conflicts")
    assert text == page("conflicts", "--help")
    assert text.startswith("scopes conflicts - Conflicts between branches\n\n  conflicts list  ")
    assert [line for line in text.splitlines() if line.startswith("  conflicts ")] == [
        line for line in text.splitlines() if line.startswith("  ")
    ]


@pytest.mark.parametrize("words", [("help",), ("help", "--all"), ("help", "conflicts"), ("help", "-a", "config")])
def test_no_line_of_a_page_is_wider_than_80_columns(words):
    assert [line for line in page(*words).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("path", [path for path in TABLE.commands if path != ("help",)], ids=" ".join)
def test_the_help_of_a_command_has_its_options_and_refers_to_its_manual(path):
    docs, text = read_docs(TABLE.commands[path]), page("help", *path)
    assert text.startswith(f"{docs.summary}\n\nusage: {docs.usage}\n")
    assert [part.label for part in (*docs.arguments, *docs.options) if f"\n  {part.label}" not in text] == []
    assert f"scopes help -a {' '.join(path)}" in " ".join(text.split())
    shared = [any(name in SHARED for name in part.names) for part in docs.options]
    assert shared == sorted(shared)


def test_all_of_a_command_is_its_manual():
    assert "\nPrograms of agents\nThe program of an agent is any command." in page("help", "-a", "facts", "run")
    assert "\nPrograms of agents\n" in page("help", "--all", "facts")
    assert "\nPrograms of agents\n" not in page("help", "facts", "run")


def test_the_manual_of_config_has_settings_variables_files_and_exit_codes():
    text = page("help", "-a", "config", *(["list"] if ("config", "list") in TABLE.commands else []))
    assert [name for name in SETTINGS if f"\n  {name}" not in text] == []
    for term in ("SCOPES_STORE", ".git/scopes", "refs/scopes/memory", "141"):
        assert f"\n  {term}" in text


def test_the_help_of_a_command_as_json_is_one_document():
    document = json.loads(page("help", "merge", "--json"))
    assert (document["scopes"], document["kind"], document["command"]) == (1, "help", "scopes merge")
    assert {"--abort"} < {name for option in document["options"] for name in option["names"]}
    done = scopes("help", "conflicts", "--json", table=PRODUCT)
    assert (done.returncode, json.loads(done.stderr)["error"]["hint"]) == (2, "for example: scopes help merge --json")


def test_help_for_an_unknown_command_suggests_the_nearest():
    done = scopes("help", "stat", table="tests.cli.sample:TABLE")
    assert (done.returncode, done.stderr.splitlines()[1]) == (2, "hint: did you mean scopes state?")


def test_the_pages_of_the_program_import_no_parser():
    for words in (("help",), ("help", "conflicts"), ("conflicts", "--help")):
        assert imported(*words) & {"typer", "pygit2", "rich", "pydantic"} == set()


@pytest.mark.parametrize(("columns", "width"), [("120", 100), ("72", 72), ("8", 40), ("no", 80), ("0", 80), ("", 80)])
def test_the_width_is_the_terminals_within_limits(columns, width):
    assert terminal_width({"COLUMNS": columns}) == width
