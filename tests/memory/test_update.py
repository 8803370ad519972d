"""Making entries of new messages, on a ref that plain git reads and undo restores."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import abandon, branch, switch
from scopes.conversation.new_rename_delete import new
from scopes.conversation.store import gc
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.history.messages import plain_message
from scopes.memory.list import list_memory
from scopes.memory.prune import prune
from scopes.memory.update import update
from scopes.store.config import Setting
from scopes.store.refs import MEMORY
from scopes.store.repository import Caller, open_repository
from tests.memory.talking import CONVERSATION, say
from tests.support.store import FAST, git, open_store, overtake

FOUR = ("The login form fails.", "Safari blocks the cookie.", "We agreed on SameSite=Lax.", "- [ ] test it on Safari")


def with_every(repository, number):
    """Open the store with another scopes.memoryEvery."""
    setting = {"scopes.memoryEvery": Setting("scopes.memoryEvery", str(number), "flag")}
    return open_repository(repository.path, FAST | setting, Caller("carol", "test"))


def test_an_entry_is_made_every_four_messages_and_covers_new_ones_only(repository):
    """S0-10, S0-12, S0-22."""
    ids = say(repository, *FOUR[:3])
    assert update(repository).entries == ()
    ids += say(repository, FOUR[3])
    (entry,) = update(repository).entries
    assert entry.sources.messages == tuple(ids)
    assert (entry.agent, entry.conversation, entry.branch) == ("planner", CONVERSATION, "main")
    assert entry.decisions == ("We agreed on SameSite=Lax.",)
    assert [item.text for item in entry.action_items] == ["test it on Safari"]
    assert update(repository, at_once=True).entries == ()
    (more,) = say(repository, "One more.")
    assert update(repository).waiting == 1
    assert update(repository, CONVERSATION, at_once=True).entries[0].sources.messages == (more,)


@pytest.mark.parametrize(("number", "made"), [(0, 0), (1, 1), (2, 1), (5, 0)])
def test_the_number_of_messages_is_a_setting(repository, number, made):
    say(repository, *FOUR)
    other = with_every(repository, number)
    done = update(other)
    assert len(done.entries) == made
    assert bool(done.notes) == (number == 0)
    assert len(update(other, at_once=True).entries) == 1 - made


def test_an_entry_of_a_branch_covers_only_its_own_messages(repository):
    say(repository, *FOUR)
    update(repository)
    branch(repository, CONVERSATION, name="fix")
    (only,) = say(repository, "On the branch.", branch="fix")
    (entry,) = update(repository, "conv-001/fix", at_once=True).entries
    assert (entry.branch, entry.sources.messages) == ("fix", (only,))


def test_every_branch_is_read_and_each_message_covered_once(repository):
    """S0-10."""
    trunk = say(repository, *FOUR)
    branch(repository, CONVERSATION, name="fix")
    own = say(repository, *(f"{text} Again." for text in FOUR), branch="fix")
    branch(repository, CONVERSATION, name="gone")
    say(repository, *(f"{text} Not so." for text in FOUR), branch="gone")
    abandon(repository, CONVERSATION, "gone")
    switch(repository, CONVERSATION, "main")
    done = update(repository)
    assert [(entry.branch, entry.sources.messages) for entry in done.entries] == [
        ("main", tuple(trunk)), ("fix", tuple(own)),
    ]  # fmt: skip
    assert update(repository, at_once=True).entries == ()
    assert len(update(repository, "conv-001/gone").entries) == 1


def test_messages_that_wait_on_one_branch_do_not_count_for_another(repository):
    say(repository, *FOUR[:3])
    branch(repository, CONVERSATION, name="fix")
    say(repository, "One.", branch="fix")
    switch(repository, CONVERSATION, "main")
    assert (update(repository).entries, update(repository).waiting) == ((), 2)


def test_all_conversations_are_updated_in_one_operation(repository):
    new(repository)
    for where in ("conv-001", "conv-002"):
        say(repository, *FOUR, where=where)
    done = update(repository)
    assert [entry.conversation for entry in done.entries] == ["conv-001", "conv-002"]
    undo(repository)
    assert list_memory(repository).entries == ()
    redo(repository)
    assert len(list_memory(repository).entries) == 2


def test_pruned_messages_get_no_new_entry(repository):
    say(repository, *FOUR)
    update(repository)
    prune(repository, max_entries=0)
    assert update(repository, at_once=True).entries == ()


def test_plain_git_reads_an_entry(repository):
    say(repository, *FOUR)
    (entry,) = update(repository).entries
    (path,) = git(repository, "ls-tree", "-r", "--name-only", "refs/scopes/memory", "entries").split()
    document = json.loads(git(repository, "show", f"refs/scopes/memory:{path}"))
    assert document["sources"] == {"messages": list(entry.sources.messages), "tip": entry.sources.tip}
    assert document["timestamp"] == entry.time


def test_an_entry_has_the_time_of_its_messages(repository):
    """An old transcript imported today is not the most recent memory."""
    old_message = replace(plain_message("planner", "Long ago."), time="2020-05-01T10:00:00Z")
    append(repository, CONVERSATION, old_message)
    (entry,) = update(repository, at_once=True).entries
    assert entry.time == "2020-05-01T10:00:00Z"


def test_the_store_verifies_after_an_update(repository):
    say(repository, *FOUR)
    update(repository)
    assert [finding for finding in verify(repository).findings if finding.level == "error"] == []
    assert "memory" in git(repository, "log", "--format=%s", "-1", "refs/scopes/operations")


def test_tool_results_and_system_texts_do_not_count(repository):
    say(repository, *FOUR, kind="tool-results")
    say(repository, *FOUR, kind="system")
    assert update(repository, at_once=True).entries == ()


def test_concurrent_updates_make_one_entry(repository):
    say(repository, *FOUR)
    overtake(repository, update)
    assert update(repository).entries == ()
    assert len(list_memory(repository).entries) == 1


def test_appending_makes_no_entry(repository):
    """S0-11: no other command depends on the memory."""
    say(repository, *FOUR * 3)
    assert repository.find_ref(MEMORY) is None


def test_an_entry_of_messages_without_a_time_has_the_current_time(repository):
    append(repository, CONVERSATION, replace(plain_message("planner", "Whenever."), time=None))
    (entry,) = update(repository, at_once=True).entries
    assert entry.time.startswith("2026-01-01T")


def test_gc_keeps_the_memory(repository):
    say(repository, *FOUR)
    update(repository)
    before = list_memory(repository).entries
    gc(repository)
    assert list_memory(open_store(repository.path)).entries == before
