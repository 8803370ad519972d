"""An index file that SQLite finds damaged is built again; concurrent processes do no harm."""

from __future__ import annotations

import os
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from scopes.search.run import search
from tests.cli.running import PRODUCT, scopes
from tests.index.corpus import file_in, status_and_notes
from tests.support.history import history, say

WORDS = ("alpha", "beta", "gamma", "stack overflow", "the parser")


@pytest.fixture
def intact(repository, directory):
    """Make a store with a valid index; return the index file's bytes."""
    drawn = history(repository, conversation="one")
    for number in range(30):
        say(repository, drawn.conversation, f"{WORDS[number % 5]} {number}")
    status_and_notes(repository, directory)
    with open(file_in(directory), "rb") as file:
        return file.read()


def ask(repository, directory):
    """Search for every word; return the results in order."""
    return [[hit.head.id for hit in search(repository, word, index_directory=str(directory)).hits] for word in WORDS]


def put(directory, name, data):
    """Write these bytes into a file of the index, as another program would; its other files stay."""
    with open(os.path.join(str(directory), name), "r+b") as file:
        file.truncate(len(data))
        file.write(data)


@pytest.mark.parametrize("at", [0, 4096])
def test_a_damaged_page_is_found_by_sqlite_and_the_index_is_built_again(repository, directory, intact, at):
    """D-44."""
    right = ask(repository, directory)
    put(directory, "index.sqlite", intact[:at] + b"\x55" * (len(intact) - at))
    first = search(repository, WORDS[0], index_directory=str(directory))
    assert (first.coverage.searched.state, len(first.notes)) == ("rebuilt", 1)
    assert ask(repository, directory) == right


def test_an_index_that_was_deleted_is_built(repository, directory, intact):
    os.unlink(file_in(directory))
    state, notes = status_and_notes(repository, directory)
    assert (state.state, notes) == ("built", [])
    assert status_and_notes(repository, directory)[0].state == "fresh"


def test_a_reader_that_is_still_reading_does_no_harm(repository, directory, intact):
    """SQLite cannot move the pages of an update into the file then; they are moved when the reader ends."""
    reader = sqlite3.connect(file_in(directory), isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM message").fetchone()
    say(repository, "one", "epsilon")
    assert status_and_notes(repository, directory)[1] == []
    assert status_and_notes(repository, directory)[0].state == "fresh"
    reader.execute("ROLLBACK")
    reader.close()
    for _ in range(2):
        assert status_and_notes(repository, directory)[0].state == "fresh"
        say(repository, "one", "zeta")
        assert status_and_notes(repository, directory)[1] == []


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_rebuilt(repository, directory, intact, share):
    """D-44."""
    right = ask(repository, directory)
    put(directory, "index.sqlite", intact[: int(len(intact) * share)])
    assert ask(repository, directory) == right


def test_concurrent_first_searches_all_get_the_answer(repository, tmp_path):
    """The first search of eight processes at the same moment: one builds, nobody fails."""
    drawn = history(repository, "main: alpha beta")

    def ask_in_a_process(_):
        words = ("--store", repository.path, "conv", "search", "alpha", "--format", "{id}")
        return scopes(*words, table=PRODUCT, env={"XDG_CACHE_HOME": str(tmp_path / "cache")})

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(ask_in_a_process, range(8)))
    assert {(one.returncode, one.stdout.strip()) for one in done} == {(0, drawn.ids["alpha"])}, [d.stderr for d in done]


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_index_directory_prevents_no_search(repository, directory, intact):
    os.chmod(directory, 0o500)
    say(repository, "one", "epsilon")
    try:
        assert status_and_notes(repository, directory)[0].messages == 31
    finally:
        os.chmod(directory, 0o700)
