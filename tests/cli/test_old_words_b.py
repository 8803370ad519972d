"""Earlier words for what is found, read, brought in and written: they run as, or name, what they became."""

from __future__ import annotations

import pytest

TAKEN = {
    "files": "show --files",
    "stats": "show --stat",
    "blame --topic db": "why --topic db",
    "range-diff main fix": "diff --range main fix",
    "bisect run -- true": "bisect -- true",
    "history": "context --for-prompt --mode x",
    "checkout fix": "switch fix",
    "watch --dry-run": "import --watch --dry-run",
    "view main": "cat main",
    "events": "changes",
}
RENAMED = {
    "reproject": "import --again",
    "compact": "summarize --compact",
    "uncompact": "retract ID",
    "decisions accept": "decisions --accept ID",
    "decisions dismiss": "decisions --dismiss ID",
    "decisions withdraw": "decisions --withdraw TOPIC",
    "memory show": "show ENTRY",
    "remote show": "show REMOTE",
}


@pytest.fixture
def talk(conversation):
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "SQLite"}, "carol")
    return conversation


@pytest.mark.parametrize("words", [each for each in TAKEN if each != "history"])
def test_a_word_of_git_or_of_an_earlier_version_runs(talk, words):
    old, new = (talk.run_main(*line.split()) for line in (words, TAKEN[words]))
    assert (old.returncode, old.stdout) == (new.returncode, new.stdout)


def test_the_history_before_a_prompt_is_a_context(talk):
    assert talk.run("history").startswith("<conversation_history>")


@pytest.mark.parametrize("words", RENAMED)
def test_any_other_earlier_word_names_the_line_to_type(talk, words):
    error = talk.run_refused(*words.split(), "x", code=2)
    assert error["message"] == f"{words!r} is an old name; now: scopes {RENAMED[words]}"


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ("log conv-001 -b fix", "log conv-001/fix"),
        ("log --branch=fix -n 1", "log @/fix -n 1"),
        ("log conv-001 main fix", "log conv-001/main..fix"),
        ("log main fix", "log main..fix"),
        ("show conv-001 -b main --json", "show conv-001/main --json"),
        ("decisions -b main", "decisions @/main"),
    ],
)
def test_a_place_may_be_written_in_several_ways(talk, words, same):
    talk.append("fix", "on the fix")
    assert talk.run(*words.split()) == talk.run(*same.split())


def test_show_takes_whatever_has_a_name(talk):
    talk.run("tag", talk.id, "good", "main~1")
    call = {"type": "tool_call", "call_id": "toolu_01ARVFKW", "name": "Bash", "input": {"command": "make"}}
    talk.append("main", "--kind", "answer", "--data", __import__("json").dumps({"parts": [call]}))
    entry = talk.run("memory", "add", "tests need Postgres").strip()
    operation = talk.run("operations", "list", "--json")["operations"][0]["id"]
    assert "How shall we do it?" in talk.run("show", "good")
    assert "How shall we do it?" in talk.run("show", talk.first)
    assert "make" in talk.run("show", "toolu_01AR")
    assert talk.run("cat", "toolu_01ARVFKW", "--json")["message_kind"] == "answer"
    assert "tests need Postgres" in talk.run("show", entry)
    assert talk.run("show", operation, "--json")["kind"] == "operation"
    assert talk.run_refused("show", "nothing-at-all", code=4)["message"] == "there is no conversation 'nothing-at-all'"


def test_two_conversations_are_compared_as_runs(talk):
    other = talk.run("new", "--json")["id"]
    talk.run("append", other, "How shall we do it?", "--as", "carol")
    assert talk.run("diff", talk.id, other, "--json")["kind"] == "run-comparison"
    assert talk.run("diff", talk.id, other, "--steps", "--json", code=1)["kind"] == "diff"
    assert talk.run_refused("diff", talk.id, other, "--match", "nearly", code=2)["kind"] == "invalid"
