"""Tokens and cost in a program: the rows of `scopes usage`."""

from __future__ import annotations

import json

import pytest

import scopes
from tests.usage.answers import OPUS, answer

PRICES = {
    "currency": "EUR",
    "date": "2026-01-01",
    "source": "ours",
    "models": [{"models": ["claude*"], "input": 1_000_000, "cache_read": 0, "output": 2_000_000}],
}


@pytest.fixture
def counted(conversation):
    """A conversation with two answers of two models on two days."""
    with scopes.open_store(conversation.store) as store:
        answer(store.repository, conversation.id, "b", time="2026-01-04T10:00:00.1Z", model=OPUS)
        answer(store.repository, conversation.id, "c", time="2026-02-05T10:00:00.1Z", model="gpt-5.4", output=1000)
    return conversation


OPTIONS = {
    (): {"by": "day"},
    ("--by", "model"): {"by": "model"},
    ("--by", "month,agent"): {"by": ["month", "agent"]},
    ("--since", "2026-01-10"): {"by": "day", "since": "2026-01-10"},
    ("--until", "2026-01-10", "--model", "opus"): {"by": "day", "until": "2026-01-10", "model": "opus"},
    ("--agent", "nobody"): {"by": "day", "agent": "nobody"},
}


def counted_in(talk, **options):
    """Return what one conversation has used."""
    with scopes.open_store(talk.repository.path) as store:
        return store.usage(conversations=[talk.id], **options)


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_a_conversation_has_the_rows_of_the_command_line(counted, same, words):
    found = same(("usage", counted.id, *words), lambda talk: counted_in(talk, **OPTIONS[words]))
    assert isinstance(found, scopes.Usage)


def test_rows_are_for_days_unless_something_else_is_asked_for(counted, store, talk):
    assert [row.period for row in store.usage().rows] == ["2026-01-04", "2026-02-05"]
    assert store.usage("conversation").rows[0].conversation == talk.id
    other = store.new("another one")
    assert store.usage(conversations=[other.id]).total.answers == 0


def test_prices_are_those_of_a_file_or_of_the_configuration(counted, store, talk, tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(PRICES))
    found = store.usage("model", prices=path)
    assert (found.prices.currency, found.prices.path) == ("EUR", str(path))
    assert [(row.model, row.cost_micros) for row in found.rows] == [(OPUS, 1200), ("gpt-5.4", None)]
    with scopes.open_store(counted.store, settings={"scopes.prices": str(path)}) as configured:
        assert configured.usage("model").prices == found.prices
    with pytest.raises(scopes.ScopesError, match="missing"):
        store.usage(prices=tmp_path / "missing.json")


def test_a_word_that_is_no_row_is_refused(store):
    with pytest.raises(scopes.Invalid, match="colour"):
        store.usage("colour")
    with pytest.raises(scopes.NotFound):
        store.usage(conversations=["conv-404"])
