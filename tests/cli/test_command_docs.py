"""The documentation of a command, built from its function."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer

from scopes.cli.command_docs import ParameterDocs, read_docs
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.inspect_command import inspect_command, inspect_global_options
from scopes.cli.parser import build_parser
from scopes.cli.table import TABLE as PRODUCT
from scopes.cli.table import Command
from tests.cli.sample import TABLE


def needy(author: Annotated[str, typer.Option("--as", metavar="AGENT", help="Who")]) -> None:
    """Need."""


@pytest.fixture
def state():
    return inspect_command(TABLE.commands["conversations", "state"])


def test_a_docstring_is_split_into_summary_text_and_examples(state):
    assert state.summary == "Print the settings of this run."
    assert state.text == "A paragraph that is\nwrapped."
    assert state.examples.splitlines() == [
        'scopes state conv-001 "hello"',
        "scopes state conv-001 --kind decision",
    ]


def test_no_usage_repeats_dots():
    """It was [CONV......] where the name of an argument has dots, too."""
    usages = [read_docs(path).usage for path in PRODUCT.commands]
    assert [usage for usage in usages if "...." in usage] == []
    assert any("[CONV...]" in usage for usage in usages)


def test_a_command_without_text_or_examples_has_none():
    bare = inspect_command(TABLE.commands["conversations", "many"])
    assert (bare.text, bare.examples, bare.arguments, bare.options) == ("", "", (), ())
    assert bare.usage == "scopes many"


def test_arguments_have_their_placeholder_as_name(state):
    assert state.arguments == (
        ParameterDocs((), "CONV", "Which conversation", required=True),
        ParameterDocs((), "TEXT", "What to say", repeated=True),
    )


def test_options_know_their_choices_and_defaults(state):
    kind = next(option for option in state.options if option.names == ("--kind",))
    assert kind == ParameterDocs(("--kind",), "KIND", "What it is", choices=("plain", "decision"), default="plain")


def test_a_switch_has_no_value(state):
    nul = next(option for option in state.options if "-z" in option.names)
    assert nul.value is None
    assert nul.label == "-z, --nul"


def test_a_required_option_is_in_the_usage_line():
    command = Command(("needy",), "", "Need", "tests.cli.test_command_docs:needy")
    assert inspect_command(command).usage == "scopes needy --as AGENT"


def test_global_options_are_documented_like_command_options():
    parts = inspect_global_options()
    assert [part.names for part in parts] == [option.names for option in GLOBAL_OPTIONS]
    assert next(part for part in parts if "--color" in part.names).choices == ("auto", "always", "never")


def test_the_parser_of_a_command_has_only_its_own_options():
    parser = build_parser(TABLE.commands["conversations", "state"])
    assert [p.name for p in parser.params] == ["conversation", "text", "branch", "kind", "limit", "nul"]
