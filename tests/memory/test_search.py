"""Properties of the memory search."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.new_rename_delete import new
from scopes.memory.add import add
from scopes.memory.list import list_memory
from scopes.memory.search import KINDS, MemoryFilter, search
from tests.support.examples import examples
from tests.support.store import make_store

WORDS = ("login", "Cookie", "SAFARI", "数据库", "straße", "form")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
ENTRIES = st.lists(
    st.tuples(
        TEXTS, st.lists(TEXTS, max_size=2), st.lists(TEXTS, max_size=2), st.lists(TEXTS, max_size=2), st.integers(1, 10)
    ),
    max_size=6,
)
few = settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def fill(tmp_path_factory, spread_ids):
    """Make a store with generated entries."""

    def make(entries):
        repository = make_store(tmp_path_factory.mktemp("search") / "store.git")
        new(repository)
        for text, topics, decisions, actions, importance in entries:
            add(repository, text, agent="x", topics=topics, decisions=decisions, actions=actions, importance=importance)
        return repository

    return make


def everything(entry):
    """Return all texts of an entry, case-folded."""
    actions = [item.text for item in entry.action_items]
    return "\n".join([entry.summary, *entry.topics, *entry.decisions, *actions, entry.agent]).casefold()


@few
@given(ENTRIES, TEXTS)
def test_entries_with_every_word_are_found_and_no_others(fill, entries, query):
    """S0-15: over all text fields, in any case."""
    repository = fill(entries)
    expected = {
        entry.id
        for entry in list_memory(repository).entries
        if all(word in everything(entry) for word in query.casefold().split())
    }
    for written in (query, query.upper(), f"  {query.lower()}\n"):
        assert {hit.entry.id for hit in search(repository, written).hits} == expected


@few
@given(ENTRIES, TEXTS)
def test_hits_are_ordered_by_score_importance_and_age(fill, entries, query):
    """S0-15: ranked, stable."""
    repository = fill(entries)
    hits = search(repository, query).hits
    keys = [(hit.score, hit.entry.importance, *hit.entry.age_key) for hit in hits]
    assert keys == sorted(keys, reverse=True)
    assert search(repository, query).hits == hits
    assert all(hit.score > 0 and hit.fields for hit in hits)


@few
@given(ENTRIES, TEXTS, st.sampled_from(KINDS), st.integers(1, 10))
def test_a_filter_only_removes_hits(fill, entries, query, kind, least):
    """S0-15."""
    repository = fill(entries)
    whole = {hit.entry.id for hit in search(repository, query).hits}
    of_kind = search(repository, query, MemoryFilter(kind=kind)).hits
    important = search(repository, query, MemoryFilter(min_importance=least)).hits
    assert {hit.entry.id for hit in (*of_kind, *important)} <= whole
    assert all(hit.fields == (kind,) for hit in of_kind)
    assert all(hit.entry.importance >= least for hit in important)


def test_a_word_in_a_field_of_greater_weight_ranks_higher(fill):
    repository = fill(
        [("nothing", [], [], ["cookie"], 3), ("nothing", [], ["cookie"], [], 3), ("nothing", ["cookie"], [], [], 3)]
    )
    assert [hit.fields for hit in search(repository, "cookie").hits] == [("topic",), ("decision",), ("action",)]
