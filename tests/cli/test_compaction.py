"""A compaction is taken back with `scopes retract`."""

from __future__ import annotations


def test_contexts_begin_at_the_first_message_again_until_it_is_undone(conversation):
    first = "How shall we do it?"
    compaction = conversation.run("summarize", "conv-001", "--compact", "--all", "--json")["id"]
    assert first not in [message["text"] for message in conversation.run("context", "--json")["messages"]]
    conversation.run("retract", compaction, "--reason", "it forgot the schema")
    assert first in [message["text"] for message in conversation.run("context", "--json")["messages"]]
    assert conversation.run("cat", "conv-001", "--json")["text"] == "it forgot the schema"
    conversation.run("undo")
    assert first not in [message["text"] for message in conversation.run("context", "--json")["messages"]]
