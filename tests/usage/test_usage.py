"""Rows of `usage`: what they are for, their order, what is left out, and the cost."""

from __future__ import annotations

import json
import time

import pytest

from scopes.clock import parse_time, parse_window
from scopes.conversation.new_rename_delete import new
from scopes.errors import NotFound
from scopes.store.projects import read_project
from scopes.usage.prices import read_prices
from scopes.usage.usage import UsageRequest, monday_of, usage
from tests.support.history import history
from tests.usage.answers import OPUS, answer, by_key, count


@pytest.fixture
def week(repository):
    """A store with answers on three days by three models."""
    history(repository, "main: a")
    answer(repository, "conv-001", "b", time="2026-01-04T23:59:59.9Z")
    answer(repository, "conv-001", "c", time="2026-01-05T00:00:00.1Z", model="gpt-5.4", output=1000)
    answer(repository, "conv-001", "d", time="2026-02-01T12:00:00.1Z", model="stub")
    return repository


def test_there_is_a_row_for_each_day_with_answers(week):
    assert by_key(count(week), "period") == {
        "2026-01-04": (1, 1100), "2026-01-05": (1, 2000), "2026-02-01": (1, 1100),
    }  # fmt: skip


def test_weeks_begin_on_monday_and_months_have_no_day(week):
    assert list(by_key(count(week, "week"), "period")) == ["2025-12-29", "2026-01-05", "2026-01-26"]
    assert by_key(count(week, "month"), "period") == {"2026-01": (2, 3100), "2026-02": (1, 1100)}
    assert [monday_of(day) for day in ("2026-01-01", "2026-01-05", "2026-01-11")] == ["2025-12-29", *["2026-01-05"] * 2]


def test_days_are_those_of_the_time_zone_of_this_machine(week, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kathmandu")  # a quarter of an hour is no whole hour before UTC
    time.tzset()
    try:
        found = usage(week, UsageRequest(), read_prices())
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
    assert by_key(found, "period") == {"2026-01-05": (2, 3100), "2026-02-01": (1, 1100)}


def test_rows_without_a_period_are_in_the_order_of_their_cost_then_of_their_tokens(week):
    answer(week, "conv-001", "e", time="2026-02-01T12:00:01.1Z", model="stub-2", output=5000)
    rows = count(week, "model").rows
    assert [row.model for row in rows] == ["gpt-5.4", OPUS, "stub-2", "stub"]
    assert [row.cost_micros for row in rows] == [17_500, 7_500, None, None]
    assert [row.unpriced for row in rows] == [0, 0, 1, 1]


def test_several_words_give_a_row_for_each_combination_in_a_fixed_order(week):
    found = count(week, "model", "month")
    assert (found.by, [(row.period, row.model) for row in found.rows]) == (
        ("month", "model"),
        [("2026-01", "gpt-5.4"), ("2026-01", OPUS), ("2026-02", "stub")],
    )


def test_the_total_and_the_days_do_not_depend_on_what_rows_are_for(week):
    every = [count(week, *by) for by in (("day",), ("model",), ("agent", "conversation"))]
    assert {found.total for found in every} == {every[0].total}
    assert {found.days for found in every} == {every[0].rows}
    assert (every[0].total.cost_micros, every[0].total.unpriced) == (25_000, 1)


def test_an_unknown_model_costs_an_unknown_amount_and_not_nothing(week):
    assert count(week, model="stub").total.cost_micros is None


def test_a_cost_is_rounded_once_for_each_row(week, tmp_path):
    """0.7 and 0.7 millionths are 1 and 1, and together 1."""
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"models": [{"models": ["claude*", "gpt*"], "input": 700, "output": 0}]}))
    found = count(week, prices=read_prices(str(path)))
    assert ([each.cost_micros for each in found.rows], found.total.cost_micros) == ([1, 1, None], 1)


def test_long_contexts_are_priced_apart(repository):
    history(repository, "main: a")
    model = "claude-sonnet-4-5"
    for number, tokens in enumerate((200_000, 200_001)):
        answer(
            repository,
            "conv-001",
            str(number),
            time=f"2026-01-05T10:00:0{number}.5Z",
            model=model,
            input_uncached=0,
            cache_read=tokens,
            output=0,
        )
    assert [row.cost_micros for row in count(repository, "model").rows] == [60_000 + 120_001]


