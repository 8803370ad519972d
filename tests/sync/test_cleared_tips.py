"""What one push has searched for secrets the next one does not search again, to whatever remote it goes."""

from __future__ import annotations

import json
import os
from hashlib import sha256

import pytest

from scopes.secret_scan import prefilter
from scopes.secrets.allow import allow, disallow
from scopes.sync import cleared_tips
from tests.support.history import history, say
from tests.support.planted import KINDS
from tests.support.remotes import add, fetch_from, machine, make_bare, push_to

TOKEN = KINDS[1][1]


@pytest.fixture
def store(repository, bare, tmp_path):
    """A store with an index that knows two remotes, with a conversation of two branches."""
    repository.caller = repository.caller._replace(index_directory=str(tmp_path / "index"))
    add(repository, bare)
    add(repository, make_bare(tmp_path / "second.git"), "second")
    history(repository, "main: a b", "idea@a: c")
    return repository


@pytest.fixture
def searched(monkeypatch):
    """The texts of the messages that are searched."""
    found, original = [], prefilter.choose_suspicious

    def choose(texts):
        found.extend(each["text"] for data in texts if b'"parts"' in data for each in json.loads(data)["parts"])
        return original(texts)

    monkeypatch.setattr("scopes.sync.clearance.prefilter.choose_suspicious", choose)
    return found


def search_again(store, searched):
    """Push to the second remote and return the texts that were searched for that, sorted."""
    searched.clear()
    assert [row.status for row in push_to(store, remote="second").conversations] == ["new"]
    return sorted(searched)


def kept(store):
    """Return the path of what is kept."""
    return os.path.join(store.caller.index_directory, "cleared-tips.json")


def test_a_second_remote_gets_what_was_searched_for_the_first_one(store, searched):
    push_to(store, remote="origin")
    assert sorted(searched) == ["a", "b", "c"]
    assert search_again(store, searched) == []


def test_only_what_is_new_since_then_is_searched(store, searched):
    push_to(store, remote="origin")
    say(store, "conv-001/idea", "news")
    assert search_again(store, searched) == ["news"]


def test_without_an_index_all_is_searched_again(store, searched):
    store.caller = store.caller._replace(index_directory=None)
    push_to(store, remote="origin")
    assert search_again(store, searched) == ["a", "b", "c"]


@pytest.mark.parametrize("change", ["rules", "store", "damage", "nothing readable"])
def test_what_is_kept_counts_only_for_these_rules_and_this_store(store, searched, monkeypatch, change):
    push_to(store, remote="origin")
    if change == "rules":
        monkeypatch.setattr(cleared_tips, "RULES_VERSION", -1)
    else:
        with open(kept(store), "rb+") as file:
            digest, data = file.read().split(b"\n")
            other = {"store": data.replace(b'"of":["', b'"of":["x'), "damage": data + b" ", "nothing readable": b"[]"}
            file.seek(0)
            file.truncate()
            file.write((digest if change == "damage" else sha256(other[change]).hexdigest().encode()) + b"\n")
            file.write(other[change])
    assert search_again(store, searched) == ["a", "b", "c"]


def test_a_message_with_a_secret_is_refused_each_time(store, searched):
    say(store, "conv-001/main", f"use {TOKEN}")
    for remote in ("origin", "second", "second"):
        assert [row.status for row in push_to(store, remote=remote).conversations] == ["refused"]


def test_what_was_allowed_is_searched_again_because_that_can_be_taken_back(store, searched):
    say(store, "conv-001/main", f"use {TOKEN}")
    reason = push_to(store, remote="origin").conversations[0].reason
    name = reason.rpartition("(")[2].partition(")")[0]
    allow(store, name, index_directory=store.caller.index_directory)
    assert [row.status for row in push_to(store, remote="origin").conversations] == ["new"]
    disallow(store, name)
    assert [row.status for row in push_to(store, remote="second").conversations] == ["refused"]


def test_what_was_let_pass_once_is_searched_the_next_time(store, searched):
    say(store, "conv-001/main", f"use {TOKEN}")
    push_to(store, remote="origin", allow_secrets=True)
    say(store, "conv-001/main", "news")
    assert [row.status for row in push_to(store, remote="origin").conversations] == ["updated"]
    assert [row.status for row in push_to(store, remote="second").conversations] == ["refused"]


def test_what_came_from_a_remote_is_searched_before_it_goes_to_another_one(store, bare, searched, tmp_path):
    say(store, "conv-001/main", f"use {TOKEN}")
    push_to(store, remote="origin", allow_secrets=True)
    other = machine(tmp_path / "other", bare)
    other.caller = other.caller._replace(index_directory=str(tmp_path / "other-index"))
    add(other, make_bare(tmp_path / "third.git"), "third")
    fetch_from(other)
    say(other, "conv-001/main", "news")
    push_to(other, remote="origin")
    assert [row.status for row in push_to(other, remote="third").conversations] == ["refused"]
