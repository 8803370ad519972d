"""A session goes on, whatever others do with its branch meanwhile; what they took back stays taken back."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from scopes.clock import new_id, now
from scopes.conversation.append import append
from scopes.conversation.branch import branch, rewind, switch
from scopes.conversation.new_rename_delete import delete, delete_branch, rename_branch, rename_conversation
from scopes.conversation.rebase import rebase
from scopes.conversation.undo import undo
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.history.names import find_root_commit
from scopes.live.event_log import EventLog, read_events
from scopes.model.conversation import ACP
from scopes.model.message import Author, Message, text_parts
from scopes.purge.purge import Places, purge
from scopes.purge.redact import redact
from scopes.purge.selection import PurgeRequest
from scopes.server.acp import recordings
from scopes.server.acp.recordings import SessionWriter, identity_of
from scopes.server.acp.spool import Spool, spooled
from scopes.server.acp.store_writer import write_message
from scopes.server.acp.take_spool import take_spooled
from tests.support.every_byte import find_word
from tests.support.random_ids import spread_ids  # noqa: F401 - messages have different ids
from tests.support.store import git, overtake

IDENTITY = identity_of("stub", "/shop")


def message(writer, text):
    notes = {ACP: {"run": writer.run, "session": writer.session}}
    return Message(id=new_id(), author=Author("carol", "human"), parts=text_parts(text), time=now(), extra=notes)


class Session:
    """A session that has two turns in the store."""

    def __init__(self, repository, name="s", recorded=None, forked=None, texts=("one", "two")):
        self.repository = repository
        self.writer = SessionWriter(repository, IDENTITY, name, f"run-{name}", recorded, forked=forked)
        for text in texts:
            self.say(text)

    def say(self, text):
        self.writer.append(message(self.writer, text))

    @property
    def where(self):
        return f"{self.writer.recorded.conversation}/{self.writer.recorded.branch}"

    def texts(self, where=None):
        conversation, _, name = (where or self.where).partition("/")
        return [
            m.text
            for m in reversed(list(StoreHandle(self.repository).conversation(conversation).branch(name).messages()))
        ]


@pytest.fixture
def session(repository, spread_ids):  # noqa: F811
    return Session(repository)


def branches(repository):
    return sorted(str(b) for c in StoreHandle(repository).conversations() for b in c.branches())


@pytest.mark.parametrize(
    "take_back",
    [lambda store: undo(store, any_actor=True), lambda store: rewind(store, "conv-001", count=1)],
    ids=["undo", "rewind"],
)
def test_what_was_taken_back_stays_so_and_the_session_goes_on_from_the_new_tip(session, repository, take_back):
    take_back(repository)
    session.say("three")
    session.say("four")
    assert session.texts() == ["one", "three", "four"]
    assert branches(repository) == ["conv-001/main"]


def test_a_session_whose_messages_were_all_taken_back_goes_on_in_its_conversation(session, repository):
    rewind(repository, "conv-001", count=2)
    session.say("three")
    assert (session.where, session.texts()) == ("conv-001/main", ["three"])


def test_a_session_goes_on_from_what_a_person_wrote_in_place_of_it(session, repository):
    rewind(repository, "conv-001", count=1)
    append(repository, "conv-001", plain_message("carol", "instead"))
    session.say("three")
    assert session.texts() == ["one", "instead", "three"]


def test_an_undo_of_the_whole_recording_begins_a_new_conversation(session, repository):
    for _ in range(2):
        undo(repository, any_actor=True)
    session.say("three")
    assert session.texts() == ["three"]


def test_a_redo_before_the_next_turn_changes_nothing(session, repository):
    tip = session.writer.recorded.tip
    rewind(repository, "conv-001", count=1)
    undo(repository, any_actor=True)
    assert session.writer.recorded.tip == tip
    session.say("three")
    assert session.texts() == ["one", "two", "three"]


def test_where_another_session_has_written_instead_the_branch_begins_before_what_was_taken_back(session, repository):
    rewind(repository, "conv-001", count=1)
    other = Session(repository, "t", session.writer.recorded, texts=["other"])
    session.say("three")
    assert other.texts("conv-001/main") == ["one", "other"]
    assert session.where == "conv-001/session/stub"
    assert session.texts() == ["one", "three"]
    session.say("four")
    assert session.texts() == ["one", "three", "four"]


def test_the_fork_of_a_session_begins_before_what_was_taken_back(session, repository):
    fork = Session(repository, "f", session.writer.recorded, forked="s", texts=[])
    rewind(repository, "conv-001", count=1)
    fork.say("three")
    assert (fork.where, fork.texts()) == ("conv-001/fork/stub", ["one", "three"])
    assert session.texts("conv-001/main") == ["one"]


def test_a_fork_whose_conversation_was_deleted_has_one_of_its_own(session, repository):
    fork = Session(repository, "f", session.writer.recorded, forked="s", texts=[])
    delete(repository, "conv-001")
    fork.say("three")
    fork.say("four")
    assert (fork.texts(), branches(repository)) == (["three", "four"], ["conv-002/main"])


class TurnUnderWay:
    """A session whose last prompt, and the beginning of the answer, is in the store; `answer` writes the end of it."""

    def __init__(self, session):
        self.session = session
        self.prompt = message(session.writer, "the prompt")
        session.writer.append(self.prompt)
        self.answer("the beginning")

    def answer(self, text):
        self.session.writer.append(replace(message(self.session.writer, text), reply_to=self.prompt.id))


def test_the_answer_of_a_turn_whose_conversation_was_deleted_has_its_prompt_before_it(session, repository):
    """The new conversation began with the answer alone."""
    turn = TurnUnderWay(session)
    delete(repository, "conv-001")
    turn.answer("the end")
    turn.answer("really")
    session.say("the next prompt")
    assert session.where == "conv-002/main"
    assert session.texts() == ["the prompt", "the beginning", "the end", "really", "the next prompt"]
    messages = list(StoreHandle(repository).conversation("conv-002").branch("main").messages())
    assert messages[-1].id == turn.prompt.id


def test_the_answer_of_a_turn_whose_conversation_was_purged_comes_without_its_prompt(session, repository, tmp_path):
    turn = TurnUnderWay(session)
    purge(repository, PurgeRequest(("conv-001",)), Places(str(tmp_path / "index")))
    turn.answer("the end")
    assert session.texts() == ["the end"]
    assert find_word("the prompt", repository.path) == []


def test_a_purge_right_before_the_new_conversation_is_obeyed(session, repository, tmp_path):
    turn = TurnUnderWay(session)
    root = str(find_root_commit(repository, "conv-001"))
    git(repository, "repack", "-adq")
    repository.close()
    delete(repository, "conv-001")

    def purge_root(other):
        assert purge(other, PurgeRequest((root,)), Places(str(tmp_path / "index"))).left == ()

    overtake(repository, purge_root)
    turn.answer("the end")
    assert session.texts() == ["the end"]
    assert find_word("the prompt", repository.path) == []


def test_the_same_is_true_of_a_branch_that_was_deleted(session, repository):
    turn = TurnUnderWay(Session(repository, "f", session.writer.recorded, forked="s", texts=["aside"]))
    delete_branch(repository, "conv-001", "fork/stub", force=True)
    turn.answer("the end")
    assert turn.session.texts() == ["the prompt", "the beginning", "the end"]


def test_the_log_says_that_the_recording_went_elsewhere(session, repository, tmp_path):
    log = EventLog(str(tmp_path))
    turn = TurnUnderWay(session)
    delete(repository, "conv-001")
    write_message(session.writer, message(session.writer, "the end"), log)
    turn.answer("on it goes")
    rename_conversation(repository, "conv-002", "shop")
    write_message(session.writer, message(session.writer, "more"), log)
    write_message(session.writer, message(session.writer, "and more"), log)
    moved = [(each.details["before"], each.details["where"]) for each in read_events(str(tmp_path)).events]
    assert moved == [("conv-001/main", "conv-002/main"), ("conv-002/main", "shop/main")]


def test_a_conversation_that_was_renamed_is_found_under_its_new_name(session, repository):
    rename_conversation(repository, "conv-001", "shop")
    session.say("three")
    assert (session.where, session.texts()) == ("shop/main", ["one", "two", "three"])


def test_one_that_was_renamed_and_rewound_is_found_too(session, repository):
    rename_conversation(repository, "conv-001", "shop")
    rewind(repository, "shop", count=1)
    session.say("three")
    assert (session.where, session.texts()) == ("shop/main", ["one", "three"])


def test_another_conversation_with_the_old_name_does_not_get_the_session(session, repository):
    rename_conversation(repository, "conv-001", "shop")
    other = Session(repository, "t", texts=["other"])
    assert other.where == "conv-001/main"
    session.say("three")
    assert (session.where, session.texts()[-1]) == ("shop/main", "three")
    assert session.texts("conv-001/main") == ["other"]


def test_a_branch_that_was_renamed_is_found_under_its_new_name(session, repository):
    fork = Session(repository, "f", session.writer.recorded, forked="s", texts=["aside"])
    rename_branch(repository, "conv-001", "fork/stub", "kept")
    fork.say("more")
    assert (fork.where, fork.texts()) == ("conv-001/kept", ["one", "two", "aside", "more"])


def test_a_branch_that_was_deleted_stays_so(session, repository):
    fork = Session(repository, "f", session.writer.recorded, forked="s", texts=["aside"])
    delete_branch(repository, "conv-001", "fork/stub", force=True)
    fork.say("more")
    assert fork.texts() == ["more"]
    assert branches(repository) == ["conv-001/main", "conv-002/main"]
    assert "fork/stub" not in StoreHandle(repository).conversation("conv-001").metadata.branches


def test_a_branch_that_was_rebased_is_known_by_its_messages(session, repository):
    fork = Session(repository, "f", session.writer.recorded, forked="s", texts=["aside"])
    session.say("three")
    rebase(repository, "conv-001", onto="main", branch="fork/stub")
    fork.say("more")
    assert (fork.where, fork.texts()) == ("conv-001/fork/stub", ["one", "two", "three", "aside", "more"])
    session.say("four")
    assert session.texts() == ["one", "two", "three", "four"]


def test_a_session_goes_on_after_a_redaction_and_a_switch(session, repository):
    """The redacted conversation is a copy, and another active branch is no other branch of the session."""
    session.say("the token is " + "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    redact(repository, "conv-001")
    branch(repository, "conv-001", name="side", start="main")
    switch(repository, "conv-001", "side")
    session.say("three")
    assert (session.where, session.texts()[-1]) == ("conv-001/main", "three")


@pytest.mark.parametrize("purged", ["~1", "~0"])
def test_a_session_goes_on_after_a_purge_of_one_of_its_messages(session, repository, tmp_path, purged):
    places = Places(str(tmp_path / "index"))
    purge(repository, PurgeRequest(conversation="conv-001", messages=(f"main{purged}",)), places)
    session.say("three")
    session.say("four")
    assert session.where == "conv-001/main"
    assert session.texts()[-2:] == ["three", "four"]
    assert branches(repository) == ["conv-001/main"]


def test_what_a_proxy_left_in_the_spool_comes_where_the_branch_is_now(session, repository, tmp_path):
    """All of its messages were taken back, and then it was killed."""
    spool = Spool(str(tmp_path))
    spool.append(repository.path, [spooled(session.writer, message(session.writer, "three"))])
    rewind(repository, "conv-001", count=2)
    os.close(spool._descriptor)
    assert take_spooled(str(tmp_path), repository, EventLog(str(tmp_path))) == 1
    assert session.texts("conv-001/main") == ["three"]
    assert branches(repository) == ["conv-001/main"]


def test_a_branch_that_another_process_moves_in_this_moment_is_looked_at_again(session, repository, monkeypatch):
    original = recordings.append_commit
    moves = [lambda: rewind(repository, "conv-001", count=1)]

    def move_first(*arguments, **options):
        if moves:
            moves.pop()()
        return original(*arguments, **options)

    monkeypatch.setattr(recordings, "append_commit", move_first)
    session.say("three")
    assert session.texts() == ["one", "three"]
