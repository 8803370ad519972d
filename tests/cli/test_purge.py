"""`scopes purge`, and `redact` on the command line: what they ask, print and refuse."""

from __future__ import annotations

import pytest

from scopes.cli.commands import purge as purge_commands
from scopes.purge.purge import PurgedMessage, PurgePlanned
from tests.support.every_byte import find_word
from tests.support.planted import KINDS
from tests.support.remotes import make_bare

WORD = "Xylophone-Quarantine-4711"


@pytest.fixture
def planted(conversation, monkeypatch, tmp_path):
    """A conversation with the word, which the search index has, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    conversation.name = conversation.run("conv", "new", "--json")["id"]
    text = f"the password is {WORD}"
    conversation.message = conversation.run("append", conversation.name, "--as", "carol", text, "--json")["id"]
    conversation.run("append", conversation.name, "--as", "carol", "later", "--json")
    conversation.run("search", WORD, "--json")
    return conversation


def test_a_script_needs_yes_and_then_nothing_is_left(planted, tmp_path):
    words = ("purge", planted.name, planted.message)
    error = planted.run_refused(*words, code=1)
    assert "cannot be undone" in error["message"]
    assert "--yes" in error["hint"]
    done = planted.run(*words, "--yes", "--json")
    assert (done["messages"], done["left"]) == (1, [])
    assert find_word(WORD, tmp_path) == []


@pytest.mark.parametrize("words", [["main"], ["--search", WORD]])
def test_what_arrives_while_the_question_waits_is_not_purged(planted, monkeypatch, tmp_path, words):
    """`main` and a search mean something else then."""
    planned = purge_commands.plan_purge
    planted.run("append", planted.name, "--as", "carol", f"the newest has {WORD}, too", "--json")

    def plan_and_append(*arguments):
        plan = planned(*arguments)
        planted.run("append", planted.name, "--as", "carol", f"of now, with {WORD}", "--json")
        return plan

    monkeypatch.setattr(purge_commands, "plan_purge", plan_and_append)
    done = planted.run("purge", planted.name, *words, "--yes", "--json")
    assert done["messages"] == len(words)
    assert find_word(f"of now, with {WORD}", tmp_path)
    assert find_word(f"the newest has {WORD}", tmp_path) == []


def test_a_message_of_a_deleted_conversation_has_a_row_too(planted):
    planted.run("delete", planted.name, "--yes", "--json")
    plan = planted.run("purge", "--search", WORD, "--dry-run", "--json")
    assert [row["message"] for row in plan["messages"]] == [planted.message]


def test_the_question_names_the_only_message(planted):
    plan = PurgePlanned(
        messages=(PurgedMessage("conv-001", "3f2a91c07b1d", "the password"),), conversations=(), commits=1, operations=0,
        remotes=(),
    )  # fmt: skip
    question = purge_commands.question_of(plan)
    assert question == "remove 1 message (3f2a91c0 of conv-001: the password) for good? This cannot be undone."


@pytest.mark.parametrize("nothing", [(), ("",)], ids=["$(nothing)", "a quoted one"])
@pytest.mark.every_case("a shell leaves an empty word out, or gives it")
def test_a_list_of_messages_that_came_out_empty_takes_no_conversation(planted, nothing):
    before = planted.run("list", "--json")
    for yes in (("--yes",), ()):
        planted.run("purge", planted.name, *nothing, *yes, "--json", code=2)
    assert planted.run("list", "--json") == before


def test_a_whole_conversation_goes_when_a_script_says_so(planted, tmp_path):
    error = planted.run_refused("purge", planted.name, "--yes", code=2)
    assert error["message"] == f"no message of {planted.name} is named"
    assert f"scopes purge {planted.name} --whole --yes" in error["hint"]
    plan = planted.run("purge", planted.name, "--dry-run", "--json")
    assert plan["conversations"] == [planted.name]
    assert "--yes" in planted.run_refused("purge", planted.name, "--whole", code=1)["hint"]
    assert planted.run("purge", planted.name, "--whole", "--yes", "--json")["conversations"] == 1
    assert find_word(WORD, tmp_path) == []


@pytest.mark.parametrize("option", ["--search", "--file"])
@pytest.mark.every_case("each looks for what it is given in its own way")
def test_an_empty_search_finds_no_message(planted, option):
    before = planted.run("log", planted.name, "--json")
    planted.run_refused("purge", option, "", "--yes", code=2)
    assert planted.run("log", planted.name, "--json") == before


def test_a_pipe_gets_counts_and_a_note_says_what_they_are(planted):
    done = planted.run_main("purge", planted.name, planted.message, "--yes")
    assert (done.returncode, done.stdout) == (0, "1\t0\t0\n")
    assert "purged 1 message for good; " in done.stderr
    assert " were searched: nothing is left" in done.stderr


def test_lines_that_many_messages_have_are_noted_by_a_dry_run_and_if_asked(planted):
    line = "Whenever you read a file, consider whether it does harm."
    leaked = planted.run("append", planted.name, "--as", "carol", f"the own text of it all\n{line}", "--json")["id"]
    for _ in range(3):
        name = planted.run("conv", "new", "--json")["id"]
        for number in range(4):
            planted.run("append", name, "--as", "carol", f"file {number}\n{line}")
    text = "12 other messages have only lines of it that many messages have"
    assert text in planted.run_main("purge", planted.name, leaked, "--dry-run").stderr
    assert text not in planted.run_main("purge", planted.name, leaked, "--yes").stderr
    again = planted.run("append", planted.name, "--as", "carol", f"another text of its own\n{line}", "--json")["id"]
    assert text in planted.run_main("purge", planted.name, again, "--yes", "--verbose").stderr


def test_a_dry_run_asks_nothing_and_changes_nothing(planted, tmp_path):
    plan = planted.run("purge", planted.name, planted.message, "--dry-run", "--json")
    assert [row["message"] for row in plan["messages"]] == [planted.message]
    assert planted.run("search", WORD, "--json")[0]["kind"] == "search-hit"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("conv-001", "x", "--accept"),
        ("--accept", "--decline"),
        ("--offers", "--continue"),
        ("--from", "origin"),
        ("conv-001", "--source", "a.jsonl"),
        ("--source", "a.jsonl", "--search", "b"),
        ("--source", "a.jsonl", "--accept"),
        ("--offers", "--from", "origin"),
        ("--decline", "--dry-run"),
        ("--file", "a.py", "--decline"),
        ("--accept", "--continue"),
        ("conv-001", "x", "--file", "a.py"),
        ("--file", "a.py", "--search", "b"),
        ("conv-001", "--continue"),
        ("--whole",),
        ("--whole", "--file", "a.py"),
        ("conv-001", "x", "--whole"),
        ("conv-001", "--whole", "--accept"),
    ],
)
def test_one_thing_is_purged_at_a_time(planted, words):
    planted.run("purge", *words, "--yes", "--json", code=2)


def test_offers_are_listed_accepted_and_declined(planted):
    assert planted.run("purge", "--offers", "--json")["offers"] == []
    for word in ("--accept", "--decline"):
        error = planted.run_refused("purge", word, code=4)
        assert "purged elsewhere" in error["message"]
        assert "scopes purge --offers" in error["hint"]
    assert "no remote and no machine" in planted.run_refused("purge", "--decline", "--from", "bob", code=4)["message"]


def test_a_purge_that_was_not_interrupted_cannot_be_continued(planted):
    assert "no purge was interrupted" in planted.run_refused("purge", "--continue", code=4)["message"]


def test_a_redacted_copy_is_made_and_listed(planted):
    planted.run("append", planted.name, "--as", "carol", f"token {KINDS[1][1]}", "--json")
    done = planted.run("redact", planted.name, "--id", "shared", "--json")
    assert (done["conversation"], done["secrets"]) == ("shared", 1)
    assert {row["id"] for row in planted.run("list", "--json")["conversations"]} == {planted.id, planted.name, "shared"}


def test_what_is_older_is_listed_first_and_removed_only_on_command(planted, tmp_path):
    assert planted.run("purge", "--older-than", "2 years", "--dry-run", "--json")["conversations"] == []
    old = '{"author": {"name": "carol", "kind": "human"}, "text": "old", "time": "2019-01-01T00:00:00Z"}\n'
    name = planted.run("conv", "new", "--json")["id"]
    planted.run("append", name, "--jsonl", "-", "--json", given=old)
    assert planted.run("purge", "--older-than", "2 years", "--dry-run", "--json")["conversations"] == [name]
    planted.run_refused("purge", "--older-than", "2 years", code=1)
    assert planted.run("purge", "--older-than", "2 years", "--yes", "--json")["conversations"] == 1
    done = planted.run("purge", "--older-than", "2 years", "--yes", "--json")  # as cron runs it, each day
    assert [note["text"] for note in done["notes"]] == ["no conversation is older than that"]


def test_the_titles_that_go_with_what_is_older_are_named_before_anything_does(planted):
    words = "Login before Friday comes before everything else"
    old = f'{{"author": {{"name": "carol", "kind": "human"}}, "text": "{words}", "time": "2019-01-01T00:00:00Z"}}\n'
    name = planted.run("conv", "new", "--json")["id"]
    planted.run("append", name, "--jsonl", "-", "--json", given=old)
    planted.run("rename", planted.name, "--title", f"Note: {words}", "--json")
    texts = [note["text"] for note in planted.run("purge", "--older-than", "2 years", "--dry-run", "--json")["notes"]]
    assert texts == [f"the title of {planted.name} quotes it, and goes"]
    done = planted.run("purge", "--older-than", "2 years", "--yes", "--json")
    assert texts[0] in [note["text"] for note in done["notes"]]


def test_a_dry_run_names_the_copies_and_remotes_that_the_run_names(planted, tmp_path):
    bare = make_bare(tmp_path / "bare.git")
    planted.run("append", planted.id, "--as", "carol", f"I read that the password is {WORD}", "--json")
    planted.run("remote", "add", "origin", bare, "--json")
    planted.run("push", "--all", "--json")
    words = ("purge", planted.name, planted.message)
    plan = planted.run(*words, "--dry-run", "--json")
    done = planted.run(*words, "--yes", "--json")
    assert len(done["copies"]) == 1
    assert plan["copies"] == done["copies"]
    for word in ("other message has the same text", f"the remote origin ({bare}) has"):
        assert [word in note["text"] for note in plan["notes"]].count(True) == 1
        assert [word in note["text"] for note in done["notes"]].count(True) == 1
