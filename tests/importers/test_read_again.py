"""`import --again`: stored bytes are read again by other readers than those that imported them."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.history.messages import read_message
from scopes.history.names import list_branch_tips
from scopes.importers.formats.events import Draft
from scopes.importers.import_sources import ImportOptions, import_sources
from scopes.model.message import Part
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.importers.stores import branch_words, count_objects, import_demo
from tests.support.history import say
from tests.support.random_ids import hashed_counter


class Changed(DemoFormat):
    """Reads the demo format, and each draft as `change` says."""

    def __init__(self, change):
        self.change = change

    def walk_events(self, source):
        """Yield the events of the demo format, changed."""
        for event in super().walk_events(source):
            yield self.change(event) if isinstance(event, Draft) else event


def reword(draft):
    return draft._replace(parts=(Part("text", {"text": "say B"}),)) if draft.key == "b" else draft


@pytest.fixture
def store(repository, tmp_path, monkeypatch):
    """A store with a session of four messages and a fork of it, whose file is gone."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    path = tmp_path / "a.jsonl"
    import_demo(repository, write_transcript(path, *session_records("s1", "a b c d e<b")))
    path.unlink()
    return repository


def read_again(store, reader, **options):
    return import_sources(store, (), (reader,), ImportOptions(reread=True, **options))


def refs_of(store):
    """Return all refs but those of the operation log."""
    return {ref: oid for ref, oid in store.list_refs().items() if not ref.startswith("refs/scopes/operations")}


def lines_of(store):
    return {branch_words(store, name) for name in list_branch_tips(store, "conv-001")}


def test_what_is_read_as_before_changes_nothing(store):
    before, objects = refs_of(store), count_objects(store)
    found = read_again(store, DemoFormat())
    assert (len(found.sources), found.operation) == (1, None)
    assert (refs_of(store), count_objects(store)) == (before, objects)


def test_branches_move_to_the_new_reading_and_undo_brings_the_old_one_back(store):
    before = refs_of(store)
    assert read_again(store, Changed(reword), dry_run=True).conversations[0].new_messages == 4
    assert refs_of(store) == before
    assert read_again(store, Changed(reword)).operation is not None
    assert lines_of(store) == {"a B e", "a B c d", "a b c d"}  # a fork has its name from its messages
    assert branch_words(store) == "a B e"
    assert verify(store).exit_code == 0
    undo(store)
    assert refs_of(store) == before


def test_a_new_time_is_taken_with_the_same_ids(store):
    old = list_branch_tips(store, "conv-001")["main"]
    read_again(store, Changed(lambda draft: draft._replace(time="2026-02-01T11:00:00Z")))
    new = list_branch_tips(store, "conv-001")["main"]
    assert new != old
    assert read_message(store, new).id == read_message(store, old).id
    assert read_message(store, new).time == "2026-02-01T11:00:00Z"


def test_a_branch_that_goes_on_here_stays_and_the_new_reading_has_one_of_its_own(store):
    say(store, "conv-001/main", "mine")
    read_again(store, Changed(reword))
    assert lines_of(store) == {"a b e mine", "a b c d", "a B e", "a B c d"}
    assert branch_words(store) == "a b e mine"


def test_what_was_deleted_stays_deleted(store):
    from scopes.conversation.new_rename_delete import delete

    delete(store, "conv-001")
    assert read_again(store, DemoFormat()).stay_deleted == 1
