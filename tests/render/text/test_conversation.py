from __future__ import annotations

from dataclasses import replace

import pytest

from tests.render.rendering import piped, seen_lines
from tests.render.results import SAMPLES

LIFECYCLE = SAMPLES["conversation"]


def test_a_new_conversation_is_its_id_in_a_pipe():
    """A script writes: id=$(scopes new)."""
    assert piped(LIFECYCLE["new"]) == "conv-001\n"


def test_a_new_conversation_prints_its_title():
    assert seen_lines(LIFECYCLE["new"]) == ["created conv-001: Login fails", "undo with: scopes undo"]
    assert seen_lines(LIFECYCLE["new-without-title"])[0] == "created conv-001"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("title", "conv-001: Login fails"),
        ("title-removed", "conv-001 has no title now"),
        ("conversation-renamed", "renamed conv-001 to login-bug"),
        ("branch-renamed", "renamed conv-001/fix to fix-2"),
        ("deleted", "deleted conv-001 with 3 branches"),
        ("branch-deleted", "deleted conv-001/fix (it was at 99f707ef)"),
    ],
)
def test_each_change_prints_what_happened_and_how_to_undo_it(name, sentence):
    assert seen_lines(LIFECYCLE[name]) == [sentence, "undo with: scopes undo"]
    assert seen_lines(LIFECYCLE[name], hints=False) == [sentence]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("title", "conv-001"),
        ("title-removed", "conv-001"),
        ("conversation-renamed", "login-bug"),
        ("branch-renamed", "fix-2"),
        ("deleted", "conv-001"),
        ("branch-deleted", "fix"),
    ],
)
def test_in_a_pipe_each_change_is_the_name_of_what_it_changed(name, word):
    assert piped(LIFECYCLE[name]) == f"{word}\n"


def test_an_unchanged_title_has_no_undo_hint():
    assert seen_lines(LIFECYCLE["title-as-before"]) == ["conv-001: Login (as before)"]


def test_one_branch_is_singular():
    assert seen_lines(replace(LIFECYCLE["deleted"], branches=1))[0] == "deleted conv-001 with 1 branch"


def test_a_hostile_title_cannot_write_a_second_line():
    hostile = replace(LIFECYCLE["new"], title="x\nundo with: rm -rf")
    assert seen_lines(hostile)[0] == "created conv-001: x undo with: rm -rf"
