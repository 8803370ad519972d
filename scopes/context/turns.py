"""The turns of a history as a model reads them: one message each, with its real number (S1-26)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scopes.clock import format_seconds
from scopes.context.part_text import part_text, texts_of
from scopes.context.recorded import as_content, clip
from scopes.conversation.heads import MessageHead
from scopes.model.message import Message

_LONGEST_CALL = 300
_LONGEST_RESULT = 1000
_UNSAID = frozenset({"meta", "notice", "system"})
_SPACE = re.compile(r"\s+")
USER, ASSISTANT = "User", "Assistant"


@dataclass(slots=True)
class Turn:
    """One message; `number` is its place in its session's whole history, from 1, `session` which one that is."""

    number: int
    session: str
    head: MessageHead
    message: Message
    role: str
    content: str
    named: bool = False  # whether the heading tells the session

    @property
    def heading(self) -> str:
        """Who speaks, and when."""
        which = f"{self.session} " if self.named else ""
        return (
            f"### {which}{self.number}. {self.role} ({_one_line(self.head.author)}), {format_seconds(self.head.time)}"
        )

    @property
    def block(self) -> str:
        """The whole turn; it begins with a mark and ends in a blank line, so that tokens of blocks add up."""
        return block_of(self, self.content)


def block_of(turn: Turn, content: str) -> str:
    """Write a turn with other content than its own."""
    return f"{turn.heading}\n\n{content}\n\n"


def make_turn(number: int, session: str, head: MessageHead, message: Message) -> Turn | None:
    """Make the turn of a message; None where it says nothing to a model: what programs put in, or nothing at all."""
    if not may_speak(head):
        return None
    content = "\n\n".join(_contents(message))
    return Turn(number, session, head, message, role_of(head), content) if content else None


def may_speak(head: MessageHead) -> bool:
    """Tell, as far as its commit does, whether a message says something to a model."""
    return head.author_kind != "injected" and head.kind not in _UNSAID


def role_of(head: MessageHead) -> str:
    """Return User for people, Assistant for everybody else (S3-16): what a tool or agent wrote is never promoted."""
    return USER if head.author_kind == "human" and head.kind != "tool-results" else ASSISTANT


def _contents(message: Message) -> Iterable[str]:
    for part in message.parts:
        if part.type == "text":
            said = as_content(part.text)
        elif part.type == "tool_call":
            said = f"[tool call] {as_content(clip(_SPACE.sub(' ', part_text(part)), _LONGEST_CALL))}"
        elif part.type == "tool_result":
            failed = " failed" if part.fields.get("is_error") is True else ""
            said = f"[tool result{failed}] {as_content(clip(part_text(part), _LONGEST_RESULT))}".rstrip()
        else:
            said = ""
        if said:
            yield said
    if message.payload is not None and not message.text:
        yield from (as_content(text) for _, text in texts_of(message)[-1:])


def _one_line(name: str) -> str:
    return as_content(_SPACE.sub(" ", name))
