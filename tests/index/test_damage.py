"""A damaged index file causes no error and no wrong result; concurrent processes do no harm."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from scopes.search.search import search
from tests.cli.running import PRODUCT, scopes
from tests.index.corpus import file_in, status_and_notes
from tests.support.examples import examples
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


def damaged(data, rng):
    """Return the bytes with one bit flipped, a run of bytes changed, the end cut off, or two pages swapped."""
    data = bytearray(data)
    at, way = rng.randrange(len(data)), rng.choice(["bit", "bit", "bit", "bytes", "cut", "swap"])
    if way == "bit":
        data[at] ^= 1 << rng.randrange(8)
    elif way == "bytes":
        data[at : at + 512] = rng.randbytes(len(data[at : at + 512]))
    elif way == "cut":
        del data[at:]
    else:
        one, two = (4096 * rng.randrange(max(1, len(data) // 4096)) for _ in range(2))
        data[one : one + 4096], data[two : two + 4096] = data[two : two + 4096], data[one : one + 4096]
    return bytes(data)


def sweep(repository, directory, tries, seed):
    """Damage one file of the index at one place after another; every answer is right, and a rebuild has a note."""
    right = ask(repository, directory)
    rng = random.Random(seed)
    for _ in range(tries):
        name = rng.choice(["index.sqlite"] * 9 + ["index.sqlite-sums"])
        with open(os.path.join(str(directory), name), "rb") as file:
            intact = file.read()
        data = damaged(intact, rng)
        put(directory, name, data)
        first = search(repository, WORDS[0], index_directory=str(directory))
        assert data == intact or (first.coverage.index, len(first.notes)) == ("rebuilt", 1)
        assert ask(repository, directory) == right


@pytest.mark.parametrize("small", [True, False])
def test_damage_never_changes_a_result(repository, directory, intact, small, monkeypatch):
    """D-44. A large index is compared with its checksums because its times have changed."""
    if not small:
        monkeypatch.setattr("scopes.index.checksums._WHOLE_BYTES", 0)
    sweep(repository, directory, examples(120), seed=7)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(16))
def test_damage_of_any_region_never_changes_a_result(repository, directory, intact, seed):
    sweep(repository, directory, 150, seed)


def test_a_search_without_a_match_finds_damage_that_left_the_times_of_a_large_index(
    repository, directory, intact, monkeypatch
):
    """R10. A disk that flips bits changes no times; here no time is looked at, and no part is compared at random."""
    monkeypatch.setattr("scopes.index.checksums._WHOLE_BYTES", 0)
    monkeypatch.setattr("scopes.index.checksums._SAMPLE_BYTES", 0)
    monkeypatch.setattr("scopes.index.checksums._stamp", lambda fd: (1, os.fstat(fd).st_size, 1, 1))
    shutil.rmtree(directory)
    right = ask(repository, directory)
    with open(file_in(directory), "rb") as file:
        data = file.read()
    assert data.count(b"gamma") == 1
    put(directory, "index.sqlite", data.replace(b"gamma", b"gamme"))
    assert len(search(repository, "beta", index_directory=str(directory)).hits) == 6
    found = search(repository, "gamma", index_directory=str(directory))
    assert (len(found.hits), [note.text for note in found.notes]) == (6, ["the search index was damaged"])
    assert ask(repository, directory) == right


def test_a_copied_index_is_compared_once_and_kept(repository, directory, intact, monkeypatch):
    """Its inode and times differ, its content does not."""
    data = (directory / "index.sqlite").read_bytes()
    (directory / "copy").write_bytes(data)
    os.replace(directory / "copy", file_in(directory))
    assert status_and_notes(repository, directory) == (status_and_notes(repository, directory)[0], [])
    assert status_and_notes(repository, directory)[0].state == "fresh"


def test_an_index_without_checksums_is_rebuilt(repository, directory, intact):
    os.unlink(file_in(directory) + "-sums")
    state, notes = status_and_notes(repository, directory)
    assert (state.state, notes) == ("rebuilt", ["the search index was damaged"])


def test_an_index_that_was_deleted_is_built(repository, directory, intact):
    """Its checksums are still there."""
    os.unlink(file_in(directory))
    state, notes = status_and_notes(repository, directory)
    assert (state.state, notes) == ("built", [])
    assert status_and_notes(repository, directory)[0].state == "fresh"


def test_damage_before_an_update_is_found(repository, directory, intact):
    """An update changes only the checksums of the blocks that it writes."""
    data = bytearray(intact)
    data[-2000] ^= 1
    put(directory, "index.sqlite", bytes(data))
    say(repository, "one", "epsilon")
    state, notes = status_and_notes(repository, directory)
    assert (state.state, state.messages, len(notes)) == ("rebuilt", 31, 1)


def test_after_a_killed_update_the_index_is_kept(repository, directory, intact, monkeypatch):
    """Its pages are in SQLite's log, its checksums are those of the last update."""
    say(repository, "one", "epsilon")
    process = os.fork()
    if process == 0:
        monkeypatch.setattr("scopes.index.full_text.record", lambda *_args, **_options: None)
        monkeypatch.setattr("scopes.index.full_text.logged_blocks", lambda _path: os._exit(0) if killed() else [])
        count = iter(range(9))

        def killed():
            return next(count) == 2

        status_and_notes(repository, directory)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert os.path.getsize(file_in(directory) + "-wal") > 0
    state, notes = status_and_notes(repository, directory)
    assert (state.messages, notes) == (31, [])
    assert state.state != "rebuilt"
    assert status_and_notes(repository, directory)[0].state == "fresh"


def test_a_reader_that_is_still_reading_leaves_no_false_damage(repository, directory, intact):
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
