"""Hostile texts in the newer commands: never raw on a terminal, never a row more or less in a pipe.

Every text that people and agents are free to write holds escape sequences, invisible characters, characters that turn
the direction of writing, and all kinds of ends of lines.
"""

from __future__ import annotations

import json

import pytest

from scopes import clock
from scopes.cli.schemas import read_rows
from tests.cli.contract import COMMANDS, CONV, copy_world, make_world, path_of, run_on_terminal
from tests.cli.test_script_fields import WITH_COLUMNS, columns_of, every_command, with_options
from tests.render.hostile import OUR_COLORS, PAYLOADS, forbidden
from tests.support.random_ids import hashed_counter

PAYLOAD = " ".join(each for each in PAYLOADS if not any("\ud800" <= character <= "\udfff" for character in each))
# Titles are cut at 200 characters, so that of a merge request has the controls alone.
SHORT = "\x1b]0;pwn\x07 \x9b2J \u202egnp \u200b \U000e0069 a\rb\x08\x00"


def dressed(text):
    """Return a text with hostile characters before, within and after it."""
    first, _, rest = text.partition(" ")
    short = text in {"Files, not a database", "Try this", "Not this"}
    return f"{first} {SHORT} {rest}" if short else f"{first} {rest} {PAYLOAD}\nlast\tline {SHORT}"


@pytest.fixture(scope="session")
def made_hostile_worlds():
    """The world that the first test made."""
    return []


