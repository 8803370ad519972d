"""Turns are scored by relevance to a task, and the best ones are selected."""

from __future__ import annotations

import pytest

from scopes.context.relevance import score, words_of
from scopes.conversation.append import retract
from scopes.conversation.new_rename_delete import new
from scopes.errors import Invalid
from scopes.model.message import Author
from tests.context.building import built, numbers
from tests.support.history import say


def ranked(texts, task):
    """Return the positions, best first."""
    scores = score(texts, task)
    return sorted(range(len(texts)), key=lambda p: (-scores[p][1], -p))


def test_texts_with_words_of_the_task_come_first():
    texts = ["the cookie is lost", "lunch at noon", "Safari drops the cookie", "nothing"]
    assert ranked(texts, "why does Safari drop the cookie")[:2] == [2, 0]


def test_rare_words_weigh_more_than_common_ones():
    texts = ["error one", "error two", "error three", "deadlock", "error four"]
    assert ranked(texts, "error deadlock")[0] == 3


def test_of_equal_texts_the_newer_comes_first():
    """S4-38."""
    assert ranked(["cookie", "cookie"], "cookie") == [1, 0]


def test_a_word_matches_as_a_prefix_in_any_case():
    assert [pair[0] > 0 for pair in score(["Logins fail", "blogging"], "login")] == [True, False]


def test_without_a_match_only_recency_ranks():
    assert ranked(["a", "b", "c"], "zebra") == [2, 1, 0]
    assert [pair[0] for pair in score(["a", "b"], "zebra")] == [0, 0]


def test_stop_words_are_used_only_if_there_are_no_others():
    assert words_of("Why does the login fail?") == ["fail", "login"]
    assert words_of("to be or not to be") == ["be", "not", "or", "to"]


@pytest.mark.parametrize("task", ["", "  ", "?!", "a"])
def test_a_task_without_words_is_refused(task):
    with pytest.raises(Invalid):
        words_of(task)


def test_no_turns_have_no_scores():
    assert score([], "login") == []


def test_relevant_turns_are_in_the_order_of_the_history(repository, exact, tmp_path):
    """S4-41."""
    new(repository)
    for number in range(60):
        say(repository, "conv-001", f"about {'Safari cookies' if number in (5, 20, 40) else 'lunch'} " + "word " * 60)
    result = built(repository, exact, tmp_path, max_tokens=600, task="Safari cookie")
    assert {6, 21, 41} <= set(numbers(result))
    assert numbers(result) == sorted(numbers(result))
    assert 0 < (result.average_relevance or 0) <= 1


def test_a_turn_that_does_not_fit_is_skipped(repository, exact, tmp_path):
    """S4-38, the second flaw of Zen: one huge turn must not drop everything."""
    new(repository)
    say(repository, "conv-001", "Safari")
    say(repository, "conv-001", "Safari cookie " * 3000)
    say(repository, "conv-001", "lunch")
    result = built(repository, exact, tmp_path, max_tokens=600, task="Safari cookie")
    assert {1, 3} <= set(numbers(result))


def test_the_explanation_has_score_tokens_and_reason(repository, exact, tmp_path):
    """S4-40."""
    new(repository)
    for text in ("Safari", "lunch", "x " * 5000):
        say(repository, "conv-001", text)
    result = built(repository, exact, tmp_path, max_tokens=600, task="Safari", explain=True)
    rows = {row.name: row for row in result.explained}
    assert (rows["1"].kept, rows["1"].reason, rows["3"].reason) == (True, "fits", "truncated")
    assert (rows["1"].score or 0) > (rows["2"].score or 0)
    assert all(row.tokens is not None for row in result.explained if row.kept)


def test_every_turn_is_a_candidate_by_default(repository, exact, tmp_path):
    """S4-37: with a fixed number of candidates, short turns would not fill the budget (S1-28)."""
    new(repository)
    for number in range(200):
        say(repository, "conv-001", f"{number} Safari")
    result = built(repository, exact, tmp_path, max_tokens=4000, task="Safari")
    assert result.turns_included > 4000 * 8 // 10 // 100
    assert result.utilisation >= 0.85


def test_the_average_relevance_of_no_turns_is_zero(repository, exact, tmp_path):
    """S4-39: never NaN, and None without a task."""
    new(repository)
    say(repository, "conv-001", "Safari")
    assert built(repository, exact, tmp_path, max_tokens=0, task="Safari").average_relevance == 0
    assert built(repository, exact, tmp_path, max_tokens=0).average_relevance is None


