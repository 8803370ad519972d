"""Running totals: each answer has what was added since the one before, and no token counts twice."""

from __future__ import annotations

import pytest

from scopes.importers.formats.openhands.usage import RunningUsage


def totals(given, output, *, read=0, write=0, reasoning=0, name="default", model="m"):
    usage = {
        "model": model, "prompt_tokens": given, "completion_tokens": output, "cache_read_tokens": read,
        "cache_write_tokens": write, "reasoning_tokens": reasoning,
    }  # fmt: skip
    return {"usage_to_metrics": {name: {"model_name": f"proxy/{model}", "accumulated_token_usage": usage}}}


def test_the_input_is_without_what_was_read_from_and_written_to_the_cache():
    usage = RunningUsage()
    usage.update(totals(100, 10, read=60, write=30, reasoning=4))
    found = usage.take()
    assert found.pop("raw")["prompt_tokens"] == 100
    assert found == {"input_uncached": 10, "cache_read": 60, "cache_write": 30, "output": 10, "reasoning": 4}


def test_what_was_taken_is_not_given_again():
    usage = RunningUsage()
    usage.update(totals(100, 10))
    usage.take()
    usage.update(totals(100, 10))
    assert usage.take() is None
    usage.update(totals(150, 15))
    assert usage.take()["output"] == 5


def test_totals_that_shrink_add_nothing():
    usage = RunningUsage()
    usage.update(totals(100, 10))
    usage.take()
    usage.update(totals(40, 4))
    assert usage.take() is None


def test_the_tokens_of_the_condenser_count_and_its_model_does_not():
    usage = RunningUsage()
    usage.update(totals(10, 1))
    usage.update(totals(5, 1, name="condenser", model="small"))
    assert (usage.take()["input_uncached"], usage.model) == (15, "m")


def test_the_totals_are_also_in_the_state_of_a_conversation():
    usage = RunningUsage()
    usage.update({"id": "c", "stats": totals(10, 1)})
    assert usage.take()["output"] == 1


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"usage_to_metrics": 7},
        {"usage_to_metrics": {"default": 7}},
        {"usage_to_metrics": {"default": {"accumulated_token_usage": {"prompt_tokens": "x", "completion_tokens": -1}}}},
    ],
)
def test_other_values_add_nothing(state):
    usage = RunningUsage()
    usage.update(state)
    assert (usage.take(), usage.model) == (None, None)
