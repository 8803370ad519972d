"""`memory actions` and `memory done`: what is left to do, and that it is done (S0-20)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.errors import NotFound
from scopes.ids import OperationId
from scopes.memory.entry import ActionItem, Entry
from scopes.memory.registry import Memory, change_memory, entry_change
from scopes.memory.withdrawn import walk_standing
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transaction import writing


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
    told = walk_standing(repository, (e for e in memory.entries if e.action_items))
    rows = (ActionRow(item=i, entry=e) for e in told for i in e.action_items)
    return ActionList(actions=tuple(row for row in rows if every or not row.item.done), notes=memory.notes)


def done(repository: Repository, action: str, *, dry_run: bool = False) -> ActionDone:
    """Mark something as done, named by its id or a unique start of its entry's id with its number: `k3x9.2`.

    Raises:
        NotFound, Ambiguous: there is no such thing to do, or several.
    """
    with writing(repository):
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
