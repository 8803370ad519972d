"""The table of prices: names, dates, sizes and kinds of tokens."""

from __future__ import annotations

import json

import pytest

from scopes.errors import Inaccessible, Invalid
from scopes.usage.prices import INCOMPLETE, SHIPPED, UNITS, Amounts, read_prices

DAY = "2026-02-01"


def table(tmp_path, *models, **fields):
    """Read a table of prices with these entries."""
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"models": list(models), **fields}))
    return read_prices(str(path))


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-opus-4-5-20251101", 5),
        ("openrouter/anthropic/claude-3.5-sonnet", 3),
        ("Claude-3-Opus-20240229", 15),
        ("gpt-4o-2024-08-06", 2.5),
        ("gpt-4o-2024-05-13", 5),
        ("litellm_proxy/gpt-5.4", 2.5),
        ("gemini-3-flash-preview", 0.5),
        ("gpt-5:high", 1.25),
    ],
)
def test_a_model_is_found_with_a_provider_before_it_and_a_date_behind(model, dollars):
    price = read_prices().find(model, DAY, 0)
    assert price is not None
    assert price.input == dollars * UNITS


@pytest.mark.parametrize("model", ["stub-model", "", "claude", "gpt", "gpt-4-mini", "/", "*", "deepseek-coder"])
def test_a_model_that_is_not_in_the_table_has_no_price(model):
    assert read_prices().find(model, DAY, 0) is None


def test_the_table_names_its_date_and_its_source():
    found = read_prices()
    assert (found.currency, len(found.date), found.path) == ("USD", len("2026-01-01"), None)
    assert "price lists" in found.source


def test_no_name_of_the_table_has_two_prices_of_one_day():
    with open(SHIPPED, encoding="utf-8") as file:
        rows = json.load(file)["models"]
    names = [(name, row.get("from")) for row in rows for name in row["models"]]
    assert len(set(names)) == len(names)


def test_every_kind_of_token_has_its_own_price(tmp_path):
    row = {"models": ["m"], "input": 1, "cache_read": 10, "cache_write": 100, "cache_write_1h": 1000, "output": 10_000}
    price = table(tmp_path, {**row, "reasoning": 100_000}).find("m", DAY, 0)
    assert price is not None
    assert price.cost(Amounts(1, 1, 1, 2, 1, 2, 1)) == 111_111


def test_a_missing_price_is_that_of_a_similar_kind(tmp_path):
    price = table(tmp_path, {"models": ["m"], "input": 7, "output": 9}).find("m", DAY, 0)
    assert price == (7, 7, 7, 7, 9, 9)
    price = table(tmp_path, {"models": ["m"], "input": 7, "cache_write": 8, "output": 9}).find("m", DAY, 0)
    assert price == (7, 7, 8, 8, 9, 9)


def test_a_price_is_in_effect_from_its_day_on(tmp_path):
    rows = [
        {"models": ["m"], "from": day, "input": n, "output": 1} for n, day in enumerate(("2026-01-01", "2026-03-01"))
    ]
    found = table(tmp_path, *rows)
    assert [found.find("m", day, 0) for day in ("2025-12-31", "")] == [None, None]
    assert [price.input for price in (found.find("m", day, 0) for day in ("2026-01-01", "2026-03-01")) if price] == [
        0,
        1,
    ]


def test_long_contexts_have_their_own_prices(tmp_path):
    row = {
        "models": ["m"],
        "input": 1,
        "output": 2,
        "above": {"200000": {"input": 3}, "272000": {"input": 5, "output": 7}},
    }
    found = table(tmp_path, row)
    prices = [found.find("m", DAY, size) for size in (0, 128_000, 200_000, 272_000, 512_000)]
    assert [(price.input, price.cache_read, price.output) for price in prices if price] == [
        (1, 1, 2), (1, 1, 2), (3, 3, 2), (5, 5, 7), (5, 5, 7),
    ]  # fmt: skip


def test_an_answer_whose_input_or_output_is_unknown_has_no_price(tmp_path):
    """A cost of half of the tokens would look like the cost of the answer."""
    assert table(tmp_path, {"models": ["m"], "input": 1, "output": 2}).find("m", DAY, INCOMPLETE) is None


