"""Sending: who gets a message, all or nothing, once, in the order of sending."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes import clock
from scopes.agents.inbox import read_inbox
from scopes.agents.register import AgentChanges, register, remove, update
from scopes.agents.registry import Registry
from scopes.agents.send import send
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Invalid, NoAvailableAgents, NotFound
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message, read_message
from scopes.history.names import list_branch_tips
from tests.support.examples import examples
from tests.support.random_ids import hashed_counter
from tests.support.store import make_store


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations and messages have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def team(repository):
    """Carol and two reviewers, one of them away."""
    new(repository)
    register(repository, "carol", agent_type="human")
    register(repository, "ann", capabilities=["review", "go"])
    register(repository, "bob", capabilities=["review"], available=False)
    return repository


def sent(repository, text="hello", *to, author="carol", queue=False, **fields):
    message = replace(plain_message(author, text), **fields)
    return send(StoreHandle(repository).branch("conv-001"), message, to, queue=queue)


def texts(repository, name, **options):
    return [each.message.text for each in read_inbox(repository, name, **options).messages]


def test_a_message_is_delivered_to_who_is_available_and_waits_for_others(team):
    """S4-30, S4-34: the expansion is stored with the message."""
    done = sent(team, "look", "@review")
    assert (done.delivered_to, done.queued_for) == (("ann",), ("bob",))
    stored = read_message(team, done.oid)
    assert stored.to == ("ann", "bob")
    assert stored.extra["routing"] == {"to": ["@review"], "delivered_to": ["ann"], "queued_for": ["bob"]}
    assert (texts(team, "ann"), texts(team, "bob"), read_inbox(team, "bob").waiting) == (["look"], [], 1)


@pytest.mark.parametrize(
    ("to", "names"),
    [
        (("ann",), ("ann",)), (("2", "ann"), ("ann",)), (("all",), ("ann", "bob")), (("bob", "@go"), ("ann", "bob")),
        (("carol",), ("carol",)), (("@review", "all"), ("ann", "bob")),
        (("ann,bob",), ("ann", "bob")), (("ann, @go", "2"), ("ann",)),
    ],
)  # fmt: skip
def test_receivers_are_named_once_by_number_and_no_group_has_the_author(team, to, names):
    done = sent(team, "hello", *to)
    assert tuple(sorted((*done.delivered_to, *done.queued_for))) == names


@pytest.mark.parametrize("to", [("ann", "zoe"), ("@fly",), ("99",)])
def test_an_unknown_receiver_sends_nothing(team, to):
    """S4-32."""
    before = team.list_refs("refs/")
    with pytest.raises(NotFound, match=r"zoe|fly|99"):
        sent(team, "hello", *to)
    assert team.list_refs("refs/") == before


def test_if_nobody_is_available_nothing_is_sent_unless_it_may_wait(team):
    """S4-31."""
    before = team.list_refs("refs/")
    with pytest.raises(NoAvailableAgents, match="no agent is available: bob"):
        sent(team, "hello", "bob")
    assert team.list_refs("refs/") == before
    done = sent(team, "hello", "bob", queue=True)
    assert (done.delivered_to, done.queued_for) == ((), ("bob",))


def test_what_waits_is_delivered_once_in_the_order_of_sending(team):
    """S4-33."""
    for text in ("one", "two"):
        sent(team, text, "@review")
    note = update(team, "bob", AgentChanges(available=True)).notes[-1]
    assert (note.text, note.hint) == ("2 waiting messages delivered", "read them: scopes inbox bob")
    sent(team, "three", "bob")
    assert texts(team, "bob", acknowledge=True) == ["one", "two", "three"]
    assert texts(team, "bob") == texts(team, "bob", acknowledge=True) == []
    update(team, "bob", AgentChanges(available=False))
    update(team, "bob", AgentChanges(available=True))
    assert texts(team, "bob") == []
    assert texts(team, "ann") == ["one", "two"]
    assert verify(team).findings == ()


def test_undo_takes_back_message_and_delivery_together(team):
    tip = list_branch_tips(team, "conv-001")["main"]
    sent(team, "oops", "all")
    undo(team)
    assert (list_branch_tips(team, "conv-001")["main"], texts(team, "ann"), read_inbox(team, "bob").waiting) == (
        tip,
        [],
        0,
    )
    redo(team)
    assert texts(team, "ann", acknowledge=True) == ["oops"]
    undo(team)
    assert texts(team, "ann") == ["oops"]


@pytest.mark.parametrize(
    ("kind", "payload", "names"),
    [
        ("proposal", {"entity_type": "file", "entity_id": "a", "changes": [], "rationale": "r"}, ("ann", "bob")),
        ("collaboration-request", {"type": "go", "context": "c"}, ("ann",)),
        ("collaboration-request", {"type": "peer-review", "capability": "review", "context": "c"}, ("ann", "bob")),
    ],
)
def test_the_kind_of_a_message_names_its_receivers(team, kind, payload, names):
    """S4-35."""
    done = sent(team, "please", kind=kind, payload=payload)
    assert tuple(sorted((*done.delivered_to, *done.queued_for))) == names
    assert sent(team, "please", "carol", kind=kind, payload=payload).delivered_to == ("carol",), "--to takes precedence"


def test_an_analysis_goes_to_registered_participants(team):
    sent(team, "hi", "carol", author="ann")
    sent(team, "hi", "carol", author="stranger")
    done = sent(team, "it is safe", kind="analysis", payload={"subject": "s", "finding": "f"})
    assert (done.delivered_to, done.queued_for) == (("ann",), ())


def test_a_plain_message_needs_a_receiver(team):
    with pytest.raises(Invalid):
        sent(team)


def test_a_removed_agent_takes_its_unread_messages_with_it(team):
    sent(team, "one", "ann")
    assert [note.text for note in remove(team, "ann").notes] == ["1 unread message went with it"]
    undo(team)
    assert texts(team, "ann") == ["one"]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.sampled_from(["@review", "ann", "bob", "all"])),
        st.tuples(st.sampled_from(["away", "available", "ack"]), st.sampled_from(["ann", "bob"])),
    ),
    max_size=14,
)


@given(STEPS)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_queues_and_availability_deliver_each_message_once_in_order(tmp_path_factory, steps):
    """A law: whatever comes in between, an agent gets what was sent to it once, in the order of sending."""
    repository = make_store(tmp_path_factory.mktemp("routing"))
    new(repository)
    for name in ("carol", "ann", "bob"):
        register(repository, name, capabilities=["review"] if name != "carol" else [])
    wanted, got = {"ann": [], "bob": []}, {"ann": [], "bob": []}
    for number, (step, name) in enumerate(steps):
        if step == "send":
            done = sent(repository, str(number), name, queue=True)
            for each in (*done.delivered_to, *done.queued_for):
                wanted.get(each, []).append(str(number))
        elif step == "ack":
            got[name] += texts(repository, name, acknowledge=True)
        else:
            update(repository, name, AgentChanges(available=step == "available"))
    for name in got:
        update(repository, name, AgentChanges(available=True))
        got[name] += texts(repository, name, acknowledge=True)
    assert got == wanted
    assert [agent.number for agent in Registry(repository).agents] == [1, 2, 3]


def test_a_name_with_a_comma_is_one_receiver(team):
    register(team, "ann,bob")
    assert sent(team, "hello", "ann,bob").delivered_to == ("ann,bob",)


def test_all_in_another_case_is_no_receiver(team):
    """Nobody sends to all by a slip; the hint says what it may have meant."""
    with pytest.raises(NotFound) as missing:
        sent(team, "hello", "ALL")
    assert missing.value.hint == "did you mean all?"


def test_a_receiver_that_is_not_registered_can_be_registered(team):
    """The hint was `scopes agents list`, which lists participants that are not registered too."""
    with pytest.raises(NotFound) as missing:
        read_inbox(team, "claude-code")
    assert missing.value.hint == ("list them: scopes agents list; to register one: scopes agents register NAME")
