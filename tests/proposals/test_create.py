"""Proposals are created, listed and shown, with their fields and derived states."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.conversation.append import append, retract
from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.undo import undo
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message, read_message
from scopes.merge.compare import state_of
from scopes.model.message import Author
from scopes.proposals.list import list_proposals, show_proposal
from scopes.proposals.review import NewChange, accept_proposal, reject_proposal
from scopes.store.objects import walk_blobs
from tests.support.proposals import accepted_value, create, states
from tests.support.store import git

DAY = 86_400 * 10**9


def test_a_proposal_is_a_message_with_all_fields_of_the_document(team):
    """S4-24: categories, levels and request types in any letter case; confidence between 0 and 1."""
    details = {
        "rationale": "all tests pass",
        "confidence": 0.8,
        "category": "BUG_FIX",
        "request_type": "Approve",
        "impact_assessment": {
            "risk_level": "HIGH",
            "estimated_time": "2 hours",
            "affected_entities": ["task/43"],
            "reversible": False,
            "dependencies": ["the review"],
            "potential_side_effects": ["a new build"],
        },
        "context": "the release is on Friday",
        "alternative_options": ["wait"],
        "required_approvals": ["carol"],
    }
    done = create(team, "status=done", details=details, expires="7d")
    payload = dict(read_message(team, done.oid).payload)
    assert payload.pop("changes") == [{"field_path": "status", "operation": "create", "before": None, "after": "done"}]
    left = clock.parse_time(payload.pop("expires_at")) - clock.now_nanoseconds()
    assert 7 * DAY - 60 * 10**9 < left < 7 * DAY
    expected = {**details, "category": "bug-fix", "request_type": "approve"}
    expected["impact_assessment"] = {**details["impact_assessment"], "risk_level": "high"}
    assert payload == {"entity_type": "task", "entity_id": "42", **expected}
    assert show_proposal(team, None, done.id).proposal.details["confidence"] == 0.8


@pytest.mark.parametrize(
    ("details", "word"),
    [
        ({"category": "nonsense"}, "category"),
        ({"confidence": 1.2}, "confidence"),
        ({"request_type": "order"}, "request_type"),
        ({"impact_assessment": {"risk_level": "huge"}}, "risk_level"),
        ({"required_approvals": [""]}, "required_approvals"),
    ],
)
def test_a_field_that_is_not_valid_proposes_nothing(team, details, word):
    """S4-24."""
    with pytest.raises(Invalid, match=word):
        create(team, "status=done", details=details)
    assert states(team) == []


@pytest.mark.parametrize("entity", ["task", "/42", "task/", " /1"])
def test_an_entity_has_a_type_and_an_id(team, entity):
    with pytest.raises(Invalid, match="is not an entity"):
        create(team, "status=done", entity=entity)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ((), "no change was given"),
        (("status=a", "status=b"), "twice"),
        ((NewChange("status", "delete"),), "none already"),
        (("=a",), "no name"),
    ],
)
def test_each_field_changes_once_and_to_another_value(team, changes, text):
    with pytest.raises(Invalid, match=text):
        create(team, *changes)


def test_the_value_now_is_remembered_and_another_expected_one_stops(team):
    """S4-59: `before` is checked against the accepted value."""
    accepted_value(team, "status", "todo")
    (change,) = create(team, "status=done").changes
    assert (change.operation, change.before, change.after) == ("update", "todo", "done")
    with pytest.raises(Refused, match='status is "todo", not "open"') as refused:
        create(team, "status=done", before={"status": "open"})
    assert refused.value.exit_code == 1, "no conflict is open afterwards"
    with pytest.raises(Invalid, match="owner"):
        create(team, "status=done", before={"owner": "bob"})
    assert len(states(team)) == 1


def test_a_newer_proposal_of_the_same_agent_about_a_field_supersedes_the_older_one(team):
    """S4-60: the field and the agent count; when the newer one is retracted, the older one is pending again."""
    first = create(team, "status=done", "owner=bob")
    other_agent = create(team, "status=review", agent="writer")
    other_field = create(team, "labels=[]")
    second = create(team, "status=done")
    assert second.supersedes == (first.id,)
    assert states(team) == ["superseded", "pending", "pending", "pending"]
    assert show_proposal(team, None, first.id).proposal.superseded_by == second.id
    assert other_agent.supersedes == other_field.supersedes == ()
    retract(team, "conv-001", second.id, "a mistake", author=Author("carol"))
    assert states(team) == ["pending", "pending", "pending", "withdrawn"]


def test_a_proposal_expires_at_its_time(team, monkeypatch):
    """S4-60."""
    created = create(team, "status=done", expires="1d")
    end = clock.parse_time(show_proposal(team, None, created.id).proposal.expires_at)
    monkeypatch.setattr(clock, "read_clock", lambda: end - 1)
    assert states(team) == ["pending"]
    monkeypatch.setattr(clock, "read_clock", lambda: end)
    assert states(team) == ["expired"]


def test_a_proposal_expires_when_its_base_changes(team):
    """S4-60, by whatever message; other fields do not count. When the value returns, it is pending again."""
    create(team, "status=done")
    accepted_value(team, "owner", "bob")
    assert states(team) == ["pending"]
    accepted_value(team, "status", "review")
    assert states(team) == ["expired"]
    accepted_value(team, "status", None)
    assert states(team) == ["pending"]


@pytest.mark.parametrize("expires", ["2020-01-01", "now", "someday", "yesterday", "last month", "2 weeks ago"])
def test_an_expiry_is_in_the_future(team, expires):
    with pytest.raises(Invalid):
        create(team, "status=done", expires=expires)


def test_the_state_is_that_of_the_branch(team):
    """A branch that has another value has another state; the conversation shows that of the active branch."""
    create(team, "status=done")
    branch(team, "conv-001", name="fix", switch=False)
    accepted_value(team, "status", "review", where="conv-001/fix")
    assert states(team) == ["pending"]
    assert states(team, "conv-001/fix") == ["expired"]
    only_there = create(team, "owner=bob", where="conv-001/fix")
    newest = list_proposals(team, "conv-001").proposals[0]
    assert (newest.proposal.id, newest.branch) == (only_there.id, "fix")


def test_the_list_has_open_ones_first_newest_first_and_can_be_filtered(team):
    first = create(team, "status=done")
    second = create(team, "status=review")
    third = create(team, "owner=bob", agent="writer")
    listed = list_proposals(team, "conv-001", include_closed=True)
    assert [row.proposal.id for row in listed.proposals] == [third.id, second.id, first.id]
    assert [row.proposal.id for row in list_proposals(team, "conv-001", state="Superseded").proposals] == [first.id]
    assert [row.proposal.id for row in list_proposals(team, "conv-001", agent="writer").proposals] == [third.id]
    assert [note.text for note in list_proposals(team, "conv-001").notes] == ["1 closed proposal not listed"]
    with pytest.raises(Invalid, match="not a state"):
        list_proposals(team, "conv-001", state="done")


def test_an_id_is_found_by_its_beginning(team):
    first, second = create(team, "status=done"), create(team, "owner=bob")
    prefix = next(first.id[:n] for n in range(1, 26) if not second.id.startswith(first.id[:n]))
    assert show_proposal(team, "conv-001", prefix).proposal.id == first.id
    with pytest.raises(NotFound, match="there is no proposal"):
        show_proposal(team, "conv-001", "zzzz")
    message = append(team, "conv-001", plain_message("carol", "hello"))
    with pytest.raises(NotFound, match="there is no proposal"):
        show_proposal(team, None, message.id)


def test_an_ambiguous_beginning_names_the_proposals(team, monkeypatch):
    ids = iter(["a2345672345672345672345672", "a2345672345672345672345673"])
    monkeypatch.setattr("scopes.history.messages.new_id", lambda: next(ids))
    create(team, "status=done")
    create(team, "owner=bob")
    with pytest.raises(Ambiguous, match="matches 2 proposals"):
        show_proposal(team, "conv-001", "a234")


def test_a_proposal_is_sent_to_reviewers_in_the_same_operation(team):
    """S4-35."""
    done = create(team, "status=done", to=())
    assert (done.delivered_to, done.queued_for) == (("ann",), ("bob",))
    undo(team, "conv-001")
    assert states(team) == []


def test_a_message_of_append_with_the_kind_proposal_is_a_proposal_too(team):
    """One that states no `before` is about the value at its own commit."""
    accepted_value(team, "status", "todo")
    create(team, "status=done", as_appended=True)
    (row,) = list_proposals(team, "conv-001").proposals
    assert row.proposal.changes[0].before == "todo"
    accepted_value(team, "status", "review")
    assert states(team) == ["expired"]


def test_a_damaged_proposal_is_left_out_and_the_store_is_sound(team):
    create(team, "status=done", as_appended=True, changes_document="nonsense")
    assert states(team) == []
    create(team, "status=done")
    assert git(team, "fsck", "--strict") is not None


def claims(repository, where="conv-001"):
    """Return the claims of proposals in the state of a branch: field and agent."""
    state = state_of(repository, StoreHandle(repository).branch(where).tip)
    paths = [path.split("/") for path, _ in walk_blobs(repository, state)]
    return {(path[3], path[4].removesuffix("=")) for path in paths if path[0] == "proposals"}


def test_a_retraction_brings_no_claim_back_that_was_made_anew(team):
    create(team, "status=done", "owner=bob")
    second = create(team, "status=review")
    third = create(team, "owner=eve")
    reject_proposal(team, None, third.id, reason="too-risky", author=Author("carol"))
    retract(team, "conv-001", second.id, "a mistake", author=Author("carol"))
    assert claims(team) == {("status", "planner")}


def test_an_accepted_proposal_keeps_its_claims(team):
    first = create(team, "status=done", "owner=bob")
    accept_proposal(team, None, first.id, author=Author("carol"), apply=False)
    create(team, "status=review")
    assert claims(team) == {("status", "planner"), ("owner", "planner")}
    assert states(team) == ["accepted", "pending"]


def test_two_branches_that_supersede_a_proposal_by_different_fields_merge_without_a_conflict(team):
    create(team, "status=done", "owner=bob")
    branch(team, "conv-001", name="fix", switch=False)
    create(team, "status=review")
    create(team, "owner=eve", where="conv-001/fix")
    assert type(merge(team, "conv-001", "fix", target="main")).__name__ == "Merged"
    assert claims(team) == {("status", "planner"), ("owner", "planner")}
    assert states(team) == ["superseded", "pending", "pending"]


def test_a_superseded_proposal_is_in_conflict_with_nothing(team):
    create(team, "status=done", "owner=bob")
    branch(team, "conv-001", name="fix", switch=False)
    create(team, "status=review")
    create(team, "owner=eve", agent="writer", where="conv-001/fix")
    assert type(merge(team, "conv-001", "fix", target="main")).__name__ == "Merged"


def test_a_proposal_that_one_side_rejected_and_the_other_replaced_is_merged_from_both_directions(team):
    """The rejection is about the old one; the newer one waits for its own review."""
    first = create(team, "status=done")
    branch(team, "conv-001", name="fix", switch=False)
    reject_proposal(team, "conv-001/main", first.id, reason="too-risky", author=Author("carol"))
    create(team, "status=review", where="conv-001/fix")
    merge(team, "conv-001", "main", target="fix")
    assert states(team, "conv-001/fix") == ["rejected", "pending"]
    assert type(merge(team, "conv-001", "fix", target="main")).__name__ != "MergeConflicted"
    assert (states(team, "conv-001/main"), claims(team)) == (["rejected", "pending"], {("status", "planner")})


@pytest.mark.parametrize("value", ["x", 5, False, {"a": 1}])
def test_a_value_that_is_not_a_list_takes_no_addition(team, value):
    """`status+=x` of the text "x" proposed the list of both."""
    accepted_value(team, "status", value)
    with pytest.raises(Invalid, match="which is not a list") as refused:
        create(team, NewChange("status", "append", "x"))
    assert refused.value.hint == "to replace the value: status=VALUE"
    create(team, NewChange("labels", "append", "x"))


def test_the_error_about_an_unknown_proposal_says_that_it_is_about_a_proposal(team):
    """The hint was to make a conversation."""
    with pytest.raises(NotFound, match="there is no proposal 'nope'") as missing:
        show_proposal(team, None, "nope")
    assert missing.value.hint.startswith("list them: scopes proposals list CONV --all")


def test_a_required_approval_of_an_unknown_name_is_noted(team):
    """The proposal can never be accepted if the name is misspelled."""
    (note,) = create(team, "status=done", details={"required_approvals": ["ann", "anne"]}).notes
    assert note.text == "the approval of anne is needed, who is not registered"
