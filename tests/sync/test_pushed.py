"""What a row of a push says."""

from __future__ import annotations

from dataclasses import replace

from scopes.sync.pushed import PushedConversation

ROW = PushedConversation("conv-001", "ab" * 20, "updated", 1)


def test_a_push_without_messages_says_what_was_sent():
    assert ROW.why == "metadata or branches only"
    assert replace(ROW, behind=("main",)).why == "metadata or branches only; behind: main"


def test_a_branch_that_stays_as_it_is_was_not_updated():
    row = replace(ROW, diverged=("main",))
    assert (row.state, row.why) == ("left", "left as they are: main")
    assert replace(row, messages=2).state == "updated"