def test_the_longest_name_decides(tmp_path):
    rows = [{"models": [name], "input": n, "output": 0} for n, name in enumerate(("a*", "a-b*", "a-b-c", "p/a-b-c"))]
    found = table(tmp_path, *rows)
    names = ("ax", "a-bx", "a-b-c", "P/A-B-C", "q/a-b-c", "a-b-c-20260101")
    assert [price.input for price in (found.find(name, DAY, 0) for name in names) if price] == [0, 1, 2, 3, 2, 1]


def test_a_table_of_the_user_replaces_the_shipped_one_or_comes_before_it(tmp_path):
    row = {"models": ["gpt-5"], "input": 1, "output": 2}
    alone = table(tmp_path, row)
    assert (alone.currency, alone.date, alone.find("gpt-4o", DAY, 0)) == ("USD", "", None)
    both = table(tmp_path, row, extends=True, currency="USD", source="ours")
    assert (both.source, both.find("gpt-4o", DAY, 0)) == ("ours", read_prices().find("gpt-4o", DAY, 0))
    assert both.find("gpt-5", DAY, 0) == (1, 1, 1, 1, 2, 2)


def test_a_table_in_another_currency_cannot_come_before_the_shipped_one(tmp_path):
    """The prices in dollars would be shown as euros."""
    row = {"models": ["gpt-5"], "input": 1, "output": 2}
    assert table(tmp_path, row, currency="EUR").currency == "EUR"
    with pytest.raises(Invalid, match="are in 'EUR', and those that it extends are in USD") as refused:
        table(tmp_path, row, currency="EUR", extends=True)
    assert "leave 'extends' out" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"date": "not a date"}, "'date' is not a day such as 2026-01-31: 'not a date'"),
        ({"date": "2026-02-30"}, "'date' is not a day"),
        ({"date": "20260201"}, "'date' is not a day"),
        ({"date": 20260201}, "'date' is not a text"),
        ({"currency": None}, "'currency' is not a text"),
        ({"source": ["a"]}, "'source' is not a text"),
    ],
)
def test_what_a_table_says_of_its_prices_is_checked(tmp_path, fields, error):
    with pytest.raises(Invalid, match=error):
        table(tmp_path, {"models": ["m"], "input": 1, "output": 1}, **fields)


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"input": 1, "output": 1}, "it has no list 'models' of names"),
        ("x", "it has no list 'models' of names"),
        ({"models": []}, "it has no list 'models' of names"),
        ({"models": ["*"], "input": 1, "output": 1}, "'models' has something that is not a name"),
        ({"models": [3], "input": 1, "output": 1}, "'models' has something that is not a name"),
        ({"models": ["m"], "input": 1}, "the price 'output' is not a whole number"),
        ({"models": ["m"], "input": 1.5, "output": 1}, "the price 'input' is not a whole number"),
        ({"models": ["m"], "input": -1, "output": 1}, "the price 'input' is not a whole number"),
        ({"models": ["m"], "input": True, "output": 1}, "the price 'input' is not a whole number"),
        ({"models": ["m"], "input": 10**13, "output": 1}, "the price 'input' is not a whole number"),
        ({"models": ["m"], "from": "1.1.2026", "input": 1, "output": 1}, "'from' is not a day"),
        ({"models": ["m"], "above": {"1": {}}, "input": 1, "output": 1}, "'above' has a limit other than 100000"),
        ({"models": ["m"], "above": {"200000": 3}, "input": 1, "output": 1}, "'above' has something that is not"),
    ],
)
def test_a_wrong_entry_is_named_with_its_number(tmp_path, row, error):
    with pytest.raises(Invalid, match=r"entry 2 of the prices in .*prices\.json: ") as raised:
        table(tmp_path, {"models": ["ok"], "input": 1, "output": 1}, row)
    assert error in raised.value.message


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", "[" * 100_000, '{"models": {}}'])
def test_a_file_that_is_no_table_is_refused(tmp_path, text):
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(Invalid, match="is not a table of prices"):
        read_prices(str(path))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(Inaccessible, match=f"cannot read the prices in {path}"):
            read_prices(str(path))
