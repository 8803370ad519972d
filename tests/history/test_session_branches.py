"""A branch that a session goes on writing: what a message of somebody else on it does, and how readers learn of it."""

from __future__ import annotations

import pytest

from scopes.agents.register import register
from scopes.agents.send import send
from scopes.context.history_block import HistoryRequest, history
from scopes.conversation.append import append, append_all
from scopes.conversation.branch import append_to_new_branch, branch, switch
from scopes.conversation.log import log
from scopes.conversation.merge import merge
from scopes.conversation.show import show
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.history.sessions import find_successor, is_followed
from scopes.tokens.count import EstimatingTokenizer, TokenizerChoice
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo

MINE = plain_message("carol", "mine")


@pytest.fixture
def grow(repository, tmp_path):
    """Import a session with two messages, and return a function that imports it when it has grown."""

    def grow_to(words):
        import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", words)))

    grow_to("a b")
    return grow_to


def main_of(repository):
    return StoreHandle(repository).branch("conv-001/main")


def append_two(repository):
    return append_all(main_of(repository), [MINE, plain_message("carol", "more")])[-1]


def send_mine(repository):
    register(repository, "reviewer")
    return send(main_of(repository), MINE, ["reviewer"])


@pytest.mark.parametrize(
    ("write", "cure"),
    [
        (lambda repository: append(repository, "conv-001", MINE), "scopes append conv-001/notes --from HEAD"),
        (append_two, "scopes append conv-001/notes --from HEAD"),
        (send_mine, "scopes branch conv-001 notes, and then: scopes send conv-001/notes"),
    ],
    ids=["append", "append --atomic", "send"],
)
def test_a_message_on_the_branch_of_a_session_says_what_it_does_and_the_cure(repository, grow, write, cure):
    notes = write(repository).notes
    assert [("the branch of a session" in note.text, cure in note.hint) for note in notes] == [(True, True)]
    assert append(repository, "conv-001", plain_message("carol", "again")).notes == ()


def test_a_message_elsewhere_needs_no_note(repository, grow):
    """A branch of the user that begins at the tip of the session's is not that of the session."""
    branch(repository, "conv-001", name="mine", switch=False)
    assert append(repository, "conv-001", MINE, branch="mine").notes == ()
    created = append_to_new_branch(
        repository, "conv-001", plain_message("carol", "x"), start=None, name="notes", switch=False
    )
    assert (created.notes, created.active, main_of(repository).conversation.active_branch.name) == ((), False, "main")
    grow("a b c")
    assert (branch_words(repository), branch_words(repository, "notes")) == ("a b c", "a b x")


def read_history(repository, where):
    request = HistoryRequest(where=where, last=None, max_tokens=2000, memory="none")
    return history(repository, request, TokenizerChoice(EstimatingTokenizer(), ()))


READERS = {"log": log, "show": show, "history": read_history}


@pytest.mark.parametrize("reader", READERS)
def test_readers_of_a_branch_that_its_session_has_left_name_the_other(repository, grow, reader):
    """The next agent was handed what the user had revoked since, and nothing said so."""
    read = READERS[reader]
    append(repository, "conv-001", MINE)
    assert read(repository, "conv-001").notes == ()
    grow("a b c d")
    successor = find_successor(main_of(repository))
    (note,) = read(repository, "conv-001").notes
    assert (f"session are on {successor}" in note.text, note.hint) == (
        True,
        f"to go on there: scopes switch conv-001 {successor}",
    )
    assert read(repository, f"conv-001/{successor}").notes == ()
    switch(repository, "conv-001", successor)
    assert read(repository, "conv-001").notes == ()
    grow("a b c d e")
    assert (branch_words(repository, successor), read(repository, "conv-001").notes) == ("a b c d e", ())


@pytest.mark.parametrize("reader", ["log", "history"])
def test_readers_of_a_branch_learn_of_the_branch_notes_until_it_is_merged(repository, grow, reader):
    """Decisions that an agent recorded for the next one were out of its sight."""
    read = READERS[reader]
    append_to_new_branch(repository, "conv-001", MINE, start=None, name="notes", switch=False)
    append(repository, "conv-001", plain_message("carol", "more"), branch="notes")
    for where in ("conv-001", "conv-001/main"):
        assert [(note.text, note.hint) for note in read(repository, where).notes] == [
            ("conv-001/notes has 2 messages that are not on this branch", "read them: scopes log conv-001/notes")
        ]
    assert read(repository, "conv-001/notes").notes == ()
    merge(repository, "conv-001", "notes")
    assert read(repository, "conv-001").notes == ()


def test_a_merge_ends_the_note_until_the_session_goes_on(repository, grow):
    append(repository, "conv-001", MINE)
    grow("a b c")
    successor = find_successor(main_of(repository))
    merge(repository, "conv-001", successor)
    assert find_successor(main_of(repository)) is None
    grow("a b c d")
    assert find_successor(main_of(repository)) == successor


@pytest.mark.parametrize("own", ["", "c"], ids=["fast-forward", "merge"])
def test_a_merge_into_the_branch_of_a_session_says_what_it_does_and_the_cure(repository, grow, own):
    """A user merged the notes, the natural last step, and the session went on elsewhere without a word."""
    append_to_new_branch(repository, "conv-001", MINE, start=None, name="notes", switch=False)
    grow(f"a b {own}".strip())
    (planned,) = merge(repository, "conv-001", "notes", dry_run=True).notes
    (note,) = merge(repository, "conv-001", "notes").notes
    assert ("conv-001/main is the branch of a session" in planned.text, planned.hint) == (
        True,
        "to leave it to the session: do not merge notes",
    )
    assert ("conv-001/main was the branch of a session" in note.text, note.hint) == (
        True,
        "to leave it to the session: scopes undo",
    )
    grow("a b c d e")
    words = f"a b {own} mine".split()
    assert branch_words(repository).split()[: len(words)] == words
    assert find_successor(main_of(repository)) is not None
    append(repository, "conv-001", MINE, branch="notes")
    assert merge(repository, "conv-001", "notes").notes == ()


def test_the_branch_that_follows_the_session_can_be_taken_from_it_too(repository, grow):
    append(repository, "conv-001", MINE)
    grow("a b c")
    first = find_successor(main_of(repository))
    follower = StoreHandle(repository).branch(f"conv-001/{first}")
    assert is_followed(follower, follower.tip)
    (note,) = append(repository, "conv-001", plain_message("carol", "more"), branch=first).notes
    assert "the branch of a session" in note.text
    grow("a b c d")
    second = find_successor(follower)
    assert (branch_words(repository, second), find_successor(main_of(repository))) == ("a b c d", second)
