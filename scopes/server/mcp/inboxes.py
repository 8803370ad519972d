"""Take messages out of an inbox: exactly those that the agent reads whole, within its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, cast

from scopes.agents.agent import EVERYBODY
from scopes.agents.inbox import Inbox, acknowledge_entries
from scopes.agents.received import ReceivedMessages
from scopes.agents.registry import Registry
from scopes.errors import BudgetExhausted, NotFound
from scopes.result import Note, plural
from scopes.server.mcp.answers import answer, result_document, written_answer
from scopes.server.mcp.budget import MAX_TOKENS, Rows, check_budget, count_document, safe_value
from scopes.store.repository import Repository

if TYPE_CHECKING:
    from mcp.types import CallToolResult

_RESERVE = 150  # tokens for what is known only when the messages are taken: their operation, and notes


def how_to_register(name: str) -> str:
    """Return the hint of an error about an agent that nobody has registered."""
    return f"ask the user to register it: scopes agents register {quote(name)}"


def require_receivers(repository: Repository, names: Sequence[str]) -> None:
    """Refuse a name of a receiver that nobody has registered, with the hint how to.

    Raises:
        NotFound, Ambiguous: there is no such agent, or several.
    """
    registry = Registry(repository)
    for name in names:
        if not name.startswith("@") and name.casefold() != EVERYBODY and "," not in name:
            _require_agent(registry, name)


def _require_agent(registry: Registry, name: str) -> None:
    try:
        registry.find(name, whole=True)
    except NotFound as error:
        error.hint = "\n".join(filter(None, (error.hint, how_to_register(name))))
        raise


def take_messages(repository: Repository, found: Inbox, max_tokens: int) -> CallToolResult:
    """Take the first messages of an inbox that fit whole; one that does not fit even alone stays, with a note.

    `left_out` counts what stays. If other processes take messages at the same time, each is given to one.

    Raises:
        Invalid: the budget is too small or too large.
        BudgetExhausted: no message fits; nothing was taken.
    """
    check_budget(max_tokens)
    document = result_document(found)
    if not found.messages:
        return answer(document, max_tokens=max_tokens)
    received = cast("ReceivedMessages", found.messages)
    room = max_tokens - _RESERVE - count_document(safe_value({**document, "messages": []}))
    used = 0
    chosen: set[int] = set()
    large: list[int] = []  # the tokens of messages that do not fit even alone
    for entry, row in zip(received.entries, document["messages"], strict=True):
        size = count_document(safe_value(row)) + 1
        if size > room:
            large.append(size)
        elif used + size > room:
            break
        else:
            chosen.add(entry.sequence)
            used += size
    if not chosen:
        raise _none_fits(found, min(large), max_tokens)
    taken = acknowledge_entries(repository, found.agent.name, chosen)
    notes = dict.fromkeys((*found.notes, *taken.notes, *_note_large(len(large))))
    left = len(received) - len(taken.messages)
    shown = result_document(replace(taken, ended=found.ended, notes=tuple(notes)))
    shown["messages"] = list(shown["messages"])
    return written_answer(shown, rows=Rows(name="messages", hidden=left), max_tokens=max_tokens)


def _note_large(count: int) -> tuple[Note, ...]:
    if not count:
        return ()
    text = f"{count} {plural(count, 'message')} too long for max_tokens: not taken"
    return (Note(text, "raise max_tokens"),)


def _none_fits(found: Inbox, smallest: int, max_tokens: int) -> BudgetExhausted:
    hint = "raise max_tokens"
    if smallest + _RESERVE > MAX_TOKENS:
        hint = f"ask the user to take it out: scopes inbox {quote(found.agent.name)} --ack"
    return BudgetExhausted(f"no message fits whole into {max_tokens:,} tokens, so nothing was taken", hint=hint)
