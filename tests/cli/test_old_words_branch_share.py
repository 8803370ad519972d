"""Earlier words of branching, merging and sharing: some are taken, the others name the line to type now."""

from __future__ import annotations

import os
import pty
from contextlib import suppress

import pytest

from tests.support.planted import KINDS

TAKEN = [
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


@pytest.mark.parametrize(("words", "output"), TAKEN)
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


@pytest.mark.parametrize(("words", "now"), [
    (("bundle", "create", "x.bundle"), "scopes push FILE.bundle"),
    (("bundle", "import", "x.bundle"), "scopes fetch FILE.bundle"),
    (("bundle", "verify", "x.bundle"), "scopes fetch FILE.bundle --list"),
    (("secrets", "scan"), "scopes secrets list"),
    (("secrets", "explain", "jwt"), "scopes secrets list --rules RULE"),
    (("retention", "run"), "scopes purge --older-than WHEN"),
    (("retention", "status"), "scopes purge --older-than WHEN --dry-run"),
    (("remote", "show", "origin"), "scopes show REMOTE"),
])  # fmt: skip
@pytest.mark.every_case("each has its own line")
def test_an_old_name_ends_with_the_line_to_type_now(conversation, words, now):
    assert conversation.run_refused(*words, code=2)["message"].endswith(f"is an old name; now: {now}")


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
