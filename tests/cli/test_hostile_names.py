"""A branch may have a name that a shell would run; what is printed to be pasted passes it on as one word."""

from __future__ import annotations

import os
import subprocess

import pytest

HOSTILE = "x;touch${IFS}RAN;$(touch${IFS}RAN);`touch${IFS}RAN`"
BRANCH = f"conv-001/{HOSTILE}"
STUB = '#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done >> "$WORDS"\n'


@pytest.fixture
def named(run, bare):
    """A conversation with two branches, in a store with a remote that has it."""
    run("new")
    run("append", "conv-001", "--as", "ann", "one")
    run("switch", "-c", "conv-001", HOSTILE)
    run("append", BRANCH, "--as", "bob", "two")
    run("append", "conv-001/main", "--as", "ann", "three")
    run("remote", "add", "origin", str(bare))
    run("push", "conv-001")


def paste(tmp_path, command):
    """Run a printed line in bash, with a program `scopes` that keeps its words; return them."""
    folder = tmp_path / "pasted"
    folder.mkdir(exist_ok=True)
    stub, words = folder / "scopes", folder / "words"
    stub.write_text(STUB)
    stub.chmod(0o755)
    words.write_text("")
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "WORDS": str(words)}
    subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, check=False, timeout=20)
    assert sorted(each.name for each in folder.iterdir()) == ["scopes", "words"]
    return words.read_text().splitlines()


@pytest.mark.every_case("each prints another command")
@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (("amend", BRANCH), 2, BRANCH),
        (("merge", "conv-001", "main", HOSTILE), 2, HOSTILE),
        (("merge", "conv-001", HOSTILE), 2, HOSTILE),
        (("push", BRANCH), 2, BRANCH),
    ],
)
def test_a_printed_command_has_the_name_as_one_word(run, named, tmp_path, words, code, name):
    hints = [line for line in run(*words, code=code).stderr.splitlines() if HOSTILE in line and "scopes " in line]
    assert hints
    for hint in hints:
        assert name in paste(tmp_path, f"scopes {hint.rpartition('scopes ')[2]}")


def test_a_note_of_a_fetch_has_the_name_as_one_word(run, named, bare, tmp_path):
    """The name comes from somebody else, who deletes the branch when it has been fetched."""
    run("clone", str(bare), str(tmp_path / "b"), store="unused")
    run("push", "--delete", BRANCH, "--yes")
    fetched = run("fetch", store="b").stderr
    commands = [line.partition("scopes ")[2] for line in fetched.splitlines() if line.startswith("hint: ")]
    assert [
        HOSTILE in paste(tmp_path, f"scopes {each}") or BRANCH in paste(tmp_path, f"scopes {each}") for each in commands
    ] == [True]
