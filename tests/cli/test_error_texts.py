"""Errors of everyday mistakes name the mistake, and their hints help (D13)."""

from __future__ import annotations

import pytest

from scopes.cli.suggestion import nearest
from tests.cli.conversation import Conversation


@pytest.fixture
def conversation(tmp_path):
    made = Conversation(tmp_path)
    made.run_main("append", made.id, "hello parser", "--data", '{"files": [{"op": "edit", "path": "src/app.py"}]}')
    made.run_main("branch", made.id, "fix")
    return made


@pytest.fixture
def error(conversation):
    """Run a command that fails, and return its exit code and the lines of its error."""

    def error(*words):
        done = conversation.run_main(*words)
        assert done.stdout == ""
        return done.returncode, *done.stderr.splitlines()

    return error


@pytest.mark.parametrize("words", [("new", ""), ("new", " ")])
def test_an_empty_title_is_named(error, words):
    assert error(*words)[:2] == (2, "error: the title is empty")


def test_a_title_can_be_an_argument(conversation):
    conversation.run_main("new", "Login fails")
    assert "Login fails" in conversation.run_main("list").stdout


def test_too_many_arguments_are_named(error):
    assert error("new", "a", "b")[:2] == (2, "error: too many arguments: b")


@pytest.mark.parametrize("words", [("cat", "up"), ("cat", "conv-001/up")])
def test_a_prefix_that_is_too_short_differs_from_an_unknown_name(error, words):
    code, _, hint = error(*words)
    assert code == 4
    assert "the prefix of a message id has at least 4 characters" in hint


@pytest.mark.parametrize("words", [("log", "conv-001/nope"), ("cat", "conv-001/nope"), ("merge", "conv-001", "nope")])
def test_a_missing_branch_is_not_only_called_a_message(error, words):
    assert error(*words) == (4, "error: there is no branch or message 'nope'", "hint: branches of conv-001: fix, main")


def test_no_hints_removes_the_hints_of_errors(error):
    assert error("--quiet", "cat", "conv-001/nope") == (4, "error: there is no branch or message 'nope'")
    assert error("log", "--jsn", "--quiet") == (2, "error: no such option: --jsn")


@pytest.mark.parametrize(("word", "names"), [("--since", ["--json"]), ("--grep", ["--help", "--yes"]), ("-x", ["-q"])])
def test_an_option_is_suggested_only_if_it_is_near(word, names):
    assert nearest(word, names) == []


@pytest.mark.parametrize("name", ["bad name/..", "carol,", " carol", "a<b"])
def test_an_author_that_a_commit_would_store_differently_is_refused(error, name):
    code, message, _ = error("append", "conv-001", "hi", "--as", name)
    assert (code, message) == (2, f"error: {name!a} is not a valid author name")


def test_an_unquoted_query_of_several_words_needs_all_of_them(conversation):
    assert "hello parser" in conversation.run_main("search", "parser", "hello").stdout
    assert conversation.run_main("search", "parser", "missing").returncode == 1


def test_a_conversation_among_the_words_of_a_search_is_a_word_and_named(conversation):
    conversation.run_main("append", conversation.run("new", "--json")["id"], "hello parser")
    done = conversation.run_main("search", "hello", "conv-001")
    assert (done.returncode, done.stdout) == (1, "")
    assert "conv-001 is a conversation: searched as a word\nhint: search only there: --in conv-001\n" in done.stderr
    inside = conversation.run_main("search", "hello", "--in", "conv-001", "--format", "{conversation}")
    assert inside.stdout == "conv-001\n"


def test_an_extra_word_of_log_is_refused_unless_it_is_a_path_after_the_separator(conversation, error):
    assert error("log", "conv-001", "src/app.py") == (
        4,
        "error: there is no branch or message 'src/app.py' in conv-001",
        "hint: for a path: scopes log conv-001 -- src/app.py",
    )
    assert conversation.run_main("log", "conv-001", "--", "src/app.py").stdout.count("\n") == 1
    other = conversation.run_main("log", "conv-001", "--", "extra")
    assert (other.returncode, "no message touched 'extra'" in other.stderr) == (0, True)


def test_a_branch_that_is_given_twice_is_refused(conversation, error):
    assert error("append", "conv-001/main", "-b", "fix", "hi")[:2] == (
        2, "error: the branch is given twice: 'main' and 'fix'",
    )  # fmt: skip
    assert conversation.run_main("append", "conv-001/fix", "-b", "fix", "hi").returncode == 0
