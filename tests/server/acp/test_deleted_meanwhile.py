"""A conversation that is deleted while a turn of it runs, and comes back with `undo`: nothing is lost or doubled."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import delete
from scopes.conversation.undo import redo, undo
from scopes.errors import NotFound
from tests.server.acp.test_endings import wait_for
from tests.support.acp_client import prompt_params
from tests.support.random_ids import spread_ids  # noqa: F401 - operations have different ids
from tests.support.store import assert_sound

BEFORE = ["first", "echo: first", "wait please"]


class RunningTurn:
    """A session with one whole turn and a second one, whose prompt is in the store, and which the editor can end."""

    def __init__(self, desk):
        self.desk = desk
        self.editor = desk.editor()
        self.session = self.editor.open(desk.project)
        self.editor.prompt(self.session, "first")
        self._answer = self.editor.begin("session/prompt", prompt_params(self.session, "wait please"))
        wait_for(lambda: desk.branches() and desk.texts() == BEFORE)

    def end(self):
        self.editor.send({"method": "session/cancel", "params": {"sessionId": self.session}})
        assert self._answer()["stopReason"] == "cancelled"

    def go_on(self):
        self.editor.prompt(self.session, "second")
        self.editor.close()


@pytest.fixture
def turn(desk):
    return RunningTurn(desk)


def test_an_undo_before_the_end_of_the_turn_leaves_one_conversation_with_all_of_it(turn, desk):
    delete(desk.store, "conv-001")
    undo(desk.store)
    turn.end()
    turn.go_on()
    assert desk.branches() == ["conv-001/main"]
    assert desk.texts() == [*BEFORE, "working", "second", "echo: second"]


def test_an_undo_after_the_end_of_the_turn_leaves_both_conversations_whole(turn, desk):
    """The session goes on where the end of the turn is."""
    delete(desk.store, "conv-001")
    turn.end()
    assert desk.branches() == ["conv-002/main"]
    assert undo(desk.store).summary == "delete conv-001"
    turn.go_on()
    assert desk.texts("conv-001/main") == BEFORE
    assert desk.texts("conv-002/main") == ["wait please", "working", "second", "echo: second"]


def test_a_redo_of_the_delete_before_the_end_of_the_turn_is_a_delete(turn, desk):
    delete(desk.store, "conv-001")
    undo(desk.store)
    redo(desk.store)
    turn.end()
    turn.go_on()
    with pytest.raises(NotFound):
        desk.texts("conv-001/main")
    assert desk.texts("conv-002/main") == ["wait please", "working", "second", "echo: second"]


def test_a_next_session_goes_on_with_the_conversation_that_has_the_last_turn(turn, desk):
    delete(desk.store, "conv-001")
    turn.end()
    undo(desk.store)
    turn.go_on()
    desk.run("third")
    assert desk.texts("conv-002/main")[-2:] == ["third", "echo: third"]
    assert_sound(desk.store)
