"""The command table is complete and consistent with the docstrings of the commands."""

from __future__ import annotations

import inspect

import pytest

from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.help import format_command
from scopes.cli.inspect_command import inspect_command
from scopes.cli.parser import build_parser
from scopes.cli.table import TABLE
from scopes.loading import load
from tests.cli.running import imported

every_command = pytest.mark.parametrize("command", TABLE.commands.values(), ids=lambda command: " ".join(command.path))


@every_command
def test_the_first_line_of_a_docstring_is_the_summary_of_the_table(command):
    first = inspect.cleandoc(load(command.target).__doc__ or "").splitlines()[0]
    assert first == command.summary + "."


@every_command
def test_every_command_has_an_example(command):
    assert "scopes " in inspect_command(command).examples


@every_command
def test_every_option_and_argument_has_a_help_text(command):
    verb = inspect_command(command)
    assert [part.label for part in (*verb.arguments, *verb.options) if not part.help] == []


@every_command
def test_no_command_has_an_option_named_like_a_global_one(command):
    """Only --format has another meaning for documents: their layout. It takes precedence there."""
    taken = {name for option in GLOBAL_OPTIONS for name in option.names}
    own = {name for parameter in build_parser(command).params for name in (*parameter.opts, *parameter.secondary_opts)}
    other_formats = {"show", "context", "export", "history"}
    assert own & taken <= ({"--format"} if command.path[-1] in other_formats else set())


@every_command
def test_a_help_text_is_plain_ascii_for_every_locale(command):
    assert format_command(inspect_command(command), 80).isascii()


def test_a_command_either_reads_or_prints_without_a_pager():
    """A table of 48 imported conversations opened the pager; `git fetch` does not."""
    reading = {
        "export", "list", "show", "log", "cat", "search", "files", "decisions", "diff", "range-diff", "blame", "why", "changes",
        "stats", "usage", "agents list", "agents show", "agents export", "inbox", "proposals list", "proposals show", "proposals test", "facts list", "facts show", "facts explain", "facts log", "facts eligible", "collaborate status", "collaborate show", "memory list", "memory show", "memory search", "memory context", "memory actions", "memory stats",
        "context", "history", "budget", "tokens count", "tokens status", "conflicts list", "conflicts show",
        "merge-requests list", "merge-requests show",
        "operations list", "operations show", "verify", "doctor", "config get", "config list", "completion", "help",
        "version", "bisect run", "branch", "tag", "check", "secrets scan", "secrets list", "secrets explain", "acp stats", "acp log", "hooks status", "mcp status", "skills status",
        "remote list", "remote show", "bundle verify", "retention status",
    }  # fmt: skip
    paged = {" ".join(TABLE.short_path(path)) for path, command in TABLE.commands.items() if command.pages}
    assert paged == reading


def test_a_summary_is_one_short_line_without_a_full_stop():
    summaries = [node.summary for node in (*TABLE.commands.values(), *TABLE.groups.values())]
    assert [s for s in summaries if len(s) > 60 or s.endswith(".") or not s[0].isupper()] == []


def test_every_command_is_in_an_existing_group_or_below_a_command():
    parents = {command.path[:-1] for command in TABLE.commands.values()} - {()}
    assert parents <= set(TABLE.groups) | set(TABLE.commands)
    assert parents - set(TABLE.groups) == {("decisions",), ("collaborate",), ("acp",), ("mcp",)}


def test_no_name_is_both_a_command_and_a_group():
    assert set(TABLE.commands) & set(TABLE.groups) == set()


def test_every_alias_names_a_command_or_group():
    assert [name for name, path in TABLE.aliases.items() if path not in TABLE.commands | TABLE.groups] == []


def test_undo_and_redo_are_top_level_commands():
    assert TABLE.extend((), "undo") == ("undo",)
    assert TABLE.extend((), "redo") == ("redo",)


def test_a_path_is_spelled_the_way_people_type_it():
    assert TABLE.spelling(("append",)) == "scopes append"
    assert TABLE.spelling(("version",)) == "scopes version"


def test_members_are_direct_members_with_groups_last():
    names = [node.path[-1] for node in TABLE.members(("conversations",))]
    assert names[0] == "new"
    assert names[-1] == "operations"
    assert "list" in names
    assert [node.path[-1] for node in TABLE.members(("operations",))] == ["list", "show"]


def test_the_table_imports_nothing():
    before = imported("__complete", "--", "x")
    assert not {"re", "typing", "enum", "functools", "dataclasses", "importlib", "collections"} & before
