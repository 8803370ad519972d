"""Names in the commands that hints, notes and errors print are quoted for a shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.printed_commands import Program, read_program

ROOT = Path(__file__).parent.parent


def test_every_name_in_a_printed_command_is_quoted():
    """People paste what is printed, and the names in it come from others."""
    found = [f"{place.path}:{place.line}: {place.value}" for place in read_program(ROOT).find_unquoted()]
    assert found == []


def values_found(text):
    """Return the values that are found in a program of one module."""
    return [place.value for place in Program({"a.py": text}).find_unquoted()]


@pytest.mark.parametrize(
    "text",
    [
        "def f(name: str): return f'see: scopes log {name}'",
        "def f(name): return f'`scopes log {quote(name)}/{name}`'",
        "def f(kind: str): return f'scopes {kind} CONV --continue'",
        "def f(names):\n name = names[0]\n return f'scopes log {name}'",
        "def g(name): return f'scopes log {name}'\ndef f(name): return g(quote(name)) + g(name)",
        "class A:\n name: str\ndef f(a: A): return f'scopes log {a.name}'",
        "def f(names): return f'scopes push {\" \".join(names)}'",
        "def f(name): return 'scopes log ' + name",
        "def f(name): return 'scopes log {}'.format(name)",
    ],
)
def test_a_name_that_is_not_quoted_is_found(text):
    assert len(values_found(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def f(name): return f'{name} is gone: scopes log'",
        "def f(name): return f'see: scopes log {quote(name)}; {name} is gone'",
        "def f(name):\n where = quote(name)\n return f'scopes log {where}'",
        "def g(name): return f'scopes log {name}'\ndef f(name): return g(quote(name))",
        "class A:\n oid: Oid\ndef f(a: A): return f'scopes cat {a.oid[:8]}'",
        "def f(names): return f'scopes push {\" \".join(map(quote, names))}'",
    ],
)
def test_what_is_quoted_or_no_command_is_not_found(text):
    assert values_found(text) == []
