"""What Codex writes that is no message: whatever is not named here or read elsewhere is new, and is told."""

from __future__ import annotations

from scopes.importers.codex.envelope import EVENT, ITEM, KNOWN, Line

_ITEMS = frozenset({"ghost_snapshot"})
_FAMILIES = (
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


def is_known_state(line: Line) -> bool:
    """Tell whether a record that belongs to no message is of a sort that Codex is known to write."""
    if line.kind == ITEM:
        return line.type in _ITEMS
    if line.kind == EVENT:
        return line.type in _EVENTS or line.type.startswith(_FAMILIES)
    return line.kind in KNOWN or line.kind == _STATE
