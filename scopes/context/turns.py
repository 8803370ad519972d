"""The turns of a history as a model reads them: one message each, with its real number (S1-26)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scopes.context.part_text import part_text, texts_of
from scopes.history.messages import MessageHead, display_time
from scopes.model.message import Message, Part
from scopes.sanitize import as_content, clip

LONGEST = 1000  # characters of a tool's result; of what it was called with three tenths of that
_CALL_TENTHS = 3
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
    longest: int = 0  # characters of its longest part of those that are clipped

    def clipped_at(self, limit: int) -> bool:
        """Tell whether a part of it is cut where parts have at most so many characters."""
        return self.longest > limit

    @property
    def heading(self) -> str:
        """Who speaks, and when."""
        which = f"{self.session} " if self.named else ""
        time = display_time(self.head)
        when = "" if time is None else f", {time}"
        return f"### {which}{self.number}. {self.role} ({_one_line(self.head.author)}){when}"

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
    content = contents_of(message, LONGEST)
    longest = max(map(_tool_length, message.parts), default=0)
    return Turn(number, session, head, message, role_of(head), content, longest=longest) if content else None


def may_speak(head: MessageHead) -> bool:
    """Tell, as far as its commit does, whether a message says something to a model."""
    return head.author_kind != "injected" and head.kind not in _UNSAID


def role_of(head: MessageHead) -> str:
    """Return User for people, Assistant for everybody else (S3-16): what a tool or agent wrote is never promoted."""
    return USER if head.author_kind == "human" and head.kind != "tool-results" else ASSISTANT


def contents_of(message: Message, limit: int) -> str:
    """Return what a message says to a model, what tools gave cut at a number of characters."""
    return "\n\n".join(_contents(message, limit))


def _tool_length(part: Part) -> int:
    """Return the characters of what a tool got or gave, as the limit counts them."""
    if part.type == "tool_call":
        return -(-len(part_text(part)) * 10 // _CALL_TENTHS)
    return len(part_text(part)) if part.type == "tool_result" else 0


def _contents(message: Message, limit: int) -> Iterable[str]:
    for part in message.parts:
        if part.type == "text":
            said = as_content(part.text)
        elif part.type == "tool_call":
            said = f"[tool call] {as_content(clip(_SPACE.sub(' ', part_text(part)), limit * _CALL_TENTHS // 10))}"
        elif part.type == "tool_result":
            failed = " failed" if part.fields.get("is_error") is True else ""
            said = f"[tool result{failed}] {as_content(clip(part_text(part), limit))}".rstrip()
        else:
            said = ""
        if said:
            yield said
    if message.payload is not None and not message.text:
        yield from (as_content(text) for _, text in texts_of(message)[-1:])


def _one_line(name: str) -> str:
    return as_content(_SPACE.sub(" ", name))
