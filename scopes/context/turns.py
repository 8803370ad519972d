"""Turn a message into Markdown for a model: a heading with number, role, author and time, then its content (S1-26)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from scopes.context.part_text import part_text, payload_text
from scopes.history.messages import MessageHeader, display_time
from scopes.merge.lanes import may_be_resolution
from scopes.merge.plan import is_written_by_scopes
from scopes.model.message import Message, Part
from scopes.model.tools import is_refused
from scopes.sanitize import clip, for_prompt, line_for_prompt

TOOL_LIMIT = 1000  # characters of a tool result; a tool call is clipped at three tenths of that
_CALL_TENTHS = 3
_HIDDEN_KINDS = frozenset({"meta", "notice", "system"})
_TOOL_PARTS = frozenset({"tool_call", "tool_result"})
_SPACE = re.compile(r"\s+")
USER, ASSISTANT = "User", "Assistant"


class NumberedHeader(NamedTuple):
    """The header of a message and its number in the conversation."""

    number: int
    head: MessageHeader


@dataclass(slots=True)
class Turn:
    """One message with content for a model, and the results of its tool calls.

    `number` is its position in the whole history of its conversation, from 1. `results` are the messages that had
    nothing but results of its calls.
    """

    number: int
    conversation: str
    head: MessageHeader
    message: Message
    role: str
    known_content: str | None = None  # `content`, once it is known: most turns are never looked at
    named: bool = False  # True if the heading includes the conversation
    known_longest: int | None = None
    results: tuple[NumberedHeader, ...] = ()
    lanes: tuple[int, ...] = ()  # of merged branches, the outermost first; they are positions in `Collected.lanes`

    @property
    def messages(self) -> int:
        """Return how many messages are in the turn."""
        return 1 + len(self.results)

    @property
    def content(self) -> str:
        """Return the text of the message for a model, tool results clipped at the usual limit."""
        if self.known_content is None:
            self.known_content = content_of(self.message, TOOL_LIMIT)
        return self.known_content

    @property
    def longest(self) -> int:
        """Return the characters of the longest tool call or result, in terms of the limit for results."""
        if self.known_longest is None:
            self.known_longest = max(map(_tool_length, self.message.parts), default=0)
        return self.known_longest

    def clipped_at(self, limit: int) -> bool:
        """Return True if a tool call or result is clipped at this limit for results."""
        return self.longest > limit

    @property
    def heading(self) -> str:
        """Return the heading line: number, role, author and time."""
        conversation = f"{self.conversation} " if self.named else ""
        time = display_time(self.head)
        suffix = "" if time is None else f", {time}"
        return f"### {conversation}{self.number}. {self.role} ({line_for_prompt(self.head.author)}){suffix}"

    @property
    def block(self) -> str:
        """Return heading and content; it starts with `#` and ends in a blank line, so that token counts add up."""
        return block_of(self, self.content)


def block_of(turn: Turn, content: str) -> str:
    """Return the block of a turn with other content."""
    return f"{turn.heading}\n\n{content}\n\n"


def make_turn(number: int, conversation: str, head: MessageHeader, message: Message) -> Turn | None:
    """Return the turn of a message; None if it has no content for a model, or was injected by a program."""
    is_turn = may_be_turn(head) and has_content(message)
    return Turn(number, conversation, head, message, role_of(head)) if is_turn else None


def may_be_turn(head: MessageHeader) -> bool:
    """Return False if the commit alone shows that the message is not for a model (injected, meta, notice, system).

    Of notices, only the resolution of a conflict is for a model; of merges, those whose text somebody wrote.
    """
    if head.author_kind == "injected" or is_written_by_scopes(head):
        return False
    return head.kind not in _HIDDEN_KINDS or may_be_resolution(head)


def role_of(head: MessageHeader) -> str:
    """Return User for people, Assistant for all others (S3-16): text of tools and agents never becomes the user's."""
    return USER if head.author_kind == "human" and head.kind != "tool-results" else ASSISTANT


def has_content(message: Message) -> bool:
    """Return False if `content_of` would be empty, without building it."""
    parts = (part.type in _TOOL_PARTS or (part.type == "text" and _is_seen(part.text)) for part in message.parts)
    return any(parts) or bool(message.payload)


def _is_seen(text: str) -> bool:
    """Return True if `for_prompt` leaves something of a text: of white space, only what becomes U+FFFD."""
    return bool(text) and (not text.isspace() or bool(for_prompt(text)))


def content_of(message: Message, limit: int) -> str:
    """Return the text of a message for a model, tool results clipped at `limit` characters.

    A limit below the usual one shortens results alone: calls stay as they are.
    """
    return "\n\n".join(_walk_texts(message, limit))


def _walk_texts(message: Message, limit: int) -> Iterable[str]:
    for part in message.parts:
        if part.type == "text":
            text = for_prompt(part.text)
        elif part.type == "tool_call":
            call = clip(_SPACE.sub(" ", part_text(part)), max(limit, TOOL_LIMIT) * _CALL_TENTHS // 10)
            text = f"[tool call] {for_prompt(call)}"
        elif part.type == "tool_result":
            failed = " failed" if part.fields.get("is_error") is True else ""
            outcome = " refused" if is_refused(part) else failed
            text = f"[tool result{outcome}] {for_prompt(clip(part_text(part), limit))}".rstrip()
        else:
            text = ""
        if text:
            yield text
    if message.payload:
        yield line_for_prompt(payload_text(message))


def _tool_length(part: Part) -> int:
    """Return the length of a tool call or result; a call is scaled up to the limit for results."""
    if part.type == "tool_call":
        return -(-len(part_text(part)) * 10 // _CALL_TENTHS)
    return len(part_text(part)) if part.type == "tool_result" else 0
