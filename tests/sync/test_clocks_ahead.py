"""One machine whose clock is far ahead keeps nobody from sharing, and its next push with the right time settles it."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.conversation.branch import branch, delete_tag, tag
from scopes.conversation.new_rename_delete import rename_branch, rename_title
from scopes.history.metadata import read_clocks, read_metadata
from scopes.store.objects import read_commit
from scopes.store.refs import meta_ref
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, clone_to, fetch_from, push_to
from tests.support.store import open_store

NAME = "conv-001"
DAY = 24 * 3600 * 10**9


@pytest.fixture
def turn(monkeypatch):
    """Return a function that sets the clock of this machine some days ahead, or to the right time again."""
    right = clock.read_clock

    def set_clock(days):
        monkeypatch.setattr(clock, "read_clock", lambda: right() + days * DAY)

    return set_clock


@pytest.fixture
@recalled
def pair(repository, bare, tmp_path):
    """Two stores that share a conversation."""
    add(repository, bare)
    history(repository, "main: a")
    push_to(repository)
    clone_to(tmp_path / "theirs", bare)
    return repository, open_store(tmp_path / "theirs")


def send_from_the_future(theirs, turn, change):
    turn(3 * 365)
    change(theirs)
    pushed = push_to(open_store(theirs))
    turn(0)
    return pushed


def tags(store):
    return dict(read_metadata(open_store(store), NAME).tags)


def clocks(store):
    found = read_clocks(store, read_commit(store, store.find_ref(meta_ref(NAME))).tree)
    return {register: each.number for register, each in found.items()}


def test_messages_and_values_arrive_with_a_note(pair, turn, bare, tmp_path):
    ours, theirs = pair

    def change(store):
        tag(store, NAME, "t1", "main")
        say(store, NAME, "news")

    assert send_from_the_future(theirs, turn, change).exit_code == 0
    fetched = fetch_from(ours)
    assert ([row.status for row in fetched.conversations], fetched.exit_code) == (["updated"], 0)
    (note,) = [note for note in fetched.notes if "more than a day in the future" in note.text]
    assert "tag t1" in note.text
    assert clock.format_seconds(clock.now_milliseconds() // 1000)[:10] in note.hint
    ours = open_store(ours)
    assert (texts(ours, NAME), set(tags(ours))) == (["a", "news"], {"t1"})
    assert clone_to(tmp_path / "third", bare).exit_code == 0
    assert set(tags(tmp_path / "third")) == {"t1"}


def test_it_can_be_changed_by_everybody_and_does_not_come_back(pair, turn):
    ours, theirs = pair
    send_from_the_future(theirs, turn, lambda store: tag(store, NAME, "t1", "main"))
    fetch_from(ours)
    delete_tag(open_store(ours), NAME, "t1")
    say(open_store(theirs), NAME, "more")
    turn(3 * 365)
    push_to(open_store(theirs))  # the clock is still wrong
    turn(0)
    fetched = fetch_from(open_store(ours))
    assert [row.status for row in fetched.conversations] == ["updated"]
    assert tags(ours) == {}
    assert push_to(open_store(ours)).exit_code == 0


def test_what_is_known_here_stays_and_is_not_refused(pair, turn):
    ours, theirs = pair
    rename_title(ours, NAME, "ours")
    push_to(ours)
    fetch_from(theirs)
    send_from_the_future(open_store(theirs), turn, lambda store: rename_title(store, NAME, "theirs"))
    assert fetch_from(open_store(ours)).exit_code == 0
    assert read_metadata(open_store(ours), NAME).title == "ours"


def test_a_branch_of_the_future_is_one_branch_everywhere(pair, turn):
    ours, theirs = pair

    def change(store):
        branch(store, NAME, name="fix")
        rename_branch(store, NAME, "fix", "repair")

    send_from_the_future(theirs, turn, change)
    fetch_from(ours)
    push_to(open_store(theirs))
    fetch_from(open_store(ours))
    names = [set(read_metadata(open_store(store), NAME).branches) for store in pair]
    assert names == [{"main", "repair"}] * 2


@pytest.mark.parametrize("has_news", [True, False])
@pytest.mark.slow
def test_the_next_push_with_the_right_time_settles_it(pair, turn, has_news):
    ours, theirs = pair
    send_from_the_future(theirs, turn, lambda store: tag(store, NAME, "t1", "main"))
    fetch_from(ours)
    if has_news:
        say(open_store(theirs), NAME, "more")
        delete_tag(open_store(theirs), NAME, "t1")
    pushed = push_to(open_store(theirs))
    assert [row.status for row in pushed.conversations] == ["updated"]
    (note,) = [note for note in pushed.notes if "now have the current time" in note.text]
    assert "conv-001: tag t1" in note.text
    assert max(clocks(open_store(theirs)).values()) <= clock.now_milliseconds()
    assert push_to(open_store(theirs)).notes == ()
    fetched = fetch_from(open_store(ours))
    assert not [note for note in fetched.notes if "in the future" in note.text]
    assert set(tags(ours)) == (set() if has_news else {"t1"})
    assert clocks(open_store(ours)) == clocks(open_store(theirs))


def test_a_machine_whose_clock_is_behind_settles_nothing(pair, turn):
    ours, theirs = pair
    tag(ours, NAME, "ours", "main")
    push_to(ours)
    fetch_from(theirs)
    tag(open_store(theirs), NAME, "theirs", "main")
    before = clocks(open_store(theirs))
    turn(-365)
    push_to(open_store(theirs))
    turn(0)
    assert clocks(open_store(theirs)) == before
    fetch_from(open_store(ours))
    assert set(tags(ours)) == {"ours", "theirs"}
