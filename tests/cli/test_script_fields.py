"""What scripts select of the newer commands: `--fields`, templates and `-z`, for every field that they list."""

from __future__ import annotations

import json

import pytest

from scopes.cli.schemas import read_rows
from scopes.render.fields import cell_text, find_value
from tests.cli.contract import COMMANDS, CONV, WRITES, path_of, words_of

every_command = pytest.mark.parametrize("name", COMMANDS)
WITH_TEMPLATES = [*COMMANDS]
with_templates = pytest.mark.parametrize("name", WITH_TEMPLATES)
WITH_COLUMNS = [name for name in COMMANDS if read_rows(path_of(name)).columns]
# The columns of a command that one of its forms does not print: `decisions --candidates` prints other rows.
COLUMNS_OF = {"decisions --candidates": ("id", "text", "branch", "why", "author", "time")}


def with_options(words, *options):
    """Return the words of a command with options, which stand before the `--` of bisect."""
    end = words.index("--") if "--" in words else len(words)
    return (*words[:end], *options, *words[end:])


def rows_of(world, name, *options):
    """Return the rows of a command in JSON."""
    words, code, key = COMMANDS[name]
    lines = world.run_main(*with_options(words, "--json", *options))
    assert lines.returncode == code, lines.stderr
    documents = [json.loads(line) for line in lines.stdout.splitlines()]
    return documents if key == "" else documents if key is None else documents[0][key]


def cells_of(world, name, *options, end="\n"):
    """Return the rows of a command as lists of cells."""
    words, code, _ = COMMANDS[name]
    shown = world.run(*with_options(words, *options), code=code)
    assert shown.endswith(end)
    return [row.split("\t") for row in shown.removesuffix(end).split(end)]


def columns_of(name):
    return COLUMNS_OF.get(name, read_rows(path_of(name)).columns)


@every_command
def test_bare_fields_lists_every_field_of_the_rows(world, name):
    """Also those columns of the table that the JSON has not."""
    words, _, _ = COMMANDS[name]
    listed = world.run(*with_options(words, "--fields")).splitlines()
    assert listed == read_rows(path_of(name)).names
    assert len(listed) == len(set(listed))
    present = {key for row in rows_of(world, name) for key in row}
    assert present - {"scopes", "notes"} <= set(listed)
    assert set(columns_of(name)) <= set(listed)


@every_command
def test_every_listed_field_can_be_selected_and_the_order_is_kept(world, name):
    names = read_rows(path_of(name)).names
    rows = rows_of(world, name)
    forward = cells_of(world, name, "--fields", ",".join(names))
    backward = cells_of(world, name, "--fields", ",".join(reversed(names)))
    assert len(forward) == len(rows)
    assert {len(cells) for cells in forward} == {len(names)}
    assert [cells[::-1] for cells in forward] == backward


@every_command
def test_a_cell_is_the_value_of_the_json(world, name):
    """A field that only the table has is the cell of the table."""
    rows = rows_of(world, name)
    names = [
        field for field in read_rows(path_of(name)).names if any(find_value(row, field) is not None for row in rows)
    ]
    for row, cells in zip(rows, cells_of(world, name, "--fields", ",".join(names)), strict=True):
        for field, cell in zip(names, cells, strict=True):
            value = find_value(row, field)
            if value is not None:
                assert cell == cell_text(value), field


@every_command
def test_json_rows_have_the_selected_fields_in_their_order(world, name):
    rows = rows_of(world, name)
    names = [field for field in rows[0] if field not in {"scopes", "kind", "notes"}][::-1]
    for row, reduced in zip(rows, rows_of(world, name, "--fields", ",".join(names)), strict=True):
        kept = {field: row[field] for field in names if row.get(field) is not None}
        assert reduced == reduced | kept
        assert [key for key in reduced if key in kept] == list(kept)


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_the_columns_are_the_row_in_a_pipe(world, name):
    piped = cells_of(world, name)
    assert cells_of(world, name, "--fields", ",".join(columns_of(name)))[0][0] == piped[0][0]
    template = "\\t".join(f"{{{column}}}" for column in columns_of(name))
    assert cells_of(world, name, "--format", template) == piped


@with_templates
def test_a_template_of_all_fields_has_the_cells_of_fields(world, name):
    fields = read_rows(path_of(name)).fields
    template = "\\t".join(f"<{{{field}}}>" for field in fields)
    expected = [[f"<{cell}>" for cell in cells] for cells in cells_of(world, name, "--fields", ",".join(fields))]
    assert cells_of(world, name, "--format", template) == expected


