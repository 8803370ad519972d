"""`memory actions` and `memory done`: what is left to do, and that it is done (S0-20)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from scopes.errors import NotFound
from scopes.ids import OperationId
from scopes.memory.current_entries import walk_current_entries
from scopes.memory.entry import ActionItem, Entry
from scopes.memory.store import Memory, change_memory, entry_change
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRow:
    """Something to do, and the entry that knows of it."""

    item: ActionItem
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionList(Result):
    """Things to do, those of the newest entry first."""

    actions: tuple[ActionRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDone(Result):
    """Something that is done; without an operation it was so before, or with `dry_run` would be."""

    item: ActionItem
    operation: OperationId | None
    dry_run: bool = False


def list_actions(repository: Repository, *, every: bool = False) -> ActionList:
    """List what is left to do, with `every` also what is done."""
    memory = Memory(repository)
    told = walk_current_entries(repository, (e for e in memory.entries if e.action_items))
    rows = (ActionRow(item=i, entry=e) for e in told for i in e.action_items)
    return ActionList(actions=tuple(row for row in rows if every or not row.item.done), notes=memory.notes)


def done(repository: Repository, action: str, *, dry_run: bool = False) -> ActionDone:
    """Mark something as done, named by its id or a unique start of its entry's id with its number: `k3x9.2`.

    Raises:
        NotFound, Ambiguous: there is no such thing to do, or several.
    """
    with exclusive_write(repository):
        memory = Memory(repository)
        start, _, number = action.rpartition(".")
        entry = memory.choose(start or action)
        item = next((i for i in entry.action_items if i.id == f"{entry.id}.{number}"), None)
        if item is None:
            raise NotFound(f"there is nothing to do named {action!a}", hint="list them: scopes memory actions --all")
        if item.done:
            return ActionDone(item=item, operation=None)
        closed = item._replace(done=True)
        items = tuple(closed if each.id == item.id else each for each in entry.action_items)
        if dry_run:
            return ActionDone(item=closed, operation=None, dry_run=True)
        changes = entry_change(replace(entry, action_items=items))
        operation = change_memory(repository, memory, changes, f"done {item.id}")
    return ActionDone(item=closed, operation=operation)


def merge_actions(entry: Entry, older: Iterable[Entry]) -> tuple[Entry, list[Entry]]:
    """Close in older entries what the new one has as done, and leave out of the new one what is known to be open.

    Returns the new entry and those of the older ones that changed.
    """
    said = {_key(item.text): item.done for item in entry.action_items}
    known: set[str] = set()
    changed = []
    for each in older:
        if each.uuid != entry.uuid or each.uuid is None:
            continue
        items = tuple(i._replace(done=True) if said.get(_key(i.text)) else i for i in each.action_items)
        known |= {_key(item.text) for item in items if not item.done}
        if items != each.action_items:
            changed.append(replace(each, action_items=items))
    kept = tuple(item for item in entry.action_items if item.done or _key(item.text) not in known)
    return replace(entry, action_items=kept), changed


def _key(text: str) -> str:
    return " ".join(text.casefold().split())
