"""`reproject`: stored bytes are read again, and what names the old messages follows the new ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.append import amend
from scopes.conversation.branch import branch, list_tags, tag
from scopes.conversation.log import log
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import CannotImport, NotFound
from scopes.facts.propose import Proposal, propose
from scopes.history.handles import MAP_FILE
from scopes.history.messages import read_message
from scopes.history.metadata import read_metadata
from scopes.history.names import list_branch_tips
from scopes.ids import Oid
from scopes.importers.formats.events import Draft, SessionRecord
from scopes.importers.import_sources import import_sources
from scopes.importers.reproject import reproject
from scopes.importers.verify_source import verify_source
from scopes.memory.update import update
from scopes.model import encoding
from scopes.model.message import Author, Part
from scopes.purge.purge import drop_unreachable
from scopes.store.objects import find_blob, read_blob, read_commit, walk_blobs
from scopes.store.refs import MEMORY, PROPOSED_FACTS
from scopes.store.repository import open_repository
from scopes.store.transactions import exclusive_write
from tests.importers.demo_format import DemoFormat, session_records, write_transcript
from tests.importers.stores import branch_words, count_objects, import_demo
from tests.support.history import say
from tests.support.random_ids import hashed_counter
from tests.support.store import overtake


class Better(DemoFormat):
    """Reads the demo format as `change` says: it gets each draft and returns what is read instead, or None."""

    def __init__(self, change):
        self.change = change

    def walk_events(self, source):
        """Yield the events of the demo format, changed; a message that is none any more is a state record."""
        parents = {}
        for event in super().walk_events(source):
            if not isinstance(event, Draft):
                yield event
                continue
            found = self.change(event._replace(parent=parents.get(event.parent, event.parent)))
            if found is None:
                parents[event.key] = parents.get(event.parent, event.parent)
                yield SessionRecord(key="note", spans=event.spans)
            else:
                yield found


def reworded(word, new):
    """Return a format that reads another text for one message, so that it and all after it have other ids."""

    def change(draft):
        return draft._replace(parts=(Part("text", {"text": f"say {new}"}),)) if draft.key == word else draft

    return Better(change)


def without(word):
    """Return a format that reads one message as something else."""
    return Better(lambda draft: None if draft.key == word else draft)


retimed = Better(lambda draft: draft._replace(time="2026-02-01T11:00:00Z"))


@pytest.fixture
def store(repository, tmp_path, monkeypatch):
    """A store with a session of four messages, and a fork of it."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    path = tmp_path / "a.jsonl"
    import_demo(repository, write_transcript(path, *session_records("s1", "a b c d e<b")))
    path.unlink()
    return repository


def run(store, reader, *names, **options):
    return reproject(store, names, (reader,), **options)


def refs_of(store):
    """Return all refs but those of the operation log."""
    return {ref: oid for ref, oid in store.list_refs().items() if not ref.startswith("refs/scopes/operations")}


def message(store, where):
    """Return the message that a log of `where` shows last."""
    return list(log(store, where, oldest_first=True).items)[-1].message


def test_what_is_read_as_before_changes_nothing(store):
    before, objects = refs_of(store), count_objects(store)
    found = run(store, DemoFormat())
    assert (found.conversations, found.unchanged, found.operation) == ((), 1, None)
    assert (refs_of(store), count_objects(store)) == (before, objects)


def test_a_new_reading_moves_the_branches_of_the_session(store):
    found = run(store, reworded("b", "B"))
    [row] = found.conversations
    assert (row.id, row.messages, row.changed, row.new_ids, row.added, row.removed) == ("conv-001", 5, 4, 4, 0, 0)
    assert branch_words(store) == "a B e"
    assert {branch_words(store, name) for name in list_branch_tips(store, "conv-001")} == {"a B e", "a B c d"}


def test_a_second_run_changes_nothing(store):
    run(store, reworded("b", "B"))
    before = refs_of(store)
    found = run(store, reworded("b", "B"))
    assert (found.conversations, found.operation, refs_of(store)) == ((), None, before)


def test_other_times_and_tokens_are_a_new_reading_with_the_same_ids(store):
    found = run(store, retimed)
    [row] = found.conversations
    assert (row.changed, row.new_ids) == (5, 0)
    assert message(store, "conv-001").time == "2026-02-01T11:00:00Z"


def test_a_message_that_is_none_any_more_is_gone_and_those_after_it_follow(store):
    [row] = run(store, without("c")).conversations
    assert (row.messages, row.removed, row.new_ids) == (4, 1, 1)
    assert {branch_words(store, name) for name in list_branch_tips(store, "conv-001")} == {"a b e", "a b d"}
    [row] = run(store, DemoFormat()).conversations
    assert (row.messages, row.added) == (5, 1)


def test_undo_brings_the_old_history_back(store):
    before = refs_of(store)
    run(store, reworded("b", "B"))
    undo(store)
    assert {ref: oid for ref, oid in refs_of(store).items() if ref in before} == before
    assert branch_words(store) == "a b e"


def test_a_dry_run_says_the_same_and_writes_nothing(store):
    before, objects = refs_of(store), count_objects(store)
    preview = run(store, reworded("b", "B"), dry_run=True)
    assert (refs_of(store), count_objects(store)) == (before, objects)
    assert replace(run(store, reworded("b", "B")), dry_run=True, operation=None) == preview


def test_messages_that_were_appended_stay_on_top_with_their_ids(store):
    mine = say(store, "conv-001", "mine")
    [row] = run(store, reworded("b", "B")).conversations
    assert (branch_words(store), row.rewritten) == ("a B e mine", 1)
    assert message(store, "conv-001").id == mine.id


