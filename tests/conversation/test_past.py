"""An earlier state of a store is read from the operation records and the reflogs, without changing a byte."""

from __future__ import annotations

import os
from random import Random

import pytest

from scopes import clock
from scopes.context.context import context
from scopes.context.request import Request
from scopes.conversation.append import append, append_all
from scopes.conversation.branch import branch, list_tags, rewind, switch, tag
from scopes.conversation.list import list_conversations
from scopes.conversation.log import log
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import delete, delete_branch, new, rename_branch, rename_title
from scopes.conversation.rebase import rebase
from scopes.conversation.stats import stats
from scopes.conversation.undo import list_operations, redo, undo
from scopes.errors import Ambiguous, NotFound, Refused
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.history.names import resolve_revision
from scopes.history.transaction import show_past
from scopes.model.message import Author
from scopes.model.validation import check_message
from scopes.store.maintenance import expire
from scopes.store.transactions import exclusive_write
from scopes.tokens.count import RankFilePaths, choose_tokenizer
from tests.support.history import history, say, texts
from tests.support.random_ids import hashed_counter
from tests.support.store import files_of, open_store


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Make ids that differ in their first letters."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


def newest(repository):
    return list_operations(repository, limit=1).operations[0].id


def past(repository, operation):
    """Open the store again as it was after an operation."""
    shown = open_store(repository.path)
    show_past(shown, operation)
    return shown


