"""Watching an inbox, delivery to a program, and many processes that send to one inbox."""

from __future__ import annotations

import json
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from scopes import clock
from scopes.agents.delivery import SentMessage, deliver_to_programs, deliver_unread
from scopes.agents.inbox import read_inbox, watch_inbox
from scopes.agents.register import register
from scopes.agents.send import send
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import redo, undo
from scopes.conversation.verify import verify
from scopes.errors import Invalid
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.history.names import list_branch_tips
from scopes.store.config import Setting
from scopes.store.repository import open_repository
from tests.support.examples import amount
from tests.support.random_ids import hashed_counter
from tests.support.store import run


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Operations have different ids, and a delivery that failed is tried again at once."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    monkeypatch.setattr("scopes.agents.delivery._RETRY_AFTER_SECONDS", (0.0, 0.0))
    monkeypatch.setattr("scopes.agents.inbox._POLL_SECONDS", 0.01)


@pytest.fixture
def team(repository):
    """Carol and a reviewer."""
    new(repository)
    register(repository, "carol", agent_type="human")
    register(repository, "ann")
    return repository


def sent(repository, text, to="ann"):
    return send(StoreHandle(repository).branch("conv-001"), plain_message("carol", text), (to,))


def texts(repository, name="ann"):
    return [each.message.text for each in read_inbox(repository, name).messages]


def with_program(repository, command, **more):
    """Return the store opened with the user's own setting of a program for ann."""
    values = {"scopes.agent.ann.delivery": command, **more}
    return open_repository(repository.path, {key: Setting(key, value, "flag") for key, value in values.items()})


def test_a_watch_yields_what_is_there_and_then_each_message_as_it_arrives(team):
    sent(team, "one")
    watched = watch_inbox(team, "ann", idle_seconds=10)
    assert [each.message.text for each in next(watched).messages] == ["one"]
    later = threading.Timer(0.1, sent, (open_repository(team.path), "two"))
    later.start()
    assert [each.message.text for each in next(watched).messages] == ["two"]
    later.join()
    assert texts(team) == ["one", "two"]


def test_a_watch_that_acknowledges_takes_what_it_yields(team):
    for text in ("one", "two"):
        sent(team, text)
    (found,) = watch_inbox(team, "ann", acknowledge=True, idle_seconds=0)
    assert [each.message.text for each in found.messages] == ["one", "two"]
    assert texts(team) == []
    assert list(watch_inbox(team, "ann", idle_seconds=0)) == []


def test_a_watch_that_acknowledges_yields_again_what_an_undo_has_put_back(team):
    """What is taken out of an inbox is printed, whatever was printed before."""
    sent(team, "one")
    watched = watch_inbox(team, "ann", acknowledge=True, idle_seconds=10)
    assert [each.message.text for each in next(watched).messages] == ["one"]
    undo(team)
    assert texts(team) == ["one"]
    sent(team, "two")
    assert [each.message.text for each in next(watched).messages] == ["one", "two"]
    assert texts(team) == []


def test_a_watch_shows_a_message_again_only_if_it_was_taken_and_came_back(team):
    sent(team, "one")
    watched = watch_inbox(team, "ann", idle_seconds=10)
    assert [each.message.text for each in next(watched).messages] == ["one"]
    sent(team, "two")
    assert [each.message.text for each in next(watched).messages] == ["two"]
    read_inbox(team, "ann", acknowledge=True)
    sent(team, "three")
    assert [each.message.text for each in next(watched).messages] == ["three"]
    undo(team)
    undo(team)
    assert [each.message.text for each in next(watched).messages] == ["one", "two"]


def test_a_program_gets_each_message_in_order_and_the_inbox_is_empty_then(team, tmp_path):
    for text in ("one", "two"):
        sent(team, text)
    log = tmp_path / "log"
    done = deliver_unread(with_program(team, f"cat >> {log}; echo $SCOPES_AGENT >> {log}.names"), "ann")
    received = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(each["text"], each["from"], each["conversation"]) for each in received] == [
        ("one", "carol", "conv-001"), ("two", "carol", "conv-001"),
    ]  # fmt: skip
    assert ([each["id"] for each in received], done.failed) == (list(done.messages), None)
    assert ((tmp_path / "log.names").read_text().split(), texts(team)) == (["ann", "ann"], [])
    assert verify(team).findings == ()


