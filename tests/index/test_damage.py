"""A damaged index file causes no error and no wrong result; concurrent processes do no harm."""

from __future__ import annotations

import os
import random
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from scopes.search.search import search
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


def put(directory, data):
    """Overwrite the index file with these bytes."""
    shutil.rmtree(directory)
    os.mkdir(directory)
    with open(file_in(directory), "wb") as file:
        file.write(data)


def sweep(repository, directory, intact, tries):
    """Damage the file at one position after another; no result may be wrong."""
    right = ask(repository, directory)
    rng = random.Random(7)
    rebuilt = 0
    for _ in range(tries):
        data = bytearray(intact)
        at, length = rng.randrange(len(data)), rng.choice([1, 1, 8, 512])
        data[at : at + length] = rng.randbytes(len(data[at : at + length]))
        put(directory, data)
        found = ask(repository, directory)
        rebuilt += found == right
        assert all(set(some) <= set(every) for some, every in zip(found, right, strict=True))
    return rebuilt / tries


def test_damage_causes_no_error_and_no_wrong_result(repository, directory, intact):
    """D-44."""
    assert sweep(repository, directory, intact, 40) > 0.8


@pytest.mark.sweep
def test_many_kinds_of_damage_cause_no_error_and_no_wrong_result(repository, directory, intact):
    assert sweep(repository, directory, intact, 2000) > 0.8


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_rebuilt(repository, directory, intact, share):
    """D-44."""
    right = ask(repository, directory)
    put(directory, intact[: int(len(intact) * share)])
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
