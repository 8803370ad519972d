"""`memory add`: remember what somebody says, beside what is told from conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scopes.clock import new_id, now
from scopes.errors import Invalid
from scopes.ids import OperationId, parse_agent_name
from scopes.memory.entry import USUAL, Entry, check_importance
from scopes.memory.extract import LONGEST_ITEM, MOST_ITEMS, number_items
from scopes.memory.store import Memory, change_memory, entry_change
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write

LONGEST_TEXT = 10_000
LONGEST_TOPIC = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAdded(Result):
    """An entry that somebody wrote; without an operation it was only to be looked at."""

    entry: Entry
    operation: OperationId | None


def add(
    repository: Repository,
    text: str,
    *,
    agent: str,
    topics: Sequence[str] = (),
    decisions: Sequence[str] = (),
    actions: Sequence[str] = (),
    importance: int = USUAL,
    dry_run: bool = False,
) -> MemoryAdded:
    """Add an entry.

    With `dry_run` nothing is stored.

    Raises:
        Invalid: a text is blank or too long, there are too many, or the importance is not from 1 to 10 (S0-13).
    """
    if not text.strip():
        raise Invalid("there is nothing to remember", hint='for example: scopes memory add "The form sets a cookie"')
    _check("text", [text], LONGEST_TEXT)
    _check("topic", topics, LONGEST_TOPIC)
    _check("decision", decisions, LONGEST_ITEM)
    _check("action", actions, LONGEST_ITEM)
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
    if dry_run:
        return MemoryAdded(entry=entry, operation=None)
    with exclusive_write(repository):
        what = f"add {name}"
        operation = change_memory(repository, Memory(repository), entry_change(entry), what)
    return MemoryAdded(entry=entry, operation=operation)


def _check(name: str, texts: Sequence[str], longest: int) -> None:
    """Refuse what would be empty, or too much for a memory."""
    if len(texts) > MOST_ITEMS:
        raise Invalid(f"an entry has at most {MOST_ITEMS} of --{name}, not {len(texts)}", hint="add several entries")
    for text in texts:
        if not text.strip():
            raise Invalid(f"a {name} is empty", hint=f"leave --{name} out where there is none")
        if len(text) > longest:
            hint = "say it in short; the whole belongs into a conversation"
            raise Invalid(f"the {name} has {len(text):,} characters; at most {longest:,} are kept", hint=hint)
