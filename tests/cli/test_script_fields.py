"""What scripts select: `--json=FIELDS`, templates and `-z`, for every field that a command lists."""

from __future__ import annotations

import json

import pytest

from scopes.cli.schemas import read_rows
from scopes.render.fields import cell_text, find_value
from tests.cli.contract import COMMANDS, CONV, WRITES, path_of, words_of

every_command = pytest.mark.parametrize("name", COMMANDS)
with_templates = pytest.mark.parametrize("name", [name for name in COMMANDS if name != "context --diff"])
WITH_COLUMNS = [name for name in COMMANDS if read_rows(path_of(name)).columns]
# The columns of a command that one of its forms does not print: `decisions --candidates` prints other rows.
COLUMNS_OF = {"decisions --candidates": ("id", "text", "branch", "why", "author", "time")}


def with_options(words, *options):
    """Return the words of a command with options, which stand before the `--` of bisect."""
    end = words.index("--") if "--" in words else len(words)
    return (*words[:end], *options, *words[end:])


def columns_of(name):
    return COLUMNS_OF.get(name, read_rows(path_of(name)).columns)


def rows_of(world, name, option="--json"):
    """Return the rows of a command in JSON."""
    words, code, key = COMMANDS[name]
    lines = world.run_main(*with_options(words, option))
    assert lines.returncode == code, lines.stderr
    documents = [json.loads(line) for line in lines.stdout.splitlines()]
    return documents if key == "" else documents if key is None else documents[0][key]


def cells_of(world, name, fields, *options, end="\n"):
    """Return the rows that a template of these fields makes, as lists of cells."""
    words, code, _ = COMMANDS[name]
    template = r"\t".join(f"{{{field}}}" for field in fields)
    shown = world.run(*with_options(words, "--format", template, *options), code=code)
    assert shown.endswith(end)
    return [row.split("\t") for row in shown.removesuffix(end).split(end)]


@every_command
def test_every_field_of_the_rows_is_listed(world, name):
    words, _, _ = COMMANDS[name]
    listed = world.run(*with_options(words, "--json=")).splitlines()
    assert len(listed) == len(set(listed))
    present = {key for row in rows_of(world, name) for key in row}
    assert present - {"scopes", "notes"} <= set(listed)


@with_templates
def test_a_cell_of_a_template_is_the_value_of_the_json(world, name):
    rows = rows_of(world, name)
    fields = [field for field in read_rows(path_of(name)).fields if any(find_value(row, field) for row in rows)]
    for end, options in (("\n", ()), ("\0", ("-z",))):
        for row, cells in zip(rows, cells_of(world, name, fields, *options, end=end), strict=True):
            for field, cell in zip(fields, cells, strict=True):
                value = find_value(row, field)
                assert value is None or cell == cell_text(value, multiline=end == "\0"), field


@every_command
def test_json_rows_have_the_selected_fields_in_their_order(world, name):
    rows = rows_of(world, name)
    names = [field for field in rows[0] if field not in {"scopes", "kind", "notes"}][::-1]
    for row, reduced in zip(rows, rows_of(world, name, f"--json={','.join(names)}"), strict=True):
        kept = {field: row[field] for field in names if row.get(field) is not None}
        assert reduced == reduced | kept
        assert [key for key in reduced if key in kept] == list(kept)


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_nul_ends_every_row_of_a_table(world, name):
    words, code, _ = COMMANDS[name]
    rows = world.run(*words, code=code).splitlines()
    assert world.run(*with_options(words, "-z"), code=code) == "".join(f"{row}\0" for row in rows)


@with_templates
def test_an_unknown_field_is_refused_with_the_nearest_and_all_others(world, name):
    words, _, _ = COMMANDS[name]
    fields = read_rows(path_of(name)).fields
    wrong = f"{fields[-1]}x"
    for option, meant in ((f"--json={wrong}", fields[-1]), (f"--format={{{wrong}}}", f"{{{fields[-1]}}}")):
        done = world.run_main(*with_options(words, option))
        assert (done.returncode, done.stdout) == (2, "")
        error = " ".join(done.stderr.split())
        assert f"there is no field '{wrong}'" in error
        assert f"did you mean {meant}? fields: {', '.join(fields)}" in error


@pytest.mark.parametrize("name", [*WRITES])
def test_an_unknown_field_is_refused_before_anything_is_written(world, name):
    before = world.run("operations", "-a", "--json"), world.texts()
    world.run_refused(*words_of(world, WRITES[name]), "--format", "{nothing}", code=2)
    assert (world.run("operations", "-a", "--json"), world.texts()) == before


def test_a_template_has_the_text_of_what_it_names(world):
    assert world.run("log", f"{CONV}/draft", "-1", "--format", "{text}") == "my decision\n"
    shown = world.run("decisions", CONV, "--candidates", "--format", r"{message.author}\t{why}")
    assert shown.splitlines() == ["alice\tstates a decision"] * 2


def test_a_text_of_several_lines_is_one_cell_and_whole_between_nuls(world):
    world.append("draft", "one\ntwo\tthree")
    log = ("log", f"{CONV}/draft", "-1", "--format", r"{author}\t{text}")
    assert world.run(*log) == "carol\tone two three\n"
    assert world.run(*log, "-z") == "carol\tone\ntwo\tthree\0"
