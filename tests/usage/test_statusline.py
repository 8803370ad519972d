"""`usage --statusline`: three sums in one line."""

from __future__ import annotations

import json

import pytest

from scopes.clock import parse_time
from scopes.usage.prices import read_prices
from scopes.usage.usage import Spent, usage_status
from tests.support.history import history
from tests.usage.answers import OPUS, answer

NOW = parse_time("2026-01-31T12:00:00Z")


@pytest.fixture
def spent(repository):
    """A store with answers of today, of 6, 7, 29 and 30 days ago, and of tomorrow."""
    history(repository, "main: a")
    for day in ("2026-01-31", "2026-01-25", "2026-01-24", "2026-01-02", "2026-01-01", "2026-02-01"):
        answer(repository, "conv-001", day, time=f"{day}T11:59:59.5Z")
    return repository


def status(repository, prices=None):
    """Return the status at noon of 31 January."""
    return usage_status(repository, prices or read_prices(), NOW)


def test_today_belongs_to_the_last_7_and_to_the_last_30_days(spent):
    found = status(spent)
    assert [each.answers for each in (found.today, found.week, found.month)] == [1, 2, 4]
    assert (found.week, found.model) == (Spent(2, 2200, 15_000, 0), OPUS)


def test_other_prices_apply_to_what_is_cached(spent, tmp_path):
    status(spent)
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"currency": "EUR", "models": [{"models": ["claude*"], "input": 10**6, "output": 0}]}))
    found = status(spent, prices=read_prices(str(path)))
    assert (found.currency, found.today.cost_micros) == ("EUR", 1000)


def test_what_has_no_price_is_counted(spent):
    answer(spent, "conv-001", "x", time="2026-01-31T11:59:59.9Z", model="stub")
    answer(spent, "conv-001", "y", time="2026-01-31T11:59:59.9Z", model=None, output=7)
    found = status(spent)
    assert found.today == Spent(3, 3 * 1000 + 207, 7_500, 2)


def test_without_a_store_nothing_was_used():
    found = status(None)
    assert (found.month, found.model) == (Spent(0, 0, None, 0), None)
