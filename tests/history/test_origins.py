"""Where conversations began: found for very many of them through the index, and the same without it."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.errors import NotFound
from scopes.history import names as origins
from scopes.history.names import find_directory, resolve_conversation, walk_origins
from scopes.importers.import_sources import import_sources
from scopes.store.refs import META
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.support.store import git, open_store


def walk_directories(repository, conversations):
    return ((name, origin.directory) for name, origin in walk_origins(repository, conversations))


@pytest.fixture
def reads(monkeypatch):
    """Return a list that has the metadata of each conversation that were read."""
    found = []
    original = origins._encode_origin

    def encode(repository, metadata):
        found.append(metadata)
        return original(repository, metadata)

    monkeypatch.setattr(origins, "_encode_origin", encode)
    monkeypatch.setattr(origins, "_FEW", 2)
    return found


@pytest.fixture
def store(repository, tmp_path):
    """Make a store of five conversations: four in directories, and one without."""
    for name in "abcd":
        new(repository, directory=f"/work/{name}")
    new(repository)
    repository.caller = repository.caller._replace(index_directory=str(tmp_path / "index"))
    return repository


ALL = [f"conv-00{number}" for number in range(1, 6)]
DIRECTORIES = [*((name, f"/work/{letter}") for name, letter in zip(ALL, "abcd", strict=False)), (ALL[4], None)]


def reopened(store):
    again = open_store(store.path)
    again.caller = again.caller._replace(index_directory=store.caller.index_directory)
    return again


def test_the_first_ones_are_read_without_the_index(store, reads, tmp_path):
    walk = walk_directories(store, ALL)
    assert [next(walk), next(walk)] == DIRECTORIES[:2]
    assert len(reads) == 2
    assert not (tmp_path / "index").exists()


def test_the_others_are_read_once(store, reads):
    assert list(walk_directories(store, ALL)) == DIRECTORIES
    before = len(reads)
    assert list(walk_directories(reopened(store), ALL)) == DIRECTORIES
    assert len(reads) == before + 2


def test_a_conversation_that_was_changed_is_read_again(store, reads):
    list(walk_directories(store, ALL))
    git(store.path, "update-ref", f"{META}conv-005", git(store.path, "rev-parse", f"{META}conv-004").strip())
    assert list(walk_directories(reopened(store), ALL))[4] == ("conv-005", "/work/d")


def test_a_conversation_whose_metadata_are_lost_has_the_directory_of_its_root(repository, tmp_path, reads):
    source = write_transcript(tmp_path / "s.jsonl", *session_records("s1", "a b", cwd="/work/x"))
    import_sources(repository, [source], [DemoFormat()])
    for _ in range(3):
        new(repository)
    repository.caller = repository.caller._replace(index_directory=str(tmp_path / "index"))
    git(repository.path, "update-ref", "-d", f"{META}conv-001")
    names = ["conv-002", "conv-003", "conv-004", "conv-001"]
    assert list(walk_directories(reopened(repository), names))[3] == (
        "conv-001",
        find_directory(repository, "conv-001"),
    )


def test_a_conversation_is_found_by_its_uuid_among_very_many(store, reads):
    uuid = read_uuid(store, "conv-004")
    assert resolve_conversation(store, uuid[:13]) == "conv-004"
    before = len(reads)
    assert resolve_conversation(reopened(store), uuid) == "conv-004"
    assert len(reads) == before + 2
    with pytest.raises(NotFound):
        resolve_conversation(store, "00000000-0000-4000-8000-0000000fffff")


def read_uuid(store, conversation):
    return origins._find_origin(store, conversation).uuid