def test_a_program_that_fails_is_tried_three_times_and_the_message_and_later_ones_stay(team, tmp_path):
    for text in ("one", "two"):
        sent(team, text)
    tries = tmp_path / "tries"
    done = deliver_unread(with_program(team, f"echo x >> {tries}; echo no >&2; exit 3"), "ann")
    assert (done.problem, done.exit_code) == ("failed with exit code 3: no (tried 3 times)", 1)
    assert (len(tries.read_text().split()), texts(team)) == (3, ["one", "two"])
    (note,) = done.notes
    assert note.text == f"{done.failed[:8]} was not delivered: the program failed with exit code 3: no (tried 3 times)"
    assert note.hint.endswith("then: scopes inbox ann --deliver")


def test_a_program_that_works_the_second_time_has_delivered(team, tmp_path):
    sent(team, "one")
    done = deliver_unread(with_program(team, f"test -e {tmp_path}/once || {{ touch {tmp_path}/once; exit 1; }}"), "ann")
    assert (len(done.messages), done.failed, texts(team)) == (1, None, [])


def test_a_program_that_hangs_is_killed(team):
    sent(team, "one")
    done = deliver_unread(with_program(team, "sleep 60", **{"scopes.agent.ann.timeout": "1"}), "ann")
    assert done.problem == "took longer than 1 second (tried 3 times)"


def test_send_delivers_to_programs_and_notes_what_failed(team):
    sent(team, "one")
    (note,) = deliver_to_programs(with_program(team, "exit 1"), ["ann", "carol", "nobody"])
    assert note.text == (
        "the message is in the inbox of ann, but the program of ann failed with exit code 1: "
        "it wrote nothing to standard error (tried 3 times)"
    )
    assert note.hint.startswith("it stays in the inbox; mend scopes.agent.ann.delivery, then: scopes inbox ann --del")
    assert deliver_to_programs(with_program(team, "true"), ["ann"]) == ()
    assert texts(team) == []


def test_undo_of_a_send_takes_back_its_deliveries_too(team):
    """The first undo took back only an acknowledgement, and the next send ran the program for that message again."""
    register(team, "bob")
    key = "scopes.agent.bob.delivery"
    opened = with_program(team, "cat > /dev/null", **{key: "cat > /dev/null"})
    tip = list_branch_tips(team, "conv-001")
    before = sent(opened, "earlier")
    done = send(StoreHandle(opened).branch("conv-001"), plain_message("carol", "now"), ("ann", "bob"))
    assert deliver_to_programs(opened, ["ann", "bob"], SentMessage(done.message, [done.operation])) == ()
    summaries = [undo(opened, dry_run=True).summary, undo(opened).summary]
    own = f"acknowledge {done.message[:8]} for"
    assert summaries == [f"send {done.message[:8]} of conv-001/main to ann, bob; {own} ann; {own} bob"] * 2
    assert (texts(team), texts(team, "bob"), list_branch_tips(team, "conv-001")["main"]) == ([], [], before.oid)
    redo(opened)
    assert (texts(team), list_branch_tips(team, "conv-001")["main"]) == ([], done.oid)
    undo(opened)
    assert list_branch_tips(team, "conv-001")["main"] == before.oid
    assert (undo(opened).summary, texts(team)) == (f"acknowledge {before.message[:8]} for ann", ["earlier"])
    undo(opened)
    assert (texts(team), list_branch_tips(team, "conv-001")) == ([], tip)


def test_without_a_program_the_inbox_is_the_delivery(team):
    sent(team, "one")
    assert deliver_to_programs(team, ["ann"]) == ()
    with pytest.raises(Invalid, match="no program is set for the messages of ann"):
        deliver_unread(team, "ann")


def test_a_store_names_no_program(team):
    """A store may come from another person."""
    subprocess.run(["git", "-C", team.path, "config", "scopes.agent.ann.delivery", "touch hacked"], check=True)
    with pytest.raises(Invalid, match="no program is set"):
        deliver_unread(open_repository(team.path), "ann")


SEND_MANY = """
from scopes.agents.send import send
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
sender, count = sys.argv[2], int(sys.argv[3])
for number in range(count):
    message = plain_message(sender, f"{sender} {number}")
    send(StoreHandle(open_repository(path)).branch("conv-001"), message, ("ann",))
"""


def test_several_processes_send_to_one_inbox_and_each_message_is_there_once_in_order(team):
    """S4-33: exactly once and in send order, whoever writes at the same time."""
    count, senders = 6, [f"sender-{number}" for number in range(amount(8, 3))]
    with ThreadPoolExecutor(len(senders)) as threads:
        list(threads.map(lambda sender: run(SEND_MANY, team.path, sender, count), senders))
    entries = [each.entry for each in read_inbox(team, "ann").messages]
    assert [each.sequence for each in entries] == list(range(1, len(senders) * count + 1))
    found = texts(team)
    for sender in senders:
        assert [text for text in found if text.startswith(f"{sender} ")] == [f"{sender} {n}" for n in range(count)]
    assert verify(team).findings == ()
