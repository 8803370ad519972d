"""What an agent replays when it loads a session, compared with what is recorded. A replay is never recorded (S3-23)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scopes.history.handles import StoreHandle
from scopes.model.message import Message
from scopes.server.acp.recordings import RecordedBranch
from scopes.store.repository import Repository

_ROLES = {"user_message_chunk": "user", "agent_message_chunk": "agent"}
_REPEATED = frozenset({*_ROLES, "agent_thought_chunk", "tool_call", "tool_call_update", "plan"})


def is_repeated(update: Mapping[str, Any] | None) -> bool:
    """Return True if an update is one that an agent repeats of a session; others are of the session as it is now."""
    return (update or {}).get("sessionUpdate") in _REPEATED


class Replay:
    """The texts of a replay by role, without blanks, because agents cut their chunks differently."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []

    def add(self, update: Mapping[str, Any]) -> None:
        """Add an update."""
        role, content = _ROLES.get(str(update.get("sessionUpdate"))), update.get("content")
        text = content.get("text") if isinstance(content, dict) else None
        if role is not None and isinstance(text, str):
            self.add_text(role, text)

    def add_text(self, role: str, text: str) -> None:
        """Add the text of a message or of a part of it."""
        squeezed = "".join(text.split())
        if self.texts and self.texts[-1][0] == role:
            self.texts[-1] = role, self.texts[-1][1] + squeezed
        elif squeezed:
            self.texts.append((role, squeezed))


def compare_replay(repository: Repository, branch: RecordedBranch, replay: Replay) -> dict[str, Any] | None:
    """Return how a replay differs from the record; None if it does not.

    What the record has before the replay, or after a shorter one, is a difference too: the agent has forgotten it.
    """
    handle = StoreHandle(repository).conversation(branch.conversation).branch(branch.branch)
    recorded = Replay()
    for message in reversed(list(handle.messages())):
        role = _role_of(message)
        if role is not None:
            recorded.add_text(role, message.text)
    if recorded.texts == replay.texts:
        return None
    same = 0
    for ours, theirs in zip(recorded.texts, replay.texts, strict=False):
        if ours != theirs:
            break
        same += 1
    return {"recorded": len(recorded.texts), "replayed": len(replay.texts), "same": same}


def _role_of(message: Message) -> str | None:
    if message.kind == "prompt":
        return "user"
    return "agent" if message.kind == "answer" and message.author.kind == "agent" else None
