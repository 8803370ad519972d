"""The entries of a block of history: one for each message, and one for each run of messages with tool calls only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from scopes.context.collect import Collected
from scopes.context.part_text import part_text, payload_text
from scopes.context.turns import Turn, make_turn, may_be_turn
from scopes.history.messages import find_amendments, find_claim, latest, read_body, walk_headers_oldest_first
from scopes.ids import Oid
from scopes.model.message import Part
from scopes.model.tools import is_refused
from scopes.sanitize import clip, for_prompt, line_for_prompt
from scopes.store.repository import Repository

MAX_MESSAGE_CHARACTERS = 2_000
FIRST_PROMPT = "[first prompt of the conversation]"
_SPACE = re.compile(r"\s+")
_COMPLETED = "completed"
_TOOLS_ONLY = frozenset({"tool_call", "tool_result", "reasoning"})


class Entry(NamedTuple):
    """The text of a turn, or of several: `messages` is their number, `last` the last one of them.

    calls: (name, status) of the tool calls if there is nothing else.
    """

    turn: Turn
    text: str
    truncated: bool
    last: Turn
    messages: int = 1
    calls: tuple[tuple[str, str], ...] = ()


def entries_of(collected: Collected, tools: str) -> list[Entry]:
    """Return the entry of each turn that has a text in the block; long texts are clipped."""
    statuses = _call_statuses(collected.turns)
    entries = []
    for turn in collected.turns:
        if not _is_summary_at_top(turn, collected):
            text, truncated = _text_of(turn, statuses, tools)
            if text:
                calls = _only_calls(turn, statuses) if tools == "status" else ()
                entries.append(Entry(turn, format_entry(turn.role, text), truncated, turn, calls=calls))
    return entries


def condense(entries: Iterable[Entry]) -> list[Entry]:
    """Replace each run of entries that have tool calls only by one with the names and numbers of the calls."""
    found: list[Entry] = []
    for (has_calls, role, _), run in groupby(entries, lambda e: (bool(e.calls), e.turn.role, e.turn.lanes)):
        group = list(run)
        if not has_calls or len(group) == 1:
            found += group
            continue
        calls = tuple(call for entry in group for call in entry.calls)
        text = clip(_calls_line(calls), MAX_MESSAGE_CHARACTERS)
        found.append(Entry(group[0].turn, format_entry(role, text), False, group[-1].turn, len(group), calls))
    return found


def find_first_prompt(repository: Repository, tip: Oid) -> Entry | None:
    """Return the first prompt of a person, with its current text and a mark; None if there is none."""
    heads = list(walk_headers_oldest_first(repository, [tip]))
    for number, head in enumerate(heads, start=1):
        if head.author_kind == "human" and head.kind in {"prompt", "plain"} and may_be_turn(head):
            later = heads[number:] if find_claim(repository, tip, head.id) else ()
            message = latest(read_body(repository, head), find_amendments(repository, tip, later))
            turn = None if message is None else make_turn(number, "", head, message)
            if turn is not None:
                text, truncated = _text_of(turn, {}, "none")
                if text:
                    return Entry(turn, f"{FIRST_PROMPT}\n{format_entry(turn.role, text)}", truncated, turn)
    return None


def format_entry(role: str, text: str) -> str:
    """Return a text with who says it, and a blank line."""
    return f"{role}: {text.strip()}\n\n"


def _calls_line(calls: Sequence[tuple[str, str]]) -> str:
    """Return the tools with the number of their calls, and how many were not completed."""
    by_name: dict[str, list[str]] = {}
    for name, status in calls:
        by_name.setdefault(name, []).append(status)
    return f"[tools: {', '.join(_count(name, found) for name, found in by_name.items())}]"


def _count(name: str, statuses: Sequence[str]) -> str:
    times = f" \N{MULTIPLICATION SIGN}{len(statuses)}" if len(statuses) > 1 else ""
    others = [f"{statuses.count(each)} {each}" for each in dict.fromkeys(statuses) if each != _COMPLETED]
    return f"{name}{times}" + (f" ({', '.join(others)})" if others else "")


def _only_calls(turn: Turn, statuses: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return name and status of the calls of a turn; none if it has something else to show."""
    shown = (part for part in turn.message.parts if part.type != "text" or for_prompt(part.text))
    if turn.message.payload or any(part.type not in _TOOLS_ONLY for part in shown):
        return ()
    calls = (part for part in turn.message.parts if part.type == "tool_call")
    return tuple((_call_name(part), _status_of(part, statuses)) for part in calls)


def _is_summary_at_top(turn: Turn, collected: Collected) -> bool:
    """Return True if a turn is the summary that the block begins with."""
    return turn.head.kind == "summary" and collected.summary is not None and turn.content in collected.summary


def _call_statuses(turns: list[Turn]) -> Mapping[str, str]:
    """Return completed, failed or refused by the id of each tool call that has a result."""
    statuses = {}
    for turn in turns:
        for part in turn.message.parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_result" and isinstance(call_id, str):
                outcome = "failed" if part.fields.get("is_error") is True else _COMPLETED
                statuses[call_id] = "refused" if is_refused(part) else outcome
    return statuses


def _text_of(turn: Turn, statuses: Mapping[str, str], tools: str) -> tuple[str, bool]:
    """Return the text of a message, its document and its tool results, each clipped, and whether one was.

    Tool calls have their status, or all input and output, or are left out. What a program reported as an error is in
    brackets: the agent has not said it.
    """
    lines, truncated, left = [], False, MAX_MESSAGE_CHARACTERS
    texts = [(part.type, _line(part, statuses, tools)) for part in turn.message.parts]
    for kind, line in [*texts, ("payload", line_for_prompt(payload_text(turn.message)))]:
        is_result = kind == "tool_result" and bool(turn.results)
        limit = MAX_MESSAGE_CHARACTERS if is_result else max(left, 0)
        if line and (limit or not truncated):
            lines.append(clip(line, limit))
            truncated |= len(line) > limit
            left -= 0 if is_result else len(line) + 1
    text = "\n".join(lines)
    return (f"[error: {text}]" if text and turn.head.kind == "error" else text), truncated


def _line(part: Part, statuses: Mapping[str, str], tools: str) -> str:
    if part.type == "text":
        return for_prompt(part.text)
    if part.type == "tool_call" and tools != "none":
        name = for_prompt(_SPACE.sub(" ", part_text(part))) if tools == "full" else _call_name(part)
        return f"[tool: {name} - {_status_of(part, statuses)}]"
    if part.type == "tool_result" and tools == "full":
        return f"[tool result: {for_prompt(part_text(part))}]"
    return ""


def _call_name(call: Part) -> str:
    return for_prompt(_SPACE.sub(" ", str(call.fields.get("name", "unknown"))))


def _status_of(call: Part, statuses: Mapping[str, str]) -> str:
    return statuses.get(str(call.fields.get("call_id")), "pending")