@pytest.mark.parametrize(
    ("options", "answers"),
    [
        ({"since": "2026-01-05T00:00:00Z"}, 2),
        ({"until": "2026-01-05T00:00:00Z"}, 2),
        ({"since": "2026-01-05T00:00:00Z", "until": "2026-01-31T00:00:00Z"}, 1),
        ({"since": "2026-03-01T00:00:00Z"}, 0),
    ],
)
def test_times_are_limited_to_whole_quarters_of_an_hour(week, options, answers):
    limits = {name: parse_time(text) for name, text in options.items()}
    assert count(week, **limits).total.answers == answers


def test_models_and_agents_are_chosen_by_a_part_of_their_name(week):
    answer(week, "conv-001", "e", author={"name": "Codex", "kind": "agent"}, model=None, time="2026-02-02T12:00:01.1Z")
    assert by_key(count(week, "model", model="OPUS"), "model") == {OPUS: (1, 1100)}
    assert by_key(count(week, "agent", agent="code"), "agent") == {"claude-code": (3, 4200), "Codex": (1, 1100)}
    assert count(week, model="none").rows == ()


@pytest.mark.parametrize(
    ("options", "note", "hint"),
    [
        ({"model": "typo"}, "--model", f"models: {OPUS}, gpt-5.4, stub"),
        ({"until": "2025-12-31"}, "--until", "answers: from 2026-01-04 to 2026-02-01"),
        ({"since": "2026-01-06", "until": "2026-01-31"}, "--since --until", "answers: from 2026-01-04 to 2026-02-01"),
        ({"model": "opus", "agent": "typo"}, "--model --agent", f"models: {OPUS}, gpt-5.4, stub\nagents: claude-code"),
        ({"projects": (read_project("nope", "/"),)}, "--project", None),
    ],
)  # fmt: skip
def test_a_filter_that_nothing_matches_is_named_with_what_there_is(week, options, note, hint):
    start, end = parse_window(options.pop("since", None), options.pop("until", None), 0)
    found = count(week, since=start, until=end, **options)
    assert [(each.text, each.hint) for each in found.notes] == [(f"no answer matches {note}", hint)]


def test_conversations_are_chosen_by_name(week):
    new(week, conversation_id="other")
    answer(week, "other", "x", time="2026-03-01T10:00:00.5Z")
    assert by_key(count(week, "conversation"), "conversation") == {"conv-001": (3, 4200), "other": (1, 1100)}
    assert by_key(count(week, "conversation", conversations=("other",)), "conversation") == {"other": (1, 1100)}
    with pytest.raises(NotFound):
        count(week, conversations=("missing",))


def test_an_answer_of_two_conversations_counts_for_the_first_one(week):
    new(week, conversation_id="other")
    answer(week, "other", "b again", time="2026-01-04T23:59:59.9Z")
    assert by_key(count(week, "conversation"), "conversation") == {"conv-001": (2, 3100), "other": (1, 1100)}
    assert by_key(count(week, "conversation", conversations=("conv-001",)), "conversation") == {"conv-001": (3, 4200)}


def test_projects_are_those_of_the_directories_where_conversations_began(repository, tmp_path):
    directory = tmp_path / "shop"
    directory.mkdir()
    for day, (name, where) in enumerate((("one", str(directory)), ("two", "/elsewhere/app")), start=1):
        new(repository, conversation_id=name, directory=where)
        answer(repository, name, "x", time=f"2026-01-0{day}T10:00:00.5Z")
    assert by_key(count(repository, "project"), "project") == {"shop": (1, 1100), "app": (1, 1100)}
    chosen = read_project(str(directory), "/")
    assert by_key(count(repository, "project", projects=(chosen,)), "project") == {"shop": (1, 1100)}


def test_an_empty_store_has_used_nothing(repository):
    found = count(repository)
    assert (found.rows, found.days, found.total.answers, found.total.cost_micros, found.conversations) == (
        (),
        (),
        0,
        None,
        0,
    )
