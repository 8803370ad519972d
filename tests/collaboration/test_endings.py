"""How a collaboration ends: its branch is merged, as with a merge request, and it is closed with a summary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes import clock
from scopes.agents.inbox import read_inbox
from scopes.agents.register import register
from scopes.collaboration.collaboration import (
    THE_TASK,
    argue,
    close,
    join,
    list_collaborations,
    show_collaboration,
    start,
)
from scopes.collaboration.conflicts import argue_about_conflict
from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.errors import NotFound, Refused
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message, read_body, read_message
from scopes.history.names import list_branch_tips
from scopes.model.message import Argument, Author
from tests.render.rendering import piped
from tests.support.random_ids import hashed_counter

CONV, BRANCH = "conv-001", "collaboration/consensus"
LEAD, ANN, BOB = Author("lead"), Author("ann"), Author("bob")


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations and messages have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def team(repository):
    """Three agents and a collaboration of two, in which one has stated a position."""
    new(repository)
    append(repository, CONV, plain_message("lead", "refactor the login"))
    for name in ("ann", "bob", "eve"):
        register(repository, name)
    opened(repository)
    argue(repository, CONV, None, Argument(about="the task", position="JWT"), author=ANN)
    return repository


def opened(repository, kind="consensus"):
    return start(repository, CONV, kind, "Choose", ["ann", "bob"], author=LEAD)


def states(repository, **options):
    return [
        (each.branch, each.status, each.merged_into)
        for each in list_collaborations(repository, **options).collaborations
    ]


def decide(repository, where, author, decision):
    payload = {"topic": "auth", "decision": decision}
    append(repository, CONV, replace(plain_message(author, decision), kind="decision", payload=payload), branch=where)


def test_a_collaboration_whose_branch_was_merged_is_merged_until_it_is_closed(team):
    assert states(team) == [(BRANCH, "open", None)]
    merge(team, CONV, source=BRANCH, target="main")
    assert states(team) == [(BRANCH, "merged", "main")]
    close(team, CONV, author=LEAD)
    assert states(team) == []
    assert states(team, everything=True) == [(BRANCH, "closed", "main")]


def test_undo_of_the_merge_opens_it_again(team):
    append(team, CONV, plain_message("lead", "meanwhile"))
    merge(team, CONV, source=BRANCH, target="main")
    assert states(team) == [(BRANCH, "merged", "main")]
    undo(team)
    assert states(team) == [(BRANCH, "open", None)]


def test_messages_after_the_merge_are_open_again(team):
    merge(team, CONV, source=BRANCH, target="main")
    append(team, CONV, plain_message("ann", "one more thing"), branch=BRANCH)
    assert states(team) == [(BRANCH, "open", None)]


def test_a_merged_collaboration_takes_no_more(team):
    merge(team, CONV, source=BRANCH, target="main")
    with pytest.raises(Refused, match="collaboration/consensus was merged into main") as refusal:
        join(team, CONV, author=BOB)
    assert refusal.value.hint.startswith(f"close it: scopes collaborate close {CONV}/{BRANCH}; or open another one")
    with pytest.raises(Refused, match="was merged into main"):
        argue(team, CONV, None, Argument(about="the task", position="x"), author=BOB)


def test_a_conversation_alone_names_the_open_one_before_a_merged_one(team):
    merge(team, CONV, source=BRANCH, target="main")
    assert show_collaboration(team, CONV).collaboration.branch == BRANCH
    opened(team, "verification")
    assert show_collaboration(team, CONV).collaboration.branch == "collaboration/verification"
    close(team, CONV, author=LEAD)
    assert show_collaboration(team, CONV).collaboration.branch == BRANCH
    close(team, CONV, author=LEAD)
    with pytest.raises(NotFound, match="no collaboration is open"):
        close(team, CONV, author=LEAD)


def test_the_closing_message_sums_up_positions_decisions_and_conflicts(team):
    argue(team, CONV, None, Argument(about="the task", position="Sessions\n in Redis"), author=BOB)
    decide(team, BRANCH, "ann", "jwt")
    decide(team, "main", "bob", "sessions")
    merge(team, CONV, source=BRANCH, target="main")
    resolve_conflict(team, CONV, "1", take="source", reason="we revoke", author=LEAD)
    done = close(team, CONV, BRANCH, author=LEAD, outcome="JWT it is")
    text = read_message(team, list_branch_tips(team, CONV)[BRANCH]).text
    assert text.split("\n") == [
        "JWT it is",
        "",
        "Positions: ann on the task: JWT; bob on the task: Sessions in Redis",
        "Decisions: auth: jwt (ann)",
        "Conflicts: decisions/auth resolved, took source, by lead",
    ]
    assert done.report.collaboration.outcome == "JWT it is"
    assert [each.argument.position for each in done.report.positions] == ["JWT", "Sessions\n in Redis"]


def test_a_collaboration_without_positions_is_closed_without_a_summary(team):
    opened(team, "verification")
    close(team, CONV, "collaboration/verification", author=LEAD)
    assert read_message(team, list_branch_tips(team, CONV)["collaboration/verification"]).text == "closed"


def disputed(repository, **resolution):
    """Ann decides in the collaboration, bob on main; the lead resolves the conflict."""
    decide(repository, BRANCH, "ann", "jwt")
    decide(repository, "main", "bob", "sessions")
    merge(repository, CONV, source=BRANCH, target="main")
    return resolve_conflict(repository, CONV, "1", author=LEAD, continue_after=True, **resolution)


@pytest.mark.parametrize(
    ("resolution", "decided"),
    [
        ({"value": "jwt, then sessions"}, ("jwt, then sessions", "lead")),
        ({"take": "target"}, ("sessions", "lead")),
        ({"take": "source"}, (None, None)),
    ],
)
def test_the_report_has_the_decision_that_a_conflict_ended_with(team, resolution, decided):
    disputed(team, **resolution)
    (stated,) = show_collaboration(team, CONV, BRANCH).decisions
    assert (stated.decision, stated.author) == ("jwt", "ann")
    assert (stated.decided, stated.decided_by) == decided


def test_the_closing_message_has_the_decision_that_a_conflict_ended_with(team):
    disputed(team, value="jwt, then sessions")
    close(team, CONV, BRANCH, author=LEAD)
    lines = read_message(team, list_branch_tips(team, CONV)[BRANCH]).text.split("\n")
    assert lines[-2:] == [
        "Decisions: auth: jwt, then sessions (lead), instead of jwt (ann)",
        "Conflicts: decisions/auth resolved, jwt, then sessions, by lead",
    ]


@pytest.mark.parametrize("resolution", [{"value": "both"}, {"take": "source"}])
def test_the_report_has_a_decision_of_branches_that_were_merged_into_the_collaboration(team, resolution):
    """Two try it apart from each other, and the lead resolves their conflict before either is merged."""
    for name, author, decision in (("f1", "ann", "jwt"), ("f2", "bob", "sessions")):
        branch(team, CONV, name=name, start=BRANCH, switch=False)
        decide(team, name, author, decision)
    merge(team, CONV, source="f2", target="f1")
    resolve_conflict(team, CONV, "1", author=LEAD, continue_after=True, **resolution)
    merge(team, CONV, source="f1", target=BRANCH)
    (stated,) = show_collaboration(team, CONV, BRANCH).decisions
    assert (stated.decision, stated.author) == ("jwt", "ann")
    assert stated.decided == ("both" if "value" in resolution else "sessions")


def test_positions_about_a_conflict_are_there_once_after_its_merge_into_the_collaboration(team):
    """The branch of the collaboration has the messages of the conflict-resolution branch then."""
    decide(team, BRANCH, "ann", "jwt")
    decide(team, "main", "bob", "sessions")
    merge(team, CONV, source="main", target=BRANCH)
    argue_about_conflict(team, CONV, "1", Argument(about="", position="Sessions"), author=BOB)
    resolve_conflict(team, CONV, "1", take="source", author=LEAD, continue_after=True)
    report = show_collaboration(team, CONV, BRANCH)
    assert [(each.author, each.argument.position) for each in report.positions] == [("ann", "JWT"), ("bob", "Sessions")]


def test_who_argues_takes_part_and_has_read_the_request(team):
    """Ann has argued without joining; bob has done neither, and lead and eve are counted apart."""
    append(team, CONV, plain_message("eve", "may I?"), branch=BRANCH)
    found = show_collaboration(team, CONV).collaboration.participants
    assert [(each.name, each.joined is not None, each.is_unread, each.is_asked) for each in found] == [
        ("lead", True, False, True), ("ann", True, False, True), ("bob", False, True, True), ("eve", True, False, False),
    ]  # fmt: skip
    assert [len(read_inbox(team, name).messages) for name in ("ann", "bob")] == [0, 1]
    undo(team, CONV)
    assert [len(read_inbox(team, name).messages) for name in ("ann", "bob")] == [0, 1], "the append was undone"
    undo(team, CONV)
    assert len(read_inbox(team, "ann").messages) == 1


def test_joining_twice_gives_the_same_message_and_a_note(team):
    first = join(team, CONV, author=BOB)
    again = join(team, CONV, author=BOB)
    assert (again.message, again.operation) == (first.message, None)
    assert [note.text for note in again.notes] == [f"bob has joined {CONV}/{BRANCH} already"]


def test_a_collaboration_that_is_closed_during_its_merge_leaves_nothing_to_merge(team):
    decide(team, BRANCH, "ann", "jwt")
    decide(team, "main", "bob", "sessions")
    merge(team, CONV, source=BRANCH, target="main")
    done = close(team, CONV, BRANCH, author=LEAD)
    assert [note.text for note in done.notes] == ["1 of its conflicts is still open"]
    ended = resolve_conflict(team, CONV, "1", take="source", author=LEAD, continue_after=True)
    assert not ended.notes


def test_other_messages_during_a_merge_are_left_to_merge(team):
    decide(team, BRANCH, "ann", "jwt")
    decide(team, "main", "bob", "sessions")
    merge(team, CONV, source=BRANCH, target="main")
    append(team, CONV, plain_message("ann", "one more thing"), branch=BRANCH)
    close(team, CONV, BRANCH, author=LEAD)
    ended = resolve_conflict(team, CONV, "1", take="source", author=LEAD, continue_after=True)
    assert [note.text for note in ended.notes] == [f"1 newer message of {BRANCH} is not merged"]


def about_a_conflict(team):
    """Resolve a conflict between main and the collaboration after a debate, and return its id."""
    decide(team, BRANCH, "ann", "jwt")
    decide(team, "main", "bob", "sessions")
    merge(team, CONV, source="main", target=BRANCH)
    argue_about_conflict(team, CONV, "1", Argument(about="", position="Sessions"), author=BOB)
    argue_about_conflict(team, CONV, "1", Argument(about="", position="JWT"), author=Author("eve"))
    return resolve_conflict(team, CONV, "1", take="source", author=LEAD, continue_after=True).conflict.id


def test_positions_about_a_conflict_are_below_it_and_not_below_its_id(team):
    """The report had a heading such as a56d761b7704, which nobody has typed."""
    conflict = about_a_conflict(team)
    report = show_collaboration(team, CONV, BRANCH)
    assert {each.argument.about for each in report.positions} == {THE_TASK, conflict}
    text = piped(report)
    assert f"### {conflict}" not in text
    assert f"- decisions/auth (decision-disagreement, {conflict[:8]}): resolved, " in text
    assert "  - **Sessions**, bob" in text
    assert "has to decide" not in text, "it is decided"


def test_a_closing_message_names_a_conflict_by_its_key(team):
    conflict = about_a_conflict(team)
    done = close(team, CONV, BRANCH, author=LEAD)
    heads = StoreHandle(team).branch(CONV, BRANCH).headers()
    body = read_body(team, next(head for head in heads if head.id == done.message)).text
    assert "bob on decisions/auth: Sessions" in body
    assert conflict not in body


def test_the_author_of_merges_takes_no_part(team):
    about_a_conflict(team)
    names = [each.name for each in show_collaboration(team, CONV, BRANCH).collaboration.participants]
    assert names == ["lead", "ann", "bob", "eve"]


def test_a_conversation_alone_names_the_newest_closed_collaboration(team):
    """`show` refused although there is only one."""
    close(team, CONV, author=LEAD, outcome="done")
    report = show_collaboration(team, CONV)
    assert report.collaboration.branch == BRANCH
    second = start(team, CONV, "handoff", "Finish it", ["ann"], author=LEAD)
    close(team, CONV, author=LEAD)
    report = show_collaboration(team, CONV)
    assert report.collaboration.branch == second.branch
    with pytest.raises(NotFound, match=f"no collaboration is open in {CONV}"):
        join(team, CONV, author=BOB)


def test_a_conversation_without_a_collaboration_says_how_to_open_one(team):
    other = new(team).id
    for verb in (show_collaboration, lambda *words: join(*words, author=BOB)):
        with pytest.raises(NotFound, match=f"there is no collaboration in {other}") as refused:
            verb(team, other)
        assert refused.value.hint == f"open one: scopes collaborate {other} --type TYPE --agents NAMES --task TEXT"
