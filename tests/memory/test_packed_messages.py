"""Long conversations are read in a stream: their texts are compressed in memory, and the entries are the same."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import new
from scopes.history.activity import Activity
from scopes.history.names import list_branch_tips
from scopes.memory import packed_messages
from scopes.memory import update as update_module
from scopes.memory.extraction import actions_of, decisions_of, importance_of, main_agent, summary_of
from scopes.memory.packed_messages import PackedMessages
from scopes.memory.source_messages import headers_beyond, read_source_messages, walk_headers_beyond
from scopes.memory.topics import topics_of
from scopes.memory.update import update
from scopes.model.message import Author
from tests.memory.talking import CONVERSATION, decide, say

CAROL = Author("carol", "human")


@pytest.fixture
def talked(repository, monkeypatch):
    """A conversation with requests, decisions, action items and an amendment, in blocks of three messages."""
    monkeypatch.setattr(packed_messages, "_AT_ONCE", 3)
    new(repository)
    say(repository, "Please cache the login form of the shop.", author="carol", author_kind="human")
    first, *_ = say(
        repository, "The login form is cached in memory.", "We decided to use Redis.", "TODO: test the cache"
    )
    decide(repository, "cache", "redis")
    say(repository, "The cookie parser reads the cookie of the shop twice.", "- [x] test the cache", "It is done.")
    amend(repository, CONVERSATION, first, "The login form is cached in Redis.", author=CAROL)
    retract(repository, CONVERSATION, say(repository, "This was wrong.")[0], "wrong", author=CAROL)
    return repository


def tip_of(repository, name="main"):
    return list_branch_tips(repository, CONVERSATION)[name]


def sources(repository):
    return read_source_messages(repository, headers_beyond(repository, tip_of(repository), ()))


def test_packed_messages_are_the_messages_in_both_directions(talked):
    found = sources(talked)
    packed = PackedMessages(found)
    assert ([*packed], [*reversed(packed)], len(packed)) == (found, found[::-1], len(found))
    assert found[2] in packed
    assert packed.packed_bytes > 0 == PackedMessages().packed_bytes


def test_dropped_messages_are_left_out(talked):
    found = sources(talked)
    packed = PackedMessages(found, {found[1].head.id, "another"})
    kept = [found[0], *found[2:]]
    assert ([*packed], [*reversed(packed)], len(packed)) == (kept, kept[::-1], len(kept))


@pytest.mark.parametrize(
    "rule",
    [
        decisions_of,
        main_agent,
        summary_of,
        topics_of,
        lambda found: actions_of(found, "e"),
        lambda found: importance_of(found, (), ()),
        lambda found: summary_of(found, Activity()),
    ],
)
def test_rules_find_the_same_in_packed_messages(talked, rule):
    found = sources(talked)
    assert rule(PackedMessages(found)) == rule(found)


def test_headers_in_a_stream_are_those_in_a_list(talked):
    branch(talked, CONVERSATION, name="alt", start="main~3", switch=False)
    say(talked, "Something else.", branch="alt")
    for known in ((), [tip_of(talked)], [tip_of(talked, "alt")]):
        for name in ("main", "alt"):
            tip = tip_of(talked, name)
            assert [*walk_headers_beyond(talked, tip, known)] == headers_beyond(talked, tip, known)


def entries(repository):
    made = update(repository, dry_run=True).entries
    return [
        replace(each, id="", action_items=tuple(item._replace(id="") for item in each.action_items)) for each in made
    ]


def test_messages_that_are_read_again_give_the_same_entries(talked, monkeypatch):
    branch(talked, CONVERSATION, name="alt", start="main~3", switch=False)
    say(talked, *(f"The parser of alternative {number} is slow." for number in range(6)), branch="alt")
    expected = entries(talked)
    assert len(expected) == 2
    monkeypatch.setattr(update_module, "_MAX_KEPT_BYTES", 0)
    assert entries(talked) == expected


@pytest.mark.slow
def test_an_update_has_a_fraction_of_the_texts_in_memory(repository, monkeypatch):
    monkeypatch.setattr(packed_messages, "_AT_ONCE", 2)
    new(repository)
    dashes = "-" * 20_000
    say(repository, *(f"The parser of part {number} reads every cookie twice.\n{dashes}" for number in range(60)))
    tracemalloc.start()
    try:
        assert len(update(repository).entries) == 1
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 60 * len(dashes) / 2
