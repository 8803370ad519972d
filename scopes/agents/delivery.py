"""Deliver messages to the program of an agent, which the user's own configuration names.

The program reads one message as a JSON object on standard input, with secrets replaced. Exit code 0 takes the message
out of the inbox; after another one it is tried again, and then it stays there. Of all processes one at a time
delivers to an agent, in the order of sending. Before each run it looks again whether the message is still in the
inbox, and while the program runs `inbox --ack` leaves the message there. No message is lost. One is given twice only
if this process dies after the program has run and before the acknowledgement is stored: then with the same delivery
id and a higher attempt, so that a program that remembers the ids of its last deliveries does each message exactly
once. An acknowledgement that is undone puts the message back into the inbox: that is a new delivery.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from shlex import quote
from time import sleep
from typing import NamedTuple

from scopes.agents.agent import Agent
from scopes.agents.delivery_record import Attempt, DeliveryRecord, claim_deliveries
from scopes.agents.inbox import acknowledge_message, is_unread, read_inbox
from scopes.agents.received import InboxEntry, ReceivedMessage
from scopes.agents.registry import Registry
from scopes.child_process import CommandFailed, CommandLimits, run_command
from scopes.errors import Invalid
from scopes.ids import MessageId, OperationId
from scopes.result import Note, Result, plural, spread
from scopes.secrets.gates import gate_of
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_DEFAULT_SECONDS = 60
_MAX_OUTPUT_BYTES = 1_000_000
_RETRY_AFTER_SECONDS = (0.5, 2.0)


class _TakenOut(Exception):
    """A message is no longer in the inbox."""


class DeliveryCommand(NamedTuple):
    """The command of an agent, and how many seconds it may take for a message."""

    command: str
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered(Result):
    """What was delivered to the program of an agent, in the order of sending; `failed` stays in the inbox.

    After a failure no later message is delivered, so that the order is kept.
    """

    kind = "delivery"

    agent: Agent = field(metadata=spread(agent="name", number="number"))
    messages: tuple[MessageId, ...]
    failed: MessageId | None = None
    problem: str | None = None

    @property
    def sentence(self) -> str:
        """How many messages were delivered."""
        return f"{len(self.messages)} {plural(len(self.messages), 'message')} delivered to {self.agent.name}"

    @property
    def answer(self) -> str:
        """The ids of the messages, one a line."""
        return "\n".join(self.messages)

    @property
    def exit_code(self) -> int:
        """1 if a message could not be delivered."""
        return 0 if self.failed is None else 1


def find_delivery(repository: Repository, agent: Agent) -> DeliveryCommand | None:
    """Return the command to which messages of an agent are delivered; None if the inbox is the delivery."""
    command = repository.config.find(f"scopes.agent.{agent.name}.delivery")
    if not command or not command.strip():
        return None
    seconds = repository.config.find_integer(f"scopes.agent.{agent.name}.timeout", _DEFAULT_SECONDS)
    return DeliveryCommand(command, seconds)


class SentMessage(NamedTuple):
    """A message that this command has sent, and the operations by which: its acknowledgements are undone with it."""

    message: MessageId
    operations: list[OperationId]


def deliver_unread(repository: Repository, name: str, sent: SentMessage | None = None) -> Delivered:
    """Deliver the unread messages of an agent to its program, until there is none.

    While another process delivers to the agent, return at once with a note: that process also delivers what comes
    meanwhile. So a program may send messages to its own agent.

    Raises:
        NotFound, Ambiguous: there is no such agent, or several.
        Invalid: it has no program.
    """
    agent = Registry(repository).find(name, whole=True)
    delivery = find_delivery(repository, agent)
    if delivery is None:
        hint = f"scopes config scopes.agent.{quote(agent.name)}.delivery COMMAND"
        raise Invalid(f"no program is set for the messages of {agent.name}", hint=hint)
    done: list[MessageId] = []
    while (inbox := read_inbox(repository, str(agent.number))).messages:
        if inbox.messages[0].entry.message in done:
            break
        with claim_deliveries(repository, agent) as record:
            if record is None:
                note = Note(f"another process delivers to {agent.name}: the messages follow")
                return Delivered(agent=agent, messages=tuple(done), notes=(note,))
            failed = _deliver_all(repository, agent, delivery, record, done, sent)
        if failed is not None:
            message, problem = failed
            note = Note(f"{message[:8]} was not delivered: the program {problem}", _hint_again(agent))
            return Delivered(
                agent=agent, messages=tuple(done), failed=message, problem=problem, notes=(note, *inbox.notes)
            )
    return Delivered(agent=agent, messages=tuple(done), notes=inbox.notes)


def _deliver_all(  # noqa: PLR0917 - what is delivered, to whom, and what comes out
    repository: Repository,
    agent: Agent,
    delivery: DeliveryCommand,
    record: DeliveryRecord,
    done: list[MessageId],
    sent: SentMessage | None,
) -> tuple[MessageId, str] | None:
    """Deliver what is unread, and add it to `done`; return the message that failed, and why."""
    for received in read_inbox(repository, str(agent.number)).messages:
        try:
            problem = _deliver(repository, delivery, received, agent, record)
        except _TakenOut:
            continue
        if problem is not None:
            return received.entry.message, problem
        is_sent = sent is not None and received.entry.message == sent.message
        _acknowledge(repository, agent, received.entry.message, sent.operations if sent and is_sent else [])
        record.clear()
        done.append(received.entry.message)
    return None


def _acknowledge(repository: Repository, agent: Agent, message: MessageId, operations: list[OperationId]) -> None:
    """Acknowledge a message for its agent, as a part of the command of some operations; that is added to them."""
    with repository.as_caller(command_operations=[*operations]):
        operation = acknowledge_message(repository, agent, message)
    if operation is not None:
        operations.append(operation)


def deliver_to_programs(
    repository: Repository, names: Iterable[str], sent: SentMessage | None = None
) -> tuple[Note, ...]:
    """Deliver what is unread to those of some agents that have a program, and return a note for each failure.

    A dry run runs none of them.

    sent: what this command has sent; that it was delivered is undone with that
    """
    notes = []
    registry = Registry(repository)
    for name in () if repository.is_dry else names:
        agent = registry.find_named(name)
        if agent is None or find_delivery(repository, agent) is None:
            continue
        done = deliver_unread(repository, str(agent.number), sent)
        if done.failed is not None:
            text = f"the message is in the inbox of {agent.name}, but the program of {agent.name} {done.problem}"
            notes.append(Note(text, _hint_again(agent)))
    return tuple(notes)


def _hint_again(agent: Agent) -> str:
    name = quote(agent.name)
    return f"it stays in the inbox; mend scopes.agent.{agent.name}.delivery, then: scopes inbox {name} --deliver"


def _deliver(
    repository: Repository, delivery: DeliveryCommand, received: ReceivedMessage, agent: Agent, record: DeliveryRecord
) -> str | None:
    """Run the program for one message, up to three times; return why it failed, None if it did not.

    Raises:
        _TakenOut: somebody else has acknowledged the message.
    """
    clear = gate_of(repository, "redact").clear_document
    document = {"scopes": 1, "kind": "message", **clear(received.document(), "a message")}
    environ = {**os.environ, "SCOPES_AGENT": agent.name, "SCOPES_CONVERSATION": received.entry.conversation}
    limits = CommandLimits(delivery.seconds, _MAX_OUTPUT_BYTES)
    problem = ""
    for pause in (0.0, *_RETRY_AFTER_SECONDS):
        sleep(pause)
        attempt = _begin(repository, received.entry, agent, record)
        data = json.dumps({**document, "delivery": attempt.delivery, "attempt": attempt.number}).encode() + b"\n"
        try:
            run_command(delivery.command, data, limits, environ={**environ, "SCOPES_DELIVERY": attempt.delivery})
        except CommandFailed as error:
            problem = str(error)
        else:
            return None
    return f"{problem} (tried {len(_RETRY_AFTER_SECONDS) + 1} times)"


def _begin(repository: Repository, entry: InboxEntry, agent: Agent, record: DeliveryRecord) -> Attempt:
    """Record that the program is about to run; from then on nobody else acknowledges the message."""
    with exclusive_write(repository):
        if not is_unread(Registry(repository), agent, entry):
            raise _TakenOut
        return record.begin(entry.sequence)
