"""Entries are shown without what was amended or retracted after they were made."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch, switch
from scopes.conversation.new_rename_delete import delete_branch
from scopes.memory.actions import list_actions
from scopes.memory.context import context
from scopes.memory.extraction import NOTHING_LEFT
from scopes.memory.list import list_memory, show_memory
from scopes.memory.search import search
from scopes.memory.update import update
from scopes.model.message import Author
from tests.memory.talking import CONVERSATION, decide, say

WRONG = "We decided to use Postgres.\n- [ ] install Postgres on the server"


@pytest.fixture
def remembered(repository):
    """Return the store and the id of a message that the tests amend or retract."""
    say(repository, "The index is slow on the server.")
    (wrong,) = say(repository, WRONG)
    say(repository, "We agreed on port 8080.", "TODO: write tests")
    update(repository, CONVERSATION, at_once=True)
    return repository, wrong


def shown(repository):
    """Return every text that a memory command shows, joined."""
    found = [*list_memory(repository).entries, *(hit.entry for hit in search(repository, "port").hits)]
    found.append(show_memory(repository, list_memory(repository).entries[0].id).entry)
    items = [row.item.text for row in list_actions(repository, include_done=True).actions]
    return "\n".join([*map(str, found), *items, context(repository).text])


@pytest.mark.parametrize("retracted", [True, False])
def test_amended_or_retracted_text_is_not_shown(remembered, retracted):
    repository, wrong = remembered
    assert shown(repository).count("Postgres") > 5
    if retracted:
        retract(repository, CONVERSATION, wrong, "", author=Author("planner"))
    else:
        amend(repository, CONVERSATION, wrong, "It rains.", author=Author("planner"))
    assert "Postgres" not in shown(repository)
    (entry,) = list_memory(repository).entries
    assert (entry.withdrawn, entry.decisions) == ((wrong,), ("We agreed on port 8080.",))
    assert [item.text for item in entry.action_items] == ["write tests"]
    assert search(repository, "postgres").hits == ()
    assert "1 message of it was amended or retracted since" in context(repository).text


def test_a_retracted_typed_decision_loses_its_topic(repository):
    name = decide(repository, "auth", "use cookies")
    update(repository, CONVERSATION, at_once=True)
    assert list_memory(repository).entries[0].topics[0] == "auth"
    retract(repository, CONVERSATION, name, "", author=Author("lead"))
    (entry,) = list_memory(repository).entries
    assert (entry.summary, entry.decisions, "auth" in entry.topics) == (NOTHING_LEFT, (), False)


def test_an_amendment_is_a_new_message_for_the_memory(remembered):
    repository, wrong = remembered
    amend(repository, CONVERSATION, wrong, "We decided to use SQLite.", author=Author("planner"))
    (entry,) = update(repository, CONVERSATION, at_once=True).entries
    assert entry.decisions == ("We decided to use SQLite.",)


def test_an_entry_is_shown_after_its_branch_is_deleted(remembered):
    repository, _ = remembered
    remember_deleted_branch(repository)
    assert len(list_memory(repository).entries) == 2


def remember_deleted_branch(repository):
    """Make an entry of a branch, and delete the branch."""
    branch(repository, CONVERSATION, name="fix")
    say(repository, "Something else.", branch="fix")
    update(repository, "conv-001/fix", at_once=True)
    switch(repository, CONVERSATION, "main")
    delete_branch(repository, CONVERSATION, "fix", force=True)
