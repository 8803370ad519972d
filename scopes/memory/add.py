"""`memory add`: add an entry with a text of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from scopes.clock import new_id, now
from scopes.errors import Invalid
from scopes.ids import OperationId, parse_agent_name
from scopes.memory.entry import DEFAULT_IMPORTANCE, MemoryEntry, check_importance
from scopes.memory.extraction import MAX_ITEM_CHARACTERS, MAX_ITEMS, number_items
from scopes.memory.store import Memory, change_memory, entry_change
from scopes.result import INLINE, OMIT_EMPTY, Result, short_id
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

MAX_TEXT_CHARACTERS = 10_000
MAX_TOPIC_CHARACTERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAdded(Result):
    """The new entry; `operation` is None after a dry run."""

    kind = "memory-entry"

    entry: MemoryEntry = field(metadata=INLINE)
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """What was added."""
        return f"would add: {self.entry.summary}" if self.dry_run else f"added {short_id(self.entry.id)}"

    @property
    def answer(self) -> str:
        """The id of the entry; of one that is not stored its text."""
        return self.sentence if self.dry_run else self.entry.id


def add(
    repository: Repository,
    text: str,
    *,
    agent: str,
    topics: Sequence[str] = (),
    decisions: Sequence[str] = (),
    actions: Sequence[str] = (),
    importance: int = DEFAULT_IMPORTANCE,
    directory: str | None = None,
    dry_run: bool = False,
) -> MemoryAdded:
    """Add an entry; with `dry_run` nothing is stored. Its project is that of `directory`.

    Raises:
        Invalid: a text is blank or too long, there are too many, or the importance is not from 1 to 10 (S0-13).
    """
    if not text.strip():
        raise Invalid("the text of the entry is empty", hint='for example: scopes memory add "The form sets a cookie"')
    _check("text", [text], MAX_TEXT_CHARACTERS)
    _check("topic", topics, MAX_TOPIC_CHARACTERS)
    _check("decision", decisions, MAX_ITEM_CHARACTERS)
    _check("action", actions, MAX_ITEM_CHARACTERS)
    entry_id = new_id()
    entry = MemoryEntry(
        id=entry_id,
        agent=parse_agent_name(agent),
        summary=text.strip(),
        time=now(),
        directory=directory,
        importance=check_importance(importance),
        topics=tuple(topics),
        decisions=tuple(decisions),
        action_items=number_items(((action, False) for action in actions), entry_id),
    )
    if dry_run:
        return MemoryAdded(entry=entry, dry_run=True, operation=None)
    with exclusive_write(repository):
        summary = f"add {entry_id}"
        operation = change_memory(repository, Memory(repository), entry_change(entry), summary)
    return MemoryAdded(entry=entry, operation=operation)


def _check(name: str, texts: Sequence[str], max_characters: int) -> None:
    """Raise Invalid if there are too many texts, or one is blank or too long."""
    if len(texts) > MAX_ITEMS:
        raise Invalid(f"an entry has at most {MAX_ITEMS} of --{name}, not {len(texts)}", hint="add several entries")
    for text in texts:
        if not text.strip():
            raise Invalid(f"a {name} is empty", hint=f"leave out --{name}")
        if len(text) > max_characters:
            hint = "shorten it; put long texts into a conversation"
            raise Invalid(f"the {name} has {len(text):,} characters; at most {max_characters:,} are allowed", hint=hint)
