"""The rules for decisions, on hand-labeled sentences of real conversations with agents."""

from __future__ import annotations

import pytest

from scopes.history.messages import plain_message
from scopes.memory.extraction import decisions_of
from scopes.memory.source_messages import SourceMessage
from scopes.model.message import Author

OF_PEOPLE = [
    "let's use https://github.com/entireio/cli as a test repo then, that's public",
    "Yes, let's go with the economy class for this option, please.",
    "Yes, please use the credit card ending in 9725 for the upgrade.",
    "Let's go with the Basic Economy option.",
    "Please use the credit card on file for payment.",
    "Let's use the remaining balance on the gift card and cover the rest with the credit card from my profile.",
    "Yes, please use the certificate for $299, and cover the remaining $76 with my gift card.",
    "Let\u2019s go with Flight HAT212 for the return.",
    "Let's go with option 1: Change of plan.",
]
OF_ANYBODY = [
    "We decided to use SameSite=Lax for the login cookie.",
    "We agreed on port 8080.",
    "They agreed to ship on Monday.",
    "Decision: SQLite for the index.",
    "We'll use the existing parser.",
    "We are going with the second design.",
    "Wir haben uns auf Python geeinigt.",
    "Es wurde beschlossen, den Server zu wechseln.",
]
OF_NOBODY = [
    "Agreed, that placement reads better: reference docs first, then FAQ, then contribution info.",
    "We should use `outputHookResponse` to show the user a meaningful message.",
    "I'd go with option 1 and be explicit in the field name:",
    "The test is tolerant of Claude not using the Task tool (since it's Claude's decision)",
    "The README now calls out the push-side decision explicitly.",
    "I\u2019m adding direct tests for the planner\u2019s relay decision functions.",
    "Decide per-remote whether v2 is supported, then fall back to v1 for `--protocol auto`.",
    "I\u2019m checking the tracker state now so I can decide whether the next step should be another fix.",
    "source protocol chosen (`v1` or `v2`)",
    "let's do that",
    "yes, let's do that",
    "yeah let's do this. for 2 we could test against the remote for this repo on read side?",
    "anything that's like just laying around..uncommitted..we should remove",
    "Would you like to proceed with booking the flight using your credit card?",
    "We're counting all lines in touched files instead of lines changed in the commit.",
    "Has anybody decided on TLS?",
]


def decided(text, kind):
    """Return the decisions in a sentence of a person or an agent."""
    return decisions_of([SourceMessage(None, plain_message(Author("somebody", kind), text))])


@pytest.mark.parametrize("text", OF_PEOPLE)
def test_a_choice_is_a_decision_of_a_person_and_a_proposal_of_an_agent(text):
    assert decided(text, "human") == (text,)
    assert decided(text, "agent") == ()


@pytest.mark.parametrize("text", OF_ANYBODY)
def test_a_stated_decision_counts_for_people_and_agents(text):
    assert decided(text, "human") == decided(text, "agent") == (text,)


@pytest.mark.parametrize("text", OF_NOBODY)
def test_talk_about_deciding_is_not_a_decision(text):
    assert decided(text, "human") == decided(text, "agent") == ()


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "yes " * 30_000, "let's " * 30_000, "we decided " * 10_000, "decid" * 30_000]
)
def test_a_very_long_text_takes_linear_time(text):
    assert all(len(found) <= 500 for found in decided(text, "human"))
