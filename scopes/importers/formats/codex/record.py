"""Parse the records of a rollout, in both forms that Codex has written.

Since autumn 2025 every record is `{timestamp, type, payload}`. Before, items had no envelope, and the first line
described the session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scopes.importers.formats.events import ByteRange
from scopes.importers.formats.fields import object_field, text_field, time_field
from scopes.importers.formats.json_lines import Record

NAME = "codex"
SESSION = "session_meta"
ITEM = "response_item"
EVENT = "event_msg"
TURN = "turn_context"
COMPACTED = "compacted"
USAGE = "token_usage_record"
COMMUNICATION = "inter_agent_communication"
KNOWN = frozenset({SESSION, ITEM, EVENT, TURN, COMPACTED, USAGE, "world_state", COMMUNICATION})
MAX_WORD = 64  # characters of a record type in a state's key

_ITEMS = frozenset({"ghost_snapshot"})
_EVENT_PREFIXES = (
    "agent_message", "agent_reasoning", "apply_patch_", "collab_", "dynamic_tool_call_", "elicitation_", "exec_",
    "hook_", "image_generation_", "item_", "list_", "mcp_", "patch_apply_", "plan_", "realtime_", "reasoning_",
    "remote_skill_", "skills_", "sub_agent_", "task_", "thread_", "turn_", "undo_", "web_search_",
)  # fmt: skip
_EVENTS = frozenset({
    "background_event", "context_compacted", "deprecation_notice", "entered_review_mode", "error", "exited_review_mode",
    "get_history_entry_response", "guardian_assessment", "model_reroute", "raw_response_item", "request_permissions",
    "request_user_input", "session_configured", "shutdown_complete", "stream_error", "terminal_interaction",
    "token_count", "user_message", "view_image_tool_call", "warning",
})  # fmt: skip
_STATE = "state"  # a separator in the oldest rollouts


@dataclass(frozen=True, slots=True)
class RolloutRecord:
    """A record without its envelope."""

    kind: str
    payload: Mapping[str, Any]
    span: ByteRange
    time: str | None = None
    metadata: Mapping[str, Any] | None = None

    @property
    def type(self) -> str:
        """Return the type of the payload; empty if it has none."""
        return text_field(self.payload, "type") or ""

    @property
    def key(self) -> str:
        """Return the key of the record as a state: its type and its payload's type."""
        kind = self.kind[:MAX_WORD]
        return f"{kind}/{self.type[:MAX_WORD]}" if self.type else kind


def parse_record(record: Record) -> RolloutRecord | None:
    """Return a record without its envelope; None if it is not a record of a rollout."""
    value: Any = record.value
    match value:
        case {"type": str(kind), "payload": payload}:
            if not isinstance(payload, dict):
                return None
            return RolloutRecord(kind, payload, record.span, time_field(value), object_field(value, "metadata"))
        case {"record_type": str(kind)}:
            return RolloutRecord(kind, {}, record.span)
        case {"type": str()}:
            return RolloutRecord(ITEM, value, record.span)
        case {"id": str(), "timestamp": str()}:
            return RolloutRecord(SESSION, value, record.span, time_field(value))
    return None


def is_rollout_record(value: Any) -> bool:
    """Return True if a document is a record that only rollouts have."""
    match value:
        case {"timestamp": str(), "type": str(kind), "payload": dict()}:
            return kind in KNOWN
        case {"id": str(), "timestamp": str(), "instructions": _} | {"id": str(), "timestamp": str(), "git": dict()}:
            return "type" not in value and "role" not in value
        case {"record_type": "state"}:
            return len(value) == 1
    return False


def is_known_state(record: RolloutRecord) -> bool:
    """Return True if a record that belongs to no message is of a type that Codex is known to write."""
    if record.kind == ITEM:
        return record.type in _ITEMS
    if record.kind == EVENT:
        return record.type in _EVENTS or record.type.startswith(_EVENT_PREFIXES)
    return record.kind in KNOWN or record.kind == _STATE
