"""A walk with kept chunks yields what a walk without them yields, whatever was kept before, and reads less."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from scopes.store import graph as commit_reader
from scopes.store.graph import list_new_commits, walk_newest_first, walk_oldest_first
from tests.store.test_graph import draw_graph, shapes
from tests.support.examples import examples
from tests.support.store import make_store, open_store, write_chain

CHUNK = 3
FEW = 2


class Kept:
    """Chunks in a dict; `found` are the keys that were looked up."""

    def __init__(self):
        self.chunks = {}
        self.found = []

    def __contains__(self, key):
        return key in self.chunks

    def find(self, key):
        self.found.append(key)
        return self.chunks[key]

    def add(self, commits):
        assert len(commits) == CHUNK or (len(commits) >= FEW and not commits[-1].parents)
        self.chunks[commits[0].oid] = list(commits)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(commit_reader, "CHUNK_COMMITS", CHUNK)
    monkeypatch.setattr(commit_reader, "FEW_COMMITS", FEW)


def count_reads(repository, monkeypatch):
    """Return a list that grows with each object that is read."""
    reads = []
    original = type(repository).read
    monkeypatch.setattr(type(repository), "read", lambda self, oid: reads.append(oid) or original(self, oid))
    return reads


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shapes(), shapes())
def test_walks_are_the_same_with_and_without_chunks(tmp_path_factory, shape, second):
    repository = make_store(tmp_path_factory.mktemp("store"))
    parents, tips, hidden = shape
    commits = draw_graph(repository, parents)
    kept = Kept()
    for chosen, hide in ((tips, hidden), ([n % len(commits) for n in second[1]], ()), (tips, ())):
        arguments = repository, [commits[tip] for tip in chosen], {commits[number] for number in hide}
        repository.open_commit_chunks = None
        expected = list(walk_newest_first(*arguments)), list(walk_oldest_first(*arguments))
        repository.open_commit_chunks = lambda: kept
        assert (list(walk_newest_first(*arguments)), list(walk_oldest_first(*arguments))) == expected


def test_a_second_walk_reads_only_what_is_in_no_chunk(repository, monkeypatch):
    chain = write_chain(repository, *map(str, range(20)))
    kept = Kept()
    repository.open_commit_chunks = lambda: kept
    list(walk_newest_first(repository, [chain[-1]]))
    reads = count_reads(repository, monkeypatch)
    assert [commit.oid for commit in walk_newest_first(repository, [chain[-1]])] == chain[::-1]
    assert len(reads) == FEW  # before it looks at chunks
    assert kept.found == chain[::-1][::CHUNK]


def test_a_rest_of_few_commits_is_kept_in_no_chunk(repository, monkeypatch):
    chain = write_chain(repository, *map(str, range(19)))
    kept = Kept()
    repository.open_commit_chunks = lambda: kept
    list(walk_newest_first(repository, [chain[-1]]))
    reads = count_reads(repository, monkeypatch)
    assert [commit.oid for commit in walk_newest_first(repository, [chain[-1]])] == chain[::-1]
    assert len(reads) == FEW + 19 % CHUNK


def test_a_history_of_less_than_a_chunk_is_kept_in_no_chunk(repository):
    chain = write_chain(repository, *map(str, range(CHUNK - 1)))
    kept = Kept()
    repository.open_commit_chunks = lambda: kept
    list(walk_newest_first(repository, [chain[-1]]))
    assert kept.chunks == {}


def test_a_longer_branch_uses_the_chunks_of_the_shorter_one(repository, monkeypatch):
    chain = write_chain(repository, *map(str, range(30)))
    kept = Kept()
    repository.open_commit_chunks = lambda: kept
    list(walk_newest_first(repository, [chain[24]]))
    reads = count_reads(repository, monkeypatch)
    assert list_new_commits(repository, chain[-1], None, (chain[0],))[-1].oid == chain[-1]
    assert len(reads) < 12


def test_a_short_walk_does_not_open_the_chunks(repository):
    chain = write_chain(repository, *map(str, range(20)))
    repository.open_commit_chunks = lambda: pytest.fail("opened")
    newest = walk_newest_first(repository, [chain[-1]])
    assert [next(newest).oid for _ in range(FEW - 1)] == chain[:-FEW:-1]


def test_verify_reads_the_store_and_no_chunks(repository):
    chain = write_chain(repository, *map(str, range(20)))
    repository.open_commit_chunks = lambda: pytest.fail("opened")
    with repository.from_disk():
        assert len(list(walk_oldest_first(repository, [chain[-1]]))) == 20


def test_a_chunk_that_is_gone_is_read_from_the_store(repository):
    chain = write_chain(repository, *map(str, range(20)))
    kept = Kept()
    repository.open_commit_chunks = lambda: kept
    list(walk_newest_first(repository, [chain[-1]]))
    kept.find = lambda key: ()
    assert [commit.oid for commit in walk_newest_first(open_with(repository, kept), [chain[-1]])] == chain[::-1]


def open_with(repository, kept):
    """Open the store again, with these chunks."""
    again = open_store(repository)
    again.open_commit_chunks = lambda: kept
    return again
