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


def test_a_decision_is_withdrawn_by_its_topic(conversation):
    """M5."""
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "pg"}, "alice")
    words = ("decisions", conversation.id, "--withdraw", "DB", "--reason", "slow", "--as", "bob")
    assert conversation.run(*words, "--dry-run").startswith("db = pg")
    done = conversation.run("conv", *words, "--json")
    assert (done["topic"], done["decisions"], done["branch"]) == ("db", ["pg"], "main")
    assert conversation.run("cat", conversation.id, "--json")["author"] == "bob"
    error = conversation.run_refused("decisions", "--withdraw", "db", code=4)
    assert "no decision on 'db'" in error["message"]
    assert conversation.run("decisions", conversation.id, "--json")["decisions"][0]["state"] == "withdrawn"


def test_undo_bisect_and_blame_show_the_document_of_a_typed_message(conversation):
    """A stranger read `(no text)` in the preview of an undo."""
    conversation.append("main", "first")
    words = ("--kind", "decision", "--data", '{"topic": "store", "decision": "SQLite"}')
    conversation.append("main", *words, author="planner")
    subject = "decision: SQLite · topic: store"
    assert subject in conversation.run("why", conversation.id, "--topic", "store")
    assert subject in conversation.run(
        "conv",
        "bisect",
        conversation.id,
        "--good",
        f"{conversation.id}~1",
        "--input",
        "message",
        "--",
        "sh",
        "-c",
        "! grep -q SQLite",
    )
    by = f"append to {conversation.id}/main by planner: '{subject}' (1 message)"
    assert f"would undo: {by}" in conversation.run("undo", "--dry-run", "--as", "planner")
    assert f"undone: {by}" in conversation.run("undo", "--as", "planner")
    assert f"undo {by}" in conversation.run("conv", "operations", "-a")
    assert f"redone: {by}" in conversation.run("redo", "--as", "planner")


def test_the_json_of_a_decision_has_the_recorded_text_and_the_line_that_people_see(conversation):
    """A text that nobody wrote would be stored as a recorded one when the message is appended elsewhere."""
    conversation.run("append", conversation.id, "--kind", "decision", "--topic", "db", "SQLite", "--json")
    for words in (("log", conversation.id, "-n", "1"), ("cat", "@")):
        shown = conversation.run(*words, "--json")
        assert (shown["text"], shown["subject"]) == ("", "decision: SQLite · topic: db")
        assert shown["decision"] == {"decision": "SQLite", "topic": "db"}


def test_a_message_with_a_text_has_no_line_of_its_document_in_json(conversation):
    conversation.append("main", "--kind", "decision", "--data", '{"topic": "db", "decision": "pg"}', "we agreed")
    shown = conversation.run("log", conversation.id, "-n", "1", "--json")
    assert (shown["text"], "subject" in shown) == ("we agreed", False)
    conversation.append("main", "hello")
    shown = conversation.run("log", conversation.id, "-n", "1", "--json")
    assert (shown["text"], "subject" in shown) == ("hello", False)
