"""Who said a message of the model's history: a person who typed it, or Codex in the person's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scopes.importers.codex.envelope import field_of, text_of
from scopes.model.message import Author

HUMAN = Author("user", "human")
INJECTED = Author("user", "injected")

_ABORTED = "<turn_aborted>"
_NOTIFIED = "<subagent_notification>"
_INJECTED_BEGINNINGS = (
    _ABORTED, _NOTIFIED, "<environment_context>", "<permissions instructions>", "<skills_instructions>",
    "<collaboration_mode>", "<apps_instructions>", "<plugins_instructions>", "<user_instructions>",
    "# AGENTS.md instructions", "<user_shell_command>", "<skill>", "<model_switch>", "<personality_spec>",
    "<realtime_conversation>", "<subagents>", "<plugins>", "<hook_prompt>", "<goal_context>", "<app-context>",
    "<recommended_plugins>", "<user_action>", "<INSTRUCTIONS>",
)  # fmt: skip
_TYPED = "user."  # what the kinds of content begin with that came from a person's hand


@dataclass(frozen=True, slots=True)
class Speaker:
    """Whose message it is, and of what kind."""

    author: Author
    kind: str
    status: str | None = None


def identify_speaker(item: Mapping[str, Any], *, spawned: bool) -> Speaker | None:
    """Tell who speaks in a message that is not the model's; None when it has no role.

    A sub-agent (`spawned`) is prompted by another agent, whatever role the prompt has.
    """
    role = text_of(item, "role")
    if role is None:
        return None
    if role != "user":
        return Speaker(INJECTED, "system")
    texts = [text for text in _texts(item.get("content")) if text is not None]
    if texts and texts[0].startswith(_ABORTED):
        return Speaker(INJECTED, "interrupt", "interrupted")
    if not _was_typed(item):
        return Speaker(INJECTED, "notice" if texts and texts[0].startswith(_NOTIFIED) else "meta")
    return Speaker(INJECTED if spawned else HUMAN, "prompt")


def _was_typed(item: Mapping[str, Any]) -> bool:
    """Tell whether any of the content came from a person: by its declared kinds, or where it has none by its text."""
    kinds = field_of(item, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
    if isinstance(kinds, list) and kinds:
        return any(isinstance(kind, str) and kind.startswith(_TYPED) for kind in kinds)
    texts = _texts(item.get("content"))
    return not texts or any(text is None or not text.startswith(_INJECTED_BEGINNINGS) for text in texts)


def _texts(content: object) -> list[str | None]:
    """Return the text of each block without leading blanks; None stands for a block of another sort."""
    blocks = content if isinstance(content, list) else [content]
    found = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return [text.lstrip() if isinstance(text, str) else None for text in found]
