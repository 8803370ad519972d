"""Rollouts in a store: forks share their parents' messages, and nothing is written twice."""

from __future__ import annotations

import pytest

from scopes.conversation.heads import walk_heads_oldest_first
from scopes.conversation.lookup import branch_tips
from scopes.importers.codex.format import Codex
from scopes.importers.run import import_sources
from scopes.store.location import create_store
from scopes.store.repository import open_repository
from tests.importers.codex.rollouts import NEW_TURN, PARENT, THREAD, Rollout, short_rollout
from tests.importers.codex.test_copies import fork, go_on, parent
from tests.importers.reading import real_transcript, source_of


@pytest.fixture
def repository(tmp_path):
    """An empty store."""
    create_store(str(tmp_path / "store.git"))
    return open_repository(str(tmp_path / "store.git"))


def write(path, rollout):
    path.write_bytes(rollout if isinstance(rollout, bytes) else rollout.data())
    return source_of(path)


def bring(repository, *sources):
    return import_sources(repository, sources, (Codex(),))


def lengths(repository, conversation="conv-001"):
    """Return how many messages each branch has."""
    tips = branch_tips(repository, conversation)
    return {name: len(list(walk_heads_oldest_first(repository, [tip]))) for name, tip in tips.items()}


def test_a_rollout_is_brought_in_once(repository, tmp_path):
    source = write(tmp_path / "a.jsonl", short_rollout())
    assert bring(repository, source).conversations[0].new_messages == 4
    assert bring(repository, source).operation is None


def test_a_copied_history_makes_no_second_commit(repository, tmp_path):
    """0 duplicate commits versus its parent."""
    done = bring(repository, write(tmp_path / "fork.jsonl", fork(go_on)), write(tmp_path / "parent.jsonl", parent()))
    assert len(done.conversations) == 1
    assert done.conversations[0].messages == 4 + 2
    assert sorted(lengths(repository).values()) == [4, 6]


def test_a_fork_without_a_copy_stands_on_its_base(repository, tmp_path):
    data = parent().data()
    end = len(data)
    data += Rollout(None, start=60).user("Something else").data()
    base = {"thread_id": PARENT, "end_ordinal_exclusive": 9, "end_byte_offset": end}
    rollout = Rollout(THREAD, forked_from_id=PARENT, history_base=base).turn(NEW_TURN).user("And milk").say("Yes")
    bring(repository, write(tmp_path / "fork.jsonl", rollout), write(tmp_path / "parent.jsonl", data))
    assert sorted(lengths(repository).values()) == [5, 6]


def test_a_fork_stands_where_in_its_base_it_was_made(repository, tmp_path):
    data = parent().data()
    end = data.index(b"\n", data.index(b"Sell tea")) + 1
    base = {"thread_id": PARENT, "end_ordinal_exclusive": 4, "end_byte_offset": end}
    rollout = Rollout(THREAD, forked_from_id=PARENT, history_base=base).user("And milk")
    bring(repository, write(tmp_path / "fork.jsonl", rollout), write(tmp_path / "parent.jsonl", data))
    assert sorted(lengths(repository).values()) == [2, 4]


def test_a_fork_without_its_base_is_brought_in_with_a_note(repository, tmp_path):
    """Missing parent: a clear warning, and the own part is still imported."""
    done = bring(repository, write(tmp_path / "fork.jsonl", fork(go_on)))
    assert done.conversations[0].messages == 6
    assert PARENT in done.notes[0].text


def test_a_rollout_that_grows_ends_like_one_that_came_whole(repository, tmp_path):
    """Only new commits are added, and they are the same."""
    data = fork(go_on).data()
    path = tmp_path / "a.jsonl"
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    for end in ends[5::3] + ends[-1:]:
        bring(repository, write(path, data[:end]))
    grown = branch_tips(repository, "conv-001")
    create_store(str(tmp_path / "other.git"))
    other = open_repository(str(tmp_path / "other.git"))
    bring(other, write(path, data))
    assert set(branch_tips(other, "conv-001").values()) <= set(grown.values())
    assert lengths(repository)["main"] == 6


def test_real_forks_share_a_conversation(repository):
    """Transcripts acceptance 5: 42 records of the parent and 65 of its own."""
    names = [
        "gen_v0.169__rollout-2026-11-21T06-47-41-01a1fcdc-597e-7b10-a37b-5487ce78cba6.jsonl",
        "gen_v0.169__rollout-2026-11-21T06-50-18-01a1fcde-be4a-74d1-806c-34a44f6727bc.jsonl",
    ]
    done = bring(repository, *(source_of(real_transcript("codex", name)) for name in names))
    assert sorted(source.records for source in done.sources) == [42, 65]
    assert done.conversations[0].messages == 12 + 16
