"""`scopes conv list`: a list from the index is printed without opening the store."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.running import imported

LIST = ("conv", "list")


@pytest.fixture
def cache(conversation, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return str(tmp_path / "cache")


def test_a_list_from_the_index_loads_no_git_library(conversation, cache):
    """Start-up budget: 7x from the index."""
    for words in (("--store", conversation.store, *LIST), ("--store", conversation.store, *LIST, "--json")):
        assert "pygit2" in imported(*words)
        assert imported(*words) & {"pygit2", "rich", "pydantic"} == set()


def test_the_list_is_the_same_with_and_without_the_index(conversation, cache):
    first, second = conversation.run_main(*LIST), conversation.run_main(*LIST)
    assert (first.stdout, first.returncode) == (second.stdout, 0)
    assert first.stdout.startswith("conv-001\t")
    assert conversation.run_main(*LIST, "--json").stdout == conversation.run_main(*LIST, "--json").stdout


def test_a_damaged_index_is_a_note_and_the_list_is_right(conversation, cache):
    right = conversation.run_main(*LIST, "--json").stdout
    for directory, _, files in os.walk(cache):
        for name in files:
            with open(os.path.join(directory, name), "wb") as file:
                file.write(b"nonsense")
    done = conversation.run_main(*LIST, "--json")
    assert json.loads(done.stdout)["conversations"] == json.loads(right)["conversations"]
    assert done.returncode == 0
    assert "note: the index of conversations was damaged" in done.stderr
    assert conversation.run_main(*LIST).stderr == ""
