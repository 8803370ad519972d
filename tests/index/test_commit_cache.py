"""Kept chunks of parsed commits: a log shows the same with them, without them, and when they are damaged."""

from __future__ import annotations

import pytest

from scopes.conversation.log import log
from scopes.index.caches import COMMITS, CommitCache
from scopes.store import graph
from tests.support.history import history
from tests.support.store import open_store

MESSAGES = 30


@pytest.fixture(autouse=True)
def _small_numbers(monkeypatch):
    monkeypatch.setattr(graph, "CHUNK_COMMITS", 8)
    monkeypatch.setattr(graph, "FEW_COMMITS", 2)


@pytest.fixture
def directory(repository, tmp_path):
    """A directory for the index, with the chunks that a first log has kept."""
    history(repository, "main: " + " ".join(f"m{number}" for number in range(MESSAGES)))
    kept = tmp_path / "index"
    kept.mkdir()
    assert texts(repository, kept) == texts(repository)
    return kept


def texts(repository, directory=None):
    opened = open_store(repository.path)
    if directory is not None:
        opened.caller = opened.caller._replace(open_commit_chunks=lambda: CommitCache(str(directory), opened.path))
    return [entry.message.text for entry in log(opened, "conv-001").items]


def test_the_commits_of_a_second_walk_come_from_the_chunks(repository, directory, monkeypatch):
    read, original = [], graph.read_commit
    monkeypatch.setattr(graph, "read_commit", lambda objects, oid: read.append(oid) or original(objects, oid))
    assert texts(repository, directory) == texts(repository)
    assert len(read) < MESSAGES + 10  # those of the log without chunks, and the first ones of that with them


@pytest.mark.parametrize("content", [b"", b"no database", None])
def test_a_damaged_file_is_replaced(repository, directory, content):
    path = directory / COMMITS.file
    path.write_bytes(path.read_bytes()[:3000] if content is None else content)
    assert texts(repository, directory) == texts(repository)
    assert texts(repository, directory) == texts(repository)
