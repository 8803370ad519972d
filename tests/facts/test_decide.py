"""Propose, promote, accept, reject and decide, on a real store."""

from __future__ import annotations

import hashlib
import json

import pytest

from scopes import clock
from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new, rename_conversation
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.facts.decide import accept, decide, promote, reject
from scopes.facts.fact import Fact, ProposedFact
from scopes.facts.list import list_facts, list_proposed, show_fact
from scopes.facts.propose import Proposal, add_key, propose
from scopes.facts.store import FactStore
from scopes.facts.validation import ValidationError
from scopes.history.messages import plain_message
from scopes.ids import ConversationId
from scopes.store.objects import read_commit, walk_blobs
from scopes.store.refs import FACTS, PROPOSED_FACTS
from tests.support.random_ids import hashed_counter

CONV = "conv-001"


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    """A store with one conversation."""
    new(repository)
    return repository


def suggest(repository, content="it is slow", key="Seeds", fact_id=None, **fields):
    return propose(repository, CONV, Proposal(key=key, content=content, agent="ann", id=fact_id, **fields))


def facts(repository):
    return [(row.fact.key, row.fact.id, row.fact.content) for row in list_facts(repository, CONV).facts]


def pending(repository, **options):
    return [(row.proposal.id, row.state) for row in list_proposed(repository, CONV, **options).proposals]


def paths(repository, ref):
    commit = repository.find_ref(ref)
    return [] if commit is None else [path for path, _ in walk_blobs(repository, read_commit(repository, commit).tree)]


def test_a_proposal_is_no_fact_until_it_is_promoted(store):
    """S2-9, S2-10."""
    suggest(store, fact_id="slow")
    assert (facts(store), pending(store)) == ([], [("slow", "pending")])
    done = promote(store, CONV, "slow")
    assert (done.fact.validation, done.fact.version) == ("rules", 1)
    assert (facts(store), pending(store)) == ([("Seeds", "slow", "it is slow")], [])


def test_proposals_and_facts_are_in_distinct_refs_and_neither_is_read_as_the_other(store):
    """S2-9: a storage test. Bytes of a proposal at the place of a fact are damage, and the other way round."""
    suggest(store, fact_id="slow")
    suggest(store, "more", fact_id="wait")
    promote(store, CONV, "slow")
    uuid = paths(store, PROPOSED_FACTS)[0].partition("/")[0]
    assert [path for path in paths(store, FACTS) if "/facts/" in path] == [f"{uuid}/facts/Seeds/{bucket('slow')}/slow="]
    assert paths(store, PROPOSED_FACTS) == [f"{uuid}/Seeds/{bucket('wait')}/wait="]
    read = FactStore(store, ConversationId(CONV))
    assert isinstance(read.find("Seeds", "slow"), Fact)
    assert isinstance(read.find_proposal("Seeds", "wait"), ProposedFact)
    swapped = {FACTS: read.commits[PROPOSED_FACTS], PROPOSED_FACTS: read.commits[FACTS]}
    other = FactStore(store, ConversationId(CONV), swapped)
    assert list(other.walk("Seeds")) == list(other.walk_proposals()) == []


def bucket(fact_id):
    return hashlib.sha256(fact_id.encode()).hexdigest()[:2]


def test_what_the_facts_contradict_is_noted_and_cannot_be_promoted(store):
    """S2-10: the proposal stays."""
    suggest(store, "fast", fact_id="x")
    promote(store, CONV, "x")
    note = suggest(store, "slow", fact_id="x").notes[0]
    problem = "the id 'x' is that of a fact with other content"
    assert note.text == f"it cannot be promoted as it is: {problem}"
    assert note.hint.startswith("reject it: scopes facts reject conv-001 Seeds/x --reason TEXT; to propose it under")
    for function in (promote, accept):
        options = {"actor": "carol"} if function is accept else {}
        with pytest.raises(ValidationError, match="with other content"):
            function(store, CONV, "x", **options)
    assert (pending(store), facts(store)) == ([("x", "pending")], [("Seeds", "x", "fast")])


@pytest.mark.parametrize(
    ("content", "fields", "text"),
    [
        (" ", {}, "the content is empty"),
        ("x", {"confidence": 1.5}, "not between 0 and 1"),
        ("x", {"confidence": float("nan")}, "not between 0 and 1"),
        ("x", {"fact_id": "../.."}, "is not an id"),
        ("x", {"expires_seconds": 0}, "cannot expire at once"),
        ("x", {"expires_seconds": -60}, "cannot expire at once"),
    ],
)
def test_what_can_never_be_a_fact_is_not_stored(store, content, fields, text):
    before = store.list_refs("refs/")
    with pytest.raises(Invalid, match=text):
        suggest(store, content, **fields)
    assert store.list_refs("refs/") == before


def test_a_decision_that_does_not_exist_is_refused_and_not_stored(store):
    suggest(store, fact_id="slow")
    before = store.list_refs("refs/")
    with pytest.raises(Invalid, match="'maybe' is not a decision"):
        decide(store, CONV, "slow", "maybe", actor="carol", rationale="")
    assert store.list_refs("refs/") == before


