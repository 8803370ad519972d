"""Tokens are counted once, whatever Codex repeats."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.importers.formats.codex.usage import UsageCounter, sum_usage
from tests.importers.formats.codex.rollouts import PARENT, Rollout, closed_messages, messages_of, read, tokens
from tests.importers.reading import drafts, states

COUNTS = ("input_uncached", "cache_read", "cache_write", "output", "reasoning")


def sums(found):
    """Return the sum of the usage of all messages."""
    used = [draft.usage or {} for draft in found]
    return {name: total for name in COUNTS if (total := sum(usage.get(name, 0) for usage in used))}


def record(usage, thread=None):
    return {"thread_id": PARENT, "usage": usage} | ({} if thread is None else {"thread_token_usage": thread})


def test_input_does_not_include_cached_tokens():
    usage = messages_of(Rollout().say("Hi").count(tokens(100, 40, 10, 5)))[0].usage
    assert {name: usage[name] for name in usage if name != "raw"} == {
        "input_uncached": 60, "cache_read": 40, "output": 10, "reasoning": 5,
    }  # fmt: skip


def test_input_does_not_include_tokens_written_to_the_cache():
    usage = UsageCounter().read_record({"usage": tokens(100, 40) | {"cache_write_input_tokens": 20}})
    assert (usage["input_uncached"], usage["cache_read"], usage["cache_write"]) == (40, 40, 20)


def test_the_original_usage_object_is_kept():
    usage = messages_of(Rollout().say("Hi").count(tokens(100), tokens(100)))[0].usage
    assert usage["raw"] == {"last_token_usage": tokens(100), "total_token_usage": tokens(100)}


def test_each_answer_has_the_increase_of_the_total():
    found = messages_of(
        Rollout().say("One").count(tokens(100, 0, 10)).user("And?").say("Two").count(tokens(250, 50, 25))
    )
    assert [(draft.usage or {}).get("output") for draft in found] == [10, None, 15]
    assert sums(found) == {"input_uncached": 200, "cache_read": 50, "output": 25}


def test_a_repeated_total_counts_nothing():
    """493 of 4,476 totals are repeated."""
    rollout = (
        Rollout()
        .say("One")
        .count(tokens(100))
        .count(tokens(100))
        .user("And?")
        .count(tokens(100))
        .say("Two")
        .count(tokens(150))
    )
    assert sums(messages_of(rollout)) == {"input_uncached": 150}
    assert states(read(rollout)).count("event_msg/token_count") == 2


def test_a_smaller_total_starts_again_from_zero():
    rollout = Rollout().say("One").count(tokens(100), tokens(100)).user("And?").say("Two").count(tokens(30), tokens(30))
    assert sums(messages_of(rollout)) == {"input_uncached": 130}


def test_a_total_equal_to_the_last_answer_starts_again_although_it_is_larger():
    """Codex 0.73: a resumed session counts from zero."""
    rollout = (
        Rollout().say("One").count(tokens(100), tokens(100)).user("And?").say("Two").count(tokens(130), tokens(130))
    )
    assert sums(messages_of(rollout)) == {"input_uncached": 230}


def test_the_first_total_of_a_fork_without_a_copy_counts_its_last_answer_only():
    """The inherited total is not the fork's."""
    rollout = (
        Rollout(forked_from_id=PARENT, history_base={"thread_id": PARENT})
        .say("One")
        .count(tokens(5000, 0, 50), tokens(70, 0, 5))
    )
    assert sums(messages_of(rollout)) == {"input_uncached": 70, "output": 5}


def test_a_record_counts_and_the_total_that_follows_does_not():
    """Codex 0.16x writes both; only one is counted."""
    rollout = Rollout().call("c1").add("token_usage_record", record(tokens(70, 0, 5), tokens(570, 0, 50))).output("c1")
    rollout.count(tokens(570, 0, 50), tokens(70, 0, 5)).say("Done").add(
        "token_usage_record", record(tokens(30), tokens(600, 0, 50))
    )
    assert sums(messages_of(rollout.count(tokens(600, 0, 50), tokens(30)))) == {"input_uncached": 100, "output": 5}


def test_records_without_a_threads_total_are_counted_once_too():
    rollout = (
        Rollout().say("One").add("token_usage_record", record(tokens(70))).count(tokens(70), tokens(70)).user("And?")
    )
    rollout.say("Two").add("token_usage_record", record(tokens(30))).count(tokens(100), tokens(30))
    assert sums(messages_of(rollout)) == {"input_uncached": 100}


def test_a_file_written_by_older_and_newer_versions_is_counted_once():
    rollout = Rollout().say("One").count(tokens(70), tokens(70)).user("And?")
    rollout.say("Two").add("token_usage_record", record(tokens(30), tokens(100))).count(tokens(100), tokens(30)).user(
        "And?"
    )
    assert sums(messages_of(rollout.say("Three").count(tokens(110), tokens(10)))) == {"input_uncached": 110}


