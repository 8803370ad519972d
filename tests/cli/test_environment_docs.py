"""The texts about exit codes, environment and files agree with the program."""

from __future__ import annotations

import re

import pytest

from scopes import errors
from scopes.cli import errors as cli_errors
from scopes.cli.command_help import ENVIRONMENT, EXIT_CODES, FILES
from scopes.cli.command_line import LONG, SHORT
from scopes.cli.table import COLOR_CHOICES, GLOBAL_OPTIONS

DOCUMENTED = [int(code) for code, _ in EXIT_CODES]
REFUSALS = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.ScopesError)]


@pytest.mark.parametrize(
    "refusal", [*REFUSALS, cli_errors.Interrupted, cli_errors.Bug], ids=lambda refusal: refusal.__name__
)
def test_the_exit_code_of_every_refusal_is_documented(refusal):
    assert refusal.exit_code in DOCUMENTED


def test_the_exit_codes_are_those_of_the_contract():
    assert DOCUMENTED == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70, 130, 141]
    assert (cli_errors.EXIT_BUG, cli_errors.EXIT_INTERRUPTED, cli_errors.EXIT_BROKEN_PIPE) == (70, 130, 141)


def test_every_explanation_is_a_sentence():
    rows = (*EXIT_CODES, *ENVIRONMENT, *FILES)
    assert [text for _, text in rows if not text.endswith(".") or not text[0].isupper()] == []


def test_every_variable_name_is_upper_case():
    names = [name for names, _ in ENVIRONMENT for name in names.split(", ")]
    assert [name for name in names if not re.fullmatch(r"[A-Z_]+", name)] == []


def test_no_two_global_options_share_a_name_or_a_key():
    names = [name for option in GLOBAL_OPTIONS for name in option.names]
    keys = [option.key for option in GLOBAL_OPTIONS]
    assert len(set(names)) == len(names) == len(LONG) + len(SHORT)
    assert len(set(keys)) == len(keys)


def test_a_choice_is_offered_for_the_option_that_has_one():
    assert LONG["--color"].choices == COLOR_CHOICES
    assert [option.key for option in GLOBAL_OPTIONS if option.choices and option.value is None] == []