@pytest.fixture
def hostile(made_hostile_worlds, tmp_path, tmp_path_factory, monkeypatch):
    """A store of the same form as that of the other tests, whose texts are hostile."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    if not made_hostile_worlds:
        made_hostile_worlds.append(make_world(tmp_path_factory.mktemp("hostile"), dressed))
    return copy_world(made_hostile_worlds[0], tmp_path)


def acting(text, *, tabs=True):
    """Return the characters of an output that would act on a terminal, or that nobody sees."""
    return forbidden(text.replace("\t", "") if tabs else text)


@every_command
@pytest.mark.parametrize("color", ["always", "never"])
def test_nothing_on_a_terminal_acts(hostile, name, color):
    words, code, _ = COMMANDS[name]
    done = run_on_terminal(hostile, *with_options(words, f"--color={color}"))
    assert done[0] == code
    for text in done[1:]:
        assert acting(OUR_COLORS.sub("", text)) == []
    assert "How" in done[1] or name != "log with lanes"


@every_command
def test_nothing_in_a_pipe_acts(hostile, name):
    words, code, _ = COMMANDS[name]
    done = hostile.run_main(*words)
    assert (done.returncode, acting(done.stdout), acting(done.stderr)) == (code, [], [])


@pytest.mark.parametrize("name", WITH_COLUMNS)
def test_a_row_stays_a_row_in_a_pipe(hostile, name):
    words, code, key = COMMANDS[name]
    documents = [json.loads(line) for line in hostile.run_main(*with_options(words, "--json")).stdout.splitlines()]
    expected = len(documents) if key == "" else len(documents[0][key])
    rows = hostile.run(*words, code=code).split("\n")
    assert (len(rows) - 1, rows[-1]) == (expected, "")
    assert {row.count("\t") for row in rows[:-1]} == {len(columns_of(name)) - 1}
    ended = hostile.run(*words, "-z", code=code).split("\0")
    assert (len(ended) - 1, ended[-1]) == (expected, "")


@every_command
def test_every_selected_field_is_one_cell(hostile, name):
    words, code, key = COMMANDS[name]
    fields = read_rows(path_of(name)).fields
    template = r"\t".join(f"{{{field}}}" for field in fields)
    shown = hostile.run(*with_options(words, "--format", template), code=code)
    assert acting(shown) == []
    rows = shown.split("\n")[:-1]
    assert {row.count("\t") for row in rows} == {len(fields) - 1}
    assert key is not None or len(rows) == 1


@every_command
def test_between_nuls_lines_stay_and_nothing_acts(hostile, name):
    words, code, key = COMMANDS[name]
    last = read_rows(path_of(name)).fields[-1]
    shown = hostile.run(*with_options(words, "-z", "--format", f"{{{last}}}\t{{{last}}}"), code=code)
    rows = shown.split("\0")
    assert rows[-1] == ""
    assert acting(shown.replace("\0", "")) == []
    assert key is not None or len(rows) == 2


@every_command
def test_json_is_one_line_a_document_and_keeps_the_text(hostile, name):
    words, code, _ = COMMANDS[name]
    done = hostile.run_main(*with_options(words, "--json"))
    assert done.returncode == code
    assert done.stdout.isascii() or acting(done.stdout) == []
    documents = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
    assert documents
    if name == "log with lanes":
        assert dressed("How shall we do it?") in [document["text"] for document in documents]


REFUSED = {
    "the name of a branch": ("mr", "open", CONV, "--source", f"x{SHORT}", "--title", "x"),
    "the number of a request": ("mr", "show", CONV, f"9{SHORT}"),
    "a state": ("mr", "list", "--state", SHORT),
    "the id of a candidate": ("decisions", CONV, "--accept", SHORT),
    "a topic": ("decisions", CONV, "--withdraw", SHORT),
    "a range": ("range-diff", CONV, SHORT, "main"),
    "a conflict": ("conflicts", "show", CONV, SHORT),
    "a status": ("conflicts", "list", "--status", SHORT),
    "a compared revision": ("context", "--diff", CONV, "main", SHORT),
    "a good message": ("bisect", CONV, "--good", SHORT, "--", "true"),
    "a field": ("mr", "list", f"--json={SHORT}"),
    "a template": ("mr", "list", "--format", f"{{{SHORT}}}"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("option", ["--json", "--quiet", "--hints"])
def test_an_error_about_a_hostile_word_is_harmless(world, case, option):
    words = with_options(REFUSED[case], *(() if option == "--hints" else (option,)))
    done = world.run_main(*words)
    assert done.returncode in {1, 2, 4}
    assert (done.stdout, acting(done.stderr)) == ("", [])
    code, shown, errors = run_on_terminal(world, *words)
    assert (code, shown, acting(OUR_COLORS.sub("", errors))) == (done.returncode, "", [])


def test_names_that_are_written_back_are_harmless(world):
    """`open`, `close`, `accept` and `dismiss` repeat what they were given."""
    title = f"A title {SHORT}"
    calls = (
        ("mr", "open", CONV, "--source", "draft", "--title", title),
        ("mr", "close", CONV, "4", "--reason", PAYLOAD),
        ("decisions", CONV, "--accept", f"{world.candidate}.1", "--topic", f"tabs {SHORT}"),
        ("decisions", CONV, "--dismiss", f"{world.candidate}.2", "--reason", PAYLOAD),
    )
    for words in calls:
        code, shown, errors = run_on_terminal(world, *words)
        assert (code, acting(OUR_COLORS.sub("", shown + errors))) == (0, []), words


LONG = "word " * 200_000  # a megabyte in one line


@pytest.fixture
def long(conversation):
    """A conversation with a line of a megabyte in a message, in two decisions and in a candidate."""
    conversation.append("main", f"We decided to use {LONG}.")
    ours, theirs = ({"topic": "db", "decision": f"{name} {LONG}"} for name in ("SQLite", "files"))
    conversation.append_on_both("decision", ours, theirs)
    conversation.merge(code=3)
    return conversation


@pytest.mark.parametrize(
    ("words", "code", "rows"),
    [
        (("log", CONV), 0, None),
        (("decisions", CONV), 0, 2),
        (("decisions", CONV, "--candidates"), 0, 1),
        (("conflicts", "list", CONV), 0, 1),
        (("conflicts", "show", CONV, "1"), 0, None),
        (("range-diff", f"{CONV}/main", f"{CONV}/fix"), 1, None),
    ],
)
def test_a_line_of_a_megabyte_is_one_row_in_a_pipe_and_many_lines_on_a_terminal(long, words, code, rows):
    piped = long.run(*words, code=code)
    assert rows is None or piped.count("\n") == rows
    shown = run_on_terminal(long, *words, "--color=never")
    assert shown[0] == code
    assert max(map(len, shown[1].splitlines())) <= 120  # a heading with names may be wider than the terminal
