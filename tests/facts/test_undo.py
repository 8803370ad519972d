"""Undo of facts and proposed facts: the store has one ref for each, which all conversations share."""

from __future__ import annotations

import multiprocessing
import os

import pytest

from scopes import clock
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Refused
from scopes.facts.decide import accept, decide, reject
from scopes.facts.list import list_facts, list_proposed
from scopes.facts.propose import Proposal, propose
from scopes.facts.store import FactStore
from scopes.ids import ConversationId
from scopes.memory.add import add
from scopes.memory.store import Memory
from scopes.store import transactions
from scopes.store import transactions as recovery
from scopes.store.refs import FACTS, PROPOSED_FACTS
from tests.support.random_ids import spread_ids  # noqa: F401 - operations have different ids
from tests.support.store import assert_sound, git, open_store


@pytest.fixture
def two(repository):
    """Two conversations."""
    new(repository)
    new(repository)
    return repository


def suggest(repository, conversation, name, content="it is slow", key="Seeds"):
    return propose(repository, conversation, Proposal(key=key, content=content, agent="ann", id=name))


def approve(repository, conversation, name):
    suggest(repository, conversation, name)
    return accept(repository, conversation, name, actor="carol")


def facts(repository, conversation="conv-001"):
    return [row.fact.id for row in list_facts(repository, conversation).facts]


def waiting(repository, conversation="conv-001"):
    return [row.proposal.id for row in list_proposed(repository, conversation).proposals]


def test_undo_works_after_another_conversation_got_facts(two):
    first = approve(two, "conv-001", "slow")
    approve(two, "conv-002", "old")
    undo(two, first.operation)
    assert (facts(two), waiting(two), facts(two, "conv-002")) == ([], ["slow"], ["old"])
    redo(two)
    assert (facts(two), waiting(two), facts(two, "conv-002")) == (["slow"], [], ["old"])
    assert verify(two).findings == ()
    assert git(two, "fsck", "--strict") == ""


def test_an_earlier_proposal_is_undone_though_later_ones_wait(two):
    first = suggest(two, "conv-001", "slow")
    suggest(two, "conv-001", "big")
    undo(two, first.operation)
    assert waiting(two) == ["big"]


def test_a_proposal_that_was_rejected_or_accepted_is_not_undone(two):
    first = suggest(two, "conv-001", "slow")
    second = suggest(two, "conv-001", "big")
    reject(two, "conv-001", "slow", actor="carol", reason="no")
    accept(two, "conv-001", "big", actor="carol")
    for done in (first, second):
        with pytest.raises(Refused, match="was changed again since"):
            undo(two, done.operation)


def test_a_memory_entry_is_undone_though_others_came_after_it(two):
    """The memory is one ref for the whole store too."""
    first = add(two, "the login is slow", agent="ann")
    second = add(two, "the queue is full", agent="ann")
    undo(two, first.operation)
    assert [entry.id for entry in Memory(two).entries] == [second.entry.id]


def test_undo_of_the_first_fact_leaves_no_ref(two):
    suggest(two, "conv-001", "slow")
    undo(two)
    assert (two.find_ref(FACTS), two.find_ref(PROPOSED_FACTS)) == (None, None)


def test_a_decision_of_another_actor_is_named(two):
    suggest(two, "conv-001", "slow")
    first = decide(two, "conv-001", "slow", "refine", actor="carol", rationale="measure it")
    dan = open_store(two.path, actor="dan")
    decide(dan, "conv-001", "slow", "refine", actor="dan", rationale="measure it twice")
    with pytest.raises(Refused, match="was changed again since"):
        undo(two, first.operation)
    undo(dan)
    undo(two)
    assert list(FactStore(two, ConversationId("conv-001")).walk_decisions()) == []


class Killed(BaseException):
    """The process ends here."""


def killed(repository, monkeypatch, after):
    """Undo in conv-001, and die after so many refs were moved; return the store as another process opens it."""
    moved = []
    original = recovery.set_ref

    def move(store, change, reason, *, checked=False):
        if len(moved) == after:
            raise Killed
        moved.append(change.ref)
        original(store, change, reason, checked=checked)

    with monkeypatch.context() as patch:
        patch.setattr(recovery, "set_ref", move)
        patch.setattr(transactions, "set_ref", move)
        with pytest.raises(Killed):
            undo(repository, "conv-001")
    return open_store(repository.path)


@pytest.mark.parametrize("after", range(5))
def test_an_undo_that_is_killed_moves_both_refs_or_none(two, monkeypatch, after):
    """An acceptance changes facts and proposed facts; from the marker on, everybody sees the undo."""
    approve(two, "conv-001", "slow")
    approve(two, "conv-002", "old")
    again = killed(two, monkeypatch, after)
    seen = (facts(again), waiting(again))
    assert seen == ((["slow"], []) if after == 0 else ([], ["slow"]))
    assert facts(again, "conv-002") == ["old"]
    suggest(again, "conv-002", "new")  # the next writer finishes it
    assert (facts(again), waiting(again)) == seen
    assert waiting(again, "conv-002") == ["new"]
    assert_sound(again)


def work(path, conversation, number, barrier):
    """Accept facts and take every second one back, in a process of its own."""
    clock.random_bytes = os.urandom
    repository = open_store(path, actor=conversation)
    barrier.wait(60)
    for name in map(str, range(number)):
        approve(repository, conversation, f"f{name}")
        if int(name) % 2:
            undo(repository)
            undo(repository)
            redo(repository)


def test_two_writers_undo_in_their_conversations_at_once(two):
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    names = ("conv-001", "conv-002")
    running = [context.Process(target=work, args=(two.path, name, 8, barrier)) for name in names]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    assert [process.exitcode for process in running] == [0, 0]
    again = open_store(two.path)
    for name in names:
        assert facts(again, name) == ["f0", "f2", "f4", "f6"]
        assert waiting(again, name) == ["f1", "f3", "f5", "f7"]
    assert verify(again).findings == ()
    assert_sound(again)
