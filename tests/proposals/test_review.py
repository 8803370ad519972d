"""Proposals are accepted, rejected, modified, applied, tested and rolled back."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.changes import changes
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.merge import merge
from scopes.conversation.undo import list_operations, redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Conflicted, Invalid, NotFound, Refused
from scopes.history.names import list_branch_tips
from scopes.merge.compare import state_of
from scopes.merge.keys import decoded_key
from scopes.model.message import Author
from scopes.proposals.list import show_proposal
from scopes.proposals.review import (
    Feedback,
    NewChange,
    accept_proposal,
    apply_proposal,
    reject_proposal,
    rollback_proposal,
    try_proposal,
)
from scopes.store.objects import walk_blobs
from tests.support.proposals import accepted_value, create, states, values
from tests.support.store import files_of

CAROL = Author("carol", "human")


def accept(repository, proposal, where=None, **options):
    return accept_proposal(repository, where, proposal.id, **{"author": CAROL, **options})


def claims(repository, where="main"):
    """Return the paths of the claims about proposals in the state of a branch."""
    tip = list_branch_tips(repository, "conv-001")[where]
    found = walk_blobs(repository, state_of(repository, tip))
    return [decoded_key(path) for path, _ in found if path.startswith(("proposals/", "reviews/"))]


def refs_of(repository):
    return repository.list_refs("refs/")


def test_accepting_applies_at_once_as_one_operation(team):
    """S4-58: ACCEPTED, then APPLIED; the values are those of the proposal."""
    accepted_value(team, "labels", ["ui"])
    accepted_value(team, "owner", "bob")
    made = create(team, "status=done", NewChange("labels", "append", "login"), NewChange("owner", "delete"))
    before = len(list_operations(team).operations)
    done = accept(team, made)
    assert (done.proposal.state, len(done.messages)) == ("applied", 2)
    assert values(team) == {"status": "done", "labels": ["ui", "login"]}
    assert len(list_operations(team).operations) == before + 1
    undo(team, "conv-001")
    assert (states(team), values(team)) == (["pending"], {"labels": ["ui"], "owner": "bob"})
    redo(team)
    assert states(team) == ["applied"]


def test_a_proposal_can_be_accepted_first_and_applied_later(team):
    """S4-58."""
    made = create(team, "status=done")
    assert accept(team, made, apply=False).proposal.state == "accepted"
    assert (states(team), values(team)) == (["accepted"], {})
    apply_proposal(team, None, made.id, author=CAROL)
    assert (states(team), values(team)) == (["applied"], {"status": "done"})


def test_a_value_that_is_not_as_expected_stops_and_changes_nothing(team):
    """S4-59: a conflict, exit code 3; no byte of the store changes."""
    made = create(team, "status=done", "owner=bob")
    accept(team, made, apply=False)
    accepted_value(team, "status", "review")
    before = files_of(team.path)
    with pytest.raises(Conflicted, match='status is "review", not none') as refused:
        apply_proposal(team, None, made.id, author=CAROL)
    assert refused.value.exit_code == 3
    assert files_of(team.path) == before
    assert states(team) == ["accepted"]


def test_applying_makes_other_proposals_about_the_value_expire(team):
    """S4-60: until a rollback; one about another field or of the value that is set stays."""
    made = create(team, "status=done")
    other = create(team, "status=review", "labels=x", agent="writer")
    elsewhere = create(team, "owner=bob", agent="writer")
    assert accept(team, made).expired == (other.id,)
    assert states(team) == ["applied", "expired", "pending"]
    rollback_proposal(team, None, made.id, author=CAROL)
    assert states(team) == ["applied", "pending", "pending"]
    assert elsewhere.id not in {other.id, made.id}


def test_only_open_proposals_have_claims_in_the_state(team):
    """What is closed does not take part in merges."""
    first, second = create(team, "status=done"), create(team, "owner=bob")
    third = create(team, "labels=x")
    assert len([path for path in claims(team) if path.startswith("proposals/")]) == 3
    accept(team, first)
    reject_proposal(team, None, second.id, reason="too-risky", author=CAROL)
    assert [path for path in claims(team) if path.startswith("proposals/")] == ["proposals/task/42/labels/planner="]
    assert states(team) == ["applied", "rejected", "pending"]
    assert show_proposal(team, None, third.id).proposal.state == "pending"


@pytest.mark.parametrize("reason", ["too-risky", "TOO_RISKY", "Incorrect_Analysis", "better-alternative-exists"])
def test_a_rejection_has_a_reason_of_the_document(team, reason):
    """S4-58: in any letter case."""
    made = create(team, "status=done")
    reject_proposal(team, None, made.id, reason=reason, author=CAROL, feedback=Feedback("not now", 2))
    event = show_proposal(team, None, made.id).history[-1]
    assert event.details == {"reason": reason.lower().replace("_", "-"), "feedback": "not now", "rating": 2}
    assert (states(team), values(team)) == (["rejected"], {})


@pytest.mark.parametrize(
    ("reason", "feedback", "text"),
    [
        ("because", Feedback(), "not a reason"),
        ("", Feedback(), "not a reason"),
        ("other", Feedback(), "needs a text"),
        ("too-risky", Feedback("x", 6), "not a rating"),
        ("too-risky", Feedback("x", 0), "not a rating"),
    ],
)
def test_a_rejection_without_a_reason_is_refused(team, reason, feedback, text):
    """S4-58."""
    made = create(team, "status=done")
    with pytest.raises(Invalid, match=text):
        reject_proposal(team, None, made.id, reason=reason, author=CAROL, feedback=feedback)
    assert states(team) == ["pending"]


def test_a_reviewer_can_accept_with_other_values(team):
    """S4-58: the proposal is applied with them, and a rollback takes them back."""
    made = create(team, "status=done", "owner=bob")
    done = accept_proposal(team, None, made.id, values={"owner": "carol"}, author=CAROL, apply=False)
    assert done.proposal.state == "accepted"
    assert show_proposal(team, None, made.id).proposal.modified == {"owner": "carol"}
    apply_proposal(team, None, made.id, author=CAROL)
    assert values(team) == {"status": "done", "owner": "carol"}
    rollback_proposal(team, None, made.id, author=CAROL)
    assert values(team) == {}


def test_only_fields_of_the_proposal_can_be_modified(team):
    made = create(team, "status=done")
    with pytest.raises(Invalid, match="does not change 'owner'"):
        accept_proposal(team, None, made.id, values={"owner": "carol"}, author=CAROL)
    assert states(team) == ["pending"]


def test_every_required_approval_is_needed(team):
    """The last approval accepts and applies it; others cannot accept it, and nobody twice."""
    made = create(team, "status=done", details={"required_approvals": ["ann", "bob"]})
    with pytest.raises(Refused, match="carol is not asked"):
        accept(team, made)
    first = accept(team, made, author=Author("ann"))
    assert (first.proposal.state, first.waiting_for, states(team)) == ("pending", ("bob",), ["pending"])
    assert show_proposal(team, None, made.id).proposal.approvals == ("ann",)
    with pytest.raises(Refused, match="ann has approved it already"):
        accept(team, made, author=Author("ann"))
    with pytest.raises(Refused, match="needs the approval of ann"):
        accept_proposal(team, None, made.id, values={"status": "x"}, author=Author("bob"))
    assert accept(team, made, author=Author("bob")).proposal.state == "applied"


def test_rollback_restores_the_values_once(team):
    """S4-58: the proposal stays applied, marked as rolled back."""
    accepted_value(team, "status", "todo")
    made = create(team, "status=done", "owner=bob")
    accept(team, made)
    assert show_proposal(team, None, made.id).rollback_version is not None
    done = rollback_proposal(team, None, made.id, author=CAROL, reason="the build fails")
    assert (done.proposal.state, done.proposal.rolled_back) == ("applied", True)
    assert values(team) == {"status": "todo"}
    shown = show_proposal(team, None, made.id)
    assert (shown.proposal.rolled_back, shown.rollback_version) == (True, None)
    assert [event.decision for event in shown.history] == ["create", "accept", "apply", "rollback"]
    with pytest.raises(Refused, match=f"proposal {made.id[:8]} is rolled back and cannot be"):
        rollback_proposal(team, None, made.id, author=CAROL)


def test_rollback_of_a_value_that_changed_since_is_refused(team):
    made = create(team, "status=done")
    accept(team, made)
    accepted_value(team, "status", "review")
    assert show_proposal(team, None, made.id).rollback_version is None
    with pytest.raises(Conflicted, match='status is "review", not "done"'):
        rollback_proposal(team, None, made.id, author=CAROL)
    assert values(team) == {"status": "review"}


def test_a_test_says_what_would_change_and_leaves_no_trace(team):
    """S4-58: no ref, no operation, no object."""
    accepted_value(team, "status", "todo")
    made = create(team, "status=done")
    other = create(team, "status=review", agent="writer")
    before = files_of(team.path), refs_of(team)
    tested = try_proposal(team, None, made.id)
    assert [(each.field, each.current, each.after, each.conflict) for each in tested.values] == [
        ("status", "todo", "done", False)
    ]
    assert (tested.expired, tested.conflicts, tested.exit_code) == ((other.id,), 0, 0)
    assert (files_of(team.path), refs_of(team)) == before


def test_a_test_reports_conflicts(team):
    """S4-59."""
    made = create(team, "status=done", "owner=bob")
    accepted_value(team, "status", "review")
    tested = try_proposal(team, None, made.id)
    assert [each.conflict for each in tested.values] == [True, False]
    assert (tested.conflicts, tested.exit_code) == (1, 3)
    assert [note.text for note in tested.notes] == ["the proposal has expired and cannot be accepted"]


CURES = {
    "pending": "scopes proposals accept", "accepted": "scopes proposals apply", "rejected": "scopes proposals show",
    "applied": "scopes proposals rollback", "superseded": "scopes proposals show", "expired": "scopes proposals show",
}  # fmt: skip


@pytest.mark.parametrize("state", CURES)
def test_what_does_not_follow_is_refused_with_the_state_and_a_cure(team, state):
    """S4-58."""
    made = create(team, "status=done")
    match state:
        case "accepted":
            accept(team, made, apply=False)
        case "applied":
            accept(team, made)
        case "rejected":
            reject_proposal(team, None, made.id, reason="poor-timing", author=CAROL)
        case "superseded":
            create(team, "status=review")
        case "expired":
            accepted_value(team, "status", "x")
    moves = {
        "accept": lambda: accept(team, made),
        "reject": lambda: reject_proposal(team, None, made.id, reason="poor-timing", author=CAROL),
        "modify": lambda: accept_proposal(team, None, made.id, values={"status": "x"}, author=CAROL),
        "apply": lambda: apply_proposal(team, None, made.id, author=CAROL),
        "rollback": lambda: rollback_proposal(team, None, made.id, author=CAROL),
        "test": lambda: try_proposal(team, None, made.id),
    }
    allowed = {
        "pending": {"accept", "reject", "modify", "test"}, "accepted": {"apply", "test"}, "applied": {"rollback"},
        "expired": {"test"},
    }.get(state, set())  # fmt: skip
    for move in moves.keys() - allowed:
        with pytest.raises(Refused, match=rf"is {state} (already$|and cannot be)") as refused:
            moves[move]()
        assert CURES[state] in refused.value.hint
    assert states(team)[0] == state


def test_an_unknown_proposal_is_not_found(team):
    for operation in (apply_proposal, rollback_proposal, accept_proposal):
        with pytest.raises(NotFound):
            operation(team, "conv-001", "zzzz", author=CAROL)


def test_the_state_goes_with_its_branch_and_comes_with_a_merge(team):
    made = create(team, "status=done")
    branch(team, "conv-001", name="fix", switch=False)
    accept(team, made, "conv-001/fix")
    assert (states(team), states(team, "conv-001/fix")) == (["pending"], ["applied"])
    merge(team, "conv-001", "fix", target="main")
    assert (states(team), values(team)) == (["applied"], {"status": "done"})


def test_two_branches_that_decide_differently_conflict(team):
    made = create(team, "status=done")
    branch(team, "conv-001", name="fix", switch=False)
    accept(team, made, "conv-001/fix")
    reject_proposal(team, "conv-001/main", made.id, reason="too-risky", author=CAROL)
    keys = {each.key for each in merge(team, "conv-001", "fix", target="main").conflicts}
    assert f"reviews/{made.id}" in keys


def test_two_branches_that_decide_alike_merge(team):
    made = create(team, "status=done")
    branch(team, "conv-001", name="fix", switch=False)
    for where in ("conv-001/fix", "conv-001/main"):
        accept(team, made, where)
    assert not getattr(merge(team, "conv-001", "fix", target="main"), "conflicts", ())
    assert states(team) == ["applied"]


def test_a_rejected_proposal_does_not_compete_in_a_merge(team):
    """Proposals of two agents for one field compete if both are open (competing-proposals), and only then."""
    branch(team, "conv-001", name="fix", switch=False)
    made = create(team, "status=done")
    create(team, "status=review", agent="writer", where="conv-001/fix")
    assert [each.type for each in merge(team, "conv-001", "fix", target="main", dry_run=True).conflicts] == [
        "competing-proposals"
    ]
    reject_proposal(team, "conv-001/main", made.id, reason="too-risky", author=CAROL)
    assert not getattr(merge(team, "conv-001", "fix", target="main"), "conflicts", ())
    assert sorted(states(team)) == ["pending", "rejected"]


def test_the_change_log_has_the_values_that_were_changed(team):
    """S4-49, S4-50: with cause, before and after."""
    made = create(team, "status=done")
    accept(team, made)
    rollback_proposal(team, None, made.id, author=CAROL)
    found = [each for each in changes(team, "conv-001").items if each.field_path.startswith("entities")]
    assert [(each.field_path, each.operation, each.before, each.after, each.cause) for each in found] == [
        ("entities.task.42.status", "CREATE", None, "done", "user:carol"),
        ("entities.task.42.status", "DELETE", "done", None, "user:carol"),
    ]


def test_the_store_is_sound_after_reviews(team):
    made = create(team, "status=done")
    accept(team, made)
    rollback_proposal(team, None, made.id, author=CAROL)
    reject_proposal(team, None, create(team, "x/y=1").id, reason="other", author=CAROL, feedback=Feedback("no"))
    assert verify(team).exit_code == 0


def test_the_order_of_two_proposals_does_not_depend_on_the_branch(team):
    """Equal proposals of one agent on two branches: the later one stands, wherever they are merged."""
    branch(team, "conv-001", name="fix", switch=False)
    first = create(team, "status=done")
    second = create(team, "status=done", where="conv-001/fix")
    merge(team, "conv-001", "main", target="fix")
    create(team, "owner=bob")
    merge(team, "conv-001", "fix", target="main")
    for where in ("conv-001/fix", "conv-001/main"):
        found = {name: show_proposal(team, where, name).proposal for name in (first.id, second.id)}
        assert [each.state for each in found.values()] == ["superseded", "pending"]
        assert found[first.id].superseded_by == second.id


@pytest.mark.parametrize(
    ("take", "expected"), [("target", ["pending", "superseded"]), ("source", ["superseded", "pending"])]
)
def test_the_proposal_that_a_resolution_takes_stays_pending(team, take, expected):
    """Two values of one agent, of which the older one may be taken."""
    branch(team, "conv-001", name="fix", switch=False)
    first = create(team, "status=done")
    second = create(team, "status=review", where="conv-001/fix")
    merge(team, "conv-001", "fix", target="main")
    resolve_conflict(team, "conv-001", "1", take=take, author=CAROL, continue_after=True)
    found = [show_proposal(team, "conv-001/main", each.id).proposal.state for each in (first, second)]
    assert found == expected


def test_who_decides_about_a_proposal_of_its_own_is_noted(team):
    planner = Author("planner")
    own, other = create(team, "status=done"), create(team, "owner=bob")
    assert accept(team, other).notes == ()
    assert [note.text for note in accept(team, own, author=planner).notes] == [
        "planner decided about a proposal of its own"
    ]
    made = create(team, "size=1")
    rejected = reject_proposal(team, None, made.id, reason="too-risky", author=planner)
    assert rejected.notes == (), "it is its right to take it back"
