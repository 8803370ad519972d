"""Edge cases of stats, prune and context."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.clock import format_time, now_nanoseconds
from scopes.errors import Invalid
from scopes.memory.add import add
from scopes.memory.context import LIMIT, MAX_CHARACTERS, context, write_context
from scopes.memory.list import list_memory
from scopes.memory.prune import prune
from scopes.memory.stats import stats
from scopes.memory.store import Memory, change_memory, entry_change, removal
from scopes.store.transactions import exclusive_write

DAY = 86400 * 1_000_000_000


@pytest.fixture
def aged(repository):
    """Add entries that are 0, 6, 8, 100 and 400 days old, older ones more important, and one of unknown age."""
    changes = {}
    for importance, days in enumerate((0, 6, 8, 100, 400), start=4):
        entry = add(repository, f"{days} days old", agent="a", importance=importance).entry
        changes |= removal(entry) | entry_change(replace(entry, time=format_time(now_nanoseconds() - days * DAY)))
    entry = add(repository, "of unknown age", agent="b").entry
    changes |= removal(entry) | entry_change(replace(entry, time="whenever"))
    with exclusive_write(repository):
        change_memory(repository, Memory(repository), changes, "age")
    return repository


def summaries(repository):
    """Return the summaries of all entries, newest first."""
    return [entry.summary for entry in list_memory(repository).entries]


def test_this_week_is_the_last_seven_days(aged):
    """S0-19."""
    found = stats(aged)
    assert (found.total, found.this_week) == (6, 2)
    assert found.agents == {"a": 5, "b": 1}
    assert found.oldest == "whenever"


def test_agents_are_counted_most_first_then_by_name(repository):
    """S0-19."""
    for agent in ("b", "a", "c", "c"):
        add(repository, "x", agent=agent)
    assert list(stats(repository).agents.items()) == [("c", 2), ("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    ("options", "remaining"),
    [
        ({"older_than": "7 days ago"}, 2),
        ({"older_than": "7 days ago", "keep_importance": 8}, 3),
        ({"older_than": "1000 days ago"}, 5),
        ({"max_entries": 3}, 3),
        ({"max_entries": 100}, 6),
        ({"max_entries": 10**30}, 6),
        ({"max_entries": 0, "keep_importance": 7}, 2),
        ({"max_entries": 1, "keep_importance": 7}, 2),
        ({"max_entries": 3, "keep_importance": 7}, 3),
        ({"max_entries": 3, "older_than": "7 days ago"}, 2),
        ({"max_entries": 1, "older_than": "7 days ago"}, 1),
        ({"max_entries": 0, "keep_importance": 1}, 6),
    ],
)
def test_pruning_keeps_the_expected_number(aged, options, remaining):
    """S0-21."""
    preview = prune(aged, **options, dry_run=True)
    assert len(summaries(aged)) == 6
    done = prune(aged, **options)
    assert (done.removed, done.remaining) == (preview.removed, remaining)
    assert len(summaries(aged)) == remaining
    assert (done.operation is None) == (remaining == 6)


@pytest.mark.parametrize("importance", [0, 11, -3])
def test_an_importance_out_of_range_is_refused(aged, importance):
    """S0-13."""
    with pytest.raises(Invalid, match="invalid importance"):
        prune(aged, max_entries=0, keep_importance=importance)
    assert len(summaries(aged)) == 6


def test_a_context_has_ten_entries_in_8192_characters_by_default(repository):
    """S0-17."""
    for number in range(12):
        add(repository, f"entry {number} " + "x" * 700, agent="a")
    assert (LIMIT, MAX_CHARACTERS) == (10, 8192)
    assert len(context(repository).entries) == 10
    add(repository, "y" * 3000, agent="a")
    made = context(repository)
    assert len(made.entries) + made.omitted == 10
    assert 0 < len(made.text) <= 8192
    assert len(context(repository, max_characters=10**9, limit=10**9).entries) == 13


def test_an_entry_that_does_not_fit_leaves_room_for_shorter_ones(repository):
    """S0-17: each whole or not at all."""
    entries = [add(repository, text, agent="a").entry for text in ("short", "long " * 100, "also short")]
    made = write_context(list(reversed(entries)), 280)
    assert made.entries == (entries[0].id, entries[2].id)
    assert made.omitted == 1
