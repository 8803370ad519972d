"""Groups of related sources, and the memory that is freed after the last source of a group."""

from __future__ import annotations

import gc
import os

import pytest

from scopes.importers.forks import number_groups
from scopes.importers.formats.events import Session
from scopes.importers.import_sources import import_sources
from scopes.importers.session_commits import ImportedSession
from scopes.importers.targets import ImportTargets
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.importers.stores import import_demo


def groups(repository, *sessions):
    """Return the group numbers of sessions given by name, part and base."""
    found = [Session(format="demo", native_id=name, sub_file=part, base=base) for name, part, base in sessions]
    return number_groups(found, ImportTargets(repository, repository, []).roots_of)


def test_unrelated_sessions_are_separate_groups(repository):
    assert groups(repository, ("a", None, None), ("b", None, None), ("c", None, None)) == [0, 1, 2]


def test_parts_and_forks_are_in_the_group_of_their_session(repository):
    sessions = ("a", None, None), ("b", None, None), ("a", "helper", None), ("c", None, "a"), ("d", None, "c")
    assert groups(repository, *sessions) == [0, 1, 0, 0, 0]


def test_two_forks_of_a_session_outside_the_run_are_one_group(repository):
    assert groups(repository, ("b", None, "a"), ("c", None, "a")) == [0, 0]


def test_forks_of_different_sessions_in_one_stored_conversation_are_one_group(repository, tmp_path):
    import_demo(
        repository,
        write_transcript(tmp_path / "a", *session_records("a", "a b")),
        write_transcript(tmp_path / "b", *session_records("b", "a c", base="a")),
    )
    assert groups(repository, ("c", None, "a"), ("d", None, "b"), ("e", None, None)) == [0, 0, 1]


class Watching(DemoFormat):
    """The demo format; counts the imported sessions in memory whenever it opens a source."""

    def __init__(self):
        self.most = 0

    def walk_events(self, source):
        self.most = max(self.most, self.count())
        yield from super().walk_events(source)

    @staticmethod
    def count():
        return sum(isinstance(found, ImportedSession) for found in gc.get_objects())


@pytest.mark.parametrize(("base", "most"), [(None, 1), ("s0", 12)])
def test_at_most_one_group_is_in_memory(repository, tmp_path, base, most):
    """Storage, bulk: memory stays bounded however large the import."""
    sources = [
        write_transcript(tmp_path / f"{n}", *session_records(f"s{n}", "a b c", base=base if n else None))
        for n in range(12)
    ]
    watching = Watching()
    gc.freeze()  # what exists already, such as the traceback of a failed test, is not counted
    try:
        import_sources(repository, sources, (watching,))
    finally:
        gc.unfreeze()
    assert watching.most <= most


def test_only_the_operation_itself_is_written_loose(repository, tmp_path):
    """Storage, bulk: the metadata of many conversations is synced once."""
    sources = [write_transcript(tmp_path / f"{n}", *session_records(f"s{n}", "a b c d<b")) for n in range(5)]
    import_demo(repository, *sources)
    objects = os.path.join(repository.path, "objects")
    assert sum(len(os.listdir(os.path.join(objects, name))) for name in os.listdir(objects) if len(name) == 2) == 3
