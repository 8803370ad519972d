"""`usage` as text: money, numbers and bars."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.usage.prices import format_money, shorten
from tests.render.rendering import piped, seen
from tests.render.results import UNPRICED, USAGE


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (None, "?"), (0, "$0.00"), (1, "<$0.01"), (4_999, "<$0.01"), (5_000, "$0.01"), (1_234_567, "$1.23"),
        (1_235_000, "$1.24"), (12_345_678_901, "$12,345.68"),
    ],
)  # fmt: skip
def test_money_has_two_digits_and_only_nothing_is_0(cost, text):
    assert format_money(cost, "USD") == text


def test_a_currency_without_a_symbol_is_named():
    assert [format_money(1_000_000, name) for name in ("EUR", "CHF")] == ["€1.00", "CHF 1.00"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (999, "999"), (1000, "1.0k"), (9_999, "9.9k"), (10_000, "10k"), (999_999, "999k"), (1_000_000, "1.0M"),
        (24_013_662, "24M"), (1_500_000_000, "1.5G"),
    ],
)  # fmt: skip
def test_a_number_is_cut_and_never_rounded_up_to_the_next_unit(number, text):
    assert shorten(number) == text


def test_the_longest_bar_is_that_of_the_highest_cost_and_a_cost_has_at_least_the_shortest_one():
    lines = seen(USAGE).splitlines()
    assert next(line for line in lines if "5 Jan" in line).count("█") == 12
    assert "▏" in next(line for line in lines if "30 Dec" in line)


def test_without_a_price_bars_show_tokens():
    rows = (UNPRICED, UNPRICED._replace(period="2026-01-02", input=650))
    result = replace(USAGE, rows=rows, days=rows, total=UNPRICED._replace(period=None))
    bars = [line.count("█") for line in seen(result).splitlines() if "█" in line]
    assert sorted(bars) == [6, 12]


def test_a_pipe_has_whole_numbers_exact_money_and_nothing_for_what_is_unknown():
    assert piped(USAGE).splitlines() == [
        "2025-12-30\t3\t900\t0\t0\t0\t70\t12\t0.004321\t0",
        "2025-12-31\t1\t1300\t0\t0\t0\t9\t0\t\t1",
        "2026-01-05\t225\t13818\t24013662\t1618146\t20000\t70618\t0\t24.300123\t0",
    ]
