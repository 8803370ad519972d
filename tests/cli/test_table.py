"""The command table: commands and options are those that surface.toml describes."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

import pytest

from scopes.cli.command_help import SHARED, command_page, read_docs
from scopes.cli.table import GLOBAL_OPTIONS, TABLE
from scopes.loading import load
from tests.cli.running import imported

SURFACE = tomllib.loads((Path(__file__).parent / "surface.toml").read_text(encoding="utf-8"))
every_command = pytest.mark.parametrize("command", TABLE.commands.values(), ids=lambda command: " ".join(command.path))
# Those that are left out until their part of the program is there.
PENDING = frozenset({"ui", "list", "merge"})


def wanted(name):
    """Return what surface.toml says of a command: its section, summary, and the help of each option."""
    entry = SURFACE["commands"][name]
    labels = {label.split(" ")[0 if label.startswith("--") else 1]: label for label in SURFACE["shared"]}
    shared = {
        labels[option]: "" if option == "--all" else SURFACE["shared"][labels[option]]
        for option in entry.get("shared", ())
    }
    return entry["section"], entry["summary"], shared | entry.get("own", {})


def found(name):
    """Return the same of a command of the program; None if there is none."""
    command = TABLE.commands.get((*name.split(),))
    if command is None:
        return None
    docs = read_docs(command)
    texts = {part.label: "" if "--all" in part.names else part.help for part in docs.options}
    return command.section, docs.summary, texts


def test_the_commands_are_those_of_the_description():
    """Take a command off PENDING as soon as it is as surface.toml says; what differs is in the message."""
    differing = {name: (found(name), wanted(name)) for name in SURFACE["commands"] if found(name) != wanted(name)}
    assert {name: both for name, both in differing.items() if name not in PENDING} == {}
    assert frozenset(differing) == PENDING


def test_every_command_is_in_the_description():
    names = {" ".join(command.path) for command in TABLE.commands.values()}
    assert names - set(SURFACE["commands"]) == set()


def test_the_global_options_are_those_of_the_description():
    assert len(GLOBAL_OPTIONS) == 18
    assert [option.label for option in GLOBAL_OPTIONS] == [
        "-C DIR", "--store PATH", "-c KEY=VALUE", "--at WHEN", "--json[=FIELDS]", "--format FORM", "-z", "--as NAME",
        "--dry-run", "--secrets HOW", "-y, --yes", "--no-input", "-q, --quiet", "-v, --verbose", "--color WHEN",
        "--no-pager", "-h, --help", "-V, --version",
    ]  # fmt: skip


def test_the_shared_options_are_those_of_the_description():
    assert {word for label in SURFACE["shared"] for word in label.split() if word.startswith("--")} == set(SHARED)


@every_command
def test_the_first_line_of_a_docstring_is_the_summary_of_the_table(command):
    first = inspect.cleandoc(load(command.target).__doc__ or "").splitlines()[0]
    assert first.rstrip(".") == command.summary.rstrip(".")


@every_command
def test_every_command_has_an_example_and_every_option_a_help_text(command):
    docs = read_docs(command)
    assert "scopes " in docs.examples
    assert [part.label for part in (*docs.arguments, *docs.options) if not part.help] == []


@every_command
def test_a_help_text_is_plain_ascii_for_every_locale(command):
    assert command_page(TABLE, read_docs(command), 80).isascii()


@pytest.mark.parametrize("name", [name for name in SURFACE["commands"] if name not in PENDING])
def test_the_help_of_a_command_fits_a_screen(name):
    command = TABLE.commands[(*name.split(),)]
    assert len(command_page(TABLE, read_docs(command), 80).splitlines()) <= 40


def test_a_summary_is_one_short_line_without_a_full_stop():
    summaries = [node.summary for node in (*TABLE.commands.values(), *TABLE.groups.values())]
    assert [
        s for s in summaries if len(s) > 60 or (s.endswith(".") and not s.endswith("...")) or not s[0].isupper()
    ] == []


def test_every_command_is_in_an_existing_group_or_below_a_command():
    parents = {command.path[:-1] for command in TABLE.commands.values()} - {()}
    assert parents <= set(TABLE.groups) | set(TABLE.commands)
    assert set(TABLE.commands) & set(TABLE.groups) == set()


def test_the_table_imports_nothing():
    before = imported("__complete", "--", "x")
    assert not {"re", "typing", "enum", "functools", "dataclasses", "importlib", "collections"} & before
