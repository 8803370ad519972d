"""A conversation that once had the name of a purged one keeps what the operation log, memory and facts say of it."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch, rewind, switch
from scopes.conversation.undo import list_operations, redo, undo
from scopes.conversation.verify import verify
from scopes.facts.propose import Proposal, propose
from scopes.history.names import conversation_ids
from scopes.memory.list import list_memory
from scopes.memory.update import update as update_memory
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from scopes.store import refs
from scopes.store.operations import walk_operations
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.remotes import add, fetch_from, machine, make_bare, push_to
from tests.support.store import git

WORD = "Xylophone-Quarantine-4711"
NAME, LATER = "conv-001", "conv-002"


def summaries(repository):
    return {each.kind: each.summary for each in reversed(list_operations(repository).operations)}


def subjects(repository, ref):
    return git(repository.path, "log", "--format=%s", ref).split("\n")[:-1]


@pytest.fixture
def kept(repository, places, tmp_path):
    """A conversation with the number of one that was fetched, undone, fetched again, and purged."""
    bare = make_bare(tmp_path / "bare.git")
    theirs = machine(tmp_path / "theirs.git", bare, author="dave")
    history(theirs, f"main: {WORD}")
    push_to(theirs)
    add(repository, bare)
    fetch_from(repository)
    undo(repository)
    history(repository, "main: x y z")
    say(repository, NAME, "We decided to take the second shop.")
    branch(repository, NAME, name="side")
    switch(repository, NAME, "main")
    update_memory(repository, at_once=True)
    propose(repository, NAME, Proposal(key="Constraints", content="it must hold", agent="carol"))
    rewind(repository, NAME, count=2)
    fetch_from(repository)
    assert conversation_ids(repository) == [NAME, LATER]
    assert purge(repository, PurgeRequest(conversations=(LATER,)), places).conversations == 1
    return repository


def test_undo_brings_back_the_messages_of_the_kept_one(kept):
    assert texts(kept, NAME) == ["x", "y"]
    found = next(each for each in list_operations(kept).operations if each.kind == "rewind")
    undo(kept, found.id)
    assert texts(kept, NAME) == ["x", "y", "z", "We decided to take the second shop."]
    redo(kept)
    assert texts(kept, NAME) == ["x", "y"]
    assert find_word(WORD, kept.path) == []
    assert verify(kept).exit_code == 0


def test_what_was_done_with_the_kept_one_has_its_words(kept):
    printed = summaries(kept)
    assert {printed[kind] for kind in ("fetch", "undo")} == {"[purged]"}
    others = {kind: summary for kind, summary in printed.items() if kind not in {"fetch", "undo", "purge", "remote"}}
    assert "[purged]" not in others.values()
    assert (others["new"], others["rewind"]) == ("create conv-001", "take back 2 of conv-001/main")


def test_memory_and_facts_of_the_kept_one_have_their_words(kept):
    assert f"remember {NAME}/main" in subjects(kept, refs.MEMORY)
    assert "[purged]" not in [*subjects(kept, refs.MEMORY), *subjects(kept, refs.PROPOSED_FACTS)]
    assert len(list_memory(kept).entries) == 1


def test_which_branch_was_active_can_be_undone(kept):
    found = next(each for each in list_operations(kept).operations if each.kind == "switch")
    undo(kept, found.id)
    assert kept.find_ref(refs.ACTIVE + NAME).endswith("/side")


def test_nothing_of_the_purged_one_is_left_in_the_log(kept):
    fetched = [each for _, each in walk_operations(kept) if each.kind in {"fetch", "undo"}]
    assert len(fetched) == 3
    moved = {change.ref for each in fetched for change in each.changes}
    assert [ref for ref in moved if refs.conversation_of(ref) is not None] == []


def test_a_session_that_was_imported_again_takes_no_entry_of_the_one_between(repository, places, tmp_path):
    first = write_transcript(tmp_path / "s1.jsonl", *session_records("s1", f"a {WORD}"))
    import_demo(repository, first)
    undo(repository)
    import_demo(repository, write_transcript(tmp_path / "s2.jsonl", *session_records("s2", "p q r s")))
    rewind(repository, NAME, count=2)
    import_demo(repository, first)
    purge(repository, PurgeRequest(conversations=(LATER,)), places)
    rows = list_operations(repository).operations
    assert [row.summary == "[purged]" for row in rows] == [False, True, False, False, True, True]
    undo(repository, rows[2].id)
    assert len(texts(repository, NAME)) == 4
    assert find_word(WORD, repository.path) == []


def test_a_purged_one_that_has_the_name_of_an_earlier_one_takes_its_own_entries_only(repository, places, tmp_path):
    kept = write_transcript(tmp_path / "s2.jsonl", *session_records("s2", "p q r s"))
    import_demo(repository, kept)
    undo(repository)
    import_demo(repository, write_transcript(tmp_path / "s1.jsonl", *session_records("s1", f"a {WORD}")))
    branch(repository, NAME, name="side")
    switch(repository, NAME, "main")
    import_demo(repository, kept)
    purge(repository, PurgeRequest(conversations=(NAME,)), places)
    rows = list_operations(repository).operations
    assert [(row.kind, row.summary == "[purged]") for row in rows if row.kind != "purge"] == [
        ("import", False),
        ("switch", True),
        ("branch", True),
        ("import", True),
        ("undo", False),
        ("import", False),
    ]
    assert find_word(WORD, repository.path) == []
    assert verify(repository).exit_code == 0
