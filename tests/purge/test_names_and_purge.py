"""A purge keeps memory entries, facts and decisions that share no more than a name with what is purged."""

from __future__ import annotations

import pytest

from scopes.facts.decide import accept, reject
from scopes.facts.list import list_facts, list_proposed
from scopes.facts.propose import Proposal, propose
from scopes.facts.store import FactStore
from scopes.memory.add import add as add_entry
from scopes.memory.store import Memory
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from tests.support.decisions import decide
from tests.support.history import history, say


def purge_messages(repository, places, conversation, *ids):
    return purge(repository, PurgeRequest(conversation=conversation, messages=ids), places)


def summaries(repository):
    return [entry.summary for entry in Memory(repository).entries]


def test_a_memory_entry_with_the_topic_of_a_purged_decision_stays(repository, places):
    made = history(repository, "main: a")
    decision = decide(repository, made.conversation, "Postgres", topic="database")
    add_entry(repository, "Backups run at night", agent="bob", topics=["database"])
    add_entry(repository, "Postgres is what we use", agent="database")
    purge_messages(repository, places, made.conversation, decision.id)
    assert sorted(summaries(repository)) == ["Backups run at night", "Postgres is what we use"]


@pytest.mark.every_case("each is another kind of name")
@pytest.mark.parametrize("text", ["authentication", "Authentication of the shop", "carpenter", "/srv/shop/all/of/it"])
def test_topics_authors_and_directories_are_no_copies_of_a_message(repository, places, text):
    made = history(repository, "main: a")
    message = say(repository, made.conversation, text)
    add_entry(repository, "Tokens end", agent="carpenter", topics=["authentication"], directory="/srv/shop/all/of/it")
    done = purge_messages(repository, places, made.conversation, message.id)
    assert (summaries(repository), done.left) == (["Tokens end"], ())


@pytest.mark.every_case("each is another field")
@pytest.mark.parametrize("where", ["text", "decision", "action"])
def test_a_memory_entry_with_the_text_of_a_message_goes(repository, places, where):
    made = history(repository, "main: a")
    line = "the code of the vault is 4711"
    message = say(repository, made.conversation, line)
    given = {f"{where}s": [line]} if where != "text" else {}
    add_entry(repository, f"see {line}" if where == "text" else "another", agent="bob", **given)
    purge_messages(repository, places, made.conversation, message.id)
    assert summaries(repository) == []


def test_facts_stay_if_only_their_key_or_state_is_a_purged_text(repository, places):
    made = history(repository, "main: a")
    ids = [say(repository, made.conversation, text).id for text in ("Constraints", "rejected", "approved", "no deploy")]
    facts = [
        propose(repository, made.conversation, Proposal(key="Constraints", content=text, agent="carol")).fact.id
        for text in ("no network", "no deploys", "no deploy", "no friday")
    ]
    accept(repository, made.conversation, facts[0], actor="carol")
    reject(repository, made.conversation, facts[1], actor="carol", reason="old")
    context = FactStore(repository, made.conversation).read_context().version
    purge_messages(repository, places, made.conversation, *ids)
    left = {row.proposal.content for row in list_proposed(repository, made.conversation, everything=True).proposals}
    assert left == {"no deploy", "no deploys", "no friday"}
    assert [row.fact.content for row in list_facts(repository, made.conversation).facts] == ["no network"]
    store = FactStore(repository, made.conversation)
    assert {each.decision for each in store.walk_decisions()} == {"approved", "rejected"}
    assert store.read_context().version == context


TOPIC = "the QUARTZMARLIN vault code is 7781 for all"