def test_an_empty_name_is_refused_and_is_not_a_prefix_of_all(store):
    suggest(store, fact_id="slow")
    for function in (promote, show_fact):
        with pytest.raises(Invalid, match="the id is empty"):
            function(store, CONV, "")
    with pytest.raises(Invalid, match="the id is empty"):
        decide(store, CONV, " ", "refine", actor="carol", rationale="")


def test_a_person_accepts_with_a_reason(store):
    """S2-17."""
    suggest(store, fact_id="slow")
    accept(store, CONV, "slow", actor="carol", rationale="measured")
    view = show_fact(store, CONV, "slow")
    decision = view.decision
    assert (decision.subject, decision.decision, decision.rationale, decision.actor) == (
        "Seeds/slow", "approved", "measured", "carol",
    )  # fmt: skip
    assert decision.timestamp
    assert view.row.fact.validation == "rules, approved by carol"


def test_a_rejected_proposal_stays_with_the_reason(store):
    suggest(store, fact_id="slow")
    with pytest.raises(Invalid, match="needs a reason"):
        reject(store, CONV, "slow", actor="carol", reason=" ")
    reject(store, CONV, "slow", actor="carol", reason="that was last year")
    assert (pending(store), pending(store, everything=True)) == ([], [("slow", "rejected")])
    assert show_fact(store, CONV, "slow").row.proposal.reason == "that was last year"
    with pytest.raises(Refused, match="Seeds/slow was rejected by carol: that was last year"):
        promote(store, CONV, "slow")
    suggest(store, "it is fast now", fact_id="slow")
    assert pending(store) == [("slow", "pending")]


def test_a_proposal_expires(store, monkeypatch):
    """S2-20."""
    suggest(store, fact_id="soon", expires_seconds=60)
    later = clock.now_nanoseconds() + 61 * 10**9
    monkeypatch.setattr("scopes.facts.validation.now_nanoseconds", lambda: later)
    assert (pending(store), pending(store, everything=True)) == ([], [("soon", "expired")])
    with pytest.raises(Refused, match="expired at"):
        promote(store, CONV, "soon")


@pytest.mark.parametrize("content", ["it is slow", "it is fast"])
def test_what_has_expired_can_be_proposed_again(store, monkeypatch, content):
    """The hint says so, but the expired proposal stood in the way: the same one was no change, another a conflict."""
    suggest(store, fact_id="soon", expires_seconds=60)
    later = clock.now_nanoseconds() + 61 * 10**9
    monkeypatch.setattr("scopes.facts.validation.now_nanoseconds", lambda: later)
    with pytest.raises(Refused) as caught:
        promote(store, CONV, "soon")
    assert caught.value.hint == "propose it again: scopes facts propose conv-001 Seeds TEXT"
    assert suggest(store, content, fact_id="soon").operation is not None
    assert promote(store, CONV, "soon").fact.content == content


def test_the_same_proposal_again_changes_nothing_and_another_of_its_id_is_a_conflict(store):
    """S2-12."""
    suggest(store, fact_id="slow")
    before = store.list_refs("refs/")
    assert suggest(store, fact_id="slow").operation is None
    with pytest.raises(Refused, match="ann has proposed Seeds/slow with other content"):
        suggest(store, "it is fast", fact_id="slow")
    assert store.list_refs("refs/") == before


def test_equal_statements_have_equal_ids(store):
    first = suggest(store).fact
    promote(store, CONV, first.id[:6])
    again = suggest(store)
    assert (again.fact.id, again.operation, again.is_fact) == (first.id, None, True)
    assert (len(facts(store)), pending(store)) == (1, []), "it was stored as a proposal that waits"


def test_a_fact_that_was_taken_back_is_listed_on_request(store):
    """S2-14: nothing is edited."""
    for fact_id, content, before in (("budget", "20 days", None), ("budget-2", "30 days", "budget")):
        suggest(store, content, fact_id=fact_id, invalidates=before)
        promote(store, CONV, fact_id)
    assert facts(store) == [("Seeds", "budget-2", "30 days")]
    rows = {row.fact.id: row.taken_back_by for row in list_facts(store, CONV, everything=True).facts}
    assert rows == {"budget": "budget-2", "budget-2": None}


def test_keys_are_found_in_any_case_and_others_are_added(store):
    """S2-11."""
    assert suggest(store, key="SEEDS").fact.key == "Seeds"
    with pytest.raises(Invalid, match="unknown context key 'Seed'") as caught:
        suggest(store, key="Seed")
    assert caught.value.hint == "did you mean Seeds? Or to add Seed: --new-key"
    assert add_key(store, "Requirements").operation is not None
    assert add_key(store, "requirements").operation is None
    assert suggest(store, key="requirements").fact.key == "Requirements"
    for name in ("", "two words", "a/b", "x" * 101, "a\nb"):
        with pytest.raises(Invalid, match="cannot be a context key"):
            add_key(store, name)


def test_sources_are_commits_of_messages(store):
    """S2-15."""
    message = append(store, CONV, plain_message("ann", "see"))
    fact = suggest(store, sources=[message.id]).fact
    assert fact.provenance.sources == (message.oid,)
    with pytest.raises(NotFound):
        suggest(store, "other", sources=["zzzzzz"])


