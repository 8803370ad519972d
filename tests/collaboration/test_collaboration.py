"""Collaborations: opening, joining, arguing, closing, and what the report says of them (S4-61)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes import clock
from scopes.agents.inbox import read_inbox
from scopes.agents.register import register
from scopes.collaboration.collaboration import TYPES, argue, close, join, list_collaborations, show_collaboration, start
from scopes.collaboration.conflicts import argue_about_conflict, choose_neutral, escalate
from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, resolve_conflict, show_conflict
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Ambiguous, Invalid, NoAvailableAgents, NotFound, Refused
from scopes.history.messages import plain_message, read_message
from scopes.history.names import list_branch_tips, read_active_branch
from scopes.model.message import Argument, Author, read_argument
from tests.support.random_ids import hashed_counter

CONV, BRANCH = "conv-001", "collaboration/consensus"
LEAD, ANN, BOB, CAROL = Author("lead"), Author("ann"), Author("bob"), Author("carol", "human")


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations and messages have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def team(repository):
    """Two agents, a person, and an agent that is away."""
    new(repository)
    append(repository, CONV, plain_message("lead", "refactor the login"))
    register(repository, "ann", capabilities=["review"])
    register(repository, "bob", capabilities=["review"])
    register(repository, "carol", agent_type="human", capabilities=["security"])
    register(repository, "dan", available=False)
    return repository


def opened(repository, *agents, kind="consensus", task="Choose the session store", **fields):
    return start(repository, CONV, kind, task, agents or ("ann", "bob"), author=LEAD, **fields)


def requests(repository, name):
    return [each.message.text for each in read_inbox(repository, name).messages]


def position(text="JWT", about="the task", **fields):
    return Argument(about=about, position=text, **fields)


def decide(repository, where, author, decision):
    payload = {"topic": "auth", "decision": decision}
    append(repository, CONV, replace(plain_message(author, decision), kind="decision", payload=payload), branch=where)


def in_conflict(repository):
    """Open a collaboration that disagrees with main, and merge it."""
    opened(repository)
    decide(repository, BRANCH, "ann", "jwt")
    decide(repository, "main", "bob", "sessions")
    merge(repository, CONV, source=BRANCH, target="main")


def test_a_collaboration_is_a_branch_a_request_and_inbox_entries_in_one_operation(team):
    done = opened(team, "@review", "dan", urgency="high")
    assert (done.branch, done.delivered_to, done.queued_for) == (BRANCH, ("ann", "bob"), ("dan",))
    message = read_message(team, list_branch_tips(team, CONV)[BRANCH])
    assert message.kind == "collaboration-request"
    assert message.payload == {"type": "consensus", "context": "Choose the session store", "urgency": "high"}
    assert (requests(team, "ann"), requests(team, "dan"), read_inbox(team, "dan").waiting) == ([message.text], [], 1)
    assert read_active_branch(team, CONV) == "main"
    undo(team)
    assert (BRANCH in list_branch_tips(team, CONV), requests(team, "ann")) == (False, [])
    assert verify(team).findings == ()


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_has_a_branch_of_its_own(team, kind):
    first = opened(team, "ann", kind=kind)
    again = opened(team, "ann", kind=kind)
    assert (first.branch, again.branch) == (f"collaboration/{kind}", f"collaboration/{kind}-2")


def test_a_type_is_read_in_any_case_with_either_separator(team):
    assert opened(team, "ann", kind="PEER_REVIEW").branch == "collaboration/peer-review"


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"kind": "chat"}, Invalid, "'chat' is not a type of collaboration"),
        ({"task": " "}, Invalid, "there is no task"),
        ({"urgency": "soon"}, Invalid, "urgency"),
        ({"branch": "main"}, Invalid, "branch 'main' exists already"),
        ({"kind": "handoff"}, Invalid, "a handoff goes to one agent, not 2"),
    ],
)
def test_what_cannot_be_opened_writes_nothing(team, fields, error, text):
    before = team.list_refs("refs/")
    with pytest.raises(error, match=text):
        opened(team, **fields)
    with pytest.raises(NotFound, match="zoe"):
        opened(team, "ann", "zoe")
    assert team.list_refs("refs/") == before


def test_who_joins_is_listed_and_has_read_the_request(team):
    opened(team, "ann", "bob")
    join(team, CONV, author=ANN)
    (row,) = list_collaborations(team).collaborations
    assert [(each.name, each.messages, each.is_unread) for each in row.participants] == [
        ("lead", 1, False), ("ann", 1, False), ("bob", 0, True),
    ]  # fmt: skip
    assert requests(team, "ann") == []
    assert join(team, CONV, author=ANN).operation is None


def test_a_later_position_of_an_author_replaces_the_earlier_one(team):
    opened(team)
    for author, text in ((ANN, "JWT"), (BOB, "Sessions"), (ANN, "sessions ")):
        argue(team, CONV, None, position(text), author=author)
    report = show_collaboration(team, CONV)
    assert [(each.author, each.argument.position) for each in report.positions] == [
        ("bob", "Sessions"),
        ("ann", "sessions "),
    ]
    assert [(each.phase, [choice.holders for choice in each.choices]) for each in report.debates] == [
        ("consensus", [("bob", "ann")])
    ]


def test_positions_about_several_topics_have_no_consensus_until_two_agree(team):
    opened(team)
    argue(team, CONV, None, position("JWT", "tokens"), author=ANN)
    argue(team, CONV, None, position("30 min", "timeout"), author=ANN)
    argue(team, CONV, None, position("1 h", "timeout"), author=BOB)
    found = {each.about: (each.phase, len(each.choices)) for each in show_collaboration(team, CONV).debates}
    assert found == {"tokens": ("arguments", 1), "timeout": ("escalation", 2)}


@pytest.mark.parametrize(
    ("argument", "text"),
    [(position(" "), "the position is empty"), (position(confidence=1.5), "the confidence 1.5 is not between 0 and 1")],
)
def test_an_argument_that_cannot_be_stored_is_refused(team, argument, text):
    opened(team)
    with pytest.raises(Invalid, match=text):
        argue(team, CONV, None, argument, author=ANN)


def test_a_damaged_argument_keeps_what_can_be_read():
    evidence = [{"type": "best-practice", "description": "d"}, {"type": "rumour", "description": "d"}, 5]
    given = {"about": "a", "position": "p", "confidence": True, "reasoning": ["r", 5], "evidence": evidence}
    argument = read_argument(given)
    assert (argument.confidence, argument.reasoning, len(argument.evidence)) == (None, ("r",), 1)
    assert read_argument({"about": "a"}) is read_argument("x") is None


def test_a_closed_collaboration_takes_no_more_and_is_listed_on_request(team):
    opened(team)
    assert close(team, CONV, author=LEAD, outcome="JWT").outcome == "JWT"
    assert list_collaborations(team).collaborations == ()
    (row,) = list_collaborations(team, everything=True).collaborations
    assert (row.outcome, row.closed is not None) == ("JWT", True)
    for function in (join, close):
        with pytest.raises(Refused, match="is closed since"):
            function(team, CONV, BRANCH, author=ANN)
    with pytest.raises(Refused, match="is closed since"):
        argue(team, CONV, BRANCH, position(), author=ANN)


def test_a_conversation_alone_names_its_only_open_collaboration(team):
    with pytest.raises(NotFound, match="there is no collaboration in conv-001"):
        show_collaboration(team, CONV)
    opened(team)
    opened(team, "ann", kind="handoff")
    with pytest.raises(Ambiguous, match="2 collaborations are open in conv-001"):
        show_collaboration(team, CONV)
    assert show_collaboration(team, CONV, "collaboration/handoff").collaboration.type == "handoff"
    with pytest.raises(NotFound, match="conv-001/main is not a collaboration"):
        show_collaboration(team, CONV, "main")


def test_a_conflict_is_argued_about_and_the_report_says_how_it_ended(team):
    """US-012: positions, escalation to a neutral person, decision."""
    in_conflict(team)
    (row,) = list_conflicts(team).conflicts
    argue_about_conflict(team, CONV, "1", position("JWT", confidence=0.8), author=ANN)
    assert show_conflict(team, CONV, "1").row.conflict.status == "debate"
    resolve_conflict(team, CONV, "1", take="target", reason="we revoke", author=CAROL, intervening=True)
    report = show_collaboration(team, CONV, BRANCH)
    (ended,) = report.conflicts
    assert (ended.conflict.status, ended.conflict.resolution.actor) == ("resolved", "carol")
    assert [(each.author, each.argument.about) for each in report.positions] == [("ann", row.conflict.id)]
    with pytest.raises(Refused, match="has ended: resolved"):
        argue_about_conflict(team, CONV, row.conflict.id, position(), author=BOB)


def test_a_neutral_agent_is_available_not_involved_and_best_a_person(team):
    in_conflict(team)
    assert choose_neutral(team, CONV, "1").name == "carol"
    register(team, "eve", capabilities=["review"])
    assert choose_neutral(team, CONV, "1", "@review").name == "eve"
    argue_about_conflict(team, CONV, "1", position(), author=CAROL)
    assert choose_neutral(team, CONV, "1").name == "eve"
    with pytest.raises(
        NoAvailableAgents, match="no agent with the capability 'security' is available and not involved"
    ):
        choose_neutral(team, CONV, "1", "security")


def test_who_is_asked_to_decide_finds_it_in_the_inbox(team):
    in_conflict(team)
    escalate(team, CONV, "1", to="carol", reason="no agreement", author=LEAD)
    assert requests(team, "carol") == ["Escalated decisions/auth to carol: no agreement"]
    assert show_conflict(team, CONV, "1").escalated_to == "carol"
    undo(team)
    assert (requests(team, "carol"), show_conflict(team, CONV, "1").escalated_to) == ([], None)
    escalate(team, CONV, "1", to="somebody else", reason="", author=LEAD)
    assert show_conflict(team, CONV, "1").escalated_to == "somebody else"


def test_a_branch_of_that_purpose_without_a_request_is_no_collaboration(team):
    branch(team, CONV, purpose="collaboration", name="talk")
    assert list_collaborations(team, everything=True).collaborations == ()
    with pytest.raises(NotFound, match="conv-001/talk is not a collaboration"):
        show_collaboration(team, CONV, "talk")
