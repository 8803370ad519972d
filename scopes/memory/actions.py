"""`memory actions` and `memory done`: list action items and close them (S0-20)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from scopes.clock import Time
from scopes.errors import NotFound
from scopes.ids import OperationId
from scopes.memory.current_entries import walk_current_entries
from scopes.memory.entry import ActionItem, MemoryEntry
from scopes.memory.store import Memory, change_memory, entry_change
from scopes.result import INLINE, OMIT_EMPTY, Column, Result, spread
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRow:
    """An action item and its entry."""

    item: ActionItem = field(metadata=INLINE)
    entry: MemoryEntry = field(metadata=spread(entry="id", agent="agent"))

    @property
    def state(self) -> str:
        """Whether it is to be done."""
        return "done" if self.item.done else "open"

    @property
    def time(self) -> Time:
        """The time of the entry."""
        return self.entry.time


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionList(Result):
    """Action items, those of the newest entry first."""

    kind = "memory-actions"
    rows_in = "actions"
    columns = (
        Column("id", "ID", "id"),
        Column("state", form="state"),
        Column("text", "Action", "prose"),
        Column("agent", form="agent"),
        Column("time", form="time"),
    )
    empty = "Nothing is left to do."

    actions: tuple[ActionRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDone(Result):
    """A closed action item; `operation` is None if it was closed before, or after a dry run."""

    kind = "memory-action"

    item: ActionItem = field(metadata=INLINE)
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """What was done."""
        made = "would be done" if self.dry_run else "already done"
        return f"{made if self.operation is None else 'done'}: {self.item.text}"

    @property
    def answer(self) -> str:
        """The id of the action item."""
        return self.item.id


def list_actions(repository: Repository, *, include_done: bool = False) -> ActionList:
    """List the open action items, with `include_done` the closed ones as well."""
    memory = Memory(repository)
    entries = walk_current_entries(repository, (e for e in memory.entries if e.action_items))
    rows = (ActionRow(item=i, entry=e) for e in entries for i in e.action_items)
    return ActionList(actions=tuple(row for row in rows if include_done or not row.item.done), notes=memory.notes)


def done(repository: Repository, action: str, *, dry_run: bool = False) -> ActionDone:
    """Close an action item, named by its id; the entry's part may be a unique prefix: `k3x9.2`.

    Raises:
        NotFound, Ambiguous: no action item matches, or several entries do.
    """
    with exclusive_write(repository):
        memory = Memory(repository)
        prefix, _, number = action.rpartition(".")
        entry = memory.choose(prefix or action)
        item = next((i for i in entry.action_items if i.id == f"{entry.id}.{number}"), None)
        if item is None:
            raise NotFound(f"there is no action item {action!a}", hint="list them: scopes memory actions --all")
        if item.done:
            return ActionDone(item=item, operation=None)
        closed = item._replace(done=True)
        items = tuple(closed if other.id == item.id else other for other in entry.action_items)
        if dry_run:
            return ActionDone(item=closed, operation=None, dry_run=True)
        changes = entry_change(replace(entry, action_items=items))
        operation = change_memory(repository, memory, changes, f"done {item.id}")
    return ActionDone(item=closed, operation=operation)


def merge_actions(entry: MemoryEntry, older: Iterable[MemoryEntry]) -> tuple[MemoryEntry, list[MemoryEntry]]:
    """Close action items of the conversation's older entries that the new entry marks as done; drop its duplicates.

    Returns the new entry without items that are open in older entries, and the older entries that changed.
    """
    done_by_text = {_normalized(item.text): item.done for item in entry.action_items}
    still_open: set[str] = set()
    changed = []
    for old in older:
        if old.uuid != entry.uuid or old.uuid is None:
            continue
        items = tuple(i._replace(done=True) if done_by_text.get(_normalized(i.text)) else i for i in old.action_items)
        still_open |= {_normalized(item.text) for item in items if not item.done}
        if items != old.action_items:
            changed.append(replace(old, action_items=items))
    kept = tuple(item for item in entry.action_items if item.done or _normalized(item.text) not in still_open)
    return replace(entry, action_items=kept), changed


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())
