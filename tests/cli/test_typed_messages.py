"""Typed messages without a text: every list shows their documents."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "words",
    [
        ("log", "{}/fix", "--oneline"),
        ("log", "{}/fix"),
        ("log", "{}", "--all", "--graph", "--oneline"),
        ("changes", "{}"),
        ("search", "analysis"),
        ("context", "{}/fix", "--explain"),
        ("diff", "{}", "main..fix"),
    ],
)
def test_a_list_shows_the_document_of_a_typed_message_without_text(conversation, words):
    conversation.append("fix", "--kind", "decision", "--data", '{"topic": "store", "decision": "analysis"}')
    code = 1 if words[0] == "diff" else 0
    printed = conversation.run(*(word.format(conversation.id) for word in words), code=code)
    assert "decision: analysis · topic: store" in printed
    assert "(no text)" not in printed