def test_a_usage_before_its_answer_belongs_to_it():
    """Codex 0.36: the total comes before the items."""
    rollout = Rollout().user("Hi").count(tokens(10)).think().call("c1").output("c1").count(tokens(30)).say("Done")
    assert [(draft.usage or {}).get("input_uncached") for draft in messages_of(rollout)] == [None, 10, None, 20]


def test_a_usage_after_the_results_belongs_to_the_answer():
    """Codex 0.139: results and their answer are closed together."""
    rollout = (
        Rollout()
        .call("c1")
        .output("c1")
        .count(tokens(10))
        .call("c2")
        .output("c2")
        .count(tokens(30))
        .say("Done")
        .count(tokens(60))
    )
    assert [(draft.usage or {}).get("input_uncached") for draft in messages_of(rollout)] == [10, None, 20, None, 30]


def test_an_answer_that_awaits_its_usage_is_open_with_its_results():
    rollout = Rollout().user("Hi").call("c1").output("c1")
    assert [draft.kind for draft in closed_messages(rollout)] == ["prompt"]
    assert [draft.kind for draft in closed_messages(rollout.count(tokens(10)))] == ["prompt", "answer"]


def test_a_usage_between_results_belongs_to_the_answer():
    rollout = Rollout().call("c1").call("c2").output("c1").count(tokens(10)).output("c2").say("Done")
    assert [(draft.kind, (draft.usage or {}).get("input_uncached")) for draft in messages_of(rollout)] == [
        ("answer", 10), ("tool-results", None), ("answer", None),
    ]  # fmt: skip


def test_a_second_usage_after_results_belongs_to_the_next_answer():
    rollout = Rollout().call("c1").count(tokens(10)).output("c1").count(tokens(30)).say("Done")
    assert [(draft.usage or {}).get("input_uncached") for draft in messages_of(rollout)] == [10, None, 20]


def test_an_answer_without_a_usage_still_comes_before_its_results():
    rollout = Rollout().call("c1").output("c1").say("Done")
    assert [draft.kind for draft in messages_of(rollout)] == ["answer", "tool-results", "answer"]


def test_a_usage_that_no_answer_follows_is_a_state():
    events = read(Rollout().user("Hi").count(tokens(10)))
    assert sums(drafts(events)) == {}
    assert states(events)[-1] == "event_msg/token_count"


def test_usages_of_answers_without_messages_are_summed():
    rollout = Rollout().user("Hi").count(tokens(10)).count(tokens(15, 0, 1)).say("Done")
    usage = messages_of(rollout)[1].usage
    assert (usage["input_uncached"], usage["output"], len(usage["raw"])) == (15, 1, 2)


@pytest.mark.parametrize(
    "info",
    [
        None,
        7,
        {},
        {"total_token_usage": None},
        {"total_token_usage": {"input_tokens": "10"}},
        {"total_token_usage": {"input_tokens": -1}},
    ],
)
def test_a_count_of_another_shape_counts_nothing(info):
    assert sums(messages_of(Rollout().say("Hi").event("token_count", info=info))) == {}


@pytest.mark.parametrize("usage", [None, 7, {}, {"input_tokens": 1.5}, {"input_tokens": True}])
def test_a_record_of_another_shape_counts_nothing(usage):
    assert sums(messages_of(Rollout().say("Hi").add("token_usage_record", {"usage": usage}))) == {}


def test_more_cached_than_input_tokens_give_no_negative_count():
    assert UsageCounter().read_record({"usage": tokens(10, 40)})["input_uncached"] == 0


@given(st.lists(st.tuples(st.integers(1, 999), st.integers(0, 99), st.integers(1, 3), st.booleans()), max_size=8))
def test_repeated_totals_do_not_change_the_sum(answers):
    rollout, given_tokens, output = Rollout(), 0, 0
    for number, (more, written, times, resumed) in enumerate(answers):
        rollout.user("And?").say(f"say {number}")
        given_tokens, output = (more, written) if resumed else (given_tokens + more, output + written)
        for _ in range(times):
            rollout.count(tokens(given_tokens, 0, output), tokens(more, 0, written))
    expected = {
        "input_uncached": sum(more for more, *_ in answers),
        "output": sum(written for _, written, *_ in answers),
    }
    assert sums(messages_of(rollout)) == {name: count for name, count in expected.items() if count} or _repeats(answers)


def _repeats(answers):
    """If two sessions of one answer each have equal usage, the second looks like a repetition."""
    return any(first[:2] == second[:2] and second[3] for first, second in pairwise(answers))


def test_adding_keeps_every_raw_object():
    one, two = UsageCounter().read_record({"usage": tokens(1)}), UsageCounter().read_record({"usage": tokens(2)})
    assert sum_usage(None, one) == one
    assert sum_usage(sum_usage(one, two), one)["raw"] == [tokens(1), tokens(2), tokens(1)]