@with_templates
def test_nul_ends_every_row_of_fields(world, name):
    fields = ",".join(list(rows_of(world, name)[0])[-2:])
    expected = cells_of(world, name, "--fields", fields)
    assert cells_of(world, name, "--fields", fields, "-z", end="\0") == expected
    template = "\\t".join(f"{{{field}}}" for field in fields.split(","))
    assert cells_of(world, name, "--format", template, "-z", end="\0") == cells_of(world, name, "--format", template)


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_nul_ends_every_row_of_a_table(world, name):
    assert cells_of(world, name, "-z", end="\0") == cells_of(world, name)


NEAR = {
    "merge-requests list": ("titel", "title"),
    "merge-requests show": ("outcom", "outcome"),
    "decisions": ("topik", "topic"),
    "decisions --candidates": ("brunch", "branch"),
    "range-diff": ("new.subjekt", "new.subject"),
    "conflicts list": ("severty", "severity"),
    "conflicts list --all": ("stauts", "status"),
    "conflicts show": ("sidse", "sides"),
    "log with lanes": ("lanes", "lane"),
    "bisect run": ("first_bat", "first_bad"),
}


@pytest.mark.parametrize(
    ("name", "option"),
    [(name, "--fields") for name in COMMANDS] + [(name, "--format") for name in WITH_TEMPLATES],
)
def test_an_unknown_field_is_refused_with_the_nearest_and_all_others(world, name, option):
    wrong, near = NEAR[name]
    words, _, _ = COMMANDS[name]
    value, meant = (f"{{{wrong}}}", f"{{{near}}}") if option == "--format" else (wrong, near)
    done = world.run_main(*with_options(words, option, value))
    assert (done.returncode, done.stdout) == (2, "")
    message, hint = done.stderr.splitlines()[:2]
    assert message.startswith(f"error: there is no field '{wrong}'")
    names = ", ".join(read_rows(path_of(name)).names)
    assert f"did you mean {meant}? fields: {names}" in hint


@pytest.mark.parametrize("name", [name for name in WRITES if name != "merge-requests merge"])
def test_an_unknown_field_is_refused_before_anything_is_written(world, name):
    before = world.run("operations", "list", "--json"), world.texts()
    world.run_refused(*words_of(world, WRITES[name]), "--fields", "nothing", code=2)
    assert (world.run("operations", "list", "--json"), world.texts()) == before


@pytest.mark.parametrize(
    ("words", "fields", "row"),
    [
        (("mr", "open", CONV, "--source", "draft", "--title", "x"), "number,state,change", "4\topen\topened"),
        (("mr", "close", CONV, "2", "--reason", "no"), "state,reason,change", "closed\tno\tclosed"),
        (("mr", "merge", CONV, "2"), "result,source,target", "merged\tfinal\tmain"),
        (("decisions", CONV, "--accept", "CANDIDATE.1", "--topic", "tabs"), "topic,branch", "tabs\tmain"),
        (("decisions", CONV, "--dismiss", "CANDIDATE.1"), "candidate.text", "We decided to use tabs."),
        (("decisions", f"{CONV}/main", "--withdraw", "DB"), "topic,decisions", "db\tfiles"),
        (("conflicts", "resolve", CONV, "1", "--take", "source"), "remaining,conflict.status", "0\tresolved"),
    ],
)
def test_a_command_that_writes_prints_the_fields_of_what_it_wrote(world, words, fields, row):
    assert world.run(*words_of(world, words), "--fields", fields) == f"{row}\n"


def test_a_template_has_the_text_of_what_it_names(world):
    assert world.run("log", f"{CONV}/draft", "-1", "--format", "{text}") == "my decision\n"
    assert world.run("decisions", CONV, "--candidates", "--format", "{text}").splitlines() == [
        "We decided to use tabs.",
        "We agreed on pytest.",
    ]
    shown = world.run("decisions", CONV, "--candidates", "--format", r"{message.author}\t{why}")
    assert shown.splitlines() == ["alice\tstates a decision"] * 2


def test_the_lane_of_a_message_is_a_field(world):
    """Only the message that came from the merged branch is in one."""
    rows = world.run("log", f"{CONV}/main", "--fields", "author,message_kind,lane").splitlines()
    assert [row for row in rows if not row.endswith("\t")] == ["bob\tdecision\tfix"]
    assert world.run("log", f"{CONV}/main", "--format", "{author} {lane}").splitlines().count("bob fix") == 1


def test_a_text_of_several_lines_is_one_cell_and_whole_between_nuls(world):
    world.append("draft", "one\ntwo\tthree")
    log = ("log", f"{CONV}/draft", "-1", "--fields", "author,text")
    assert world.run(*log) == "carol\tone two three\n"
    assert world.run(*log, "-z") == "carol\tone\ntwo\tthree\0"


def test_a_template_with_a_column_of_the_other_form_names_its_own(world):
    """`decisions` lists decisions or candidates: a topic belongs to the first alone."""
    done = world.run_main("decisions", CONV, "--candidates", "--format", "{id} {topic}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "hint: fields: id, text, branch, why, author, time" in done.stderr
