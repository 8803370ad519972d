"""`scopes uncompact`: output and exit codes."""

from __future__ import annotations


def test_the_compactions_are_listed_and_the_command_is_undone(conversation):
    compaction = conversation.run("summarize", "conv-001", "--compact", "--all", "--json")["id"]
    assert conversation.run("uncompact", "conv-001", "--dry-run") == f"{compaction}\n"
    document = conversation.run("uncompact", "conv-001", "--json")
    assert [row["id"] for row in document["compactions"]] == [compaction]
    assert conversation.run_refused("uncompact", "conv-001", code=1)["message"].startswith(
        "conv-001/main has no compaction"
    )
    conversation.run("undo")
    assert conversation.run("uncompact", "conv-001") == f"{compaction}\n"


def test_a_reason_is_the_text_of_the_notice(conversation):
    conversation.run("summarize", "conv-001", "--compact", "--all", "--json")
    conversation.run("uncompact", "conv-001", "--reason", "it forgot the schema")
    assert conversation.run("cat", "conv-001", "--json")["text"] == "it forgot the schema"
