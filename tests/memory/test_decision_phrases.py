"""Sentences that state a decision, and sentences that negate, question or suppose one."""

from __future__ import annotations

import pytest

from scopes.memory.extraction import states_decision


@pytest.mark.parametrize(
    "sentence",
    [
        "We decided to drop Postgres.", "We decided not to drop Postgres.", "It was decided.", "Decided: SQLite.",
        "We did not like it, so we decided to drop it.", "It is not fast but we decided to keep it.",
        "If the build fails, we agreed to roll back.", "No, we decided to go.", "I have decided to go.",
        "It has been decided that nobody pays.", "We decided never to use threads.", "We've agreed on SQLite.",
        "Wir haben entschieden, nicht zu fahren.", "我们决定使用SQLite。", "The question is not new: we agreed on it.",
        "We agreed that nothing is logged.",
    ],
)  # fmt: skip
def test_a_stated_decision_is_recognized(sentence):
    assert states_decision(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "I have not decided whether to go.", "We never decided to drop Postgres.", "It was not decided.",
        "we decided nothing", "We are undecided.", "if we decided to go", "It was not yet decided.",
        "We haven't decided.", "We haven\u2019t really decided yet.", "Nothing was decided.", "Nobody decided that.",
        "We have neither agreed on it nor refused it.", "We would have decided otherwise.", "That is to be decided.",
        "That can be decided later.", "Once it is decided, tell me.", "Unless we agreed on it", "Have we decided",
        "has anybody decided on TLS", "We cannot say that we agreed to it.", "No decision: we talk tomorrow.",
        "We agreed on nothing.", "Wir haben nicht entschieden.", "Es wurde nichts beschlossen.",
        "Wenn wir entschieden haben, sage ich es.", "我们没有决定。", "还没决定。", "如果我们决定使用SQLite。",
        "We decided whether", "Suppose they agreed to it.", "We should have decided that earlier.",
    ],
)  # fmt: skip
def test_a_negated_questioned_or_conditional_decision_is_not(sentence):
    assert not states_decision(sentence)


@pytest.mark.parametrize("text", ["not decided " * 20_000, ", we " * 50_000, "decided nothing " * 20_000])
def test_a_very_long_sentence_takes_linear_time(text):
    assert not states_decision(text)
