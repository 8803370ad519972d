"""Tokens are counted once, whatever Codex repeats."""

from __future__ import annotations

import pytest

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


def test_each_answer_has_the_increase_of_the_total():
    found = messages_of(
        Rollout().say("One").count(tokens(100, 0, 10)).user("And?").say("Two").count(tokens(250, 50, 25))
    )
    assert [(draft.usage or {}).get("output") for draft in found] == [10, None, 15]
    assert sums(found) == {"input_uncached": 200, "cache_read": 50, "output": 25}


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


DISORDERS = {  # running totals and last answers, and what all of them used
    "repeated": ([(100, 100), (100, 100), (150, 50), (100, 100)], 150),
    "resumed from zero (Codex 0.73)": ([(100, 100), (130, 130), (30, 30), (70, 40)], 300),
    "a fork, which inherits a total": ([(5000, 70), (5020, 20)], 90),
    "lost events": ([(100, 100), (400, 50)], 400),
    "without the last answer": ([(100, None), (300, None), (50, None)], 350),
    "stale, lower than the one before (junhoyeo/tokscale#308)": ([(1000, 1000), (3000, 2000), (2500, 1500), (4500, 1500)], 4500),
    "two counters side by side": ([(1000, 1000), (100, 100), (2000, 1000), (300, 200), (2500, 500)], 2800),
    "a lower total that goes on": ([(1000, 1000), (500, 200), (900, 400), (1050, 150)], 1750),
}  # fmt: skip


@pytest.mark.parametrize("name", DISORDERS)
def test_running_totals_in_any_disorder_are_counted_once(name):
    totals, used = DISORDERS[name]
    rollout = Rollout()
    for number, (total, last) in enumerate(totals):
        rollout.user("And?").say(f"say {number}")
        rollout.count(tokens(total, 0, total), None if last is None else tokens(last, 0, last))
    assert sums(messages_of(rollout)) == {"input_uncached": used, "output": used}


@pytest.mark.parametrize(
    ("order", "has_thread"),
    [
        ("record", True), ("total", True), ("record total", True), ("total record", True),
        ("record record total total", True), ("record", False), ("record total", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("written", [{}, {"cache_write_input_tokens": 0}])
def test_an_answers_own_record_and_the_total_count_once(order, has_thread, written):
    """Codex 0.16x writes both; only one may have the tokens written to the cache (xiufengsun/TokenTracker#652)."""
    rollout = Rollout()
    for number, (total, last) in enumerate([(70, 70), (100, 30)]):
        rollout.user("And?").say(f"say {number}")
        thread = tokens(total, 0, total) | written if has_thread else None
        for form in order.split():
            if form == "total":
                rollout.count(tokens(total, 0, total), tokens(last, 0, last))
            else:
                rollout.add("token_usage_record", record(tokens(last, 0, last) | written, thread))
    assert sums(messages_of(rollout)) == {"input_uncached": 100, "output": 100}


def test_input_has_no_tokens_written_to_the_cache():
    usage = tokens(100, 40) | {"cache_write_input_tokens": 20}
    rollout = Rollout().say("Hi").add("token_usage_record", {"usage": usage})
    assert sums(messages_of(rollout)) == {"input_uncached": 40, "cache_read": 40, "cache_write": 20}
