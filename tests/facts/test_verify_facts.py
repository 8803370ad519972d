"""`verify` reports every stored agent, inbox entry, fact, proposal and context that cannot be read."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.agents.damage import walk_agent_defects
from scopes.agents.inbox import read_inbox
from scopes.agents.list import list_agents
from scopes.agents.register import register
from scopes.agents.send import send
from scopes.cli.main import main
from scopes.cli.table import TABLE
from scopes.conversation.new_rename_delete import new
from scopes.conversation.verify import repair, verify
from scopes.facts.damage import walk_fact_defects
from scopes.facts.decide import accept
from scopes.facts.propose import Proposal, add_key, propose
from scopes.facts.run import RunLimits, run_programs
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.ids import ConversationId
from scopes.store.refs import AGENTS, FACTS, PROPOSED_FACTS
from tests.support.random_ids import hashed_counter
from tests.support.shared_files import change_file
from tests.support.store import git

CONV = ConversationId("conv-001")
CHECKS = (walk_agent_defects, walk_fact_defects)


@pytest.fixture
def store(repository, monkeypatch):
    """A store with one file of each kind: agent, inbox entry, fact, proposal, cycle, decision, context and key."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    new(repository)
    register(repository, "ann", dependencies=["Seeds"])
    send(StoreHandle(repository).branch(CONV), plain_message("carol", "hello"), ["ann"])
    add_key(repository, "Costs-Müll")
    for name in ("s", "p"):
        propose(repository, CONV, Proposal(key="Seeds", content="x", agent="ann", id=name))
    accept(repository, CONV, "s", actor="carol")
    run_programs(repository, CONV, {"ann": "true"}, RunLimits())
    return repository


def test_a_store_without_damage_has_no_finding(store):
    assert verify(store, CHECKS).findings == ()


@pytest.mark.parametrize(
    ("ref", "end", "data"),
    [
        (AGENTS, "agents/000001.json", b"{{{"),
        (AGENTS, "agents/000001.json", {"number": 7}),
        (AGENTS, "inbox/000001/000000000001.json", b"{{{"),
        (AGENTS, "inbox/000001/000000000001.json", {"sequence": 2}),
        (AGENTS, "next", b"two"),
        (FACTS, "/s=", b"{{{"),
        (FACTS, "/s=", {"id": "other"}),
        (FACTS, "cycles/000001.json", b"[]"),
        (FACTS, "decisions/Seeds%2Fs=", {"decision": "maybe"}),
        (FACTS, "context.json", b"["),
        (FACTS, "context.json", b"[]"),
        (FACTS, "context.json", b'{"count":1e400}'),
        (PROPOSED_FACTS, "/p=", b""),
        (PROPOSED_FACTS, "/p=", {"state": "rejected"}),
        (PROPOSED_FACTS, "/p=", {"key": "Signals"}),
    ],
)
def test_each_damaged_file_is_a_finding(store, ref, end, data):
    """The lists were empty and named `scopes verify`, which found nothing."""
    path = change_file(store, ref, end, data)
    done = verify(store, CHECKS)
    assert [(each.severity, each.where) for each in done.findings] == [("error", f"{ref}:{path}")]
    assert done.findings[0].cure == f"see what it was: git -C {store.path} log -p {ref} -- {path}"
    assert done.exit_code == 7


def test_a_proposal_of_a_newer_version_is_no_damage(store):
    change_file(store, PROPOSED_FACTS, "/p=", {"v": 99})
    done = verify(store, CHECKS)
    assert [(each.severity, each.cure) for each in done.findings] == [("warning", "update scopes")]
    assert done.exit_code == 0


def test_the_lists_of_agents_and_messages_name_what_they_left_out(store):
    change_file(store, AGENTS, "000000000001.json", b"{{{")
    (note,) = read_inbox(store, "ann").notes
    assert note.text == "damaged files of the inbox of ann were left out: 000000000001.json"
    change_file(store, AGENTS, "agents/000001.json", b"{{{")
    (note,) = list_agents(store).notes
    assert note.text == "files of the registry that are not agents were ignored: 000001.json"


@pytest.mark.parametrize(("ref", "end"), [(FACTS, "/s="), (PROPOSED_FACTS, "/p="), (AGENTS, "agents/000001.json")])
def test_repair_names_what_it_cannot_repair_and_what_to_do(store, ref, end):
    """`verify` had it, and `repair` said that there is nothing to repair."""
    path = change_file(store, ref, end, b"no JSON")
    done = repair(store, CHECKS)
    assert (done.repairs, done.exit_code) == ((), 7)
    (finding,) = done.remaining
    assert finding.where == f"{ref}:{path}"
    assert finding.cure == f"see what it was: git -C {store.path} log -p {ref} -- {path}"
    assert b"no JSON" in git(store, "log", "-p", ref, "--", path).encode()
    assert repair(store, CHECKS, dry_run=True).repairs == ()


def test_what_repair_cannot_repair_is_noted_in_a_pipe(store, capfd):
    path = change_file(store, FACTS, "/s=", b"no JSON")
    assert main(["--store", store.path, "verify", "--repair"], TABLE) == 7
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"note: error: {FACTS}:{path}: ")
    assert "; see what it was: git -C" in printed.err
