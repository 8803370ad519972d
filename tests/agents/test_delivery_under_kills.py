"""Delivery to a program: one process at a time, in order, and after a crash again with the same id."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from pathlib import Path

import pytest

import scopes
from scopes import clock
from scopes.agents.delivery import deliver_unread
from scopes.agents.delivery_record import claim_deliveries
from scopes.agents.inbox import read_inbox
from scopes.agents.register import register
from scopes.agents.registry import Registry
from scopes.agents.send import send
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Inaccessible
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.store.config import Setting
from scopes.store.repository import open_repository
from tests.support.random_ids import hashed_counter

ROOT = Path(scopes.__file__).parents[1]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Operations have different ids, and a delivery that failed is tried again at once."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    monkeypatch.setattr("scopes.agents.delivery._RETRY_AFTER_SECONDS", (0.0, 0.0))


@pytest.fixture
def team(repository):
    """A conversation and the agent ann."""
    new(repository)
    register(repository, "ann")
    return repository


def sent(repository, text):
    return send(StoreHandle(repository).branch("conv-001"), plain_message("carol", text), ("ann",))


def texts(repository):
    return [each.message.text for each in read_inbox(repository, "ann").messages]


def with_program(repository, command):
    name = "scopes.agent.ann.delivery"
    return open_repository(repository.path, {name: Setting(name, command, "flag")})


def received(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


def deliver(repository, command):
    """Deliver in a process of its own."""
    clock.random_bytes = os.urandom
    deliver_unread(with_program(repository, command), "ann")


def in_processes(*calls):
    """Run `deliver` in processes at once; return their exit codes."""
    context = multiprocessing.get_context("fork")
    running = [context.Process(target=deliver, args=call) for call in calls]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    return [process.exitcode for process in running]


def test_a_program_gets_the_id_of_the_delivery_and_the_attempt(team, tmp_path):
    log = tmp_path / "log"
    for text in ("one", "two"):
        sent(team, text)
    command = f"cat >> {log}; echo $SCOPES_DELIVERY >> {log}.ids; test $(wc -l < {log}) -ne 1"
    deliver_unread(with_program(team, command), "ann")
    found = received(log)
    assert [(each["text"], each["attempt"]) for each in found] == [("one", 1), ("one", 2), ("two", 1)]
    ids = [each["delivery"] for each in found]
    assert ids == (tmp_path / "log.ids").read_text().split()
    assert ids[0] == ids[1] != ids[2]


def test_after_a_kill_between_run_and_acknowledgement_the_message_comes_again_with_the_same_id(team, tmp_path):
    log = tmp_path / "log"
    for text in ("one", "two"):
        sent(team, text)
    assert in_processes((team, f"cat >> {log}; kill -9 $PPID; sleep 60")) == [-9]
    assert texts(team) == ["one", "two"]
    deliver_unread(with_program(team, f"cat >> {log}"), "ann")
    found = received(log)
    assert [(each["text"], each["attempt"]) for each in found] == [("one", 1), ("one", 2), ("two", 1)]
    assert len({each["delivery"] for each in found}) == 2
    assert verify(team).findings == ()


@pytest.mark.slow
def test_a_program_that_remembers_ids_does_each_message_once_whatever_is_killed(team, tmp_path):
    """At each kill the program has done its work, and nobody has acknowledged it."""
    for number in range(6):
        sent(team, f"text {number}")
    program = tmp_path / "program"
    program.write_text(f"""
