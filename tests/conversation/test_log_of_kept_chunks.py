"""A log with bodies shows the same messages whatever is kept of their trees: nothing, all, a part, or something else."""

from __future__ import annotations

import pytest

from scopes.conversation.log import log
from scopes.history.messages import read_body
from scopes.store import commit_reader, repository
from scopes.store.graph import walk_newest_first, walk_oldest_first
from scopes.store.objects import TREE
from scopes.store.packs.reader import PackReader
from tests.store.test_commit_reader import Kept
from tests.support.history import history
from tests.support.store import git, open_store

MESSAGES = 23
CHUNK = 6
TEXTS = [f"text-{number}" for number in reversed(range(MESSAGES))]


class KeptNames(Kept):
    """Chunks and digests in dicts."""

    def __init__(self):
        super().__init__()
        self.digests = {}

    def add(self, commits):
        self.chunks[commits[0].oid] = list(commits)

    def find_digest(self, key):
        return self.digests.get(key)

    def add_digests(self, digests):
        self.digests |= digests


@pytest.fixture(autouse=True)
def _small_numbers(monkeypatch):
    monkeypatch.setattr(commit_reader, "CHUNK_COMMITS", CHUNK)
    monkeypatch.setattr(commit_reader, "FEW_COMMITS", 2)
    monkeypatch.setattr(repository, "_FEW_READS", 1)


@pytest.fixture
def kept():
    return KeptNames()


@pytest.fixture
def store(repository, kept):
    """A packed conversation that a walk has read once, so that its chunks are kept."""
    history(repository, "main: " + " ".join(reversed(TEXTS)))
    git(repository, "-c", "pack.window=0", "gc", "--quiet")
    read_texts(repository, kept)
    return repository


def opened(store, kept):
    again = open_store(store)
    again.open_commit_chunks = lambda: kept
    return again


def read_texts(store, kept, **options):
    entries = log(opened(store, kept), "conv-001", **options).items
    return [entry.message.text for entry in entries if entry.message]


def count_trees(monkeypatch, act):
    """Return how many trees the reader of packs finds during an action."""
    kinds = []
    original = PackReader._find

    def find(self, name):
        found = original(self, name)
        kinds.append(found and found[0])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(PackReader, "_find", find)
        act()
    return kinds.count(TREE)


def test_the_trees_of_a_kept_chunk_are_read_once(store, kept, monkeypatch):
    first = count_trees(monkeypatch, lambda: read_texts(store, kept))
    second = count_trees(monkeypatch, lambda: read_texts(store, kept))
    assert first > MESSAGES - CHUNK
    assert second < CHUNK  # those of messages that are read before the chunks are opened
    assert read_texts(store, kept) == TEXTS


@pytest.mark.parametrize("limit", range(1, MESSAGES, 5))
def test_a_log_that_stops_early_leaves_the_next_one_complete(store, kept, limit):
    assert read_texts(store, kept, limit=limit) == TEXTS[:limit]
    assert read_texts(store, kept) == TEXTS
    assert read_texts(store, kept) == TEXTS


@pytest.mark.parametrize("options", [{"oldest_first": True}, {"graph": True}, {"all_branches": True}])
def test_other_orders_show_the_same_messages(store, kept, options):
    for _ in range(3):
        assert sorted(read_texts(store, kept, **options)) == sorted(TEXTS)


@pytest.mark.parametrize("damage", [lambda names: names[:-1], lambda names: names + names, lambda _: b""])
def test_names_of_another_length_are_not_used(store, kept, damage):
    read_texts(store, kept)
    assert kept.digests
    kept.digests = {key: damage(names) for key, names in kept.digests.items()}
    assert read_texts(store, kept) == TEXTS


def test_names_of_objects_that_are_not_there_are_not_used(store, kept):
    read_texts(store, kept)
    kept.digests = {key: b"\x55" * len(names) for key, names in kept.digests.items()}
    assert read_texts(store, kept) == TEXTS


def test_bodies_that_are_read_after_the_walk_are_the_same(store, kept):
    again = opened(store, kept)
    tip = again.find_ref("refs/heads/conv-001/main")
    for walk in (walk_newest_first, walk_oldest_first):
        commits = [commit for commit in walk(again, [tip]) if commit.parents]
        assert sorted(read_body(again, commit).text for commit in commits) == sorted(TEXTS)


def test_verify_reads_the_trees(store, kept, monkeypatch):
    read_texts(store, kept)
    again = opened(store, kept)
    commits = list(walk_newest_first(again, [again.find_ref("refs/heads/conv-001/main")]))[:-1]
    with again.from_disk():
        read = count_trees(monkeypatch, lambda: [read_body(again, commit) for commit in commits])
    assert read == MESSAGES
