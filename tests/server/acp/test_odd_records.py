"""Records that are not as we write them, and directories that are none: a session goes on, and is recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.history.messages import plain_message
from scopes.history.metadata import read_metadata
from scopes.history.names import MAIN
from scopes.history.transaction import Transaction
from scopes.ids import ConversationId
from scopes.model.conversation import ACP
from scopes.store.transactions import exclusive_write

VALUES = (None, True, 7, 1e300, "", "\ud800", "a\0b", "x" * 5000, [], [[]], {}, {"a": 1})
IDS = [str(number) for number in range(len(VALUES))]


def change_entry(desk, **fields):
    """Write fields of another shape into the entry of the branch, as another program, or a newer version, may."""
    conversation = ConversationId("conv-001")
    store = desk.store
    with exclusive_write(store):
        entry = read_metadata(store, conversation).branches[MAIN]
        tx = Transaction(store, conversation)
        tx.set_branch_entry(MAIN, replace(entry, extra={ACP: {**entry.extra[ACP], **fields}}))
        tx.commit("acp", "change the entry")


@pytest.mark.parametrize("value", [*VALUES, {"run": []}, {"run": {}}, {"run": 7}], ids=str)
def test_what_others_write_about_a_run_is_no_other_session(desk, value):
    """A message of another program is on the branch when a session goes on."""
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.prompt(session, "first")
    message = plain_message("carol", "a remark")
    append(desk.store, "conv-001", replace(message, extra={ACP: value}))
    editor.prompt(session, "second")
    editor.close()
    assert desk.texts() == ["first", "echo: first", "a remark", "second", "echo: second"]
    assert desk.branches() == ["conv-001/main"]
