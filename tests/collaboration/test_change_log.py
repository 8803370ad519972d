"""The change log has what agents did: proposals, decisions, values, inboxes, collaborations and facts (S4-49 to S4-52)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.agents.send import send
from scopes.collaboration.contribute import argue, argue_about_conflict, close, join
from scopes.collaboration.neutral import escalate
from scopes.collaboration.start import Request, start
from scopes.conversation.append import append, retract
from scopes.conversation.branch import branch
from scopes.conversation.changes import changes
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.merge import abort_merge, merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.merge.conflicts import walk_conflicts
from scopes.model.message import Argument, Author
from scopes.proposals.apply import rollback_proposal
from scopes.proposals.create import NewChange, create_proposal
from scopes.proposals.review import accept_proposal, reject_proposal
from tests.support.random_ids import hashed_counter

CONV = "conv-001"
QUEUE = {"topic": "queue", "decision": "redis"}
ANN, BOB, CAROL = Author("ann"), Author("bob"), Author("carol", "human")


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations and messages have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def team(repository):
    """Two agents, one of them away, and a person; the second conversation is not in the log of the first."""
    new(repository)
    new(repository)
    register(repository, "ann", capabilities=["review"])
    register(repository, "bob", available=False)
    register(repository, "carol", agent_type="human")
    return repository


def rows(repository, field, conversation=CONV):
    found = changes(repository, conversation, field=field).items
    return [(each.operation, each.field_path, each.before, each.after, each.cause) for each in found]


def sent(repository, text, *to, conversation=CONV, author=CAROL, **options):
    message = replace(plain_message(author.name, text), author=author)
    return send(StoreHandle(repository).branch(conversation), message, to, **options)


def proposed(repository, value, where=CONV):
    change = NewChange("status", "set", value)
    return create_proposal(StoreHandle(repository).branch(where), "task/42", [change], author=ANN).id


def decided(repository, decision, author="ann"):
    message = plain_message(author, decision, kind="decision")
    return append(repository, CONV, replace(message, payload={"topic": "queue", "decision": decision})).id


def test_a_proposal_goes_from_state_to_state_and_changes_a_value(team):
    first, second = proposed(team, "done"), None
    accept_proposal(team, CONV, first, author=CAROL)
    rollback_proposal(team, CONV, first, author=BOB)
    second = proposed(team, "review")
    reject_proposal(team, CONV, second, reason="too-risky", author=CAROL)
    assert [(row[0], row[1], row[2], row[3]["state"], row[4]) for row in rows(team, "proposals")] == [
        ("CREATE", f"proposals.{first}", None, "pending", "agent:ann"),
        ("UPDATE", f"proposals.{first}", {"state": "pending"}, "accepted", "user:carol"),
        ("UPDATE", f"proposals.{first}", {"state": "accepted"}, "applied", "user:carol"),
        ("UPDATE", f"proposals.{first}", {"state": "applied"}, "applied", "agent:bob"),
        ("CREATE", f"proposals.{second}", None, "pending", "agent:ann"),
        ("UPDATE", f"proposals.{second}", {"state": "pending"}, "rejected", "user:carol"),
    ]
    assert rows(team, "entities") == [
        ("CREATE", "entities.task.42.status", None, "done", "user:carol"),
        ("DELETE", "entities.task.42.status", "done", None, "agent:bob"),
    ]


def test_a_decision_is_made_changed_and_withdrawn(team):
    decided(team, "redis")
    second = decided(team, "postgres", "bob")
    retract(team, CONV, second, "a mistake", author=CAROL)
    assert rows(team, "decisions") == [
        ("CREATE", "decisions.queue", None, "redis", "agent:ann"),
        ("UPDATE", "decisions.queue", "redis", "postgres", "agent:bob"),
        ("UPDATE", "decisions.queue", "postgres", "redis", "user:carol"),
    ]


def test_a_collaboration_is_opened_joined_argued_in_and_closed(team):
    request = Request(type="consensus", task="Choose", agents=("ann", "bob"))
    done = start(team, CONV, request, author=CAROL)
    join(team, CONV, author=ANN)
    argue(team, CONV, None, Argument(about="the task", position="JWT"), author=ANN)
    close(team, CONV, author=CAROL, outcome="JWT")
    path = f"collaborations.{done.message}"
    payload = {"type": "consensus", "context": "Choose", "urgency": "normal"}
    assert rows(team, "collaborations") == [
        ("CREATE", path, None, {"status": "open", **payload}, "user:carol"),
        ("CREATE", f"{path}.participants.ann", None, "joined", "agent:ann"),
        ("CREATE", f"{path}.positions.ann.the task", None, {"about": "the task", "position": "JWT"}, "agent:ann"),
        ("UPDATE", path, {"status": "open"}, {"status": "closed", "outcome": "JWT"}, "user:carol"),
    ]


def test_a_merge_repeats_no_row(team):
    """An exact duplicate is recorded once, on however many branches a message is."""
    branch(team, CONV, name="fix", switch=False)
    decided(team, "redis")
    proposed(team, "done", f"{CONV}/fix")
    before = [rows(team, field) for field in ("decisions", "proposals", "messages")]
    merge(team, CONV, source="fix", target="main")
    after = [rows(team, field) for field in ("decisions", "proposals", "messages")]
    assert after[:2] == before[:2]
    assert after[2][: len(before[2])] == before[2]


def test_messages_of_a_clock_that_goes_back_are_in_the_order_of_their_branch(team, monkeypatch):
    now = clock.now_nanoseconds()
    for number, seconds in enumerate((0, -60, -120)):
        monkeypatch.setattr(clock, "read_clock", lambda at=seconds: now + at * 10**9)
        append(team, CONV, plain_message("ann", f"text {number}"))
    subjects = [row[3]["subject"] for row in rows(team, "messages")]
    assert subjects == ["text 0", "text 1", "text 2"]


def consensus(repository):
    return start(repository, CONV, Request(type="consensus", task="Choose", agents=("ann",)), author=CAROL).message


def conflicting(repository):
    """Stop a merge on a conflict, and return its field path."""
    branch(repository, CONV, name="fix", switch=False)
    append(repository, CONV, replace(plain_message("ann", "x", kind="decision"), payload=QUEUE), branch="fix")
    decided(repository, "postgres", "bob")
    return f"conflicts.{merge(repository, CONV, source='fix', target='main').conflicts[0].id}"


def without(state):
    """Return the state of a conflict without its type and key, which every state has."""
    return state and {name: value for name, value in state.items() if name not in {"type", "key"}}


def test_a_conflict_goes_from_status_to_status_with_positions(team):
    path = conflicting(team)
    for text in ("redis", "redis, with a backup"):
        argue_about_conflict(team, CONV, "1", Argument(about="", position=text), author=ANN)
    for name in ("bob", "carol"):
        escalate(team, CONV, "1", to=name, reason="", author=ANN)
    resolve_conflict(team, CONV, "1", take="source", author=CAROL)
    kept = [
        (verb, field.removeprefix(path), without(before), after.get("status") or after, after.get("to"))
        for verb, field, before, after, _ in rows(team, "conflicts")
    ]
    kinds = {(part["type"], part["key"]) for row in rows(team, path) if row[1] == path for part in row[2:4] if part}
    assert kinds == {("decision-disagreement", "decisions/queue")}
    first, second = {"position": "redis"}, {"position": "redis, with a backup"}
    assert kept == [
        ("CREATE", "", None, "open", None),
        ("CREATE", ".positions.ann", None, first, None),
        ("UPDATE", "", {"status": "open"}, "debate", None),
        ("UPDATE", ".positions.ann", first, second, None),
        ("UPDATE", "", {"status": "debate"}, "escalated", "bob"),
        ("UPDATE", "", {"status": "escalated", "to": "bob"}, "escalated", "carol"),
        ("UPDATE", "", {"status": "escalated", "to": "carol"}, "resolved", None),
    ]


def test_a_merge_has_the_time_at_which_it_was_written(team, monkeypatch):
    """As in the log; its commit has that of the newest merged message, so that it is the same on every machine."""
    branch(team, CONV, name="fix", switch=False)
    append(team, CONV, plain_message("ann", "on fix"), branch="fix")
    append(team, CONV, plain_message("bob", "on main"))
    later = clock.now_nanoseconds() + 3600 * 10**9
    monkeypatch.setattr(clock, "read_clock", lambda: later)
    merge(team, CONV, source="fix", target="main")
    newest = [each for each in changes(team, CONV, field="messages").items if each.after["kind"] == "merge"][-1]
    assert newest.time[:19] == clock.now()[:19]


def test_a_position_is_a_row_of_its_author_and_subject(team):
    """It was an update of what its author held about something else."""
    path = f"collaborations.{consensus(team)}.positions"
    for author, about, position in (
        (ANN, "the task", "JWT"), (BOB, "the task", "cookies"), (ANN, "storage", "redis"), (ANN, "the task", "both"),
    ):  # fmt: skip
        argue(team, CONV, None, Argument(about=about, position=position), author=author)
    found = [row[:4] for row in rows(team, path)]
    assert found == [
        ("CREATE", f"{path}.ann.the task", None, {"about": "the task", "position": "JWT"}),
        ("CREATE", f"{path}.bob.the task", None, {"about": "the task", "position": "cookies"}),
        ("CREATE", f"{path}.ann.storage", None, {"about": "storage", "position": "redis"}),
        ("UPDATE", f"{path}.ann.the task", {"about": "the task", "position": "JWT"}, {"about": "the task", "position": "both"}),
    ]  # fmt: skip
    assert [row[:4] for row in rows(team, f"{path}.bob")] == found[1:2]


def test_positions_about_a_conflict_in_a_collaboration_replace_only_those_of_their_author(team):
    branch_name = start(team, CONV, Request(type="consensus", task="Choose", agents=("ann",)), author=CAROL).branch
    decision = replace(plain_message("ann", "x", kind="decision"), payload=QUEUE)
    append(team, CONV, decision, branch=branch_name)
    decided(team, "postgres", "bob")
    (conflict,) = merge(team, CONV, source="main", target=branch_name).conflicts
    for author, position in ((ANN, "redis"), (BOB, "postgres"), (ANN, "both")):
        argue_about_conflict(team, CONV, "1", Argument(about="", position=position), author=author)
    for path in ("collaborations", "conflicts"):
        held = [row for row in rows(team, path) if ".positions." in row[1]]
        assert [(row[0], (row[2] or {}).get("position"), row[3]["position"]) for row in held] == [
            ("CREATE", None, "redis"), ("CREATE", None, "postgres"), ("UPDATE", "redis", "both"),
        ]  # fmt: skip
        assert all(conflict.id in row[1] for row in held)


def test_an_argument_opens_the_debate_about_its_conflict_alone_in_the_list_too(team):
    branch(team, CONV, name="fix", switch=False)
    for topic in ("name", "queue"):
        for where, author in (("fix", "ann"), ("main", "bob")):
            message = plain_message(author, author, kind="decision")
            append(team, CONV, replace(message, payload={"topic": topic, "decision": author}), branch=where)
    merge(team, CONV, source="fix", target="main")
    argue_about_conflict(team, CONV, "1", Argument(about="", position="redis"), author=ANN)
    listed = {f"conflicts.{row.conflict.id}": row.conflict.status for row in walk_conflicts(team, CONV)}
    assert list(listed.values()) == ["debate", "open"]
    last = {field: after["status"] for _, field, _, after, _ in rows(team, "conflicts") if field in listed}
    assert last == listed


def test_a_branch_has_no_row_for_an_added_message_by_whatever_command(team):
    """Its rows are those of moves: the tips in them are no list of all tips."""
    append(team, CONV, plain_message("ann", "hello"))
    sent(team, "look", "ann")
    assert [row[0] for row in rows(team, "branches.main")] == ["CREATE"]
    undo(team)
    assert [row[0] for row in rows(team, "branches.main")] == ["CREATE", "UPDATE"]


def test_spellings_of_a_topic_are_one_field(team):
    branch(team, CONV, name="fix", switch=False)
    for where, topic, author in (("fix", "Naming", "ann"), ("main", "naming", "bob")):
        message = plain_message(author, author, kind="decision")
        append(team, CONV, replace(message, payload={"topic": topic, "decision": author}), branch=where)
    merge(team, CONV, source="fix", target="main")
    resolve_conflict(team, CONV, "1", take="source", author=CAROL)
    found = [row[:4] for row in rows(team, "decisions")]
    field = "decisions.naming"
    assert found == [("CREATE", field, None, "ann"), ("CREATE", field, None, "bob"), ("UPDATE", field, "bob", "ann")]
    assert len(rows(team, "decisions.naming")) == 3


def test_a_conflict_that_was_argued_about_is_aborted_as_it_was(team):
    path = conflicting(team)
    argue_about_conflict(team, CONV, "1", Argument(about="", position="redis"), author=ANN)
    abort_merge(team, CONV)
    found = [(row[2] and row[2]["status"], row[3]["status"]) for row in rows(team, path) if row[1] == path]
    assert found == [(None, "open"), ("open", "debate"), ("debate", "aborted")]
