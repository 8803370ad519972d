"""Which summaries there are, and which of them are stale."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.append import append, plain_message
from scopes.conversation.branch import branch
from scopes.conversation.cat import cat
from scopes.conversation.log import log
from scopes.conversation.merge import merge
from scopes.conversation.rebase import rebase
from scopes.conversation.rename import rename_branch
from scopes.conversation.show import show
from scopes.memory.compact import compact
from scopes.memory.summaries import list_summaries
from scopes.memory.summarize import summarize
from tests.memory.talking import CONVERSATION, WORDS, decide, say


def newer(repository, name):
    """How many messages the message itself says to be newer."""
    return cat(repository, name).newer


def test_there_may_be_none(repository):
    say(repository, "One.")
    listed = list_summaries(repository, CONVERSATION)
    assert (listed.summaries, listed.uncovered) == ((), 1)


@pytest.mark.parametrize(
    ("kind", "author_kind", "text", "stale"),
    [
        ("plain", "agent", "Said.", True), ("plain", "human", "Said.", True), ("tool-results", "tool", "ok", False),
        ("system", "system", "Beware.", False), ("notice", "system", "Beware.", False), ("meta", "agent", "x", False),
        ("plain", "injected", "A reminder.", False), ("error", "agent", "It broke.", True),
    ],
)  # fmt: skip
def test_only_what_somebody_says_makes_a_summary_stale(repository, kind, author_kind, text, stale):
    """S4-47."""
    say(repository, "One thing.")
    name = summarize(repository, CONVERSATION, WORDS).id
    say(repository, text, kind=kind, author_kind=author_kind)
    assert bool(newer(repository, name)) is stale
    assert list_summaries(repository, CONVERSATION).summaries[0].stale is stale
    assert bool(show(repository, CONVERSATION).branches[0].newer) is stale


def test_a_decision_makes_a_summary_stale(repository):
    """S4-47."""
    say(repository, "One thing.")
    name = summarize(repository, CONVERSATION, WORDS).id
    decide(repository, "db", "SQLite")
    assert newer(repository, name) == 1


def test_a_compaction_is_listed_and_what_follows_it_is_its_continuation(repository):
    """A context begins there and has what came after, so that only the list marks it."""
    say(repository, "One thing.")
    name = compact(repository, CONVERSATION, WORDS).id
    say(repository, "Later.")
    assert list_summaries(repository, CONVERSATION).summaries[0].newer == 1
    assert newer(repository, name) is None
    assert show(repository, CONVERSATION).branches[0].newer is None


def test_a_merge_makes_a_summary_stale(repository):
    """S4-47."""
    say(repository, "Before.")
    branch(repository, CONVERSATION, name="fix")
    say(repository, "Aside.", "Also aside.", branch="fix")
    name = summarize(repository, "conv-001/main", WORDS).id
    say(repository, "On main.", branch="main")
    merge(repository, CONVERSATION, "fix", target="main")
    assert newer(repository, name) >= 3


def test_a_rebased_summary_is_marked_where_it_now_stands(repository):
    say(repository, "Before.")
    branch(repository, CONVERSATION, name="fix")
    say(repository, "Aside.", branch="fix")
    name = summarize(repository, "conv-001/fix", WORDS).id
    say(repository, "On main.", branch="main")
    rebase(repository, CONVERSATION, branch="fix", onto="main")
    assert newer(repository, name) == 0
    say(repository, "Later.", branch="fix")
    assert newer(repository, name) == 1


def test_a_summary_on_a_renamed_branch_counts_on_the_active_one(repository):
    branch(repository, CONVERSATION, name="fix")
    say(repository, "Aside.", branch="fix")
    name = summarize(repository, "conv-001/fix", WORDS).id
    rename_branch(repository, CONVERSATION, "fix", "repair")
    say(repository, "Later.", branch="repair")
    assert newer(repository, name) == 1


def test_a_branch_counts_its_own_summary_and_not_that_of_its_trunk(repository):
    say(repository, "Before.")
    summarize(repository, CONVERSATION, WORDS)
    branch(repository, CONVERSATION, name="fix")
    say(repository, "Aside.", branch="fix")
    assert {each.name: each.newer for each in show(repository, CONVERSATION).branches} == {"main": 0, "fix": None}
    summarize(repository, "conv-001/fix", WORDS)
    assert {each.name: each.newer for each in show(repository, CONVERSATION).branches} == {"main": 0, "fix": 0}


def test_a_log_marks_summaries_only_where_it_knows(repository):
    """A log that begins before the tip has not seen what is newer."""
    say(repository, "One thing.")
    name = summarize(repository, CONVERSATION, WORDS).id
    say(repository, "Later.", "Still later.")
    for where, marked in (("conv-001/main", 2), ("conv-001/main~1", None), ("conv-001/main~3..main", 2)):
        (entry,) = [each for each in log(repository, where).items if each.head.id == name]
        assert entry.newer == marked
    (entry,) = [each for each in log(repository, CONVERSATION, oldest_first=True).items if each.head.id == name]
    assert entry.newer == 2


@pytest.mark.parametrize("summarizes", [None, "x", {}, {"branch": 7}, {"branch": "gone"}, {"messages": [1, None]}])
def test_a_summary_of_another_program_is_marked_all_the_same(repository, summarizes):
    message = plain_message("other", "In short.", kind="summary")
    extra = {} if summarizes is None else {"summarizes": summarizes}
    name = append(repository, CONVERSATION, type(message)(**_fields(message) | {"extra": extra})).id
    say(repository, "Later.")
    assert newer(repository, name) == 1
    (row,) = list_summaries(repository, CONVERSATION).summaries
    assert (row.method, row.messages, row.stale) == ("unknown", 0, True)


def _fields(message):
    return {name: getattr(message, name) for name in message.__slots__}


def test_what_a_summary_stands_for_is_in_its_message(repository):
    """S4-45: branch, sources, both counts and their ratio, for whoever reads the store with plain git."""
    branch(repository, CONVERSATION, name="fix")
    ids = say(repository, "The login form fails on Safari.", "Safari blocks the cookie of the form.", branch="fix")
    done = summarize(repository, "conv-001/fix", WORDS, ratio=0.5)
    stored = json.loads(cat(repository, done.id).stored)
    assert stored["summarizes"]["branch"] == "fix"
    assert stored["summarizes"]["messages"] == ids
    assert stored["summary_tokens"] == len(stored_text(stored).split()) <= int(stored["original_tokens"] * 0.5)
    assert stored["ratio"] == round(stored["summary_tokens"] / stored["original_tokens"], 4)
    assert cat(repository, done.id).message.time is not None


def stored_text(stored):
    """The text of a stored message."""
    return "".join(part["text"] for part in stored["parts"])
