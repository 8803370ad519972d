"""`memory prune`: delete memory entries by age or number; conversations are not touched (S0-21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scopes.clock import now_nanoseconds, parse_date
from scopes.errors import Invalid, check_not_negative
from scopes.ids import MessageId, OperationId
from scopes.memory.entry import MemoryEntry, check_importance
from scopes.memory.store import Memory, change_memory, removal
from scopes.result import Result
from scopes.store.objects import BlobChange
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPruned(Result):
    """The ids of the deleted entries, newest first, and the number that remain; nothing is deleted with `dry_run`."""

    kind = "memory-prune"

    removed: tuple[MessageId, ...]
    remaining: int
    dry_run: bool
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """How many entries were deleted."""
        verb = "would delete" if self.dry_run else "deleted"
        return f"{verb} {len(self.removed):,} of {len(self.removed) + self.remaining:,} entries"

    @property
    def answer(self) -> str:
        """The ids of the deleted entries."""
        return "\n".join(self.removed)


def prune(
    repository: Repository,
    *,
    older_than: str | None = None,
    max_entries: int | None = None,
    keep_importance: int | None = None,
    dry_run: bool = False,
) -> MemoryPruned:
    """Delete the entries older than a date, and the oldest ones beyond `max_entries`.

    keep_importance: entries that are at least this important are kept.

    Raises:
        Invalid: neither an age nor a number is given, or one of the values is not valid.
    """
    if older_than is None and max_entries is None:
        raise Invalid("no entries selected", hint="--older-than '90 days ago', or --max 500")
    check_not_negative(max_entries, "number of entries", "for example: --max 500")
    if keep_importance is not None:
        check_importance(keep_importance)
    before = None if older_than is None else parse_date(older_than, now_nanoseconds())
    with exclusive_write(repository):
        memory = Memory(repository)
        pruned = plan_prune(memory.entries, before=before, max_entries=max_entries, keep_importance=keep_importance)
        operation = None
        if pruned and not dry_run:
            changes: dict[str, BlobChange] = {path: change for e in pruned for path, change in removal(e).items()}
            operation = change_memory(repository, memory, changes, f"forget {len(pruned)}")
    remaining = len(memory.entries) - len(pruned)
    removed = tuple(entry.id for entry in pruned)
    return MemoryPruned(removed=removed, remaining=remaining, dry_run=dry_run, operation=operation, notes=memory.notes)


def plan_prune(
    newest_first: Sequence[MemoryEntry], *, before: int | None, max_entries: int | None, keep_importance: int | None
) -> tuple[MemoryEntry, ...]:
    """Choose the entries to delete, newest first; `before` is in nanoseconds since 1970.

    Important entries count toward `max_entries`: the newest others fill the room that they leave.
    """
    kept = [entry for entry in newest_first if before is None or entry.age_key[0] >= before]
    kept_ids = {entry.id for entry in (kept if max_entries is None else kept[:max_entries])}
    important = {e.id for e in newest_first if keep_importance is not None and e.importance >= keep_importance}
    if max_entries is not None and important:
        room = max(max_entries - len(important), 0)
        ordinary = [entry for entry in kept if entry.id not in important]
        kept_ids = {entry.id for entry in ordinary[:room]}
    return tuple(entry for entry in newest_first if entry.id not in kept_ids | important)
