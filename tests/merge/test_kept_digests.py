"""A merge is the same whatever is kept of its sides: nothing, digests of now or of before, damaged or foreign ones."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.branch import branch
from scopes.history.activity import CheckRun
from scopes.history.messages import message_id_of
from scopes.history.revisions import list_branch_tips
from scopes.index import commit_cache
from scopes.index.commit_cache import LAYOUT, CommitCache
from scopes.merge import commit_line, side_work
from scopes.merge.commit_line import CommitLine, split_sides
from scopes.store.graph import split_histories
from scopes.store.repository import Repository
from tests.support.examples import examples
from tests.support.store import make_store
from tests.support.two_branches import BRANCHES, act, draw, outcome, steps

on_store = settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch):
    monkeypatch.setattr(commit_line, "CHUNK_COMMITS", 4)
    monkeypatch.setattr(commit_line, "_CUT_WITHIN", 3)
    for module in (commit_line, side_work):
        monkeypatch.setattr(module, "MAX_SINGLE", 5)
        monkeypatch.setattr(module, "MIN_KEPT", 2)


def damage(directory, share):
    path = os.path.join(directory, LAYOUT.file)
    with open(path, "r+b") as file:
        at = int(share * os.path.getsize(path))
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x2A]))


@on_store
@given(st.lists(steps, max_size=8), st.lists(steps, min_size=4, max_size=30), st.floats(0, 0.999))
def test_a_merge_is_the_same_whatever_is_kept(tmp_path_factory, below, above, share):
    place = tmp_path_factory.mktemp("world")
    repository = make_store(place / "store.git")
    draw(repository, below)
    branch(repository, "conv-001", name="alt", switch=False)
    half = len(above) // 2
    for step in above[:half]:
        act(repository, *step)
    kept, copy = str(place / "kept"), str(place / "copy.git")
    assert outcome(repository, kept, copy) == outcome(repository, None, copy)
    for step in above[half:]:
        act(repository, *step)
    expected = outcome(repository, None, copy)
    assert outcome(repository, kept, copy) == expected  # digests of an earlier state
    assert outcome(repository, str(place / "cold"), copy) == expected
    assert outcome(repository, kept, copy) == expected
    if os.path.exists(os.path.join(kept, LAYOUT.file)):
        damage(kept, share)
    assert outcome(repository, kept, copy) == expected


@on_store
@given(st.lists(steps, max_size=30))
def test_sides_have_the_commits_that_git_has(tmp_path_factory, drawn):
    place = tmp_path_factory.mktemp("world")
    repository = make_store(place / "store.git")
    draw(repository, [])
    branch(repository, "conv-001", name="alt", switch=False)
    cache = CommitCache(str(place / "kept"), repository.path)
    repository.open_commit_chunks = lambda: cache
    for step in drawn:
        act(repository, *step)
        tips = [list_branch_tips(repository, "conv-001")[name] for name in BRANCHES]
        bases, *sides = split_sides(repository, *tips)
        expected, *commits = split_histories(repository, *tips)
        assert (bases, [[*side] for side in sides]) == (expected, [[*side] for side in commits])
        assert [[*reversed(side)] for side in sides] == [[*reversed(side)] for side in commits]
        lines = [(side.message_ids, side) for side in sides if isinstance(side, CommitLine)]
        assert all(found == tuple(map(message_id_of, side)) for found, side in lines)


def test_ids_that_begin_alike_are_not_mixed_up(tmp_path, repository, monkeypatch):
    """Only the first bytes of ids are compared first; here they are all equal."""
    draw(repository, [])
    branch(repository, "conv-001", name="alt", switch=False)
    for number in range(12):
        for where in BRANCHES:
            act(repository, where, "claude", ("run", str(number), "pytest -q"))
    tips = [list_branch_tips(repository, "conv-001")[name] for name in BRANCHES]
    expected, *commits = split_histories(repository, *tips)
    monkeypatch.setattr(commit_line, "_starts_of", lambda oids: [0] * (len(oids) // 20))
    cache = CommitCache(str(tmp_path / "kept"), repository.path)
    repository.open_commit_chunks = lambda: cache
    for _ in range(2):
        bases, *sides = split_sides(repository, *tips)
        assert (bases, [[*side] for side in sides]) == (expected, [[*side] for side in commits])


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans(), st.sampled_from([None, 0, 1])), max_size=20))
def test_the_last_runs_are_those_of_the_last_commands(drawn):
    runs = [CheckRun(*each) for each in drawn]
    last = {}
    for run in runs:
        last.pop(run.command, None)
        last[run.command] = run
    assert side_work._last_runs(reversed(runs)) == [*last.values()][-side_work.MAX_TESTS :]


@pytest.fixture
def forked(repository, tmp_path):
    """Two branches with forty test runs each, and the directory with what a dry run kept of them."""
    draw(repository, [])
    branch(repository, "conv-001", name="alt", switch=False)
    for number in range(40):
        for where in BRANCHES:
            act(repository, where, "claude", ("run", str(number), f"pytest -q test_{number % 7}.py"))
    return repository, str(tmp_path / "kept")


def count_reads(monkeypatch, action):
    reads = []
    original = Repository.read
    monkeypatch.setattr(Repository, "read", lambda self, oid: reads.append(oid) or original(self, oid))
    action()
    monkeypatch.setattr(Repository, "read", original)
    return len(reads)


def test_a_later_merge_reads_only_what_is_new(forked, monkeypatch, tmp_path):
    repository, kept = forked
    first = count_reads(monkeypatch, lambda: outcome(repository, kept, str(tmp_path / "copy")))
    act(repository, "alt", "claude", ("run", "new", "pytest -q test_new.py"))
    second = count_reads(monkeypatch, lambda: outcome(repository, kept, str(tmp_path / "copy")))
    assert second < first / 2


def exchange_data(directory):
    """Give each digest the data of another one; the checksums stay those of the data."""
    with closing(sqlite3.connect(os.path.join(directory, LAYOUT.file))) as connection, connection:
        rows = connection.execute("SELECT key, checksum, data FROM digest ORDER BY key").fetchall()
        for (key, *_), (_, *values) in zip(rows, rows[1:] + rows[:1], strict=True):
            connection.execute("UPDATE digest SET checksum = ?, data = ? WHERE key = ?", (*values, key))
        return len(rows)


def test_a_digest_under_the_key_of_another_one_is_not_used(forked, tmp_path):
    repository, kept = forked
    expected = outcome(repository, None, str(tmp_path / "copy"))
    outcome(repository, kept, str(tmp_path / "copy"))
    assert exchange_data(kept) > 20
    assert outcome(repository, kept, str(tmp_path / "copy")) == expected


def count_digests(directory, store):
    """Return how many of the digests in the file are found."""
    with closing(sqlite3.connect(os.path.join(directory, LAYOUT.file))) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM digest")]
    cache = CommitCache(directory, store)
    return sum(cache.find_digest(key) is not None for key in keys)


def test_digests_of_another_version_are_not_used(forked, tmp_path, monkeypatch):
    repository, kept = forked
    outcome(repository, kept, str(tmp_path / "copy"))
    assert count_digests(kept, repository.path) > 20
    monkeypatch.setattr(commit_cache, "_version_of_code", lambda: "0.0.1")
    assert count_digests(kept, repository.path) == 0


def test_digests_of_another_store_are_not_used(forked, tmp_path):
    repository, kept = forked
    outcome(repository, kept, str(tmp_path / "copy"))
    assert count_digests(kept, repository.path) > 20
    other = shutil.copytree(repository.path, tmp_path / "other.git")
    assert count_digests(kept, str(other)) == 0


def fork_after(repository, *below):
    """Fork after some steps of main, and add messages to both branches."""
    draw(repository, [("main", "claude", step) for step in below])
    branch(repository, "conv-001", name="alt", switch=False)


def grow(repository, where, *above):
    for step in (*above, *[("prompt", "", "go on")] * 6):
        act(repository, where, "claude", step)


def test_a_call_before_the_fork_is_answered_on_a_side(repository, tmp_path):
    fork_after(repository, ("call", "1", "pytest -q"))
    for where in BRANCHES:
        grow(repository, where, ("result", "1", 0))
    expected = outcome(repository, None, str(tmp_path / "copy"))
    assert "pytest -q" in str(expected)
    for _ in range(2):
        assert outcome(repository, str(tmp_path / "kept"), str(tmp_path / "copy")) == expected


@pytest.mark.parametrize("moves", [(), (("run", "9", "cd old"),)])
def test_a_path_is_relative_to_a_directory_that_the_agent_left_before_the_fork(repository, tmp_path, moves):
    fork_after(repository, *moves)
    grow(repository, "main", ("edit", "1", "a.py"))
    grow(repository, "alt", ("run", "2", "rm -f a.py"))
    expected = outcome(repository, None, str(tmp_path / "copy"))
    assert ("resource-contention" in str(expected)) == (not moves)
    for _ in range(2):
        assert outcome(repository, str(tmp_path / "kept"), str(tmp_path / "copy")) == expected
