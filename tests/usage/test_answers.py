"""An answer of a model counts once, however often it is stored."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import abandon, branch, rewind
from scopes.conversation.new_rename_delete import delete, new
from tests.support.history import history, say
from tests.usage.answers import AGENT, OPUS, answer, count


def total(repository, **options):
    """Return the number of answers and of tokens of all."""
    found = count(repository, **options).total
    return found.answers, found.tokens


def test_an_answer_that_two_branches_have_counts_once(repository):
    history(repository, "main: a")
    answer(repository, "conv-001", "b")
    branch(repository, "conv-001", name="fix", start="main", switch=False)
    answer(repository, "conv-001/fix", "c", time="2026-01-05T10:00:01.500Z")
    assert total(repository) == (2, 2200)


def test_an_answer_on_an_abandoned_branch_was_paid_for(repository):
    history(repository, "main: a", "fix: b")
    answer(repository, "conv-001/fix", "c")
    abandon(repository, "conv-001", "fix")
    assert total(repository) == (1, 1100)


def test_an_answer_that_was_rewound_is_on_no_branch(repository):
    history(repository, "main: a")
    answer(repository, "conv-001", "b")
    rewind(repository, "conv-001", to="main~1")
    assert total(repository) == (0, 0)


def test_the_copy_of_an_answer_in_another_conversation_counts_once(repository):
    history(repository, "main: a")
    answer(repository, "conv-001", "b")
    history(repository, "main: x", conversation="other")
    answer(repository, "other", "the same answer, with a secret masked")
    assert total(repository) == (1, 1100)


def test_two_answers_of_the_same_words_at_other_times_count_twice(repository):
    """A run that is repeated every day gives equal messages, and every run is paid for."""
    for day in (5, 6):
        made = new(repository)
        answer(repository, made.id, "ok", time=f"2026-01-0{day}T10:00:00.123Z")
    assert total(repository) == (2, 2200)


def test_equal_answers_without_a_time_count_once_in_each_conversation(repository):
    for name in ("one", "two"):
        new(repository, conversation_id=name)
        answer(repository, name, "ok", time=None, precision="none")
        answer(repository, name, "yes", time=None, precision="none")
    assert total(repository) == (4, 4400)
    assert count(repository).rows[0].period is not None


def test_times_in_whole_seconds_do_not_make_two_answers_one(repository):
    """Some tools record no fractions: two answers of one second may have equal counts."""
    history(repository, "main: a")
    answer(repository, "conv-001", "b", time="2026-01-05T10:00:00Z")
    answer(repository, "conv-001", "c", time="2026-01-05T10:00:00Z")
    assert total(repository) == (2, 2200)


def test_the_rest_of_an_answer_is_no_other_answer(repository):
    """Its tokens are those that the message before it does not have; the provider's object has all."""
    history(repository, "main: a")
    raw = {"input_tokens": 1000, "output_tokens": 100}
    answer(repository, "conv-001", "b", output=60, raw=raw)
    rest = dict.fromkeys(("input_uncached", "cache_read", "cache_write"), 0)
    answer(repository, "conv-001", "c", time="2026-01-05T10:00:01.5Z", output=40, raw=raw, **rest)
    answer(repository, "conv-001", "d", time="2026-01-05T10:00:02.5Z", output=0, raw=raw, **rest)
    assert total(repository) == (1, 1100)


def test_answers_without_recorded_tokens_are_counted_in_a_note(repository):
    """A copied answer has its tokens in the session that it is copied from."""
    history(repository, "main: a")
    say(repository, "conv-001", "b", author=AGENT, kind="answer")
    say(repository, "conv-001", "c", author=AGENT, kind="answer", time="2026-01-05T10:00:00Z", precision="restamped")
    note = "{} of 1 conversation not counted: no tokens are recorded with them"
    assert [each.text for each in count(repository).notes] == [note.format("2 answers")]
    answer(repository, "conv-001", "d")
    assert [each.text for each in count(repository).notes] == [note.format("1 answer")]


def test_answers_of_deleted_conversations_do_not_count(repository):
    history(repository, "main: a")
    answer(repository, "conv-001", "b")
    delete(repository, "conv-001")
    assert total(repository) == (0, 0)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"cache_write": 50, "raw": {"cache_creation": {"ephemeral_1h_input_tokens": 20}}}, (50, 20)),
        ({"cache_write": 50, "raw": {"cache_creation": {"ephemeral_1h_input_tokens": 90}}}, (50, 50)),
        ({"cache_write": 50, "raw": {"cache_creation": {"ephemeral_1h_input_tokens": "x"}}}, (50, 0)),
        ({"cache_write": 50, "raw": {"cache_creation": 3}}, (50, 0)),
        ({"cache_write": 50, "raw": "foreign"}, (50, 0)),
        ({"cache_write": None}, (0, 0)),
    ],
)
def test_tokens_that_stay_in_a_cache_for_an_hour_are_a_part_of_those_written(repository, fields, expected):
    history(repository, "main: a")
    answer(repository, "conv-001", "b", **fields)
    found = count(repository).total
    assert (found.cache_write, found.cache_write_1h) == expected


def test_counts_that_are_not_numbers_are_unknown(repository):
    history(repository, "main: a")
    for number, wrong in enumerate((True, -1, "7", 1.5, None)):
        answer(repository, "conv-001", f"b{number}", time=f"2026-01-05T10:00:0{number}.5Z", output=wrong)
    assert (total(repository), count(repository).total.cost_micros) == ((5, 5000), None)


def test_the_model_and_the_agent_are_those_of_the_message(repository):
    history(repository, "main: a")
    answer(repository, "conv-001", "b")
    answer(repository, "conv-001", "c", model=None, author={"name": "Explore", "kind": "agent"})
    rows = count(repository, "model", "agent").rows
    assert [(row.model, row.agent) for row in rows] == [(OPUS, "claude-code"), (None, "Explore")]


def test_the_tokens_of_an_advisor_count_for_its_model_and_once(repository):
    """ccusage/ccusage#1115: an answer has what other models have used for it in `others`."""
    history(repository, "main: a")
    advisor = {"model": "claude-opus-4-7", "input_uncached": 159_000, "output": 7000}
    answer(repository, "conv-001", "b", model="claude-sonnet-4-6", others=[advisor, {"model": 7}, 3])
    rows = {row.model: (row.answers, row.tokens, row.cost_micros) for row in count(repository, "model").rows}
    assert rows == {"claude-sonnet-4-6": (1, 1100, 4500), "claude-opus-4-7": (0, 166_000, 970_000)}


def test_a_faster_mode_is_another_model_whose_price_is_known_or_not(repository):
    """mag123c/toktrack#232: it costs twice as much; what the table does not know has no price."""
    history(repository, "main: a")
    tokens = {"input_uncached": 1_000_000, "output": 100_000, "raw": {"speed": "fast"}}
    answer(repository, "conv-001", "b", model="claude-opus-5", **tokens)
    answer(repository, "conv-001", "c", model="claude-opus-4-6", time="2026-01-05T11:00:00.123Z", **tokens)
    rows = {row.model: row.cost_micros for row in count(repository, "model").rows}
    assert rows == {"claude-opus-5 (fast)": 15_000_000, "claude-opus-4-6 (fast)": None}
