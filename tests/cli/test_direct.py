"""Running ordinary command lines without typer: the same values as typer's, or none."""

from __future__ import annotations

import inspect
from contextlib import contextmanager

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.exceptions import TyperException

from scopes.cli.command_line import split_words
from scopes.cli.direct import parse_words
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.main import main
from scopes.cli.option_rows import read_rows
from scopes.cli.parser import make_context, pop_shared
from scopes.cli.table import TABLE
from scopes.loading import load
from tests.cli.running import SAMPLE

VALUES = ["", "a", "conv-001", "3", "-3", "03", "+3", "3_0", "٣", "1.5", "-", "--", "-n", "é\n", "9" * 30, "a=b", "dot"]
NOISE = [
    "-h",
    "--help",
    "--unknown",
    "-x",
    "-1",
    "-3",
    "--fields=",
    "--no-available",
    "--porcelain=v1",
    "--json=1",
    "-=",
]
COMMANDS = list(TABLE.commands)


def values_of_typer(command, line):
    """Return the values that typer gives the function, and those of the global options; None if it refuses the words."""
    seen = {}
    try:
        parser, context = make_context(load(command.target), line, "scopes", None)
        shared = pop_shared(context)
        with context, replaced_function(parser.callback, lambda **values: seen.update(values)):
            parser.invoke(context)
    except (TyperException, typer.Exit):
        return None
    del seen["context"]
    return seen, shared


@contextmanager
def replaced_function(wrapper, function):
    """Let typer's wrapper, which converts values, call another function than the command's."""
    cell = wrapper.__closure__[wrapper.__code__.co_freevars.index("callback")]
    before, cell.cell_contents = cell.cell_contents, function
    try:
        yield
    finally:
        cell.cell_contents = before


def complete(command, own):
    """Return the values of a function with its defaults."""
    parameters = inspect.signature(load(command.target)).parameters.values()
    defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    return {**defaults, **own}


def split(path, words):
    return split_words(TABLE, [*path, *words])


@st.composite
def command_lines(draw):
    """Draw a command and words that are mostly its own options and arguments."""
    path = draw(st.sampled_from(COMMANDS))
    rows = read_rows(TABLE.commands[path])
    own = [row.name for row in rows if row.name[0] == "-"]
    names = own + [name for option in GLOBAL_OPTIONS for name in option.names]
    value = st.sampled_from(VALUES + [choice for row in rows for choice in row.choices])
    one = st.sampled_from(names)
    option = one.map(lambda name: [name]) | st.tuples(one, value).map(list)
    glued = st.tuples(one, value).map(lambda pair: ["=".join(pair) if pair[0][1] == "-" else "".join(pair)])
    letters = st.lists(st.sampled_from([name[1] for name in names if len(name) == 2]), min_size=2, max_size=3)
    noise = st.sampled_from(NOISE).map(lambda word: [word])
    piece = option | value.map(lambda word: [word]) | glued | letters.map(lambda each: ["-" + "".join(each)]) | noise
    return path, [word for words in draw(st.lists(piece, max_size=5)) for word in words]


@given(command_lines())
def test_words_are_read_as_typer_reads_them_or_left_to_typer(drawn):
    path, words = drawn
    line = split(path, words)
    command = line.command
    found = parse_words(command, line)
    if found is not None:
        expected = values_of_typer(command, line)
        assert expected is not None, "typer refuses these words"
        assert (complete(command, found[0]), found[1]) == expected


@pytest.mark.parametrize(
    "words",
    [
        "conv list", "list --json", "list -n 3", "list -3 --agent planner", "log -1", "log conv-001 -n2 --oneline",
        "show", "show conv-001 --json", "show conv-001/main --format mermaid", "cat k3x9", "-C . -qv list -z",
        "append conv-001 --as planner text", "append conv-001 --to a --to b -- --text", "merge conv-001 a --target b",
        "context conv-001 --max-tokens=100", "search word -n 5", "branch conv-001 new", "list --fields id,title",
        "log conv-001 -- a.py b.py", "new title", "diff conv-001 a b", "--store x --color never list",
    ],
)  # fmt: skip
def test_ordinary_words_need_no_typer(words):
    line = split((), words.split())
    found = parse_words(line.command, line)
    assert found is not None
    assert (complete(line.command, found[0]), found[1]) == values_of_typer(line.command, line)


@pytest.mark.parametrize(
    "words",
    [
        "list -n", "list -n x", "list --unknown", "list --json=1", "list extra", "log -n -1", "show --format svg",
        "append", "list --limit 1_0", "list --limit 99999999999999999999999", "completion other", "list -xz",
        "agents list --available", "compact conv-001 --ratio 0.5",
    ],
)  # fmt: skip
def test_errors_and_unusual_types_are_left_to_typer(words):
    line = split((), words.split())
    assert parse_words(line.command, line) is None


def test_the_functions_of_another_table_are_left_to_typer(capsys):
    """The rows describe the commands of scopes; this table has commands of the same names."""
    table = load(SAMPLE)
    line = split_words(table, ["conv", "state", "c"])
    assert parse_words(line.command, line) is None
    assert main(["conv", "answer", "3"], table) == 3
    capsys.readouterr()


def test_without_the_rows_every_command_line_is_left_to_typer(monkeypatch, tmp_path):
    line = split((), ["list", "--json"])
    assert parse_words(line.command, line) is not None
    monkeypatch.setattr("scopes.cli.option_rows.OPTIONS_FILE", str(tmp_path / "missing.tsv"))
    assert parse_words(line.command, line) is None


def test_every_command_has_the_types_of_its_parameters():
    """Few are left to typer: fractions, options with an opposite, choices that are not given."""
    rows = [row for path in COMMANDS for row in read_rows(TABLE.commands[path])]
    unknown = [row.name for row in rows if not row.parameter.partition(" ")[2]]
    assert len(unknown) < len(rows) / 20
    assert {row.parameter.partition(" ")[2].strip("!") for row in rows} == {
        "", "flag", "text", "texts", "whole", "whole>=0", "whole>=1", "choice",
    }  # fmt: skip