line=$(cat)
grep -q "$SCOPES_DELIVERY" {tmp_path}/seen 2>/dev/null || {{ echo "$line" >> {tmp_path}/done; }}
echo "$SCOPES_DELIVERY" >> {tmp_path}/seen
test $(wc -l < {tmp_path}/seen) -ge 12 || {{ kill -9 $1; sleep 60; }}
""")
    codes = [in_processes((team, f"sh {program} $PPID"))[0] for _ in range(12)]
    assert (codes, texts(team)) == ([-9] * 11 + [0], [])
    assert [each["text"] for each in received(tmp_path / "done")] == [f"text {number}" for number in range(6)]


def test_of_several_processes_one_delivers_and_each_message_comes_once_in_order(team, tmp_path):
    log = tmp_path / "log"
    for number in range(8):
        sent(team, f"text {number}")
    assert in_processes(*[(team, f"sleep 0.02; cat >> {log}")] * 4) == [0] * 4
    assert [each["text"] for each in received(log)] == [f"text {number}" for number in range(8)]
    assert texts(team) == []


def test_what_arrives_during_a_delivery_is_delivered_by_the_same_process(team):
    sent(team, "one")
    opened = with_program(team, "cat > /dev/null")
    with claim_deliveries(team, Registry(team).find("ann")) as record:
        assert record is not None
        waiting = deliver_unread(opened, "ann")
    assert (waiting.messages, waiting.exit_code) == ((), 0)
    assert [note.text for note in waiting.notes] == ["another process delivers to ann: the messages follow"]
    assert len(deliver_unread(opened, "ann").messages) == 1


def taking(repository, path):
    """Return a command that acknowledges the messages of ann and writes their texts and the notes to a file."""
    code = (
        "import sys; from scopes.agents.inbox import read_inbox as read; from scopes.store.repository import *;"
        "found = read(open_repository(sys.argv[1]), 'ann', acknowledge=True);"
        "print(*[m.message.text for m in found.messages], *[n.text for n in found.notes], sep='\\n')"
    )
    return f'PYTHONPATH={ROOT} {sys.executable} -c "{code}" {repository.path} >> {path}'


def test_who_acknowledges_during_a_delivery_gets_the_other_messages_and_the_program_none_of_these(team, tmp_path):
    for text in ("one", "two", "three"):
        sent(team, text)
    done = deliver_unread(with_program(team, f"cat >> {tmp_path}/log; {taking(team, tmp_path / 'taken')}"), "ann")
    assert [each["text"] for each in received(tmp_path / "log")] == ["one"]
    note = "1 message stays in the inbox: the program of ann is running for it"
    assert (tmp_path / "taken").read_text().splitlines() == ["two", "three", note]
    assert (len(done.messages), done.failed, texts(team)) == (1, None, [])


def test_a_message_whose_program_failed_can_be_acknowledged_again(team, tmp_path):
    sent(team, "one")
    assert deliver_unread(with_program(team, f"{taking(team, tmp_path / 'taken')}; false"), "ann").failed is not None
    assert "one" not in (tmp_path / "taken").read_text().splitlines()
    assert [each.message.text for each in read_inbox(team, "ann", acknowledge=True).messages] == ["one"]


def test_a_message_whose_program_failed_is_still_there_after_others_were_acknowledged(team, tmp_path):
    for text in ("one", "two", "three"):
        sent(team, text)
    done = deliver_unread(with_program(team, f"{taking(team, tmp_path / 'taken')}; false"), "ann")
    assert done.failed is not None
    assert (tmp_path / "taken").read_text().splitlines()[:2] == ["two", "three"]
    assert texts(team) == ["one"]


def test_a_program_is_not_run_again_for_a_message_that_is_gone(team, tmp_path):
    """The program itself undoes what was sent, and then fails."""
    for text in ("one", "two"):
        sent(team, text)
    code = "import sys; from scopes.conversation.undo import *; from scopes.store.repository import *;"
    take_back = (
        f'PYTHONPATH={ROOT} {sys.executable} -c "{code} undo(open_repository(sys.argv[1]), any_actor=True)" {team.path}'
    )
    done = deliver_unread(with_program(team, f"cat >> {tmp_path}/log; {take_back}; false"), "ann")
    assert [each["text"] for each in received(tmp_path / "log")] == ["one", "one"]
    assert (done.messages, done.failed, texts(team)) == ((), None, [])


def test_a_message_that_undo_puts_back_is_a_new_delivery(team, tmp_path):
    log = tmp_path / "log"
    sent(team, "one")
    opened = with_program(team, f"cat >> {log}")
    deliver_unread(opened, "ann")
    undo(opened)
    deliver_unread(opened, "ann")
    first, second = received(log)
    assert (first["attempt"], second["attempt"]) == (1, 1)
    assert first["delivery"] != second["delivery"]


@pytest.mark.parametrize(
    "damage",
    [
        b"{",
        b"\xff\n{}\n",
        b'[1]\n{"sequence": 1, "delivery": 2}',
        rb'{"sequence": 1, "delivery": "a\u0000b", "attempt": 1}',
        rb'{"sequence": 1, "delivery": "\ud800", "attempt": 1}',
        b'{"sequence": 1, "delivery": "%s", "attempt": 1}' % (b"a" * 101),
    ],
)
def test_a_damaged_record_begins_a_new_delivery(team, damage):
    sent(team, "one")
    agent = Registry(team).find("ann")
    with claim_deliveries(team, agent) as record:
        first = record.begin(1)
        with open(os.path.join(team.path, "deliveries", "000001"), "r+b") as file:
            assert json.loads(file.readline())["delivery"] == first.delivery
            file.write(damage)
        assert record.begin(1) == (first.delivery, 2)
        assert record.begin(2).number == 1


def test_a_program_does_not_run_if_that_cannot_be_recorded(team, tmp_path):
    sent(team, "one")
    (tmp_path / "elsewhere").write_text("")
    os.mkdir(os.path.join(team.path, "deliveries"))
    os.symlink(tmp_path / "elsewhere", os.path.join(team.path, "deliveries", "000001"))
    with pytest.raises(Inaccessible, match="cannot record a delivery"):
        deliver_unread(with_program(team, f"touch {tmp_path}/ran"), "ann")
    assert not (tmp_path / "ran").exists()
    assert texts(team) == ["one"]


def test_a_pipe_in_place_of_the_record_is_refused(team, tmp_path):
    """Of another person's store: nothing waits for it, and the program does not run."""
    sent(team, "one")
    os.mkdir(os.path.join(team.path, "deliveries"))
    os.mkfifo(os.path.join(team.path, "deliveries", "000001"))
    with pytest.raises(Inaccessible, match="cannot record a delivery: No such device"):
        deliver_unread(with_program(team, f"touch {tmp_path}/ran"), "ann")
    with pytest.raises(Inaccessible, match="cannot record a delivery: No such device"):
        read_inbox(team, "ann", acknowledge=True)
    assert not (tmp_path / "ran").exists()
    assert texts(team) == ["one"]
