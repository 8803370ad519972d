"""Words for commands beside their names: those that run (git's, earlier ones), and earlier ones that name the new line."""

from __future__ import annotations

import os
import pty
from contextlib import suppress

import pytest

from scopes.cli.command_line import expand_words, split_words
from scopes.cli.table import TABLE
from tests.cli.running import PRODUCT, scopes
from tests.support.planted import KINDS

TAKEN = {
    "ai conversations list": "list",
    "conv list": "list",
    "events": "changes",
    "view": "cat",
}


@pytest.mark.parametrize("words", TAKEN)
def test_the_word_runs_the_command(words):
    line = split_words(TABLE, words.split())
    assert " ".join((*line.path, *line.leading, *line.rest)) == TAKEN[words]


def test_every_taken_word_begins_with_a_command_or_a_group_or_an_option():
    first = {path[0] for path in (*TABLE.commands, *TABLE.groups)}
    assert [now for now in TABLE.taken.values() if now[0] not in first and not now[0].startswith("-")] == []


def test_version_is_the_option_of_that_name():
    assert scopes("version", table=PRODUCT).stdout == scopes("--version", table=PRODUCT).stdout


@pytest.mark.parametrize("old", [" ".join(old) for old in TABLE.renamed])
def test_an_earlier_word_ends_with_the_line_to_type_now(old):
    done = scopes(*old.split(), table=PRODUCT)
    assert done.returncode == 2
    assert f"now: scopes {TABLE.renamed[(*old.split(),)]}" in done.stderr


@pytest.mark.parametrize(
    ("old", "command", "rest"),
    [
        ("acp stats --json", "acp", ["--log", "--json"]),
        ("agents update bot --away", "agents register", ["--existing", "bot", "--away"]),
        ("budget --model gpt-4o", "tokens", ["--budget", "--model", "gpt-4o"]),
        ("collaborate @ --type handoff", "collaborate open", ["@", "--type", "handoff"]),
        ("collaborate --type handoff", "collaborate open", ["--type", "handoff"]),
        ("collaborate join @", "collaborate argue", ["@"]),
        ("collaborate status -a", "collaborate list", ["-a"]),
        ("facts eligible @", "facts run", ["--dry-run", "@"]),
        ("facts promote @ n20", "facts accept", ["@", "n20"]),
        ("memory search cookie", "memory list", ["cookie"]),
        ("memory stats", "memory list", ["--stat"]),
        ("proposals modify 7d2e --set a=b", "proposals accept", ["7d2e", "--set", "a=b"]),
    ],
)
def test_a_word_that_is_taken_runs(old, command, rest):
    line = expand_words(TABLE, old.split())[1]
    assert (" ".join(line.command.path), line.rest) == (command, rest)


