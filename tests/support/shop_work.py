"""A small piece of work of a person with an agent, in eight prompts: what the model does for each, and what `why` must say.

The prompts are of the kinds that occur: new files, a change of a line of another turn, a prompt that only says to
commit, a short answer to a question, a file that a command writes, a second session, and a change that is not committed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tests.support.model_script import TEXT, ScriptedTurn

ADD = "Write shop.py with a function that adds up the prices of a basket, and commit it"
DISCOUNT = "Give customers who order often a discount in shop.py"
COMMIT = "commit what you have"
YES = "yes"
CAP = "The discount must never be more than thirty percent, please change that"
RATES = "Make a list of the tax rates in rates.txt with printf, and commit it"
BILL = "Print a bill with all items of a basket in shop.py, and commit it"
ROUND = "The total has to be in whole cents, but do not commit that yet"
SESSIONS = ((ADD, DISCOUNT, COMMIT, YES, CAP, RATES), (BILL, ROUND))
OFFER = "Both functions are committed. Shall I write tests for them in test_shop.py?"
RATES_COMMAND = r"printf 'Austria takes 20 percent\nBelgium takes 21 percent\n' > rates.txt"

_TOTAL = '''\
"""What the basket of a customer costs."""


def total_of_basket(basket):
    """Add up the prices of a basket."""
    return sum(item.price for item in basket)
'''
_DISCOUNT = '''

def discount_of_customer(customer):
    """Return the discount of a customer who orders often."""
    share = customer.orders_last_year / 100
    return share if customer.orders_last_year > 5 else 0
'''
_BILL = '''

def print_bill(basket):
    """Print one line for each item of a basket."""
    for item in basket:
        print(f"{item.name:20} {item.price:8.2f}")
'''
_TESTS = """\
from shop import discount_of_customer, total_of_basket


def test_an_empty_basket_costs_nothing():
    assert total_of_basket([]) == 0


def test_a_new_customer_gets_no_discount(new_customer):
    assert discount_of_customer(new_customer) == 0
"""


class Question(NamedTuple):
    """A line of a file, by a part of its text, and the answer that is right for it."""

    file: str
    text: str
    prompt: str | None
    level: str
    session: int = 0


QUESTIONS = (
    Question("shop.py", "What the basket of a customer costs", ADD, "certain"),
    Question("shop.py", "def total_of_basket", ADD, "certain"),
    Question("shop.py", "Return the discount of a customer", DISCOUNT, "certain"),
    Question("shop.py", "share = customer.orders_last_year", DISCOUNT, "certain"),
    Question("shop.py", "return min(share, 0.3)", CAP, "certain"),
    Question("test_shop.py", "def test_an_empty_basket", YES, "certain"),
    Question("test_shop.py", "assert discount_of_customer", YES, "certain"),
    Question("rates.txt", "Belgium takes", RATES, "commit-only"),
    Question("shop.py", "def print_bill", BILL, "certain", session=1),
    Question("shop.py", "return round(sum(", ROUND, "likely", session=1),
)
BY_HAND = "Croatia takes 25 percent"


def script_work(tools: Any, project: Path) -> dict[str, ScriptedTurn]:
    """Return what the model does for each prompt, by the calls of an agent's tools."""
    shop, tests = project / "shop.py", project / "test_shop.py"
    return_share, return_sum = "return share if", "return sum(item.price for item in basket)"
    discounted = _TOTAL + _DISCOUNT
    capped = discounted.replace(return_share, "return min(share, 0.3) if")

    def commit(subject: str) -> list[Any]:
        return tools.run_command(f"git add -A && git commit -m '{subject}'")

    def append(before: str, last: str, more: str) -> list[Any]:
        return tools.edit_file(shop, before, last, f"{last}\n{more.rstrip()}")

    calls = {
        ADD: [*tools.write_file(shop, _TOTAL), *commit("Add up the prices")],
        DISCOUNT: append(_TOTAL, return_sum, _DISCOUNT),
        COMMIT: commit("Give a discount"),
        YES: [*tools.write_file(tests, _TESTS), *commit("Test the shop")],
        CAP: [*tools.edit_file(shop, discounted, return_share, "return min(share, 0.3) if"), *commit("Cap it")],
        RATES: [*tools.run_command(RATES_COMMAND), *commit("List the tax rates")],
        BILL: [
            *append(capped, "return min(share, 0.3) if customer.orders_last_year > 5 else 0", _BILL),
            *commit("Print a bill"),
        ],
        ROUND: tools.edit_file(shop, capped + _BILL, return_sum, f"{return_sum.replace('sum(', 'round(sum(')}, 2)"),
    }
    return {prompt: ScriptedTurn(tuple(each), OFFER if prompt == COMMIT else TEXT) for prompt, each in calls.items()}
