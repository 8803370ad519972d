"""The change log is in the order of recording, and no time in it is before that of the row above (S4-51, S4-52)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes import clock
from scopes.collaboration.contribute import argue_about_conflict
from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.changes import changes
from scopes.conversation.cherry_pick import cherry_pick
from scopes.conversation.merge import continue_merge, merge
from scopes.conversation.new import new
from scopes.conversation.rename import rename_title
from scopes.conversation.resolve import resolve_conflict
from scopes.conversation.tag import tag
from scopes.history.messages import plain_message
from scopes.model.argument import Argument
from scopes.model.message import Author
from tests.support.history import history, say
from tests.support.random_ids import hashed_counter
from tests.support.store import git, open_store

CONV = "conv-001"
SECOND = 10**9


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


class Clock:
    """A clock that the test sets; each reading is one millisecond later than the one before."""

    def __init__(self, monkeypatch):
        self.now = clock.now_nanoseconds()
        monkeypatch.setattr(clock, "read_clock", self.read)

    def read(self):
        self.now += 10**6
        return self.now

    def wait(self, seconds):
        self.now += int(seconds * SECOND)


@pytest.fixture
def ticking(monkeypatch):
    return Clock(monkeypatch)


def log(repository, conversation=CONV):
    """Return the names of the rows of messages and operations, whose times do not go back."""
    rows = changes(repository, conversation).items
    times = [clock.parse_time(row.time) for row in rows]
    assert times == sorted(times), [(row.time, row.field_path) for row in rows]
    return [row.after["subject"] if row.field_path == "messages" else row.field_path for row in rows]


def decide(repository, where, decision):
    message = replace(plain_message("ann", decision, kind="decision"), payload={"topic": "q", "decision": decision})
    append(repository, CONV, message, branch=where)


def stop_merge(repository):
    new(repository)
    branch(repository, CONV, name="fix", switch=False)
    decide(repository, "fix", "redis")
    decide(repository, "main", "postgres")
    merge(repository, CONV, source="fix", target="main")


def test_what_was_written_in_a_conflict_comes_after_the_merge_that_stopped_on_it(repository, ticking):
    """The merge had the time at which it was continued, so what was said before that came after it with earlier times."""
    stop_merge(repository)
    ticking.wait(20)
    argue_about_conflict(repository, CONV, "1", Argument(about="", position="in memory"), author=Author("ann"))
    ticking.wait(20)
    resolve_conflict(repository, CONV, "1", take="source", author=Author("carol", "human"))
    ticking.wait(20)
    continue_merge(repository, CONV)
    rows = changes(repository, CONV).items
    (stop,) = {row.time for row in rows if row.operation == "CREATE" and row.field_path.startswith("branches.conflict")}
    (merged,) = [row for row in rows if row.field_path == "messages" and row.after["kind"] == "merge"]
    assert merged.time == stop
    assert log(repository).index("in memory") > rows.index(merged)


def test_a_merge_has_the_milliseconds_of_its_operation(repository, ticking):
    history(repository, "main: a", "fix: b")
    say(repository, CONV, "c")
    ticking.wait(60)
    done = merge(repository, CONV, source="fix", target="main")
    rows = [row for row in changes(repository, CONV).items if row.operation == "MERGE" or row.source == done.message]
    assert len({row.time for row in rows}) == 1
    assert not rows[0].time.endswith(".000Z")


def test_a_clock_that_goes_back_does_not_change_the_order(repository, ticking):
    new(repository, title="first")
    ticking.wait(-60)
    rename_title(repository, CONV, "second")
    ticking.wait(-60)
    say(repository, CONV, "third")
    tag(repository, CONV, "fourth")
    rows = changes(repository, CONV).items
    assert [row.after for row in rows if row.field_path == "title"] == ["first", "second"]
    assert log(repository)[-3:] == ["participants", "third", "tags.fourth"]


def test_a_message_of_the_future_is_before_what_was_recorded_after_it(repository):
    new(repository)
    say(repository, CONV, "tomorrow", time="2031-01-01T00:00:00Z")
    tag(repository, CONV, "v1")
    say(repository, CONV, "now")
    assert log(repository)[2:] == ["participants", "tomorrow", "tags.v1", "now"]


def test_a_message_keeps_its_own_time_where_that_is_possible(repository):
    """S4-49: also if it was given a time, to the digit."""
    new(repository)
    time = "2026-03-01T10:00:00.250+01:00"
    say(repository, CONV, "hello", time=time)
    (row,) = changes(repository, CONV, field="messages").items
    assert row.time == time


def test_a_copied_message_is_recorded_when_it_was_copied(repository):
    history(repository, "main: a b")
    history(repository, "main: c")
    tag(repository, "conv-002", "before")
    cherry_pick(repository, "conv-002", [f"{CONV}/main"])
    rows = log(repository, "conv-002")
    assert rows.index("tags.before") < rows.index("b")
    (copied,) = [row for row in changes(repository, "conv-002", field="messages").items if row.after["subject"] == "b"]
    assert copied.time == changes(repository, "conv-002", field="branches.main").items[-1].time


def test_a_copy_without_reflogs_has_the_same_log(repository, tmp_path):
    """S4-51: as long as no message was given an older time."""
    history(repository, "main: a b", "fix: c")
    tag(repository, CONV, "v1")
    say(repository, CONV, "d")
    mirror = str(tmp_path / "mirror.git")
    git(repository, "clone", "-q", "--mirror", repository.path, mirror)
    git(mirror, "config", "scopes.formatVersion", "2")
    assert changes(open_store(mirror), CONV).items == changes(repository, CONV).items


def test_messages_of_several_branches_are_in_the_order_in_which_they_were_appended(repository):
    """Whatever times they were given."""
    new(repository)
    branch(repository, CONV, name="fix", switch=False)
    given = {"main": "2025-01-03T00:00:00Z", "fix": "2025-01-01T00:00:00Z"}
    for number, name in enumerate(("main", "fix", "main", "fix")):
        say(repository, f"{CONV}/{name}", str(number), time=given[name])
        tag(repository, CONV, f"v{number}", name)
    assert [row for row in log(repository) if row[-1].isdecimal()] == [
        "0",
        "tags.v0",
        "1",
        "tags.v1",
        "2",
        "tags.v2",
        "3",
        "tags.v3",
    ]
