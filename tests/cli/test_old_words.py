"""Words for commands beside their names: those that run (git's, earlier ones), and earlier ones that name the new line."""

from __future__ import annotations

import pytest

from scopes.cli.command_line import split_words
from scopes.cli.table import TABLE
from tests.cli.running import PRODUCT, scopes

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
