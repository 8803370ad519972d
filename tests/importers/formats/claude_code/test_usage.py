"""Tokens are counted once, by the last line that reports them."""

from __future__ import annotations

from collections import Counter

import pytest

from scopes.importers.formats.claude_code.message_builder import describe_usage, read_counts
from scopes.importers.formats.lossless_json import decode
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


def test_the_original_usage_object_is_kept():
    log = Log()
    log.answer("m1", text("Hi"), tokens=7)
    [draft] = drafts(log)
    assert draft.usage["raw"]["cache_read_input_tokens"] == 100
    assert draft.usage["input_uncached"] == 3


def test_unknown_counts_are_left_out():
    assert read_counts({"input_tokens": 1, "output_tokens": None, "cache_read_input_tokens": "7"}) == {
        "input_uncached": 1
    }


@pytest.mark.parametrize("count", [-1, True, 1.5, [], "12"])
def test_an_invalid_count_is_left_out(count):
    assert read_counts({"output_tokens": count}) == {}


def test_a_count_is_never_negative():
    assert describe_usage({"output_tokens": 3}, {"output": 5})["output"] == 0


def test_a_usage_with_inexact_numbers_keeps_its_text():
    raw = decode('{"output_tokens":3,"cost":1.0}')
    assert describe_usage(raw, {}) == {"output": 3, "raw_text": '{"output_tokens":3,"cost":1.0}'}


def test_without_a_message_id_the_request_id_identifies_the_answer():
    log = Log()
    log.answer(None, text("One"), tokens=1, requestId="r1")
    log.answer(None, text("Two"), tokens=9, requestId="r1")
    log.answer(None, text("Three"), tokens=4)
    log.answer(None, text("Four"), tokens=4)
    assert [len(draft.parts) for draft in drafts(log)] == [2, 1, 1]
    assert sums(log)["output"] == 9 + 4 + 4
