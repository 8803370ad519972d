"""Read the records of a rollout in order: build messages and find their parents.

Messages come from the model's history; of the UI event log only what the history does not have is used. Other records
are kept as states. One answer of the model is one message, although it is written item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from scopes.importers.formats.codex.fork_copies import ForkCopies
from scopes.importers.formats.codex.header import Header
from scopes.importers.formats.codex.items import (
    COMPACTIONS,
    OUTPUTS,
    identify_author,
    read_answer_item,
    read_content,
    read_result,
)
from scopes.importers.formats.codex.message_builder import (
    ANSWER,
    ERROR,
    INTERRUPT,
    RESULTS,
    MessageBuilder,
    OpenMessage,
)
from scopes.importers.formats.codex.record import (
    COMMUNICATION,
    COMPACTED,
    EVENT,
    ITEM,
    NAME,
    TURN,
    USAGE,
    RolloutRecord,
)
from scopes.importers.formats.codex.tool_calls import PendingCalls, parse_report
from scopes.importers.formats.codex.usage_attribution import UsageAttribution
from scopes.importers.formats.events import Event
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.lossless_json import lossless_field
from scopes.model.message import Author, Part

_HARNESS = Author(NAME, "system")
_TOOL = Author("tool", "tool")
_TURN_EVENTS = frozenset({"task_started", "task_complete", "turn_aborted"})


class Reader:
    """Turns the records of one rollout into events."""

    def __init__(self, header: Header) -> None:
        self._heading = header
        self._copies = ForkCopies(header.session.native_id)
        self._builder = MessageBuilder(header.git_branch)
        self._builder.cwd = header.session.cwd
        self._usage = UsageAttribution(self._builder)
        self._calls = PendingCalls()
        self._turns: list[str | None] = []  # parent of each prompt
        self._answer_done = False  # the next answer item begins a new answer
        self._title: str | None = None

    def read(self, record: RolloutRecord) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        self._builder.copying = self._copies.is_copy(record)
        handle = self._HANDLERS.get(record.kind)
        if handle is None:
            self._builder.add_state(record)
        else:
            handle(self, record)
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Close the last message and yield the Ending."""
        self._drop_reports()
        self._usage.finish()
        ending = self._builder.ending(self._title)
        yield from self._builder.take_ready()
        yield ending

    def _read_turn(self, record: RolloutRecord) -> None:
        self._builder.model = text_field(record.payload, "model") or self._builder.model
        self._builder.cwd = text_field(record.payload, "cwd") or self._builder.cwd
        self._answer_done = True
        self._builder.add_state(record)

    def _read_item(self, record: RolloutRecord) -> None:
        parts = read_answer_item(record.payload)
        if parts is not None:
            self._read_answer(record, parts)
        elif record.type in OUTPUTS:
            self._read_output(record)
        elif record.type in COMPACTIONS:
            self._builder.begin(record, _HARNESS, "compaction", (Part("raw", lossless_field("json", record.payload)),))
        elif record.type == "agent_message":
            self._read_communication(record)
        elif record.type == "message":
            self._read_message(record)
        else:
            self._builder.add_state(record)

    def _read_answer(self, record: RolloutRecord, parts: tuple[Part, ...]) -> None:
        message = None if self._answer_done else self._builder.continues(ANSWER)
        if message is None:
            message = self._begin_answer(record, parts)
        else:
            self._builder.add(message, record, parts)
        self._calls.add(message.key, parts)

    def _begin_answer(self, record: RolloutRecord, parts: tuple[Part, ...]) -> OpenMessage:
        agent = None if self._builder.copying else self._heading.agent
        summary = (record.metadata or {}).get("compaction_output") is True
        message = self._builder.begin(record, Author(agent or NAME, "agent"), "summary" if summary else ANSWER, parts)
        message.model = self._builder.model
        self._usage.begin_answer(message)
        self._answer_done = False
        return message

    def _read_output(self, record: RolloutRecord) -> None:
        fields = read_result(record.payload)
        call_id = fields.get("call_id", "")
        call = self._calls.take(call_id)
        message = self._builder.continues(RESULTS)
        if message is None:
            message = self._builder.begin_results(record, _TOOL, awaits_usage=self._usage.missing)
            message.reply_to = call.answer if call else None
            self._set_spawned_by(message, call_id)
        else:
            self._builder.add(message, record)
        message.add_result(fields, call)

    def _set_spawned_by(self, message: OpenMessage, call_id: str) -> None:
        """Link a sub-agent that began with a copied history to the call in it that started the sub-agent."""
        spawner = self._heading.session.spawned_by
        if spawner is not None and call_id and self._copies.ended_by_spawn:
            self._copies.ended_by_spawn = False
            message.spawned_by = {**spawner, "call_id": call_id}

    def _read_message(self, record: RolloutRecord) -> None:
        spawned = self._heading.agent is not None and not self._builder.copying
        author = identify_author(record.payload, spawned=spawned)
        if author is None:
            self._builder.reject(record, "a message without a role")
            return
        if author.kind == INTERRUPT:
            self._interrupt()
        if author.kind == "prompt":
            self._turns.append(self._builder.parent)
        content = tuple(read_content(record.payload.get("content")))
        self._builder.begin(record, author.author, author.kind, content).status = author.status

    def _read_communication(self, record: RolloutRecord) -> None:
        """Read a message from one agent to another."""
        author = Author(text_field(record.payload, "author") or NAME, "agent")
        message = self._builder.begin(record, author, "prompt", tuple(read_content(record.payload.get("content"))))
        recipient = text_field(record.payload, "recipient")
        message.extra = {} if recipient is None else {"recipient": recipient}

    def _read_compaction(self, record: RolloutRecord) -> None:
        text = text_field(record.payload, "message")
        parts: tuple[Part, ...] = () if text is None else (Part("text", {"text": text}),)
        if "replacement_history" in record.payload:
            parts += (Part("raw", lossless_field("json", record.payload["replacement_history"])),)
        self._builder.begin(record, _HARNESS, "compaction", parts)

    def _read_usage(self, record: RolloutRecord) -> None:
        ended = self._usage.read_record(record) if record.kind == USAGE else self._usage.read_count(record)
        self._answer_done = self._answer_done or ended

    def _read_event(self, record: RolloutRecord) -> None:
        if record.type in _TURN_EVENTS:
            self._answer_done = True
            self._drop_reports()
        handle = self._EVENTS.get(record.type)
        if handle is not None:
            handle(self, record)
        else:
            self._read_report(record)

    def _read_report(self, record: RolloutRecord) -> None:
        """Add a report to the result of its call, also a later one; otherwise it is a state."""
        report = parse_report(record)
        message = self._builder.open
        if report is not None and self._calls.add_report(report):
            return
        if report is not None and message is not None and report.call_id in message.results:
            message.add_report(report)
            return
        self._builder.add_state(record)

    def _drop_reports(self) -> None:
        for report in self._calls.drop_reports():
            self._builder.add_state_spans(report.key, [report.span])

    def _interrupt(self) -> None:
        """Mark the open answer as interrupted."""
        if self._builder.open is not None and self._builder.open.kind == ANSWER:
            self._builder.open.status = "interrupted"

    def _read_abort(self, record: RolloutRecord) -> None:
        self._interrupt()
        message = self._builder.continues(INTERRUPT)
        if message is not None:
            self._builder.add(message, record)
            return
        reason = text_field(record.payload, "reason")
        parts = () if reason is None else (Part("text", {"text": reason}),)
        self._builder.begin(record, _HARNESS, INTERRUPT, parts).status = "interrupted"

    def _read_error(self, record: RolloutRecord) -> None:
        error = record.payload if record.type == "error" else object_field(record.payload, "error")
        text = text_field(error, "message")
        message = self._builder.continues(ERROR)
        if text is None and record.type == ERROR:
            self._builder.reject(record, "an error without a text")
        elif text is None:
            self._builder.add_state(record)
        elif message is not None and message.text == text:
            self._builder.add(message, record)
        else:
            self._builder.begin(record, _HARNESS, ERROR, (Part("text", {"text": text}),)).status = ERROR

    def _read_rollback(self, record: RolloutRecord) -> None:
        """Go back a number of turns: the next message follows the one before them."""
        self._builder.close()
        count = record.payload.get("num_turns")
        if type(count) is int and count > 0 and self._turns:
            first = max(0, len(self._turns) - count)
            self._builder.parent = self._turns[first]
            del self._turns[first:]
        self._builder.add_state(record)

    def _read_title(self, record: RolloutRecord) -> None:
        if text_field(record.payload, "thread_id") in {None, self._heading.session.native_id}:
            self._title = text_field(record.payload, "thread_name") or self._title
        self._builder.add_state(record)

    _HANDLERS: Mapping[str, Callable[[Reader, RolloutRecord], None]] = {
        ITEM: _read_item,
        EVENT: _read_event,
        TURN: _read_turn,
        COMPACTED: _read_compaction,
        USAGE: _read_usage,
        COMMUNICATION: _read_communication,
    }
    _EVENTS: Mapping[str, Callable[[Reader, RolloutRecord], None]] = {
        "token_count": _read_usage,
        "turn_aborted": _read_abort,
        "error": _read_error,
        "task_complete": _read_error,
        "thread_rolled_back": _read_rollback,
        "thread_name_updated": _read_title,
    }
