"""Attribute each usage record to the answer it belongs to, while that answer is still open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scopes.importers.formats.codex.message_builder import MODEL_KINDS, MessageBuilder, OpenMessage
from scopes.importers.formats.codex.record import RolloutRecord
from scopes.importers.formats.codex.usage import UsageCounter, add_usage, is_total
from scopes.importers.formats.events import Span


class UsageAttribution:
    """Puts usages to answers.

    Most are told behind an answer, by some versions behind its tools' results. The oldest tell them before the answer's
    first item.
    """

    def __init__(self, assembly: MessageBuilder) -> None:
        self._assembly = assembly
        self._meter = UsageCounter()
        self.owed = False  # the last answer has not been told what it used
        self._early: Mapping[str, Any] | None = None
        self._early_spans: list[Span] = []

    def read_count(self, line: RolloutRecord) -> bool:
        """Take a running total; tells whether it ended the open answer."""
        info = line.payload.get("info")
        if info is not None and not is_total(info):
            self._assembly.reject(line, "a usage that cannot be read")
            return False
        return self._put(line, self._meter.read_total(info))

    def read_record(self, line: RolloutRecord) -> bool:
        """Take an answer's own record; tells whether it ended the open answer."""
        return self._put(line, self._meter.read_record(line.payload))

    def begin_answer(self, message: OpenMessage) -> None:
        """Give a new answer what was told ahead of it."""
        self.owed = self._early is None and not message.copied
        if self._early is not None:
            message.pay(self._early, self._early_spans)
            self._early, self._early_spans = None, []

    def finish(self) -> None:
        """Keep as states what no answer followed."""
        if self._early_spans:
            self._assembly.keep_spans("event_msg/token_count", self._early_spans)

    def _put(self, line: RolloutRecord, usage: Mapping[str, Any] | None) -> bool:
        if usage is None or self._assembly.copying:
            self._assembly.keep(line)
            return False
        message = self._assembly.owed or self._assembly.open
        if message is not None and (self.owed or message.kind in MODEL_KINDS):
            message.pay(usage, [line.span])
            self._assembly.settle()
            self.owed = False
            return True
        self._early = add_usage(self._early, usage)
        self._early_spans.append(line.span)
        return False
