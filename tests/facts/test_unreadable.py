"""Stored facts and proposals that cannot be read: nothing replaces them, and lists say that something is missing."""

from __future__ import annotations

import json

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.new_rename_delete import new
from scopes.errors import Corrupt, NotFound, Refused, TooNew
from scopes.facts.decide import accept, promote, reject
from scopes.facts.list import list_facts, list_proposed, log_cycles
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, run_programs
from scopes.facts.validation import ValidationError
from scopes.ids import ConversationId
from scopes.store.refs import FACTS, PROPOSED_FACTS
from tests.support.random_ids import hashed_counter
from tests.support.shared_files import change_file, stored_file

CONV = ConversationId("conv-001")


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    """A conversation with the fact Seeds/s, the proposal Seeds/p, and an agent."""
    new(repository)
    register(repository, "ann", dependencies=["Seeds"])
    for name in ("s", "p"):
        propose(repository, CONV, Proposal(key="Seeds", content="x", agent="ann", id=name))
    promote(repository, CONV, "s")
    return repository


@pytest.mark.parametrize("data", [b"{{{", b"", {"confidence": {"low": 0.1, "high": 0.2}}, {"id": "other"}])
def test_a_fact_that_cannot_be_read_is_not_replaced(store, data):
    """A newer version may have written it. `facts propose` and `promote` replaced it."""
    change_file(store, FACTS, "/s=", data)
    before = stored_file(store, FACTS, "/s=")
    done = propose(store, CONV, Proposal(key="Seeds", content="other", agent="ann", id="s"))
    assert "is that of a stored fact that cannot be read" in done.notes[0].text
    for move in (promote, lambda *given: accept(*given, actor="carol")):
        with pytest.raises(ValidationError, match="is that of a stored fact that cannot be read"):
            move(store, CONV, "s")
    assert stored_file(store, FACTS, "/s=") == before


def test_an_agent_does_not_replace_what_cannot_be_read(store):
    for ref, name in ((FACTS, "/s="), (PROPOSED_FACTS, "/p=")):
        change_file(store, ref, name, b"{{{")
    facts = [{"key": "Seeds", "content": "other", "id": name} for name in ("s", "p", "new")]
    done = run_programs(store, CONV, {"ann": f"echo '{json.dumps({'facts': facts})}'"}, RunLimits(cycles=1))
    assert [each.outcome for each in done.cycles[0].applied] == ["invalid", "conflict", "added"]
    assert all("cannot be read, see: scopes verify" in each.reason for each in done.cycles[0].applied[:2])
    assert [stored_file(store, *each)[1] for each in ((FACTS, "/s="), (PROPOSED_FACTS, "/p="))] == [b"{{{", b"{{{"]


@pytest.mark.parametrize("change", [{"state": "rejected"}, {"reason": "no"}, {"id": "q"}, {"key": "Signals"}])
def test_a_proposal_that_contradicts_itself_or_its_path_is_damaged(store, change):
    """A rejected one without a reason was pending, and one of another id was promoted again and again."""
    change_file(store, PROPOSED_FACTS, "/p=", change)
    for name in ("p", "q"):
        with pytest.raises((Corrupt, NotFound)):
            promote(store, CONV, name)
    with pytest.raises(Corrupt, match="p of conv-001 cannot be read: a "):
        reject(store, CONV, "p", actor="carol", reason="no")
    assert list_proposed(store, CONV, everything=True).proposals == ()
    assert [row.fact.id for row in list_facts(store, CONV).facts] == ["s"]


def test_a_proposal_of_a_newer_version_is_not_promoted(store):
    """What this version does not know would be lost."""
    change_file(store, PROPOSED_FACTS, "/p=", {"v": 99, "weight": 5})
    with pytest.raises(TooNew, match="p of conv-001 cannot be read: a newer version of scopes wrote") as caught:
        promote(store, CONV, "Seeds/p")
    assert caught.value.hint == "update scopes"
    with pytest.raises(Refused, match="a stored proposal Seeds/p cannot be read, and is not replaced"):
        propose(store, CONV, Proposal(key="Seeds", content="y", agent="ann", id="p"))
    assert json.loads(stored_file(store, PROPOSED_FACTS, "/p=")[1])["weight"] == 5


def test_lists_say_what_they_left_out(store):
    """They were empty without a word."""
    run_programs(store, CONV, {"ann": "true"}, RunLimits())
    assert (list_facts(store, CONV).notes, list_proposed(store, CONV).notes, log_cycles(store, CONV).notes) == ((),) * 3
    fact, proposal, cycle = (
        change_file(store, ref, name, b"{{{")
        for ref, name in ((FACTS, "/s="), (PROPOSED_FACTS, "/p="), (FACTS, "/000001.json"))
    )
    notes = [found.notes for found in (list_facts(store), list_proposed(store, CONV), log_cycles(store, CONV))]
    assert [note.text for (note,) in notes] == [
        f"2 stored files of facts cannot be read: {FACTS}:{fact}, ...",  # it counts what waits, too
        f"1 stored file of facts cannot be read: {PROPOSED_FACTS}:{proposal}",
        f"1 stored file of facts cannot be read: {FACTS}:{cycle}",
    ]
    assert {note.hint for (note,) in notes} == {"see: scopes verify"}
