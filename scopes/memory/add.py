"""`memory add`: remember what somebody says, beside what is told from conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scopes.clock import new_id, now
from scopes.errors import Invalid
from scopes.ids import OperationId, parse_agent_name
from scopes.memory.composing import number_items
from scopes.memory.entry import USUAL, Entry, check_importance
from scopes.memory.registry import change_memory, entry_change, read_memory
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transaction import writing


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAdded(Result):
    """An entry that somebody wrote."""

    entry: Entry
    operation: OperationId


def add(
    repository: Repository,
    text: str,
    *,
    agent: str,
    topics: Sequence[str] = (),
    decisions: Sequence[str] = (),
    actions: Sequence[str] = (),
    importance: int = USUAL,
) -> MemoryAdded:
    """Add an entry.

    Raises:
        Invalid: the text is blank, or the importance is not from 1 to 10 (S0-13).
    """
    if not text.strip():
        raise Invalid("there is nothing to remember", hint='for example: scopes memory add "The form sets a cookie"')
    name = new_id()
    entry = Entry(
        id=name,
        agent=parse_agent_name(agent),
        summary=text.strip(),
        time=now(),
        importance=check_importance(importance),
        topics=tuple(topics),
        decisions=tuple(decisions),
        action_items=number_items(((action, False) for action in actions), name),
    )
    with writing(repository):
        what = f"add {name}"
        operation = change_memory(repository, read_memory(repository), entry_change(entry), what)
    return MemoryAdded(entry=entry, operation=operation)
