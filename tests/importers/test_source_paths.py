"""Paths of sources: kept by each machine for itself."""

from __future__ import annotations

import pytest

from scopes.conversation.undo import redo, undo
from scopes.errors import Corrupt
from scopes.history.sources import SOURCES, read_source_record, with_last_path, write_source_paths
from scopes.ids import Oid
from scopes.store.objects import COMMIT, Identity, format_commit, update_tree
from scopes.store.refs import SOURCE_PATHS
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.random_ids import spread_ids
from tests.support.store import git, make_store

__all__ = ["spread_ids"]  # a fixture


def source_of(repository):
    """Return the commit of the only stored source."""
    return Oid(next(iter(repository.list_refs(SOURCES).values())))


def path_of(repository):
    """Return where the only source was last."""
    return with_last_path(repository, read_source_record(repository, source_of(repository))).path


def grow(repository, path, words):
    import_demo(repository, write_transcript(path, *session_records("s1", words)))


def test_the_path_is_that_of_the_last_import_that_added_something(repository, tmp_path):
    grow(repository, tmp_path / "a.jsonl", "a b")
    (tmp_path / "elsewhere").mkdir()
    grow(repository, tmp_path / "elsewhere" / "a.jsonl", "a b")
    assert path_of(repository) == str(tmp_path / "a.jsonl")
    grow(repository, tmp_path / "elsewhere" / "a.jsonl", "a b c")
    assert path_of(repository) == str(tmp_path / "elsewhere" / "a.jsonl")


def test_an_import_that_changes_nothing_keeps_the_paths(repository, tmp_path):
    grow(repository, tmp_path / "a.jsonl", "a b")
    before = repository.list_refs()
    grow(repository, tmp_path / "a.jsonl", "a b")
    assert repository.list_refs() == before


def test_undo_and_redo_of_an_import_take_its_path_with_them(repository, tmp_path):
    """A path of another import that came later stays."""
    empty = repository.list_refs()
    grow(repository, tmp_path / "a.jsonl", "a b")
    first = repository.list_refs()
    undo(repository)
    assert {ref for ref in repository.list_refs() if "operations" not in ref} == set(empty)
    redo(repository)
    assert repository.find_ref(SOURCE_PATHS) == first[SOURCE_PATHS]
    done = import_demo(repository, write_transcript(tmp_path / "b.jsonl", *session_records("s2", "x y")))
    imported = [operation for operation in (done.operation,) if operation]
    grow(repository, tmp_path / "a.jsonl", "a b c")
    undo(repository, imported[0])
    assert path_of(repository) == str(tmp_path / "a.jsonl")


def test_paths_are_written_once_and_are_the_same_whenever_they_are_written(tmp_path):
    repository = make_store(tmp_path / "other.git")
    paths = {"ab" + "0" * 30: "/x/\udce4", "cd" + "0" * 30: "/y\nz"}
    first = write_source_paths(repository, None, paths)
    assert write_source_paths(repository, first, paths) == first
    step = write_source_paths(repository, None, {"ab" + "0" * 30: "/before"})
    assert write_source_paths(repository, step, paths) == first


def test_a_damaged_record_of_paths_is_reported(repository, tmp_path):
    grow(repository, tmp_path / "a.jsonl", "a b")
    tree = update_tree(repository, None, {"x": b"1"})
    key = next(iter(repository.list_refs(SOURCES))).removeprefix(SOURCES)
    tree = update_tree(repository, tree, {f"{key[:2]}/{key[2:]}": b"{"})
    data = format_commit(tree=tree, parents=(), author=Identity("a", "a@b"), time=0, subject="damaged")
    git(repository, "update-ref", SOURCE_PATHS, repository.write(COMMIT, data))
    with pytest.raises(Corrupt):
        path_of(repository)
