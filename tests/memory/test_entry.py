"""The stored form of entries."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.errors import Corrupt
from scopes.memory.entry import MemoryEntry, Sources, decode_entry, encode_entry
from scopes.memory.extraction import number_items
from tests.support.examples import examples

TEXTS = st.lists(st.text(max_size=20), max_size=3).map(tuple)
ENTRIES = st.builds(
    MemoryEntry,
    id=st.text(min_size=1, max_size=9),
    agent=st.text(max_size=9),
    summary=st.text(),
    time=st.just("2026-01-01T00:00:00.000Z"),
    importance=st.integers(1, 10),
    conversation=st.none() | st.just("conv-001"),
    uuid=st.none() | st.text(max_size=5),
    branch=st.none() | st.just("main"),
    topics=TEXTS,
    decisions=TEXTS,
    action_items=st.lists(st.tuples(st.text(), st.booleans()), max_size=2),
    sources=st.builds(Sources, TEXTS, st.none() | st.just("0" * 40)),
    method=st.none() | st.just("command"),
    extra=st.just({}) | st.just({"mood": ["calm"]}),
).map(lambda entry: replace(entry, action_items=number_items(entry.action_items, entry.id)))
MINIMAL = {"id": "x", "agent": "a", "summary": "s", "timestamp": "2026-01-01T00:00:00Z"}


@given(ENTRIES)
@settings(max_examples=examples(100))
def test_decoding_an_encoded_entry_returns_it(entry):
    assert decode_entry(encode_entry(entry)) == entry


def test_an_entry_is_indented_json():
    """S0-12."""
    text = encode_entry(MemoryEntry(id="x", agent="a", summary="Über\ud800", time="t")).decode()
    assert '\n  "summary": "Über\\ud800",\n' in text
    document = json.loads(text)
    assert (document["topics"], document["decisions"], document["action_items"]) == ([], [], [])


def test_missing_lists_are_empty_and_unknown_fields_are_kept():
    """S0-14."""
    entry = decode_entry(json.dumps(MINIMAL | {"decisions": "none", "topics": None, "later": 1}).encode())
    assert (entry.decisions, entry.topics, entry.action_items, entry.extra) == ((), (), (), {"later": 1})
    assert json.loads(encode_entry(entry))["later"] == 1


@pytest.mark.parametrize(("stored", "read"), [(0, 1), (-3, 1), (10, 10), (99, 10), ("high", 3), (None, 3)])
def test_an_importance_out_of_range_is_clamped(stored, read):
    """S0-13."""
    assert decode_entry(json.dumps(MINIMAL | {"importance": stored}).encode()).importance == read


@pytest.mark.parametrize(
    "data", [b"[]", b'{"id": "x"}', b'{"id": 1, "agent": "", "summary": "", "timestamp": ""}', b"{", b"\xff"]
)
def test_damaged_data_is_refused(data):
    with pytest.raises(Corrupt):
        decode_entry(data)
