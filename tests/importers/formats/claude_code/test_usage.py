"""Tokens are counted once, by the last line that reports them."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.importers.formats.claude_code.logs import Log, call, drafts, text, thinking


def sums(log):
    total = Counter()
    for draft in drafts(log):
        total.update({name: count for name, count in (draft.usage or {}).items() if isinstance(count, int)})
    return dict(total)


def test_the_last_line_of_an_answer_counts():
    """The first line has a partial count, and a sum would count the same tokens twice."""
    log = Log()
    for tokens, block in [(1, thinking("Hm")), (1, text("I look")), (260, call("c1"))]:
        log.answer("m1", block, tokens=tokens)
    [draft] = drafts(log)
    assert draft.usage["output"] == 260
    assert sums(log) == {"input_uncached": 3, "cache_read": 100, "cache_write": 20, "output": 260}


def test_an_answer_with_results_between_its_lines_is_counted_once():
    """Each message has the usage since the previous one, so that no message changes when the file grows."""
    log = Log()
    for number, tokens in enumerate([5, 5, 90]):
        log.answer("m1", call(f"c{number}"), tokens=tokens)
        log.result(f"c{number}")
    assert [draft.usage["output"] for draft in drafts(log) if draft.usage] == [5, 0, 85]
    assert sums(log) == {"input_uncached": 3, "cache_read": 100, "cache_write": 20, "output": 90}


def test_an_answer_that_a_resumed_session_wrote_again_is_counted_once():
    """A resume can give a line a new uuid while the message keeps its id."""
    log = Log()
    log.user("Hello")
    log.answer("m1", text("Hi"), tokens=7)
    log.user("Bye")
    log.answer("m1", text("Hi"), tokens=7)
    assert sums(log)["output"] == 7


def test_without_a_message_id_the_request_id_identifies_the_answer():
    log = Log()
    log.answer(None, text("One"), tokens=1, requestId="r1")
    log.answer(None, text("Two"), tokens=9, requestId="r1")
    log.answer(None, text("Three"), tokens=4)
    log.answer(None, text("Four"), tokens=4)
    assert [len(draft.parts) for draft in drafts(log)] == [2, 1, 1]
    assert sums(log)["output"] == 9 + 4 + 4


def test_a_session_that_is_in_the_file_twice_counts_once():
    """The writer has appended all records again."""
    log = Log()
    for number, tokens in enumerate([5, 7]):
        log.user(f"Sell {number}")
        log.answer(f"m{number}", text("Done"), tokens=tokens)
    log.records += log.records[:]
    assert (len(drafts(log)), sums(log)["output"]) == (4, 12)


def usage_of(**usage):
    log = Log()
    log.answer("m1", text("Hi"), tokens=5)
    log.records[0]["message"]["usage"] = usage
    return drafts(log)[0].usage


@pytest.mark.parametrize("count", [-1, True, 1.5, [], "12", None])
def test_an_invalid_count_is_left_out(count):
    usage = {"input_tokens": 1, "output_tokens": count}
    assert usage_of(**usage) == {"input_uncached": 1, "raw": usage}


@pytest.mark.parametrize("usage", [{"output_tokens_details": {"thinking_tokens": 250}}, {"thinking_tokens": 250}])
def test_thinking_tokens_are_reasoning(usage):
    assert usage_of(output_tokens=300, **usage)["reasoning"] == 250


def iteration(kind, tokens, **fields):
    return {"type": kind, "input_tokens": tokens, "output_tokens": 1, "cache_read_input_tokens": 2, **fields}


def test_iterations_count_for_their_model_if_the_answer_does_not_count_them():
    """The advisor's tokens are only there (ccusage/ccusage#1115); those of a compaction are the model's own."""
    iterations = [
        iteration("message", 7), iteration("advisor_message", 159_000, model="claude-opus-4-7"), iteration("compaction", 30),
        iteration("advisor_message", 1000, model="claude-opus-4-7"), iteration("message", 8), "x",
    ]  # fmt: skip
    found = usage_of(input_tokens=15, output_tokens=2, iterations=iterations)
    assert (found["input_uncached"], found["output"]) == (45, 3)
    advisor = {"model": "claude-opus-4-7", "input_uncached": 160_000, "cache_read": 4, "output": 2}
    assert found["others"] == [advisor]


def test_an_advisor_counts_once_in_an_answer_with_results_between_its_lines():
    log = Log()
    for number in range(2):
        log.answer("m1", call(f"c{number}"), tokens=5)
        advice = [iteration("advisor_message", 100, model="opus")]
        log.records[-1]["message"]["usage"]["iterations"] = advice
        log.result(f"c{number}")
    assert [len(draft.usage.get("others", [])) for draft in drafts(log) if draft.usage] == [1, 0]