def test_an_amendment_names_the_message_as_it_is_now(store):
    target = message(store, "conv-001")
    amend(store, "conv-001", target.id, "say E", author=Author("carol", "human"))
    run(store, reworded("b", "B"))
    new = message(store, "conv-001")
    assert new.amends not in {None, target.id}
    assert [entry.head.id for entry in log(store, "conv-001").items if entry.head.id == new.amends] == [new.amends]
    assert verify(store).findings == ()


def test_tags_and_forks_follow(store):
    tag(store, "conv-001", "good", "main~1")
    branch(store, "conv-001", name="try", start="main", switch=False)
    say(store, "conv-001/try", "mine")
    run(store, reworded("b", "B"))
    assert branch_words(store, "try") == "a B e mine"
    assert [(name, head.subject) for name, head in list_tags(store, "conv-001").tags] == [("good", "say B")]
    fork = read_metadata(store, "conv-001").branches["try"].fork
    assert read_message(store, fork).text == "say e"
    assert verify(store).findings == ()


def test_a_merge_stays_a_merge_of_the_new_messages(store):
    branch(store, "conv-001", name="try", start="main", switch=False)
    say(store, "conv-001/try", "theirs")
    say(store, "conv-001/main", "mine")
    merge(store, "conv-001", "try", target="main")
    run(store, reworded("b", "B"))
    tip = read_commit(store, list_branch_tips(store, "conv-001")["main"])
    assert [read_message(store, parent).text for parent in tip.parents] == ["mine", "theirs"]
    assert branch_words(store, "try") == "a B e theirs"
    assert verify(store).findings == ()


def texts_of(store, ref):
    """Return the content of all files of a register, as one text."""
    tree = read_commit(store, Oid(store.find_ref(ref))).tree
    return b"".join(read_blob(store, oid) for _, oid in walk_blobs(store, tree)).decode()


@pytest.mark.parametrize("ref", [PROPOSED_FACTS, MEMORY])
def test_facts_and_memory_name_the_new_messages(store, ref):
    old = list_branch_tips(store, "conv-001")["main"], message(store, "conv-001").id
    if ref == MEMORY:
        update(store, at_once=True, built_in=True)
    else:
        register(store, "ann")
        propose(store, "conv-001", Proposal(key="Seeds", content="slow", agent="ann", sources=("main",)))
    assert any(each in texts_of(store, ref) for each in old)
    run(store, reworded("b", "B"))
    new = list_branch_tips(store, "conv-001")["main"], message(store, "conv-001").id
    assert any(each in texts_of(store, ref) for each in new)
    assert not any(each in texts_of(store, ref) for each in old)
    undo(store)
    assert any(each in texts_of(store, ref) for each in old)


def test_the_map_says_what_became_what(store):
    old = message(store, "conv-001").id
    [row] = run(store, reworded("b", "B")).conversations
    tree = read_commit(store, Oid(store.find_ref(row.map_ref))).tree
    document = encoding.load(find_blob(store, tree, MAP_FILE))
    assert document["messages"][old] == message(store, "conv-001").id
    assert len(document["messages"]) == 4


def test_the_original_bytes_stay(store, tmp_path):
    run(store, reworded("b", "B"))
    source = write_transcript(tmp_path / "again.jsonl", *session_records("s1", "a b c d e<b"))
    assert verify_source(store, source.path, (reworded("b", "B"),)).equal_bytes == source.size


def test_an_import_goes_on_from_the_new_reading(store, tmp_path):
    reader = reworded("b", "B")
    run(store, reader)
    source = write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c d e<b f<e"))
    import_sources(store, [source], (reader,))
    assert branch_words(store) == "a B e f"


def test_only_named_conversations_are_read(store, tmp_path):
    import_demo(store, write_transcript(tmp_path / "b.jsonl", *session_records("s2", "a b c")))
    assert [row.id for row in run(store, reworded("b", "B"), "conv-002").conversations] == ["conv-002"]
    assert branch_words(store) == "a b e"
    with pytest.raises(NotFound):
        run(store, DemoFormat(), "missing")


def test_a_source_that_cannot_be_read_now_stays_as_it_is(store, tmp_path):
    import_demo(store, write_transcript(tmp_path / "b.jsonl", *session_records("s2", "x y")))

    def change(draft):
        if draft.key == "y":
            raise CannotImport("unreadable")
        return draft._replace(time="2026-02-01T11:00:00Z")

    found = run(store, Better(change))
    assert [row.id for row in found.conversations] == ["conv-001"]
    assert found.notes[0].text.startswith("cannot read again: ")
    assert branch_words(store, conversation="conv-002") == "x y"


def test_a_source_of_an_unknown_format_stays_as_it_is(store):
    found = reproject(store, (), ())
    assert (found.conversations, found.operation, len(found.notes)) == ((), None, 1)


def test_a_conversation_without_a_source_stays_as_it_is(store):
    made = new(store)
    say(store, made.id, "x")
    assert run(store, reworded("b", "B"), made.id).unchanged == 1


def test_two_readings_after_one_another_are_one_of_the_last(store):
    run(store, reworded("b", "B"))
    run(store, reworded("c", "C"))
    other = open_repository(store.path)
    assert {branch_words(other, name) for name in list_branch_tips(other, "conv-001")} == {"a b e", "a b C d"}


def test_objects_that_a_purge_deletes_before_the_refs_move_are_written_again(repository, tmp_path):
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c")))

    def prune(other):
        with exclusive_write(other):
            drop_unreachable(other)

    overtake(repository, prune)
    done = run(repository, retimed)
    assert len(done.conversations) == 1
    assert verify(open_repository(repository.path, {})).exit_code == 0
