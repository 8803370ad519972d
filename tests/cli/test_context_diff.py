"""`scopes context --diff`: words, output and exit codes."""

from __future__ import annotations

import pytest


@pytest.fixture
def forked(conversation):
    """A conversation with one more message on each of two branches."""
    conversation.append("main", "on main")
    conversation.append("fix", "on fix")
    return conversation


@pytest.mark.parametrize(
    "words", [("conv-001", "main", "fix"), ("conv-001", "main..fix"), ("main", "fix"), ("conv-001/main", "fix")]
)
def test_two_contexts_are_compared_like_files(forked, words):
    done = forked.run_main("context", "--diff", *words)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert [line[:4] for line in lines[:2]] == ["--- ", "+++ "]
    assert lines[2:] == ["@@ message -2 carol @@", "-on main", "@@ message +2 carol @@", "+on fix"]


def test_json_has_turns_and_tokens(forked):
    document = forked.run("context", "--diff", "conv-001", "main..fix", "--json", code=1)
    assert (document["kind"], document["equal"]) == ("context-diff", False)
    assert [turn["text"] for turn in document["removed"]] == ["on main"]
    assert [turn["text"] for turn in document["added"]] == ["on fix"]
    assert document["left"]["tokens_used"] > 0


def test_equal_contexts_print_nothing(forked):
    done = forked.run_main("context", "--diff", "conv-001", "main..main")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--diff", "conv-001", "main..fix", "--explain"), "--diff cannot be combined"),
        (("conv-001", "main", "fix"), "too many arguments: main"),
        (("--diff", "conv-001", "main..fix", "fix"), "too many arguments: fix"),
    ],
)
def test_words_that_do_not_fit_are_refused(forked, words, text):
    assert text in forked.run_refused("context", *words, code=2)["message"]