def test_a_name_that_fits_several_is_refused(store):
    suggest(store, "a", fact_id="x-1")
    suggest(store, "b", fact_id="x-2")
    suggest(store, "c", "Signals", fact_id="x-1")
    with pytest.raises(Ambiguous, match="Seeds/x-1, Seeds/x-2, Signals/x-1"):
        promote(store, CONV, "x-")
    with pytest.raises(Ambiguous):
        promote(store, CONV, "x-1")
    assert promote(store, CONV, "Signals/x-1").fact.content == "c"


def test_refine_asks_an_agent_again_and_other_decisions_have_verbs(store):
    suggest(store, fact_id="slow")
    with pytest.raises(Invalid, match="Seeds/slow is a proposal") as caught:
        decide(store, CONV, "slow", "approved", actor="carol", rationale="")
    assert caught.value.hint == "use: scopes facts accept conv-001 Seeds/slow"
    decide(store, CONV, "slow", "refine", actor="carol", rationale="how slow?")
    store_now = FactStore(store, ConversationId(CONV))
    assert [(each.subject, each.decision) for each in store_now.walk_decisions()] == [("Seeds/slow", "refine")]
    assert pending(store) == [("slow", "refine")]
    with pytest.raises(Refused, match="carol asked to refine Seeds/slow: how slow") as refused:
        promote(store, CONV, "slow")
    assert refused.value.hint.endswith("scopes facts accept conv-001 Seeds/slow")
    assert accept(store, CONV, "slow", actor="dora").fact.validation == "rules, approved by dora"


def test_what_a_person_asked_to_refine_is_not_promoted_though_the_clock_went_back(store, monkeypatch):
    """The time of a decision is not before its proposal, so it is about this one."""
    suggest(store, fact_id="slow")
    earlier = clock.read_clock() - 3600 * 10**9
    monkeypatch.setattr(clock, "read_clock", lambda: earlier)
    decide(store, CONV, "slow", "refine", actor="carol", rationale="how slow?")
    assert pending(store) == [("slow", "refine")]
    with pytest.raises(Refused, match="carol asked to refine Seeds/slow: how slow"):
        promote(store, CONV, "slow")
    assert list_facts(store, CONV).facts == ()


def test_each_command_is_one_step_of_undo(store):
    suggest(store, fact_id="slow")
    accept(store, CONV, "slow", actor="carol")
    undo(store)
    assert (facts(store), pending(store)) == ([], [("slow", "pending")])
    undo(store)
    assert pending(store) == []
    assert verify(store).findings == ()


def test_a_fact_shows_when_it_was_added_and_that_no_run_did(store):
    """S2-15: the time is that of the commit, so that the tree depends on the inputs alone (S2-3)."""
    for number in range(5):
        suggest(store, str(number), fact_id=f"f{number}")
        promote(store, CONV, f"f{number}")
    view = show_fact(store, CONV, "f2")
    assert read_commit(store, view.commit).subject == f"promote Seeds/f2 of {CONV}"
    assert (view.applied, view.row.fact.version) == (None, 3)
    assert view.added


def test_a_damaged_fact_is_left_out_and_the_others_stay(store):
    suggest(store, fact_id="slow")
    promote(store, CONV, "slow")
    read = FactStore(store, ConversationId(CONV))
    assert json.loads(read.fact_change(read.find("Seeds", "slow")).popitem()[1])["validation"] == "rules"
    assert read.find("Seeds", "missing") is None
    assert read.find("Unknown", "slow") is None


def test_facts_follow_a_renamed_conversation_and_a_later_one_of_its_id_has_none(store):
    suggest(store, fact_id="slow")
    promote(store, CONV, "slow")
    rename_conversation(store, CONV, "login")
    assert [row.fact.id for row in list_facts(store, "login").facts] == ["slow"]
    new(store, conversation_id=CONV)
    assert facts(store) == []


@pytest.mark.parametrize(
    ("target", "cure"),
    [("budgit", "did you mean budget?"), ("nope", "facts that can be: scopes facts list conv-001 --key Seeds")],
)
def test_a_proposal_that_takes_back_no_fact_says_which_it_could(store, target, cure):
    """The hint was about another id of the proposal, which does not help."""
    suggest(store, "30 days", fact_id="budget")
    promote(store, CONV, "budget")
    (note,) = suggest(store, "40 days", fact_id="more", invalidates=target).notes
    assert note.text == f"it cannot be promoted as it is: it takes back '{target}', which is not a fact of Seeds"
    first, second = note.hint.splitlines()
    assert first == cure
    assert second.endswith("reject this one: scopes facts reject conv-001 Seeds/more --reason TEXT")


def test_a_refused_proposal_is_no_conflict_of_a_merge(store):
    """Exit code 3 is for open conflicts."""
    suggest(store, "30 days", fact_id="budget")
    with pytest.raises(Refused) as refused:
        suggest(store, "40 days", fact_id="budget")
    assert refused.value.exit_code == 1
