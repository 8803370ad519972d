"""Appends and imports keep digests of long branches, so that the first merge need not read all messages."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation import append as append_module
from scopes.conversation.append import append, append_all
from scopes.conversation.branch import branch
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.history.revisions import list_branch_tips
from scopes.importers import kept_for_later
from scopes.index.commit_cache import LAYOUT, CommitCache
from scopes.merge import commit_line, kept_digests, side_work
from scopes.merge.commit_line import find_segment
from scopes.merge.kept_digests import keep_digests
from scopes.server.acp.recordings import Identity, SessionWriter
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.examples import examples
from tests.support.store import make_store
from tests.support.two_branches import BRANCHES, act, draw, outcome, steps

KEEPING = append_module._KEEPING
ALWAYS, NEVER = ("",), ("never",)


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch):
    monkeypatch.setattr(commit_line, "CHUNK_COMMITS", 4)
    monkeypatch.setattr(commit_line, "_CUT_WITHIN", 3)
    for module in (commit_line, side_work):
        monkeypatch.setattr(module, "MAX_SINGLE", 5)
        monkeypatch.setattr(module, "MIN_KEPT", 2)
    monkeypatch.setattr(append_module, "_KEEPING", NEVER)


@pytest.fixture
def kept(repository, tmp_path):
    """The directory of the digests that operations on the repository keep."""
    place = str(tmp_path / "kept")
    repository.open_commit_chunks = lambda: CommitCache(place, repository.path)
    return place


def tips_of(repository):
    return list_branch_tips(repository, "conv-001")


def keep(repository, new=0):
    keep_digests(repository, "conv-001", tips_of(repository).values(), new)


def count_digests(directory):
    path = os.path.join(directory, LAYOUT.file)
    if not os.path.exists(path):
        return 0
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT count(*) FROM digest").fetchone()[0]


def count_reads(monkeypatch, action):
    reads = []
    original = Repository.read
    monkeypatch.setattr(Repository, "read", lambda self, oid: reads.append(oid) or original(self, oid))
    action()
    monkeypatch.setattr(Repository, "read", original)
    return len(reads)


def runs(repository, where, count):
    for number in range(count):
        act(repository, where, "claude", ("run", str(number), f"pytest -q test_{number % 7}.py"))


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(steps, st.booleans()), max_size=10), st.lists(st.tuples(steps, st.booleans()), max_size=30))
@pytest.mark.slow
def test_a_merge_is_the_same_if_digests_were_kept_at_any_time(tmp_path_factory, below, above):
    place = tmp_path_factory.mktemp("world")
    repository, kept = make_store(place / "store.git"), str(place / "kept")
    repository.open_commit_chunks = lambda: CommitCache(kept, repository.path)
    draw(repository, [])
    for number, (step, keeps) in enumerate([*below, *above]):
        if number == len(below):
            branch(repository, "conv-001", name="alt", switch=False)
        act(repository, *step)
        if keeps:
            keep(repository)
    if not above:
        branch(repository, "conv-001", name="alt", switch=False)
    expected = outcome(repository, None, str(place / "copy.git"))
    for _ in range(2):
        assert outcome(repository, kept, str(place / "copy.git")) == expected


def test_the_first_merge_reads_little_if_digests_were_kept(repository, kept, monkeypatch, tmp_path):
    draw(repository, [])
    branch(repository, "conv-001", name="alt", switch=False)
    for where in BRANCHES:
        runs(repository, where, 30)
    cold = count_reads(monkeypatch, lambda: outcome(repository, None, str(tmp_path / "copy")))
    keep(repository, 200)
    assert count_reads(monkeypatch, lambda: outcome(repository, kept, str(tmp_path / "copy"))) < cold / 3


def test_a_segment_ends_at_a_fork_point_and_at_the_tip(repository, kept):
    draw(repository, [("main", "claude", ("prompt", "", "go on"))] * 6)
    fork = tips_of(repository)["main"]
    branch(repository, "conv-001", name="alt", switch=False)
    for where in BRANCHES:
        runs(repository, where, 3)
    keep(repository)
    chunks = repository.open_commit_chunks()
    for tip in (fork, *tips_of(repository).values()):
        assert find_segment(chunks, tip) is not None


def test_only_the_commits_since_the_last_digests_are_read(repository, kept, monkeypatch):
    draw(repository, [])
    runs(repository, "main", 40)
    first = count_reads(monkeypatch, lambda: keep(repository))
    runs(repository, "main", 2)
    assert count_reads(monkeypatch, lambda: keep(repository)) < first / 4
    assert count_reads(monkeypatch, lambda: keep(repository)) < first / 20


def test_the_number_of_old_commits_that_are_read_is_limited(repository, kept, monkeypatch):
    """An index that was deleted does not make the next append read a whole history."""
    monkeypatch.setattr(kept_digests, "_MOST_ABOVE", 8)
    draw(repository, [])
    runs(repository, "main", 40)
    keep(repository)
    chunks = repository.open_commit_chunks()
    found = [commit.oid for commit in walk_newest_first(repository, tips_of(repository).values())]
    assert [number for number, oid in enumerate(found) if find_segment(chunks, oid)] == [0, 4]


def test_an_append_keeps_digests_if_the_id_of_its_commit_says_so(repository, kept, monkeypatch):
    draw(repository, [])
    for number in range(6):
        append(repository, "conv-001", plain_message("carol", f"message {number}"))
    assert count_digests(kept) == 0
    monkeypatch.setattr(append_module, "_KEEPING", ALWAYS)
    appended = append(repository, "conv-001", plain_message("carol", "the last one"))
    assert find_segment(repository.open_commit_chunks(), appended.oid) is not None


def test_a_recorded_session_keeps_digests_too(repository, kept, monkeypatch):
    """S0-3: `scopes acp` appends without a command."""
    monkeypatch.setattr(append_module, "_KEEPING", ALWAYS)
    writer = SessionWriter(repository, Identity("stub", ""), "session-1", "run-1", None)
    for number in range(4):
        writer.append(plain_message("stub", f"message {number}"))
    assert find_segment(repository.open_commit_chunks(), tips_of(repository)["main"]) is not None


def test_about_one_append_of_128_keeps_digests():
    ids = [f"{number:02x}{'0' * 38}" for number in range(256)]
    assert sum(oid.startswith(KEEPING) for oid in ids) == 2


def test_many_appends_at_once_keep_digests_up_to_the_last_one(repository, kept, monkeypatch):
    monkeypatch.setattr(kept_digests, "_MOST_ABOVE", 0)
    monkeypatch.setattr(append_module, "_KEEPING", ALWAYS)
    draw(repository, [])
    place = StoreHandle(repository).conversation("conv-001").branch(None)
    appended = append_all(place, [plain_message("carol", f"message {number}") for number in range(60)])
    chunks = repository.open_commit_chunks()
    assert find_segment(chunks, appended[-1].oid) is not None
    assert count_digests(kept) == 2 * 15


def test_an_append_succeeds_if_no_digests_can_be_kept(repository, monkeypatch, tmp_path):
    """The index is in a directory that cannot be made, and then there is none."""
    monkeypatch.setattr(append_module, "_KEEPING", ALWAYS)
    draw(repository, [])
    (tmp_path / "file").write_text("")
    for chunks in (lambda: CommitCache(str(tmp_path / "file" / "kept"), repository.path), None):
        repository.open_commit_chunks = chunks
        appended = append(repository, "conv-001", plain_message("carol", "hello"))
        assert tips_of(repository)["main"] == appended.oid


def test_an_append_succeeds_if_an_older_message_is_missing(repository, kept, monkeypatch):
    draw(repository, [])
    runs(repository, "main", 10)
    oldest = [*walk_newest_first(repository, tips_of(repository).values())][-3]
    os.unlink(os.path.join(repository.path, "objects", oldest.tree[:2], oldest.tree[2:]))
    repository.recent.clear()
    monkeypatch.setattr(append_module, "_KEEPING", ALWAYS)
    appended = append(repository, "conv-001", plain_message("carol", "hello"))
    assert tips_of(repository)["main"] == appended.oid


def test_an_import_keeps_digests_of_a_long_conversation(repository, kept, monkeypatch, tmp_path):
    monkeypatch.setattr(kept_for_later, "LONG_MESSAGES", 10)
    words = " ".join(f"w{number}" for number in range(12))
    path = write_transcript(tmp_path / "a.jsonl", *session_records("s1", f"{words} fork<w5"))
    short = write_transcript(tmp_path / "b.jsonl", *session_records("s2", "a b c"))
    import_demo(repository, path, short)
    chunks = repository.open_commit_chunks()
    found = {
        conversation: [
            find_segment(chunks, tip) is not None for tip in list_branch_tips(repository, conversation).values()
        ]
        for conversation in ("conv-001", "conv-002")
    }
    assert any(found["conv-001"])
    assert not any(found["conv-002"])


@pytest.mark.parametrize("far", [0, 4, 40])
@pytest.mark.parametrize("moves", [(), (("run", "9", "cd old"),)])
def test_a_directory_that_an_agent_left_before_the_fork_is_found_in_digests(repository, kept, tmp_path, moves, far):
    """Whether the move is in the segment below the fork point, in an older one, or in none."""
    draw(repository, [("main", "claude", step) for step in (*moves, *[("prompt", "", "go on")] * far)])
    branch(repository, "conv-001", name="alt", switch=False)
    act(repository, "main", "claude", ("edit", "1", "a.py"))
    act(repository, "alt", "claude", ("run", "2", "rm -f a.py"))
    for where in BRANCHES:
        runs(repository, where, 4)
    expected = outcome(repository, None, str(tmp_path / "copy"))
    assert ("resource-contention" in str(expected)) == (not moves)
    keep(repository)
    assert outcome(repository, kept, str(tmp_path / "copy")) == expected
