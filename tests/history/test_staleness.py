"""Detecting stale summaries from message headers alone."""

from __future__ import annotations

import pytest

from scopes.history.activity import SUMMARY, count_since, is_news
from scopes.history.messages import MessageHeader, header_of
from scopes.store.objects import read_commit
from tests.support.history import history, say

HEAD = MessageHeader("a", "0" * 40, (), "carol", "human", "plain", 0, "Said.", ())


@pytest.mark.parametrize(
    ("change", "news"),
    [
        ({}, True), ({"kind": "decision"}, True), ({"kind": "merge"}, True), ({"author_kind": "agent"}, True),
        ({"kind": "summary"}, False), ({"kind": "compaction"}, False), ({"kind": "tool-results"}, False),
        ({"author_kind": "injected"}, False), ({"subject": "(no text)"}, False), ({"kind": "interrupt"}, False),
    ],
)  # fmt: skip
def test_only_new_contributions_make_a_summary_stale(change, news):
    """S4-47."""
    assert is_news(HEAD._replace(**change)) is news


def test_the_first_branch_that_has_the_summary_counts(repository):
    """S4-47."""
    drawn = history(repository, "main: a", "fix@a: b c")
    made = say(repository, f"{drawn.conversation}/fix", "In short.", kind=SUMMARY)
    say(repository, f"{drawn.conversation}/fix", "d")
    head = header_of(read_commit(repository, made.oid))
    assert count_since(repository, drawn.conversation, head, ["gone", "main", "fix"]) == 1
    assert count_since(repository, drawn.conversation, head, ["gone", "main"]) is None
    assert count_since(repository, drawn.conversation, head, []) is None
