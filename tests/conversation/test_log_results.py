"""Which messages answer a tool call, told from heads."""

from __future__ import annotations

import pytest

from scopes.conversation.log import ToolResultTracker
from scopes.history.messages import MessageHead
from scopes.ids import AgentName, MessageId, Oid


def answered(drawing):
    """Walk a line of kinds, oldest first as written, and say which commits answer the first."""
    kinds = drawing.split()
    tracker = ToolResultTracker()
    found = ()
    for number in reversed(range(len(kinds))):
        parents = (Oid(str(number - 1)),) if number else ()
        head = MessageHead(MessageId("m"), Oid(str(number)), parents, AgentName("a"), "agent", kinds[number], 0, "", ())
        found = tracker.visit(head)
    return found


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("answer", ()),
        ("answer tool-results", ("1",)),
        ("answer tool-results tool-results answer", ("1", "2")),
        ("answer system tool-results meta tool-results", ("2", "4")),
        ("answer answer tool-results", ()),
        ("answer prompt tool-results", ()),
        ("tool-results tool-results", ()),
    ],
)
def test_results_answer_the_message_before_them(drawing, expected):
    assert answered(drawing) == expected


def test_two_lines_of_results_answer_the_message_that_both_follow():
    tracker = ToolResultTracker()
    for oid in "bc":
        head = MessageHead(MessageId(oid), Oid(oid), (Oid("a"),), AgentName("t"), "tool", "tool-results", 0, "", ())
        assert tracker.visit(head) == ()
    head = MessageHead(MessageId("a"), Oid("a"), (), AgentName("p"), "agent", "answer", 0, "", ())
    assert tracker.visit(head) == ("c", "b")
    assert tracker.visit(head) == ()


def test_no_more_than_64_are_remembered():
    assert len(answered("answer " + "tool-results " * 1000)) == 64
