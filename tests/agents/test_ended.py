"""What asks for something that has ended leaves the inbox, whatever it is, and comes back if the end is undone."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from scopes import clock
from scopes.agents.delivery import deliver_unread
from scopes.agents.delivery_record import claim_deliveries
from scopes.agents.inbox import read_inbox, walk_entries, watch_inbox
from scopes.agents.register import register
from scopes.agents.registry import Registry
from scopes.agents.send import send
from scopes.clock import now_nanoseconds
from scopes.collaboration.collaboration import close, start
from scopes.conversation.append import amend, retract
from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import delete, delete_branch, new, rename_conversation
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.ids import ConversationId
from scopes.model.message import Author
from scopes.proposals.review import accept_proposal, apply_proposal, reject_proposal, rollback_proposal
from scopes.render.view import ViewOptions
from scopes.store.config import Setting
from scopes.store.repository import open_repository
from scopes.store.transactions import exclusive_write
from tests.render.rendering import document, piped, seen
from tests.render.with_options import WithOptions
from tests.support.proposals import create
from tests.support.random_ids import hashed_counter

CONV = ConversationId("conv-001")
CAROL = Author("carol", "human")
TASK = "Choose the queue"


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations and messages have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def team(repository):
    """A conversation and a reviewer."""
    new(repository)
    register(repository, "ann", capabilities=["review"])
    return repository


def proposed(repository, *changes, where=CONV, **options):
    return create(repository, *(changes or ["status=done"]), where=where, to=(), **options).id


def opened(repository):
    return start(repository, CONV, "consensus", TASK, ["ann"], author=CAROL).branch


def greet(repository, text="hello"):
    send(StoreHandle(repository).branch(CONV), plain_message("carol", text), ["ann"])


def inbox(repository, **options):
    """Return the texts of the inbox, and what has ended of each."""
    return [(each.message.text, each.ended) for each in read_inbox(repository, "ann", **options).messages]


def endings(repository, **options):
    return [ended for _, ended in inbox(repository, **options)]


def accepted(repository, proposal):
    accept_proposal(repository, None, proposal, author=CAROL, apply=False)


def applied(repository, proposal):
    accepted(repository, proposal)
    apply_proposal(repository, None, proposal, author=CAROL)


def rolled_back(repository, proposal):
    applied(repository, proposal)
    rollback_proposal(repository, None, proposal, author=CAROL)


ENDS_OF_A_PROPOSAL = {
    "applied": (applied, "the proposal is applied"),
    "rolled back": (rolled_back, "the proposal is applied"),
    "rejected": (
        lambda r, proposal: reject_proposal(r, None, proposal, reason="too-risky", author=CAROL),
        "the proposal is rejected",
    ),
    "superseded": (lambda r, _: create(r, "status=review"), "the proposal is superseded"),
    "amended": (lambda r, proposal: amend(r, CONV, proposal, "no", author=CAROL), "the proposal is withdrawn"),
    "retracted": (lambda r, proposal: retract(r, CONV, proposal, "no", author=CAROL), "the proposal is withdrawn"),
}


@pytest.mark.parametrize("name", ENDS_OF_A_PROPOSAL)
def test_a_proposal_that_is_no_longer_open_leaves_the_inbox(team, name):
    end, reason = ENDS_OF_A_PROPOSAL[name]
    proposal = proposed(team)
    assert endings(team) == [None]
    end(team, proposal)
    assert inbox(team) == []
    assert endings(team, everything=True) == [reason]
    while endings(team) != [None]:
        undo(team)
    assert endings(team) == [None], "undo of the end brings it back"


def test_an_accepted_proposal_stays_until_it_is_applied(team):
    proposal = proposed(team)
    accepted(team, proposal)
    assert endings(team) == [None]
    apply_proposal(team, None, proposal, author=CAROL)
    assert endings(team) == []


def test_a_proposal_whose_time_has_come_leaves_the_inbox(team, monkeypatch):
    proposed(team, expires="1h")
    assert endings(team) == [None]
    later = now_nanoseconds() + 2 * 3600 * 10**9
    monkeypatch.setattr("scopes.agents.ended.now_nanoseconds", lambda: later)
    assert endings(team, everything=True) == ["the proposal has expired"]


def test_what_another_application_makes_expire_leaves_the_inbox(team):
    first, _ = proposed(team), proposed(team, "status=review", agent="writer")
    assert endings(team) == [None, None]
    applied(team, first)
    assert endings(team, everything=True) == ["the proposal is applied", "the proposal has expired"]


def test_what_is_applied_on_the_active_branch_has_ended(team):
    """The branch on which it was proposed was merged into another one, and is as it was."""
    branch(team, CONV, name="idea", switch=False)
    proposal = proposed(team, where=f"{CONV}/idea")
    merge(team, CONV, source="idea", target="main")
    applied(team, proposal)
    assert endings(team, everything=True) == ["the proposal is applied"]


def test_a_proposal_on_a_branch_that_was_deleted_stays(team):
    """Nobody can tell what became of it."""
    branch(team, CONV, name="idea", switch=False)
    proposed(team, where=f"{CONV}/idea")
    delete_branch(team, CONV, "idea", force=True)
    assert endings(team) == [None]


@pytest.mark.parametrize("change", [lambda r: rename_conversation(r, CONV, "other"), lambda r: delete(r, CONV)])
def test_what_has_not_ended_stays_in_a_conversation_that_was_renamed_or_deleted(team, change):
    proposed(team)
    opened(team)
    change(team)
    assert endings(team) == [None, None]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (lambda r, name: close(r, CONV, name, author=CAROL), "the collaboration is closed"),
        (lambda r, name: merge(r, CONV, source=name, target="main"), "the collaboration was merged"),
    ],
    ids=["closed", "merged"],
)
def test_the_request_of_a_collaboration_that_has_ended_leaves_the_inbox(team, end, reason):
    """Nobody can join it any more."""
    name = opened(team)
    assert inbox(team) == [(TASK, None)]
    end(team, name)
    assert inbox(team) == []
    assert inbox(team, everything=True) == [(TASK, reason)]
    undo(team)
    assert inbox(team) == [(TASK, None)]


def test_messages_after_the_request_do_not_hide_the_end(team):
    name = opened(team)
    close(team, CONV, name, author=CAROL)
    send(StoreHandle(team).branch(CONV, name), plain_message("carol", "thanks"), ["ann"])
    assert inbox(team) == [("thanks", None)]


def test_what_was_left_out_is_noted_with_the_way_to_see_it(team):
    """An escalation was gone without a word, and nothing said so."""
    applied(team, proposed(team))
    close(team, CONV, opened(team), author=CAROL)
    greet(team)
    found = read_inbox(team, "ann")
    assert ([each.message.text for each in found.messages], found.ended) == (["hello"], 2)
    (note,) = found.notes
    assert note.text == "2 messages about what has ended not listed"
    assert note.hint == "take all of it out: scopes inbox ann --ack"
    assert read_inbox(team, "ann", everything=True).notes == ()


def test_an_acknowledgement_takes_out_what_has_ended_too_and_says_so(team):
    applied(team, proposed(team))
    greet(team)
    done = read_inbox(team, "ann", acknowledge=True)
    (note,) = done.notes
    assert (note.text, note.hint) == (
        "1 message about what has ended taken out too", "to put all of them back: scopes undo",
    )  # fmt: skip
    assert not list(walk_entries(Registry(team), 1))
    undo(team)
    assert endings(team, everything=True) == ["the proposal is applied", None]
    assert verify(team).findings == ()


def test_without_another_message_nothing_is_taken_unless_all_are_wanted(team):
    applied(team, proposed(team))
    assert read_inbox(team, "ann", acknowledge=True).operation is None
    assert len(read_inbox(team, "ann", acknowledge=True, everything=True).messages) == 1
    assert not list(walk_entries(Registry(team), 1))


@pytest.mark.parametrize("everything", [False, True])
def test_what_a_program_is_running_for_stays_in_the_inbox_also_if_it_has_ended(team, everything):
    """The program would be acknowledged for a message that somebody else has taken."""
    proposal = proposed(team)
    greet(team)
    agent = Registry(team).find("ann")
    (first, _) = walk_entries(Registry(team), 1)
    with claim_deliveries(team, agent) as record:
        with exclusive_write(team):
            record.begin(first.sequence)
        applied(team, proposal)
        taken = read_inbox(team, "ann", acknowledge=True, everything=everything)
        assert [each.message.text for each in taken.messages] == ["hello"]
        assert list(walk_entries(Registry(team), 1)) == [first]


def test_a_program_gets_nothing_that_has_ended(team, tmp_path):
    applied(team, proposed(team))
    greet(team)
    program = f"""{sys.executable} -c "import sys; open('{tmp_path}/got', 'a').write(sys.stdin.read())" """
    name = "scopes.agent.ann.delivery"
    deliver_unread(open_repository(team.path, {name: Setting(name, program, "flag")}), "ann")
    assert [json.loads(line)["text"] for line in (tmp_path / "got").read_text().splitlines()] == ["hello"]


def test_the_reason_is_shown_on_a_terminal_and_in_json(team):
    applied(team, proposed(team))
    found = read_inbox(team, "ann", everything=True)
    assert "the proposal is applied" in seen(found, 120)
    assert "scopes inbox ann --all --ack" in seen(found), "--ack alone takes nothing if all has ended"
    assert len(piped(found).splitlines()[0].split("\t")) == 6, "the columns in a pipe stay"
    with_reason = piped(WithOptions(found, ViewOptions(ended=True)))
    assert with_reason.splitlines()[0].split("\t")[-1] == "the proposal is applied"
    (message,) = document(found)["messages"]
    assert (message["ended"], document(found)["ended"]) == ("the proposal is applied", 1)
    assert "ended" not in document(replace(found, messages=(replace(found.messages[0], ended=None),)))["messages"][0]


def test_a_watch_notes_once_what_has_ended(team, monkeypatch):
    monkeypatch.setattr("scopes.agents.inbox._POLL_SECONDS", 0.01)
    applied(team, proposed(team))
    greet(team, "one")
    watch = watch_inbox(team, "ann", idle_seconds=30)
    assert [note.text for note in next(watch).notes] == ["1 message about what has ended not listed"]
    greet(team, "two")
    second = next(watch)
    assert ([each.message.text for each in second.messages], second.notes) == (["two"], ())
    watch.close()
