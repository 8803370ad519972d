"""Attribute each usage record to its answer, while that answer is still open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scopes.importers.formats.codex.message_builder import MODEL_KINDS, MessageBuilder, OpenMessage
from scopes.importers.formats.codex.record import RolloutRecord
from scopes.importers.formats.codex.usage import UsageCounter, is_total, sum_usage
from scopes.importers.formats.events import ByteRange


class UsageAttribution:
    """Attributes usage to answers; `missing` if the last answer has none yet.

    Most versions write the usage after an answer, some after its tool results, the oldest before its first item.
    """

    def __init__(self, builder: MessageBuilder) -> None:
        self._builder = builder
        self._counter = UsageCounter()
        self.missing = False
        self._early: Mapping[str, Any] | None = None
        self._early_spans: list[ByteRange] = []

    def read_count(self, record: RolloutRecord) -> bool:
        """Read a running total; return True if it ended the open answer."""
        info = record.payload.get("info")
        if info is not None and not is_total(info):
            self._builder.reject(record, "a usage that cannot be read")
            return False
        return self._attribute(record, self._counter.read_total(info))

    def read_record(self, record: RolloutRecord) -> bool:
        """Read an answer's own record; return True if it ended the open answer."""
        return self._attribute(record, self._counter.read_record(record.payload))

    def begin_answer(self, message: OpenMessage) -> None:
        """Give a new answer the usage that came before it."""
        self.missing = self._early is None and not message.copied
        if self._early is not None:
            message.add_usage(self._early, self._early_spans)
            self._early, self._early_spans = None, []

    def finish(self) -> None:
        """Keep usage that no answer followed as a state."""
        if self._early_spans:
            self._builder.add_state_spans("event_msg/token_count", self._early_spans)

    def _attribute(self, record: RolloutRecord, usage: Mapping[str, Any] | None) -> bool:
        if usage is None or self._builder.copying:
            self._builder.add_state(record)
            return False
        message = self._builder.awaiting_usage or self._builder.open
        if message is not None and (self.missing or message.kind in MODEL_KINDS):
            message.add_usage(usage, [record.span])
            self._builder.close_answer()
            self.missing = False
            return True
        self._early = sum_usage(self._early, usage)
        self._early_spans.append(record.span)
        return False
