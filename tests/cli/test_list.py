"""`conv list` as a process: what it answers from the index, it answers without opening the store."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.running import imported

LIST = ("conv", "list")


@pytest.fixture
def cache(talk, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return str(tmp_path / "cache")


def test_a_list_that_the_index_knows_loads_no_git_library(talk, cache):
    """Start-up budget: 7x from the index."""
    for words in (("--store", talk.store, *LIST), ("--store", talk.store, *LIST, "--json")):
        assert "pygit2" in imported(*words)
        assert imported(*words) & {"pygit2", "rich", "pydantic"} == set()


def test_both_ways_print_the_same(talk, cache):
    first, second = talk.within(*LIST), talk.within(*LIST)
    assert (first.stdout, first.returncode) == (second.stdout, 0)
    assert first.stdout.startswith("conv-001\t")
    assert talk.within(*LIST, "--json").stdout == talk.within(*LIST, "--json").stdout


def test_damage_is_a_note_and_the_answer_is_right(talk, cache):
    right = talk.within(*LIST, "--json").stdout
    for directory, _, files in os.walk(cache):
        for name in files:
            with open(os.path.join(directory, name), "wb") as file:
                file.write(b"nonsense")
    done = talk.within(*LIST, "--json")
    assert json.loads(done.stdout)["conversations"] == json.loads(right)["conversations"]
    assert done.returncode == 0
    assert "note: the index of conversations was damaged" in done.stderr
    assert talk.within(*LIST).stderr == ""
