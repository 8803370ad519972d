"""`memory update`: make entries of what is new since the last ones.

Nothing else does, and nothing waits for it (S0-11): it is run by hand, by a timer or at the end of an agent's session.
Entries are written without the store's lock, since a command of the user's may take its time; what somebody else has
remembered meanwhile is not remembered twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scopes.conversation.list import read_root
from scopes.history.metadata import read_metadata
from scopes.history.revparse import conversation_ids, find_active_branch, list_branch_tips, resolve_branch
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.loading import load
from scopes.memory.actions import merge_actions
from scopes.memory.entry import Entry, EntryScope
from scopes.memory.source_messages import SourceMessage, heads_beyond, read_source_messages
from scopes.memory.store import Memory, change_memory, covered_change, entry_change
from scopes.result import Note, Result
from scopes.store.repository import Repository, read_commit
from scopes.store.transaction import exclusive_write
from scopes.store.trees import Change

if TYPE_CHECKING:
    from scopes.memory.entry_builder import EntryBuilder

DEFAULT_EVERY = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpdated(Result):
    """The new entries, or those that would be, and how many branches have too little that is new."""

    entries: tuple[Entry, ...]
    waiting: int
    operation: OperationId | None
    dry_run: bool = False


@dataclass(slots=True)
class _Known:
    """What is remembered of one conversation: up to which commits, and which messages."""

    tips: list[Oid] = field(default_factory=list)
    messages: set[MessageId] = field(default_factory=set)


def update(
    repository: Repository,
    where: str | None = None,
    *,
    at_once: bool = False,
    built_in: bool = False,
    dry_run: bool = False,
    advance: Callable[[int], None] = lambda _count: None,
) -> MemoryUpdated:
    """Make an entry for a branch, or for every branch that is not abandoned, where enough messages are new.

    Enough is the setting scopes.memoryEvery (S0-10); with `at_once` a single message is. A message is remembered once,
    with the first branch that has it: the active one before the others. With `dry_run` nothing is stored, and no
    command of the user's is asked. `advance` is told of each branch that was looked at and of each entry.
    """
    every = repository.config.find_integer("scopes.memoryEvery", DEFAULT_EVERY)
    if every == 0 and not at_once:
        note = Note("the memory is switched off: scopes.memoryEvery is 0", "an entry all the same: --now")
        return MemoryUpdated(entries=(), waiting=0, operation=None, notes=(note,))
    places = iter([resolve_branch(repository, where, None)]) if where is not None else _walk_branches(repository)
    enough, waiting = [], 0
    for branch, said in _walk_new(repository, places):
        advance(1)
        if len(said) >= (1 if at_once else every):
            enough.append((branch, said))
        else:
            waiting += 1
    start: type[EntryBuilder] = load(
        "scopes.memory.entry_builder:EntryBuilder"
    )  # what renders an update needs no subprocesses
    teller = start(repository, built_in=built_in or dry_run)
    if dry_run:
        foreseen = tuple(teller.tell(said, branch) for branch, said in enough)
        return MemoryUpdated(entries=foreseen, waiting=waiting, operation=None, dry_run=True)
    entries: list[Entry] = []
    operation = None
    # What cost a model's time is stored at once, everything else together.
    for group in [[each] for each in enough] if teller.asks_command else [enough]:
        made = []
        for branch, said in group:
            made.append((branch, teller.tell(said, branch)))
            advance(1)
        kept, done = _store(repository, made)
        entries += kept
        operation = done or operation
    return MemoryUpdated(entries=tuple(entries), waiting=waiting, operation=operation, notes=teller.notes)


def _walk_branches(repository: Repository) -> Iterator[tuple[ConversationId, BranchName]]:
    for chosen in conversation_ids(repository):
        active = find_active_branch(repository, chosen)
        known = read_metadata(repository, chosen).branches
        yield chosen, active
        for name in list_branch_tips(repository, chosen):
            if name != active and (name not in known or known[name].status != "abandoned"):
                yield chosen, name


def _walk_new(
    repository: Repository, places: Iterator[tuple[ConversationId, BranchName]]
) -> Iterator[tuple[EntryScope, list[SourceMessage]]]:
    """Read of each branch what no entry covers, neither by its commit nor, after a rebase, by its id."""
    memory = Memory(repository)
    remembered = _remembered(memory)
    uuids: dict[ConversationId, str] = {}
    for chosen, name in places:
        tip = list_branch_tips(repository, chosen)[name]
        if chosen not in uuids:
            uuids[chosen] = read_root(repository, read_commit(repository, tip), None).uuid
        branch = EntryScope(chosen, name, uuids[chosen], tip)
        known = remembered.setdefault(branch.uuid, _Known())
        if tip not in known.tips:
            starts = [oid for oid in known.tips if repository.has(oid)]
            said = read_source_messages(repository, heads_beyond(repository, tip, starts))
            new = [each for each in said if each.head.id not in known.messages]
            known.tips.append(tip)
            if new:
                yield branch, new


def _remembered(memory: Memory) -> dict[str, _Known]:
    found: dict[str, _Known] = {}
    for uuid, tip in memory.walk_covered():
        found.setdefault(uuid, _Known()).tips.append(tip)
    for entry in memory.entries:
        if entry.uuid is not None:
            found.setdefault(entry.uuid, _Known()).messages.update(entry.sources.messages)
    return found


def _store(repository: Repository, made: list[tuple[EntryScope, Entry]]) -> tuple[list[Entry], OperationId | None]:
    """Store entries, but for those of which somebody else has remembered a part by now."""
    if not made:
        return [], None
    with exclusive_write(repository):
        memory = Memory(repository)
        remembered = _remembered(memory)
        kept: list[Entry] = []
        known = {entry.id: entry for entry in memory.entries}
        changes: dict[str, Change] = {}
        for branch, entry in made:
            if remembered.get(branch.uuid, _Known()).messages.isdisjoint(entry.sources.messages):
                settled, older = merge_actions(entry, known.values())
                known |= {each.id: each for each in (*older, settled)}
                for each in (*older, settled):
                    changes |= entry_change(each)
                changes |= covered_change(branch.uuid, branch.branch, branch.tip)
                kept.append(settled)
        if not kept:
            return [], None
        what = f"remember {', '.join(f'{entry.conversation}/{entry.branch}' for entry in kept[:3])}"
        return kept, change_memory(repository, memory, changes, what + (", ..." if len(kept) > 3 else ""))
