"""`memory prune`: forget entries by age or number, never a conversation (S0-21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scopes.clock import now_nanoseconds
from scopes.errors import Invalid
from scopes.history.dates import parse_moment
from scopes.ids import OperationId
from scopes.memory.entry import Entry, check_importance
from scopes.memory.store import Memory, change_memory, removal
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write
from scopes.store.trees import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPruned(Result):
    """The entries that are gone, or with `dry_run` would be, newest first, and how many remain."""

    entries: tuple[Entry, ...]
    remaining: int
    dry_run: bool
    operation: OperationId | None


def prune(
    repository: Repository,
    *,
    older_than: str | None = None,
    most: int | None = None,
    keep_importance: int | None = None,
    dry_run: bool = False,
) -> MemoryPruned:
    """Remove the entries from before a moment, or the oldest ones beyond a number; important ones stay.

    Raises:
        Invalid: it is not said which, or a number or the moment means nothing.
    """
    if older_than is None and most is None:
        raise Invalid("it is not said what to forget", hint="--older-than '90 days ago', or --max 500")
    if most is not None and most < 0:
        raise Invalid(f"the number of entries to keep is {most}", hint="for example: --max 500")
    if keep_importance is not None:
        check_importance(keep_importance)
    before = None if older_than is None else parse_moment(older_than, now_nanoseconds())
    with exclusive_write(repository):
        memory = Memory(repository)
        gone = plan_prune(memory.entries, before=before, most=most, keep_importance=keep_importance)
        operation = None
        if gone and not dry_run:
            changes: dict[str, Change] = {path: change for e in gone for path, change in removal(e).items()}
            operation = change_memory(repository, memory, changes, f"forget {len(gone)}")
    remaining = len(memory.entries) - len(gone)
    return MemoryPruned(entries=gone, remaining=remaining, dry_run=dry_run, operation=operation, notes=memory.notes)


def plan_prune(
    newest_first: Sequence[Entry], *, before: int | None, most: int | None, keep_importance: int | None
) -> tuple[Entry, ...]:
    """Choose what to forget, newest first; `before` is in nanoseconds since 1970."""
    kept = [entry for entry in newest_first if before is None or entry.age_key[0] >= before]
    kept_ids = {entry.id for entry in (kept if most is None else kept[:most])}
    important = {e.id for e in newest_first if keep_importance is not None and e.importance >= keep_importance}
    if most is not None and important:
        room = max(most - len(important), 0)
        ordinary = [entry for entry in kept if entry.id not in important]
        kept_ids = {entry.id for entry in ordinary[:room]}
    return tuple(entry for entry in newest_first if entry.id not in kept_ids | important)