def acts(repository):
    """Return commands that change a store, each as an operation."""
    return [
        lambda: branch(repository, "conv-001", name="fix", switch=False),
        lambda: tag(repository, "conv-001", "v1"),
        lambda: rebase(repository, "conv-001/fix", onto="main"),
        lambda: merge(repository, "conv-001", "fix", target="main"),
        lambda: rewind(repository, "conv-001", branch="main"),
        lambda: undo(repository),
        lambda: redo(repository),
        lambda: new(repository),
        lambda: rename_title(repository, "conv-001", "a title"),
        lambda: switch(repository, "conv-001", "fix"),
        lambda: undo(repository),
        lambda: switch(repository, "conv-001", "main"),
        lambda: delete(repository, "conv-002"),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_the_refs_after_every_operation_are_those_of_that_time(repository, seed):
    """Between the operations messages are appended: none of them is shown after an earlier operation."""
    random = Random(seed)
    history(repository, "main: a b c", "side@a: d")
    seen = {}
    for number, act in enumerate(acts(repository)):
        act()
        seen.setdefault(newest(repository), repository.list_refs())
        for count in range(random.randrange(3)):
            place = random.choice(["main", "side", "fix"])
            say(repository, f"conv-001/{place}", f"message {number} {count}")
    assert len(seen) >= len(acts(repository)) - 3
    for operation, values in seen.items():
        assert past(repository, operation).list_refs() == values


def test_every_read_shows_the_earlier_state(repository):
    history(repository, "main: a b")
    tag(repository, "conv-001", "v1")
    operation = newest(repository)
    say(repository, "conv-001", "later")
    tag(repository, "conv-001", "v2")
    new(repository)
    shown = past(repository, operation)
    assert texts(shown, "conv-001") == ["a", "b"]
    assert [row[0] for row in list_tags(shown, "conv-001").tags] == ["v1"]
    assert [row.id for row in list_conversations(shown).conversations] == ["conv-001"]
    assert stats(shown, "conv-001").messages == 2
    assert list_operations(shown).operations[0].id == operation
    assert texts(repository, "conv-001") == ["a", "b", "later"]


def test_an_operation_is_named_by_prefix_place_or_time(repository, monkeypatch):
    history(repository, "main: a")
    for name in "v1", "v2":
        tag(repository, "conv-001", name)
    log_ids = [record.id for record in list_operations(repository).operations]
    for name, expected in (("@", 0), ("@-", 1), ("@{2}", 2), (log_ids[1][:8], 1), ("@{now}", 0), ("now", 0)):
        assert newest(past(repository, name)) == log_ids[expected], name
    assert past(repository, "100 years ago").list_refs() == {}
    for name in "@{9}", "zzzz":
        with pytest.raises(NotFound):
            show_past(repository, name)
    monkeypatch.setattr("scopes.store.operations.MIN_PREFIX_LENGTH", 1)
    with pytest.raises(Ambiguous):
        show_past(repository, _shared_letter(repository))


def _shared_letter(repository):
    """Make operations until two ids begin with one letter, and return it."""
    for number in range(40):
        firsts = [record.id[0] for record in list_operations(repository).operations]
        for letter in firsts:
            if firsts.count(letter) > 1:
                return letter
        tag(repository, "conv-001", f"t{number}")
    raise AssertionError


def test_a_message_at_a_time_is_compared_by_the_time_of_its_append(repository, monkeypatch):
    instant = clock.now_nanoseconds()
    monkeypatch.setattr("scopes.store.operations.wall_nanoseconds", lambda: instant)
    history(repository, "main: a")
    monkeypatch.setattr("scopes.store.operations.wall_nanoseconds", lambda: instant + 3600 * 10**9)
    say(repository, "conv-001", "an hour later")
    assert texts(past(repository, "now"), "conv-001") == ["a"]
    assert texts(past(repository, "@"), "conv-001") == []


def test_an_earlier_state_cannot_be_changed(repository):
    history(repository, "main: a")
    before = files_of(repository.path)
    shown = past(repository, "@")
    for write in (
        lambda: append(shown, "conv-001", plain_message("carol", "x")),
        lambda: tag(shown, "conv-001", "v1"),
        lambda: undo(shown),
    ):
        with pytest.raises(Refused, match="can only be read"):
            write()
    log(shown, "conv-001")
    assert files_of(repository.path) == before


def test_earlier_tips_are_counted_from_that_state(repository):
    history(repository, "main: a b")
    tag(repository, "conv-001", "v1")
    say(repository, "conv-001", "later")
    shown = past(repository, "@")
    assert resolve_revision(shown, "conv-001/main@{1}").oid == resolve_revision(repository, "conv-001~2").oid


def test_messages_appended_later_to_a_deleted_conversation_are_not_shown(repository):
    """They were: git deletes the reflog of a branch together with the branch."""
    history(repository, "main: a b", "side@a: c")
    tag(repository, "conv-001", "v1")
    operation = newest(repository)
    say(repository, "conv-001/main", "later")
    say(repository, "conv-001/side", "later too")
    refs_then = past(repository, operation).list_refs()
    delete(repository, "conv-001")
    shown = past(repository, operation)
    assert (texts(shown, "conv-001/main"), texts(shown, "conv-001/side")) == (["a", "b"], ["a", "c"])
    assert shown.list_refs() == refs_then
    assert texts(past(repository, "@-"), "conv-001/main") == ["a", "b"]  # the tag is the one before the deletion


def test_later_messages_of_a_conversation_that_was_deleted_and_restored_are_not_shown(repository):
    """The new reflog of a restored branch begins with the undo."""
    history(repository, "main: a")
    tag(repository, "conv-001", "v1")
    operation = newest(repository)
    say(repository, "conv-001", "later")
    delete(repository, "conv-001")
    undo(repository)
    say(repository, "conv-001", "after the undo")
    assert texts(past(repository, operation), "conv-001") == ["a"]
    assert texts(past(repository, "@"), "conv-001") == ["a", "later"]


def test_messages_appended_later_to_a_branch_are_not_shown_after_its_deletion(repository):
    history(repository, "main: a", "side: b")
    tag(repository, "conv-001", "v1")
    operation = newest(repository)
    say(repository, "conv-001/side", "later")
    delete_branch(repository, "conv-001", "side", force=True)
    assert texts(past(repository, operation), "conv-001/side") == ["a", "b"]


def test_messages_appended_later_to_a_branch_are_not_shown_after_its_renaming(repository):
    history(repository, "main: a", "side: b")
    tag(repository, "conv-001", "v1")
    operation = newest(repository)
    say(repository, "conv-001/side", "later")
    rename_branch(repository, "conv-001", "side", "other")
    say(repository, "conv-001/other", "last")
    assert texts(past(repository, operation), "conv-001/side") == ["a", "b"]
    assert texts(past(repository, "@"), "conv-001/other") == ["a", "b", "later"]
    with pytest.raises(NotFound):
        log(past(repository, operation), "conv-001/other")


def test_no_message_before_the_last_operation_on_a_branch_is_taken_off(repository):
    """A message of another machine may have a time in the future."""
    history(repository, "main: a")
    document = {"author": "carol", "text": "from the future", "time": "2099-01-01T00:00:00Z"}
    message = check_message(document, message_id=clock.new_id(), now=clock.now())
    branch_of = StoreHandle(repository).conversation("conv-001").branch("main")
    append_all(branch_of, [message])
    tag(repository, "conv-001", "v1")
    operation = newest(repository)
    say(repository, "conv-001", "later")
    delete(repository, "conv-001")
    assert texts(past(repository, operation), "conv-001") == ["a", "from the future"]


def test_a_deleted_conversation_is_shown_at_a_time_before_its_last_messages(repository, monkeypatch):
    monkeypatch.setattr("scopes.store.operations.wall_nanoseconds", clock.now_nanoseconds)
    history(repository, "main: a")
    instant = clock.now()
    say(repository, "conv-001", "later")
    delete(repository, "conv-001")
    assert texts(past(repository, instant), "conv-001") == ["a"]
    assert past(repository, "now").list_refs("refs/heads/") == {}


def test_after_an_expire_appends_are_compared_by_time(repository, monkeypatch):
    history(repository, "main: a")
    tag(repository, "conv-001", "v1")
    instant = clock.wall_nanoseconds()
    monkeypatch.setattr("scopes.store.operations.wall_nanoseconds", lambda: instant + 3600 * 10**9)
    say(repository, "conv-001", "later")
    kept = newest(repository)
    with exclusive_write(repository):
        expire(repository, 0)
    assert texts(past(repository, kept), "conv-001") == ["a"]


def test_a_context_of_an_earlier_state_is_not_cached(repository, tmp_path):
    history(repository, "main: a b")
    tag(repository, "conv-001", "v1")
    cache = str(tmp_path / "cache")
    choice = choose_tokenizer(RankFilePaths(cache))
    request = Request(where="conv-001", max_tokens=900)
    say(repository, "conv-001", "later", author={"name": Author("carol").name, "kind": "agent"})
    for name, expected in ((None, 3), ("@", 2), (None, 3)):
        shown = repository if name is None else past(repository, name)
        assert context(shown, request, choice, cache).turns_included == expected
    assert len(os.listdir(os.path.join(cache, "contexts"))) == 1
