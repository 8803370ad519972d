"""A purge while a push waits for its server: the store stays whole, and the remote does not keep what was purged."""

from __future__ import annotations

import pytest

from scopes.conversation.verify import verify
from scopes.errors import Busy
from scopes.purge.being_sent import read_being_sent
from scopes.purge.on_remotes import list_copies, read_values
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.sync import incoming, member_push, source_push
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.original_files import CREATED, find_message, import_session
from tests.support.recalled import recalled
from tests.support.remotes import add, clone_to, fetch_from, push_to
from tests.support.store import git, open_store

WORD = "Xylophone-Quarantine-4711"
NAME = "conv-001"


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
@recalled
def ours(repository, bare):
    """A pushed conversation without the word."""
    add(repository, bare)
    history(repository, "main: a b")
    push_to(repository)
    return repository


def purge_in(store, tmp_path, *, message=None):
    """Purge a message, or the conversation, as another process does."""
    wanted = PurgeRequest(conversation=NAME, messages=(message,)) if message else PurgeRequest(conversations=(NAME,))
    return purge(open_store(store), wanted, Places(str(tmp_path / "index")))


def act_once(monkeypatch, module, act, *, before=False):
    """Act the first time a module sends something, before or after the server has taken it."""
    send, acts = module.send, [act]

    def send_meanwhile(transport, updates):
        if before and acts:
            acts.pop()()
        for statuses in send(transport, updates):
            if acts:
                acts.pop()()
            yield statuses

    monkeypatch.setattr(module, "send", send_meanwhile)


def clone_and_open(tmp_path, bare):
    clone_to(tmp_path / "copy", bare)
    return open_store(tmp_path / "copy")


def is_clean(bare, tmp_path):
    """Return True if nothing that a clone gets has the word."""
    clone_to(tmp_path / "clone", bare)
    return find_word(WORD, tmp_path / "clone") == []


def test_what_was_being_sent_is_replaced_by_the_same_push(ours, bare, tmp_path, monkeypatch):
    message = say(ours, NAME, WORD).id
    say(ours, NAME, "later")
    copies = []
    act_once(monkeypatch, member_push, lambda: copies.extend(purge_in(ours, tmp_path, message=message).remotes))
    (row,) = push_to(ours).conversations
    assert (row.status, row.reason) == ("updated", None)
    assert [copy.remote for copy in copies] == ["origin"]  # the purge names the remote, which may have it by now
    assert verify(open_store(ours)).exit_code == 0
    assert (list_copies(ours.path), read_being_sent(ours.path)) == ((), {})
    assert is_clean(bare, tmp_path)


def test_what_the_remote_had_before_is_replaced_too(ours, bare, tmp_path, monkeypatch):
    message = say(ours, NAME, WORD).id
    push_to(ours)
    say(ours, NAME, "later")
    act_once(monkeypatch, member_push, lambda: purge_in(ours, tmp_path, message=message))
    assert [row.status for row in push_to(ours).conversations] == ["updated"]
    assert is_clean(bare, tmp_path)
    assert read_values(ours.path) == {}


def test_a_first_push_is_replaced_as_well(repository, bare, tmp_path, monkeypatch):
    add(repository, bare)
    made = history(repository, f"main: a {WORD} b")
    act_once(monkeypatch, member_push, lambda: purge_in(repository, tmp_path, message=made.ids[WORD]))
    assert [row.reason for row in push_to(repository).conversations] == [None]
    assert is_clean(bare, tmp_path)


def test_a_purge_of_something_else_costs_one_more_try(ours, bare, tmp_path, monkeypatch):
    history(ours, f"main: x {WORD}")
    say(ours, NAME, "later")
    other = PurgeRequest(conversations=("conv-002",))
    act_once(monkeypatch, member_push, lambda: purge(open_store(ours), other, Places(str(tmp_path / "index"))))
    assert push_to(ours, NAME).exit_code == 0
    assert push_to(ours, NAME).conversations == ()
    assert "later" in texts(clone_and_open(tmp_path, bare), NAME)
    assert list_copies(ours.path) == ()