SAME = {
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


@pytest.fixture
def talk(conversation):
    conversation.append_typed("main", "decision", {"topic": "db", "decision": "SQLite"}, "carol")
    return conversation


@pytest.mark.parametrize("words", [each for each in SAME if each != "history"])
def test_a_word_of_git_or_of_an_earlier_version_runs(talk, words):
    old, new = (talk.run_main(*line.split()) for line in (words, SAME[words]))
    assert (old.returncode, old.stdout) == (new.returncode, new.stdout)


def test_the_history_before_a_prompt_is_a_context(talk):
    assert talk.run("history").startswith("<conversation_history>")


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


DONE = [
    (("abandon", "conv-001", "fix"), "fix"),
    (("delete-branch", "conv-001", "fix"), "fix"),
    (("branch", "-d", "fix"), "fix"),
    (("branch", "-D", "fix"), "fix"),
    (("branch", "-m", "fix", "repair"), "repair"),
    (("branch", "-M", "conv-001", "fix", "repair"), "repair"),
    (("branch", "-f", "fix", "main~1"), "fix"),
    (("branch", "conv-001", "--name", "other"), "other"),
    (("checkout", "-b", "new"), "new"),
    (("checkout", "fix"), "fix"),
    (("switch", "-c", "new", "main~1"), "new"),
    (("mr", "create", "fix"), "1"),
    (("mr", "open", "conv-001", "--source", "fix", "--title", "x"), "1"),
    (("merge", "fix", "--no-edit"), "main"),
    (("tag", "conv-001", "good", "HEAD~1"), "good"),
]


@pytest.mark.parametrize(("words", "output"), DONE)
@pytest.mark.every_case("each is a word of its own")
def test_a_word_of_git_or_of_before_is_done(conversation, words, output):
    conversation.append("main", "more")
    if words[0] in {"mr", "merge-requests"}:
        conversation.append("fix", "mended")
    assert conversation.run(*words).split()[0] == output


def test_the_other_words_for_a_request_and_the_operations(conversation):
    conversation.append("fix", "mended")
    conversation.run("mr", "open", "fix", "-m", "Mend it\n\nfor good")
    assert conversation.run("mr", "view", "1") == conversation.run("mr", "show", "mr/1")
    assert conversation.run("mr", "ls") == conversation.run("merge-requests") == conversation.run("mr", "list")
    assert conversation.run("mr", "show", "1", "--json")["title"] == "Mend it"
    for words in (("op",), ("operations", "-a"), ("operations", "log"), ("op", "list")):
        assert conversation.run(*words) == conversation.run("operations")
    assert conversation.run("op", "show", "@") == conversation.run("operations", "@")
    assert conversation.run("mr", "merge", "1") == "main\n"


def test_a_dash_is_the_branch_that_was_active_before(conversation):
    conversation.run("switch", "fix")
    assert conversation.run("switch", "-") == "main\n"
    assert conversation.run("checkout", "-") == "fix\n"


def test_all_open_conflicts_are_decided_in_one_step(conversation):
    for topic in ("db", "api"):
        conversation.append_on_both(
            "decision", *({"topic": topic, "decision": f"{topic} {side}"} for side in ("ours", "theirs"))
        )
    conversation.run("merge", "fix", code=3)
    conversation.run("conflicts", "resolve", "-a", "--take", "target", "--continue")
    assert conversation.list_conflicts() == []
    conversation.run("undo")
    assert len(conversation.list_conflicts()) == 2


def test_on_a_terminal_conflicts_are_decided_one_by_one(conversation):
    for topic in ("db", "api"):
        conversation.append_on_both("decision", *({"topic": topic, "decision": side} for side in ("ours", "theirs")))
    conversation.run("merge", "fix", code=3)
    screen, terminal = pty.openpty()
    os.write(screen, b"t\ns\n")
    words = ("--no-pager", "--as", "carol", "conflicts", "resolve")
    done = conversation.run_process(*words, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the end
        while data := os.read(screen, 1 << 16):
            shown += data
    os.close(screen)
    assert done.returncode == 0
    assert b"1 of 2: t target, s source, e edit, l later, q quit: " in shown
    assert b"2 decided, 0 left" in shown
    assert conversation.list_conflicts() == []


def test_a_conflict_is_decided_as_a_person_over_a_debate(conversation):
    conversation.append_on_both("decision", *({"topic": "db", "decision": side} for side in ("ours", "theirs")))
    conversation.run("merge", "fix", code=3)
    conversation.run("conflicts", "argue", "1", "ours", "--reason", "it is fast", "--confidence", "85%")
    (conflict,) = conversation.list_conflicts()
    assert conflict["status"] == "debate"
    refused = conversation.run_refused("conflicts", "intervene", "1", "--take", "source", code=2)
    assert refused["message"] == "an intervention needs a reason"
    conversation.run("conflicts", "resolve", "1", "--override", "--take", "source", "--reason", "the law")
    assert conversation.list_conflicts() == []


def test_a_tag_is_moved_with_force_and_its_name_is_no_message(conversation):
    first = conversation.append("main", "one")
    second = conversation.append("main", "two")
    conversation.run("tag", "good", first)
    conversation.run_refused("tag", "good", second, code=1)
    assert conversation.run("tag", "-f", "good", second) == "good\n"
    assert conversation.run("tag", second[:8], "better") == "better\n"  # as git has it the other way
    assert "a message has this id" in conversation.run_refused("tag", second[:8], code=2)["message"]


def test_several_conversations_are_deleted_or_none(conversation):
    other = conversation.run("new", "--json")["id"]
    conversation.run_refused("delete", other, "conv-999", code=4)
    assert f"{conversation.id}/main" in conversation.run("delete", other, conversation.id, "--dry-run")
    assert conversation.run("delete", other, conversation.id).split() == [other, conversation.id]
    assert conversation.run("list") == ""


def test_what_has_a_secret_is_purged_by_its_id(conversation):
    conversation.append("main", f"use {KINDS[1][1]}")
    secrets = conversation.run("secrets", "--json", code=1)["secrets"]
    plan = conversation.run("purge", "--secret", secrets[0]["id"], "--dry-run", "--json")
    assert [row["conversation"] for row in plan["messages"]] == [conversation.id]
    conversation.run("purge", "--secret", secrets[0]["id"], "--yes")
    assert conversation.run("secrets") == ""