def test_filtered_messages_are_counted(repository, exact, tmp_path):
    """S4-36, S4-39."""
    new(repository)
    say(repository, "conv-001", "Safari")
    say(repository, "conv-001", "set by the host", kind="notice")
    result = built(repository, exact, tmp_path, task="Safari")
    assert (result.filtered_count, result.average_relevance, result.turns_included) == (1, 1.0, 1)
    assert (result.summary, result.metadata["task"]) == (None, "Safari")


@pytest.mark.parametrize("task", [".*+?[ word", "aa|bb", r"\b\bww", "naïve Straße", "x" * 5000, "ab" * 2000 + "!"])
def test_a_task_is_not_a_regular_expression(task):
    assert [0 <= relevance <= 1 for relevance, _ in score(["something", f"before {task} after"], task)] == [True] * 2
    assert score(["something", f"before {task} after"], task)[1][0] == 1


def compacted(repository):
    """Record what matters, a compaction, and other things; retract one message."""
    new(repository)
    say(repository, "conv-001", "the cookie of Safari is dropped")
    for number in range(30):
        say(repository, "conv-001", f"lunch {number}")
    say(repository, "conv-001", "so far", kind="compaction", context_root=True)
    wrong = say(repository, "conv-001", "wrong")
    retract(repository, "conv-001", wrong.id, "", author=Author("carol"))
    say(repository, "conv-001", "dinner")


def test_a_task_searches_what_is_before_a_compaction(repository, exact, tmp_path):
    """A compaction ends a prompt, not the record."""
    compacted(repository)
    result = built(repository, exact, tmp_path, max_tokens=200, task="Safari cookie")
    assert 1 in numbers(result)
    assert 1 not in numbers(built(repository, exact, tmp_path, max_tokens=200))


def test_what_is_left_out_is_counted_by_reason(repository, exact, tmp_path):
    compacted(repository)
    result = built(repository, exact, tmp_path, max_tokens=200, task="Safari cookie", tight_below=0)
    left_out = result.left_out
    assert (left_out["before_compaction"], left_out["retracted"], left_out["over_budget"]) == (0, 1, 0)
    assert left_out["below_relevance"] == 33 - result.turns_included > 20
    assert not any("budget" in warning for warning in result.warnings)
    assert any(
        f"left out: {left_out['below_relevance']} messages without a word of the task" in w for w in result.warnings
    )


def test_without_a_task_the_turns_before_a_compaction_are_counted(repository, exact, tmp_path):
    compacted(repository)
    result = built(repository, exact, tmp_path)
    assert result.left_out["before_compaction"] == 31
    assert [
        warning for warning in result.warnings if warning.startswith("left out: 31 messages before the last compaction")
    ]


def test_the_budget_is_blamed_only_for_turns_about_the_task(repository, exact, tmp_path):
    new(repository)
    for number in range(40):
        say(repository, "conv-001", ("Safari " if number % 2 else "lunch ") + "word " * 60)
    result = built(repository, exact, tmp_path, max_tokens=600, task="Safari")
    over = result.left_out["over_budget"]
    assert 0 < over < 20
    assert f"Session history limited: {over} messages about the task excluded due to token budget" in result.warnings


def test_the_explanation_has_subjects_and_begins_with_what_was_kept(repository, exact, tmp_path):
    compacted(repository)
    rows = built(repository, exact, tmp_path, max_tokens=200, task="Safari cookie", explain=True).explained
    assert (rows[0].name, rows[0].subject) == ("1", "the cookie of Safari is dropped")
    kept = [row.kept for row in rows]
    assert kept == sorted(kept, reverse=True)
    scores = [row.score for row in rows if not row.kept and row.score is not None]
    assert scores == sorted(scores, reverse=True)


def test_one_excluded_message_is_a_message(repository, exact, tmp_path):
    new(repository)
    result = built(repository, exact, tmp_path, max_tokens=600, task="Safari")
    while result.left_out["over_budget"] == 0:
        say(repository, "conv-001", "Safari " + "word " * 60)
        result = built(repository, exact, tmp_path, max_tokens=600, task="Safari")
    assert "Session history limited: 1 message about the task excluded due to token budget" in result.warnings
