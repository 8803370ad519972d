"""Whoever decides a conflict sees what was said about it, also afterwards, and is found in the registry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes import clock
from scopes.agents.inbox import read_inbox, walk_entries
from scopes.agents.register import AgentChanges, register, update
from scopes.agents.registry import Registry
from scopes.agents.send import send
from scopes.collaboration.collaboration import argument_message, start
from scopes.collaboration.conflicts import argue_about_conflict, choose_neutral, escalate
from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict, show_conflict
from scopes.conversation.merge import abort_merge, merge
from scopes.conversation.new_rename_delete import delete, new
from scopes.conversation.undo import undo
from scopes.errors import Ambiguous, NoAvailableAgents, NotFound
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message, read_message
from scopes.history.names import list_branch_tips
from scopes.model.message import Argument, Author, Evidence
from scopes.store.config import Setting
from scopes.store.repository import open_repository
from tests.support.proposals import create
from tests.support.random_ids import hashed_counter

CONV, RESOLUTION = "conv-001", "conflict-resolution/fix-into-main"
ANN, BOB, DORA = Author("ann"), Author("bob"), Author("dora", "human")
FASTER = Evidence(type="performance-data", description="12 s vs 19 s", source="b.md", weight=0.9)


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations and messages have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def disputed(repository):
    """A merge that stopped because ann and bob decided differently; dora and eve are registered too."""
    new(repository)
    append(repository, CONV, plain_message("lead", "choose the storage"))
    branch(repository, CONV, name="fix", switch=False)
    for where, author, decision in (("main", "bob", "postgres"), ("fix", "ann", "sqlite")):
        payload = {"topic": "storage", "decision": decision}
        append(
            repository, CONV, replace(plain_message(author, decision, kind="decision"), payload=payload), branch=where
        )
    for name in ("ann", "bob", "eve"):
        register(repository, name)
    register(repository, "dora", agent_type="human")
    merge(repository, CONV, source="fix", target="main")
    return repository


def argued(repository, author, position, **fields):
    argument = Argument(about="", position=position, **fields)
    return argue_about_conflict(repository, CONV, "1", argument, author=author)


def escalated(repository, to):
    return escalate(repository, CONV, "1", to=to, reason="", author=BOB)


def resolved(repository, **options):
    return resolve_conflict(repository, CONV, "1", value="sqlite first", author=DORA, **options)


def shown(repository):
    return show_conflict(repository, CONV, "decisions/storage")


def test_a_conflict_is_shown_with_what_speaks_for_each_position(disputed):
    argued(disputed, BOB, "postgres")
    argued(disputed, ANN, "sqlite", evidence=(FASTER,), confidence=0.8)
    argued(disputed, BOB, "postgres", reasoning=("it is there",))
    positions = shown(disputed).positions
    assert [(each.author, each.argument.position) for each in positions] == [("ann", "sqlite"), ("bob", "postgres")]
    assert positions[0].argument.evidence == (FASTER,)
    assert positions[1].argument.reasoning == ("it is there",)


def test_the_message_of_an_argument_says_what_speaks_for_it(disputed):
    """So `cat`, `log`, contexts and git show it, not only commands that know what an argument is."""
    argued(disputed, ANN, "sqlite", evidence=(FASTER,), alternatives=("files",), confidence=0.8)
    assert read_message(disputed, list_branch_tips(disputed, CONV)[RESOLUTION]).text.split("\n") == [
        "sqlite",
        "",
        "- performance-data: 12 s vs 19 s (source: b.md, weight: 0.9)",
        "- alternative: files",
        "- confidence: 0.8",
    ]
    assert argument_message(Argument(about="x", position="files"), ANN).text == "files"


@pytest.mark.parametrize("continue_after", [False, True])
def test_a_resolved_conflict_keeps_what_was_written_about_it(disputed, continue_after):
    argued(disputed, ANN, "sqlite", evidence=(FASTER,))
    append(disputed, CONV, plain_message("eve", "is there a backup?"), branch=RESOLUTION)
    escalated(disputed, "dora")
    before = shown(disputed)
    resolved(disputed, continue_after=continue_after)
    after = shown(disputed)
    assert after.row.conflict.status == "resolved"
    assert [head.author for head in after.talk] == ["ann", "eve"]
    assert (after.talk, after.positions, after.escalated_to) == (before.talk, before.positions, "dora")


def test_messages_after_the_end_of_a_merge_are_not_about_its_conflict(disputed):
    argued(disputed, ANN, "sqlite")
    resolved(disputed, continue_after=True)
    append(disputed, CONV, plain_message("eve", "something else"), branch="main")
    assert [head.author for head in shown(disputed).talk] == ["ann"]


def test_a_conflict_that_only_a_branch_holds_shows_the_positions_about_it(disputed):
    """Nothing is in progress there, and other messages of the branch are not about the conflict."""
    branch(disputed, CONV, start=RESOLUTION, name="later", switch=False)
    abort_merge(disputed, CONV)
    append(disputed, CONV, plain_message("eve", "something else"), branch="later")
    argued(disputed, ANN, "sqlite")
    view = shown(disputed)
    assert (view.row.kind, [head.author for head in view.talk]) == ("branch", ["ann"])
    assert choose_neutral(disputed, CONV, "1").name == "dora"


def test_an_escalated_conflict_says_when_it_was_escalated(disputed, monkeypatch):
    later = clock.now_nanoseconds() + 60 * 10**9
    monkeypatch.setattr(clock, "read_clock", lambda: later)
    done = escalated(disputed, "dora")
    view = shown(disputed)
    assert done.escalated_to == view.escalated_to == "dora"
    assert view.escalated_at > view.row.opened_at


def test_a_name_that_is_like_a_registered_one_gets_no_conflict(disputed):
    with pytest.raises(NotFound, match="there is no agent 'annn'") as error:
        escalated(disputed, "annn")
    assert error.value.hint == "did you mean ann? Or register it: scopes agents register annn"
    register(disputed, "annie")
    with pytest.raises(Ambiguous):
        escalated(disputed, "an")
    assert shown(disputed).row.conflict.status == "open"


def test_a_name_that_is_not_registered_has_no_inbox(disputed):
    done = escalated(disputed, "zoltan")
    assert [note.text for note in done.notes] == ["zoltan is not registered, so no inbox has the message"]
    assert done.notes[0].hint == "register it: scopes agents register zoltan"


def test_a_registered_agent_is_named_by_its_number_or_its_whole_name_as_in_send(disputed):
    with pytest.raises(NotFound, match="there is no agent 'do'") as refused:
        escalated(disputed, "do")
    assert refused.value.hint == "did you mean dora? Or register it: scopes agents register do"
    assert escalated(disputed, "dora").escalated_to == "dora"
    assert escalated(disputed, "3").escalated_to == "eve"
    assert [len(read_inbox(disputed, name).messages) for name in ("dora", "eve")] == [1, 1]


def test_every_command_that_sends_runs_the_programs_and_one_undo_takes_all_of_it_back(disputed, tmp_path):
    """A request waited in the inbox until the next `send`."""
    setting = Setting("scopes.agent.dora.delivery", f"cat >> {tmp_path}/log", "flag")
    opened = open_repository(disputed.path, {setting.key: setting})
    verbs = [
        lambda: escalated(opened, "dora"),
        lambda: start(opened, CONV, "peer-review", "look", ["dora"], author=BOB),
        lambda: create(opened, "status=done", where=f"{CONV}/main", to=("dora",)),
    ]
    refs = state_of_inboxes(opened)
    for number, verb in enumerate(verbs, 1):
        verb()
        assert len((tmp_path / "log").read_text().splitlines()) == number
        assert inbox_of(opened, "dora") == []
        undo(opened)
        assert state_of_inboxes(opened) == refs


def state_of_inboxes(repository):
    return list_branch_tips(repository, CONV), inbox_of(repository, "dora")


def test_a_misspelled_capability_of_a_neutral_agent_is_suggested(disputed):
    update(disputed, "eve", AgentChanges(add_capabilities=("review",)))
    with pytest.raises(NoAvailableAgents, match="with the capability 'revew'") as refused:
        choose_neutral(disputed, CONV, "1", "revew")
    assert refused.value.hint == "did you mean review?"
    assert choose_neutral(disputed, CONV, "1", "review").name == "eve"


def inbox_of(repository, name):
    return [each.message.text for each in read_inbox(repository, name).messages]


@pytest.mark.parametrize(
    "end", [resolved, lambda repository: abort_merge(repository, CONV)], ids=["resolved", "aborted"]
)
def test_an_escalation_leaves_the_inbox_when_its_conflict_ends_and_comes_back_when_that_is_undone(disputed, end):
    escalated(disputed, "dora")
    assert inbox_of(disputed, "dora") == ["Escalated decisions/storage to dora"]
    end(disputed)
    assert inbox_of(disputed, "dora") == []
    undo(disputed)
    assert inbox_of(disputed, "dora") == ["Escalated decisions/storage to dora"]


def test_an_escalation_of_an_ended_conflict_is_taken_out_with_the_others(disputed):
    escalated(disputed, "dora")
    resolved(disputed)
    branch_handle = StoreHandle(disputed).branch(CONV)
    send(branch_handle, plain_message("eve", "thank you"), ["dora"])
    assert [each.message.text for each in read_inbox(disputed, "dora", acknowledge=True).messages] == ["thank you"]
    assert not list(walk_entries(Registry(disputed), 4))


def test_an_escalation_in_a_conversation_that_was_deleted_stays(disputed):
    escalated(disputed, "dora")
    delete(disputed, CONV)
    assert len(read_inbox(disputed, "dora").messages) == 1


def test_who_was_asked_last_resolves_without_a_note(disputed):
    escalated(disputed, "eve")
    escalated(disputed, "dora")
    argued(disputed, ANN, "sqlite")
    assert resolved(disputed).notes == ()
