"""The list of summaries, and which of them are stale."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.log import log
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import rename_branch
from scopes.conversation.rebase import rebase
from scopes.conversation.show import cat, show
from scopes.history.messages import plain_message
from scopes.memory.summaries import list_summaries
from scopes.memory.summarize import summarize
from tests.memory.talking import CONVERSATION, WORDS, decide, say


def newer(repository, name):
    """Return the number of newer messages that `cat` shows for a summary."""
    return cat(repository, name).newer


def test_a_branch_without_summaries_has_an_empty_list(repository):
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
def test_only_messages_of_people_and_agents_make_a_summary_stale(repository, kind, author_kind, text, stale):
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


def test_messages_after_a_compaction_count_only_in_the_list(repository):
    """A context starts at it and contains the later messages, so it is not marked elsewhere."""
    say(repository, "One thing.")
    name = summarize(repository, CONVERSATION, WORDS, compact=True).id
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


def test_a_rebased_summary_counts_messages_at_its_new_position(repository):
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


def test_a_branch_counts_its_own_summary_only(repository):
    say(repository, "Before.")
    summarize(repository, CONVERSATION, WORDS)
    branch(repository, CONVERSATION, name="fix")
    say(repository, "Aside.", branch="fix")
    assert {each.name: each.newer for each in show(repository, CONVERSATION).branches} == {"main": 0, "fix": None}
    summarize(repository, "conv-001/fix", WORDS)
    assert {each.name: each.newer for each in show(repository, CONVERSATION).branches} == {"main": 0, "fix": 0}


def test_a_log_marks_summaries_only_from_the_tip(repository):
    """A log from an earlier message does not know the newer ones."""
    say(repository, "One thing.")
    name = summarize(repository, CONVERSATION, WORDS).id
    say(repository, "Later.", "Still later.")
    for where, marked in (("conv-001/main", 2), ("conv-001/main~1", None), ("conv-001/main~3..main", 2)):
        (entry,) = [each for each in log(repository, where).items if each.head.id == name]
        assert entry.newer == marked
    (entry,) = [each for each in log(repository, CONVERSATION, oldest_first=True).items if each.head.id == name]
    assert entry.newer == 2


@pytest.mark.parametrize("summarizes", [None, "x", {}, {"branch": 7}, {"branch": "gone"}, {"messages": [1, None]}])
def test_a_summary_of_another_program_is_marked_as_stale(repository, summarizes):
    message = plain_message("other", "In short.", kind="summary")
    extra = {} if summarizes is None else {"summarizes": summarizes}
    name = append(repository, CONVERSATION, type(message)(**_fields(message) | {"extra": extra})).id
    say(repository, "Later.")
    assert newer(repository, name) == 1
    (row,) = list_summaries(repository, CONVERSATION).summaries
    assert (row.method, row.messages, row.stale) == ("unknown", 0, True)


def _fields(message):
    return {name: getattr(message, name) for name in message.__slots__}


def test_a_summary_message_stores_its_sources_and_counts(repository):
    """S4-45: branch, sources, both counts and their ratio, readable with plain git."""
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
    """Return the text of a stored message."""
    return "".join(part["text"] for part in stored["parts"])
