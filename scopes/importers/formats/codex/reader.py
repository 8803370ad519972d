"""A rollout from its first record to its last: which records make one message, and what follows what.

The model's history tells what was said; of the log beside it only what the history does not have is taken. Everything
else is kept as a state. One answer of the model is one message, although it is written item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from scopes.importers.formats.codex.calls import PendingCalls, parse_report
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
    object_field,
    text_field,
)
from scopes.importers.formats.codex.usage_attribution import UsageAttribution
from scopes.importers.formats.events import Event
from scopes.importers.formats.lossless_json import lossless_field
from scopes.model.message import Author, Part

_HARNESS = Author(NAME, "system")
_TOOL = Author("tool", "tool")
_TURN_EVENTS = frozenset({"task_started", "task_complete", "turn_aborted"})


class Reader:
    """Takes the records of one rollout in their order and yields what they are."""

    def __init__(self, heading: Header) -> None:
        self._heading = heading
        self._copies = ForkCopies(heading.session.native_id)
        self._assembly = MessageBuilder(heading.git_branch)
        self._assembly.cwd = heading.session.cwd
        self._billing = UsageAttribution(self._assembly)
        self._calls = PendingCalls()
        self._turns: list[str | None] = []  # what each prompt follows
        self._spent = False  # the open answer is complete: what comes next is another one
        self._title: str | None = None

    def read(self, line: RolloutRecord) -> Iterator[Event]:
        """Take the next record."""
        self._assembly.copying = self._copies.is_copy(line)
        handle = self._HANDLERS.get(line.kind)
        if handle is None:
            self._assembly.keep(line)
        else:
            handle(self, line)
        yield from self._assembly.take_ready()

    def finish(self) -> Iterator[Event]:
        """End the source."""
        self._drop_reports()
        self._billing.finish()
        ending = self._assembly.ending(self._title)
        yield from self._assembly.take_ready()
        yield ending

    def _read_turn(self, line: RolloutRecord) -> None:
        self._assembly.model = text_field(line.payload, "model") or self._assembly.model
        self._assembly.cwd = text_field(line.payload, "cwd") or self._assembly.cwd
        self._spent = True
        self._assembly.keep(line)

    def _read_item(self, line: RolloutRecord) -> None:
        parts = read_answer_item(line.payload)
        if parts is not None:
            self._read_answer(line, parts)
        elif line.type in OUTPUTS:
            self._read_output(line)
        elif line.type in COMPACTIONS:
            self._assembly.begin(line, _HARNESS, "compaction", (Part("raw", lossless_field("json", line.payload)),))
        elif line.type == "agent_message":
            self._read_communication(line)
        elif line.type == "message":
            self._read_message(line)
        else:
            self._assembly.keep(line)

    def _read_answer(self, line: RolloutRecord, parts: tuple[Part, ...]) -> None:
        message = None if self._spent else self._assembly.continues(ANSWER)
        if message is None:
            message = self._begin_answer(line, parts)
        else:
            self._assembly.add(message, line, parts)
        self._calls.expect(message.key, parts)

    def _begin_answer(self, line: RolloutRecord, parts: tuple[Part, ...]) -> OpenMessage:
        agent = None if self._assembly.copying else self._heading.agent
        summary = (line.metadata or {}).get("compaction_output") is True
        message = self._assembly.begin(line, Author(agent or NAME, "agent"), "summary" if summary else ANSWER, parts)
        message.model = self._assembly.model
        self._billing.begin_answer(message)
        self._spent = False
        return message

    def _read_output(self, line: RolloutRecord) -> None:
        fields = read_result(line.payload)
        call_id = fields.get("call_id", "")
        call = self._calls.take(call_id)
        message = self._assembly.continues(RESULTS)
        if message is None:
            message = self._assembly.begin_results(line, _TOOL, owed=self._billing.owed)
            message.reply_to = call.answer if call else None
            self._say_who_spawned(message, call_id)
        else:
            self._assembly.add(message, line)
        message.add_result(fields, call)

    def _say_who_spawned(self, message: OpenMessage, call_id: str) -> None:
        """Connect a sub-agent that began from a copied history with the call in it that it came from."""
        spawner = self._heading.session.spawned_by
        if spawner is not None and call_id and self._copies.ended_by_spawn:
            self._copies.ended_by_spawn = False
            message.spawned_by = {**spawner, "call_id": call_id}

    def _read_message(self, line: RolloutRecord) -> None:
        spawned = self._heading.agent is not None and not self._assembly.copying
        speaker = identify_author(line.payload, spawned=spawned)
        if speaker is None:
            self._assembly.reject(line, "a message without a role")
            return
        if speaker.kind == INTERRUPT:
            self._interrupt()
        if speaker.kind == "prompt":
            self._turns.append(self._assembly.position)
        content = tuple(read_content(line.payload.get("content")))
        self._assembly.begin(line, speaker.author, speaker.kind, content).status = speaker.status

    def _read_communication(self, line: RolloutRecord) -> None:
        """Read what one agent said to another."""
        author = Author(text_field(line.payload, "author") or NAME, "agent")
        message = self._assembly.begin(line, author, "prompt", tuple(read_content(line.payload.get("content"))))
        recipient = text_field(line.payload, "recipient")
        message.extra = {} if recipient is None else {"recipient": recipient}

    def _read_compaction(self, line: RolloutRecord) -> None:
        text = text_field(line.payload, "message")
        parts: tuple[Part, ...] = () if text is None else (Part("text", {"text": text}),)
        if "replacement_history" in line.payload:
            parts += (Part("raw", lossless_field("json", line.payload["replacement_history"])),)
        self._assembly.begin(line, _HARNESS, "compaction", parts)

    def _read_usage(self, line: RolloutRecord) -> None:
        ended = self._billing.read_record(line) if line.kind == USAGE else self._billing.read_count(line)
        self._spent = self._spent or ended

    def _read_event(self, line: RolloutRecord) -> None:
        if line.type in _TURN_EVENTS:
            self._spent = True
            self._drop_reports()
        handle = self._EVENTS.get(line.type)
        if handle is not None:
            handle(self, line)
        else:
            self._read_report(line)

    def _read_report(self, line: RolloutRecord) -> None:
        """Put what is told of a call to its result, also when that is still to come; else it is a state."""
        report = parse_report(line)
        message = self._assembly.open
        if report is not None and self._calls.report(report):
            return
        if report is not None and message is not None and report.call_id in message.results:
            message.report(report)
            return
        self._assembly.keep(line)

    def _drop_reports(self) -> None:
        for report in self._calls.drop_reports():
            self._assembly.keep_spans(report.key, [report.span])

    def _interrupt(self) -> None:
        """Mark the answer that an interruption ended."""
        if self._assembly.open is not None and self._assembly.open.kind == ANSWER:
            self._assembly.open.status = "interrupted"

    def _read_abort(self, line: RolloutRecord) -> None:
        self._interrupt()
        message = self._assembly.continues(INTERRUPT)
        if message is not None:
            self._assembly.add(message, line)
            return
        reason = text_field(line.payload, "reason")
        parts = () if reason is None else (Part("text", {"text": reason}),)
        self._assembly.begin(line, _HARNESS, INTERRUPT, parts).status = "interrupted"

    def _read_error(self, line: RolloutRecord) -> None:
        error = line.payload if line.type == "error" else object_field(line.payload, "error")
        text = text_field(error, "message")
        message = self._assembly.continues(ERROR)
        if text is None and line.type == ERROR:
            self._assembly.reject(line, "an error without a text")
        elif text is None:
            self._assembly.keep(line)
        elif message is not None and message.text == text:
            self._assembly.add(message, line)
        else:
            self._assembly.begin(line, _HARNESS, ERROR, (Part("text", {"text": text}),)).status = ERROR

    def _read_rollback(self, line: RolloutRecord) -> None:
        """Go back by turns: what comes next follows what stood before them."""
        self._assembly.close()
        count = line.payload.get("num_turns")
        if type(count) is int and count > 0 and self._turns:
            first = max(0, len(self._turns) - count)
            self._assembly.position = self._turns[first]
            del self._turns[first:]
        self._assembly.keep(line)

    def _read_title(self, line: RolloutRecord) -> None:
        if text_field(line.payload, "thread_id") in {None, self._heading.session.native_id}:
            self._title = text_field(line.payload, "thread_name") or self._title
        self._assembly.keep(line)

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
