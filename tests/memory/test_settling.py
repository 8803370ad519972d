"""Things to do over several entries of one conversation."""

from __future__ import annotations

from scopes.conversation.new import new
from scopes.conversation.undo import undo
from scopes.memory.actions import done, list_actions
from scopes.memory.update import update
from tests.memory.talking import say


def left(repository):
    """What is left to do."""
    return [row.item.text for row in list_actions(repository).actions]


def remember(repository, *texts, where="conv-001"):
    """Say something and make an entry of it."""
    say(repository, *texts, where=where)
    return update(repository, where, at_once=True).entries[0]


def test_what_is_checked_later_is_done_in_the_entry_that_knew_of_it(repository):
    """S0-20."""
    remember(repository, "- [ ] test it\n- [ ] ship it")
    remember(repository, "- [x] Test  it")
    assert left(repository) == ["ship it"]
    undo(repository)
    assert left(repository) == ["test it", "ship it"]


def test_what_is_said_again_is_known_once(repository):
    remember(repository, "- [ ] test it")
    assert remember(repository, "- [ ] test it\n- [ ] ship it").action_items[0].text == "ship it"
    assert sorted(left(repository)) == ["ship it", "test it"]


def test_what_was_done_by_hand_may_come_up_again(repository):
    entry = remember(repository, "- [ ] test it")
    done(repository, entry.action_items[0].id)
    remember(repository, "- [ ] test it")
    assert left(repository) == ["test it"]


def test_another_conversation_closes_nothing(repository):
    new(repository)
    remember(repository, "- [ ] test it")
    remember(repository, "- [x] test it", where="conv-002")
    assert left(repository) == ["test it"]
