"""The shell commands in programs of sed and awk; `sed --sandbox`, which refuses them, is asked."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from scopes.check.shell_scripts import script_file
from scopes.check.shell_sed import awk_commands, awk_program, sed_commands, sed_scripts
from scopes.check.shell_state import Word
from tests.support.examples import examples

SED = {
    "s/a/b/": [],
    "s/a/b/e": [""],
    "s|a|b|gIe": [""],
    "s/e/e/": [],
    "s/a\\/e/b/": [],
    "y/ab/ea/": [],
    "e": [""],
    "e id": ["id"],
    "1e id": ["id"],
    "$!e id": ["id"],
    "1,5e id": ["id"],
    "/x/e id": ["id"],
    "\\,x,e id": ["id"],
    "/x/,/y/{p;e id\n}": ["id"],
    "p;e id\np;e whoami": ["id", "whoami"],
    "a e id": [],
    "1i\\\ne id": [],
    "c e": [],
    "r e": [],
    "w e": [],
    "# e id": [],
    "b e": [],
    ": e\ns/a/b/;t e": [],
    "n;d": [],
    "1!G;h;$!d": [],
    "s/a/b": [],
    "": [],
}
AWK = {
    "{print $1}": [],
    'BEGIN{system("id")}': ["id"],
    'BEGIN { system ( "rm -rf x" ) }': ["rm -rf x"],
    "{system($0)}": [""],
    '{system("rm " $1)}': [""],
    '{print | "sh"}': ["", "sh"],
    '{print $1 |& "sh"}': ["", "sh"],
    '"id" | getline': ["id"],
    '"id" | getline x; print x': ["id"],
    "{c=$1; c | getline}": [""],
    '{print "system"}': [],
    '{print "a|b"}': [],
    "/a|b/{print}": [],
    "$1 ~ /a|b/ || $2 == 3 {print}": [],
    'BEGIN{print "a" > "b"}': [],
    '@load "filefuncs"; BEGIN{}': [""],
    'BEGIN{f="system"; @f("id")}': [""],
}


def words(*texts):
    return tuple(Word(text, text) for text in texts)


@pytest.mark.parametrize("script", SED)
def test_a_sed_program_runs_these_commands(script):
    assert list(sed_commands(script)) == SED[script]


@pytest.mark.parametrize("program", AWK)
def test_an_awk_program_runs_these_commands(program):
    assert list(awk_commands(program)) == AWK[program]


@pytest.mark.parametrize(
    ("given", "scripts"),
    [
        (("sed", "p", "f"), ["p"]),
        (("sed", "-n", "p", "f"), ["p"]),
        (("sed", "-ne", "p", "f"), ["p"]),
        (("sed", "-e", "p", "-e", "d", "f"), ["p", "d"]),
        (("sed", "--expression=p", "f"), ["p"]),
        (("sed", "--expr", "p", "f"), ["p"]),
        (("sed", "f", "-e", "p"), ["p"]),
        (("sed", "-i", "p", "f"), ["p"]),
        (("sed", "-i.bak", "p", "f"), ["p"]),
        (("sed", "-i", "-e", "p", "f"), ["p"]),
        (("sed", "-f", "script", "f"), []),
        (("sed", "-E", "p", "f"), ["p"]),
        (("sed", "-l", "5", "p", "f"), ["p"]),
        (("sed", "--", "p", "f"), ["p"]),
        (("sed",), []),
    ],
)
def test_the_program_of_sed_is_an_option_or_the_first_operand(given, scripts):
    assert [word.text for word in sed_scripts(words(*given))] == scripts


@pytest.mark.parametrize(
    ("given", "program", "file"),
    [
        (("awk", "{print}", "f"), "{print}", None),
        (("awk", "-F:", "{print}", "f"), "{print}", None),
        (("awk", "-F", ":", "-v", "a=1", "{print}", "f"), "{print}", None),
        (("awk", "-f", "x.awk", "f"), None, "x.awk"),
        (("awk", "--file=x.awk", "f"), None, "x.awk"),
        (("awk", "-e", "{print}", "f"), "{print}", None),
        (("awk", "--source", "{print}", "-e", "END{}"), "{print}\nEND{}", None),
        (("awk",), None, None),
    ],
)
def test_the_program_of_awk_is_an_option_a_file_or_the_first_operand(given, program, file):
    found, read = awk_program(words(*given)), script_file("awk", words(*given))
    assert (found and found.text, read and read.text) == (program, file)


@pytest.mark.parametrize(
    "given",
    [
        ("sed", "-f", "x"),
        ("sed", "-nfx"),
        ("sed", "-E", "-f", "x"),
        ("sed", "f", "-f", "x"),
        ("gsed", "--file=x"),
        ("sed", "--fi", "x"),
    ],
)
def test_sed_reads_its_program_from_a_file(given):
    found = script_file(given[0], words(*given))
    assert found is not None
    assert found.text == "x"


def test_another_program_reads_no_such_file():
    assert script_file("grep", words("grep", "-f", "x")) is None
    assert script_file("sed", words("sed", "-e", "x")) is None


def test_a_computed_program_of_awk_is_unknown():
    assert awk_program((Word("awk", "awk"), Word("-e", "-e"), Word(None, "$x"))) == Word(None, "$x")


@pytest.fixture(scope="module")
def runs_command():
    """Return True if sed refuses a program because it would run a command; None if it is no valid program."""
    program = shutil.which("sed")
    if program is None or "GNU" not in subprocess.check_output([program, "--version"], text=True):
        pytest.skip("there is no GNU sed")

    def ask(script):
        words = [program, "--sandbox", "-n", "--", script]
        done = subprocess.run(words, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
        if b"disabled in sandbox mode" in done.stderr:
            return True
        return None if done.returncode else False

    return ask


def test_sed_agrees_with_every_row(runs_command):
    """Its sandbox also refuses to read and write files, which those rows do not mean."""
    rows = [script for script in SED if not script.startswith(("r", "w"))]
    asked = {script: runs_command(script) for script in rows}
    assert {script for script in rows if asked[script]} == {script for script in rows if SED[script]}


_PIECES = (
    "s/a/b/", "s/a/b/e", "s,e,;e,", "s/e;e/\\/e/", "y/e/f/", "e", "e id", "p", "d", ";", "\n", "{", "}", "1", "$", "!", ",",
    "/e/", "\\,e,", "a e", "i\\\ne", "# e", "b e", ":e", " ", "n", "0~3", "+2", "I", "g",
)  # fmt: skip


def test_no_drawn_program_that_runs_a_command_is_missed(runs_command):
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    refused = 0
    for _ in range(examples(1200)):
        script = "".join(draw.choices(_PIECES, k=draw.randint(1, 6)))
        runs = runs_command(script)
        if runs is not None:
            refused += runs
            assert bool(list(sed_commands(script))) >= runs, (seed, script)
    assert refused > 0


@pytest.mark.parametrize(
    "text", ["s/", "/x/,", "{" * 20_000, "e " * 20_000, "s/a/b/;" * 20_000, "/" * 20_000, "\\" * 20_000]
)
def test_a_long_program_of_sed_is_read_in_time(text):
    assert len(list(sed_commands(text))) <= 1


@pytest.mark.parametrize("text", ['system("' * 5_000, '"' * 20_000, "| " * 10_000, "/a" * 10_000, '"a" | ' * 5_000])
def test_a_long_program_of_awk_is_read_in_time(text):
    assert len(list(awk_commands(text))) <= 20_000
