"""The conversation of a run is renamed or deleted while its agents run, or before a command has the lock."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.new_rename_delete import delete, new, rename_conversation
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import NotFound
from scopes.facts.decide import accept, decide, promote, reject
from scopes.facts.list import list_facts
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, run_programs
from scopes.facts.store import FactStore
from scopes.ids import ConversationId
from scopes.store.repository import open_repository
from tests.support.random_ids import hashed_counter
from tests.support.store import overtake

CONV = ConversationId("conv-001")
WAITING = Proposal(key="Seeds", content="it waits", agent="carol", id="waits")
FACTS = '{"facts": [{"key": "Seeds", "content": "more", "id": "more"}]}'


@pytest.fixture
def store(repository, monkeypatch):
    """A conversation with one fact and one proposal, and an agent that depends on their key."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    new(repository)
    register(repository, "ann", dependencies=["Seeds"])
    propose(repository, CONV, Proposal(key="Seeds", content="it is slow", agent="carol", id="slow"))
    promote(repository, CONV, "slow")
    propose(repository, CONV, WAITING)
    return repository


@pytest.fixture
def run(store, monkeypatch, tmp_path):
    """A function that runs the agent, and `act` when it has run first; returns the ids that the agent got, too."""

    def run(act):
        def command(*arguments, **options):
            given.append(options["environ"]["SCOPES_CONVERSATION"])
            if len(given) == 1:
                act(open_repository(store.path))
            return FACTS.encode()

        given = []
        monkeypatch.setattr("scopes.facts.programs.run_command", command)
        return run_programs(store, CONV, {"ann": "an agent"}, RunLimits()), given

    return run


def facts_of(repository, conversation):
    return [row.fact.id for row in list_facts(repository, conversation).facts]


def test_a_run_follows_a_conversation_that_is_renamed(run, store):
    """Its programs get the new id in the next cycle; the work of the first one is not lost."""
    done, given = run(lambda repository: rename_conversation(repository, CONV, "renamed"))
    assert (done.conversation, done.ending, done.added) == ("renamed", "waiting", 1)
    assert given == ["conv-001", "renamed"]
    assert facts_of(store, "renamed") == ["more", "slow"]


def test_a_run_writes_nothing_into_a_conversation_that_got_the_id_meanwhile(run, store):
    def act(repository):
        rename_conversation(repository, CONV, "renamed")
        assert new(repository).id == CONV

    done, _ = run(act)
    assert done.conversation == "renamed"
    assert (facts_of(store, CONV), facts_of(store, "renamed")) == ([], ["more", "slow"])


def test_a_run_ends_when_its_conversation_is_deleted(run, store):
    with pytest.raises(NotFound, match="conv-001 was deleted while its agents ran; nothing of this cycle is stored"):
        run(lambda repository: delete(repository, CONV))
    undo(store, any_actor=True)
    assert facts_of(store, CONV) == ["slow"]
    assert FactStore(store, CONV).read_context().cycles == 0
    assert verify(store).exit_code == 0


@pytest.mark.parametrize(
    "command",
    [
        lambda r: promote(r, CONV, "waits"),
        lambda r: accept(r, CONV, "waits", actor="carol"),
        lambda r: reject(r, CONV, "waits", actor="carol", reason="no"),
        lambda r: decide(r, CONV, "waits", "refine", actor="carol", rationale="more"),
        lambda r: propose(r, CONV, Proposal(key="Seeds", content="x", agent="carol")),
    ],
)
def test_a_conversation_that_is_deleted_before_a_command_has_the_lock_is_not_found(store, command):
    overtake(store, lambda repository: delete(repository, CONV))
    with pytest.raises(NotFound, match="there is no conversation 'conv-001'"):
        command(store)
