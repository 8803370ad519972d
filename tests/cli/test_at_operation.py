"""`--at`: every command that reads shows the store as it was after an operation."""

from __future__ import annotations

import os

import pytest

from scopes.cli.completion import complete
from scopes.cli.table import TABLE
from tests.support.store import files_of


@pytest.fixture
def changed(conversation):
    """A conversation with an operation, after which a message was appended and a tag was made."""
    conversation.run("tag", "conv-001", "v1")
    conversation.operation = conversation.run("operations", "-a", "--json")["operations"][0]["id"]
    conversation.append("main", "a later parser error")
    conversation.run("tag", "conv-001", "v2")
    conversation.run("new", "another")
    return conversation


@pytest.mark.parametrize("name", ["ID", "@{2}"])
def test_messages_tags_and_conversations_of_that_time_are_shown(changed, name):
    operation = changed.operation if name == "ID" else name
    log = changed.run("log", "conv-001/main", "--at", operation, "--oneline")
    assert ("later" in log, "How shall we do it?" in log) == (False, True)
    assert [line.split("\t")[0] for line in changed.run("list", f"--at={operation}").splitlines()] == ["conv-001"]
    assert changed.run("--at", operation, "tag", "conv-001").startswith("v1\t")
    assert "v2" not in changed.run("--at", operation, "tag", "conv-001")


def test_a_search_uses_an_index_of_its_own(changed):
    assert changed.run("search", "parser", "--count").strip() == "1"
    before = files_of(os.path.expanduser("~"))
    done = changed.run_main("search", "parser", "--at", changed.operation)
    assert (done.returncode, done.stdout) == (1, "")
    assert files_of(os.path.expanduser("~")) == before
    assert changed.run("search", "parser", "--count").strip() == "1"


def test_the_list_of_that_time_does_not_become_the_list_of_now(changed):
    now = changed.run("list")
    for _ in range(2):
        assert len(changed.run("list", "--at", changed.operation).splitlines()) == 1
        assert changed.run("list") == now


def test_before_the_first_operation_a_note_says_that_nothing_was_there(changed):
    """`list --at '2 hours ago'` printed nothing, and on a terminal `create one`."""
    done = changed.run_main("list", "--at", "100 years ago")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("note: nothing was in the store then: its first operation is from 20")
    assert "note:" not in changed.run_main("list", "--at", "now").stderr


@pytest.mark.parametrize(
    "words",
    [("append", "conv-001", "x"), ("undo",), ("merge", "fix"), ("gc",), ("config", "user.name"), ("verify",)],
)
def test_a_command_that_does_not_only_read_refuses_the_option(changed, words):
    error = changed.run_refused(*words, "--at", "@", code=2)
    assert "--at cannot be combined with" in error["message"]


def test_the_writing_forms_of_reading_commands_are_refused(changed):
    assert "can only be read" in changed.run_refused("tag", "conv-001", "v3", "--at", "@", code=1)["message"]
    assert "can only be read" in changed.run_refused("branch", "conv-001", "x", "--at", "@", code=1)["message"]


def test_an_unknown_operation_is_not_found(changed):
    for words in ("log", "conv-001"), ("list",):
        assert "no operation 'zzzz'" in changed.run_refused(*words, "--at", "zzzz", code=4)["message"]


def test_completion_offers_it_where_it_is_accepted():
    for words, expected in (("log",), True), (("append",), False):
        found, _ = complete(TABLE, [*words, "--at"], {})
        assert ("--at" in [name for name, _ in found]) is expected


def test_the_commands_that_accept_it_are_in_the_table():
    accepting = {" ".join(path) for path, command in TABLE.commands.items() if command.reads_past}
    assert {"log", "conflicts list", "memory list", "tokens"} <= accepting
    assert not accepting & {"append", "merge", "gc", "init", "import"}