def test_a_conversation_that_is_purged_while_it_is_sent_can_be_deleted_there(ours, bare, tmp_path, monkeypatch):
    say(ours, NAME, WORD)
    act_once(monkeypatch, member_push, lambda: purge_in(ours, tmp_path))
    (row,) = push_to(ours).conversations
    assert (row.status, row.reason) == ("refused", "it was purged here while it was sent")
    assert [copy.remote for copy in list_copies(ours.path)] == ["origin"]
    push_to(ours, purged=True)
    assert git(bare, "for-each-ref", "refs/scopes/v1/c") == ""


def test_a_push_whose_objects_are_deleted_before_it_sends_them_is_tried_again(ours, bare, tmp_path, monkeypatch):
    message = say(ours, NAME, WORD).id
    act_once(monkeypatch, member_push, lambda: purge_in(ours, tmp_path, message=message), before=True)
    assert [row.status for row in push_to(ours).conversations] == ["updated"]
    assert is_clean(bare, tmp_path)
    assert verify(open_store(ours)).exit_code == 0


@pytest.mark.parametrize("is_taken", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_killed_push_is_known_to_a_later_purge(repository, bare, tmp_path, monkeypatch, is_taken, is_first):
    add(repository, bare)
    history(repository, "main: a")
    if not is_first:
        push_to(repository)
    message = say(repository, NAME, WORD).id

    def end():
        raise Killed

    act_once(monkeypatch, member_push, end, before=not is_taken)
    with pytest.raises(Killed):
        push_to(repository)
    done = purge_in(repository, tmp_path, message=message)
    assert [copy.remote for copy in done.remotes] == ["origin"]
    assert [row.reason for row in push_to(open_store(repository)).conversations] == [None]
    assert list_copies(repository.path) == ()
    assert is_clean(bare, tmp_path)


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.slow
def test_original_files_that_were_being_sent_are_replaced(repository, bare, tmp_path, monkeypatch, is_first):
    add(repository, bare)
    session = tmp_path / "session.jsonl"
    word = {"id": "w", "parent": "b", "by": "bot", "say": WORD, "time": CREATED}
    import_session(repository, session, "a b", more=() if is_first else (word,))
    push_to(repository, with_sources=True)
    import_session(repository, session, "a b", more=(word, {**word, "id": "x", "parent": "w", "say": "later"}))
    message = find_message(repository, WORD)
    act_once(monkeypatch, source_push, lambda: purge_in(repository, tmp_path, message=message))
    push_to(repository, with_sources=True)
    push_to(repository, with_sources=True)
    assert verify(open_store(repository)).exit_code == 0
    assert is_clean(bare, tmp_path)
    refs = git(bare, "for-each-ref", "--format=%(refname)", "refs/scopes/v1/").split()
    reached = git(bare, "rev-list", "--objects", "--no-object-names", *refs).split()
    assert WORD in git(repository, "cat-file", "--batch-all-objects", "--batch") + WORD
    assert WORD not in git(bare, "cat-file", "--batch", stdin="\n".join(reached).encode())


def test_a_fetch_that_meets_a_purge_is_busy_and_takes_nothing(ours, bare, tmp_path, monkeypatch):
    other = tmp_path / "other"
    clone_to(other, bare)
    say(ours, NAME, "news")
    push_to(ours)
    theirs = open_store(other)
    message = say(theirs, NAME, WORD).id
    search = incoming._Search.fetch
    monkeypatch.setattr(
        incoming._Search, "fetch", lambda *words: (purge_in(theirs, tmp_path, message=message), search(*words))[1]
    )
    with pytest.raises(Busy, match="scopes purge has deleted objects of the store meanwhile"):
        fetch_from(theirs)
    monkeypatch.undo()
    assert verify(open_store(theirs)).exit_code == 0
    assert [row.status for row in fetch_from(open_store(theirs)).conversations] == ["updated"]
