"""`memory update`: make memory entries of new messages.

Run by hand, by a timer or when an agent exits; no other command makes entries or depends on it (S0-11). The
store is not locked while entries are built, because the user's summarizer may take long. An entry is not stored if
another process stored some of its messages in the meantime, or if something of its branch was purged.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from scopes.history.activity import Activity
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import read_root
from scopes.ids import ConversationId, MessageId, Oid, OperationId
from scopes.memory.actions import merge_actions
from scopes.memory.entry import EntryScope, MemoryEntry
from scopes.memory.packed_messages import PackedMessages
from scopes.memory.source_messages import walk_headers_beyond, walk_source_messages
from scopes.memory.store import Memory, change_memory, covered_change, entry_change
from scopes.result import OMIT_EMPTY, Column, Note, Result, counted
from scopes.store.objects import BlobChange, limit_memory, read_commit
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

if TYPE_CHECKING:
    from scopes.memory.entry_builder import EntryBuilder
    from scopes.memory.topics import CommonWords

DEFAULT_MEMORY_EVERY = 4
_MAX_KEPT_BYTES = 32 << 20  # of compressed messages, between their first reading and the entry


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpdated(Result):
    """The new entries, not stored after a dry run; `waiting` branches have new messages, but too few."""

    kind = "memory-update"
    rows_in = "entries"
    is_one_row = True
    columns = (
        Column("id", "ID", "id"),
        Column("place", "Branch", "branch", on="terminal"),
        Column("summary", form="prose", on="terminal"),
    )

    entries: tuple[MemoryEntry, ...]
    waiting: int
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """How many entries were made."""
        verb, number = "would add" if self.dry_run else "added", len(self.entries)
        return f"{verb} {number:,} {'entry' if number == 1 else 'entries'}" if number else "Nothing to add."

    @property
    def answer(self) -> str:
        """The texts of entries that are not stored, which have no ids yet."""
        return "\n".join(" ".join(entry.summary.split()) for entry in self.entries) if self.dry_run else ""

    @property
    def next_step(self) -> str:
        """How to include branches with few new messages."""
        verb, pronoun = ("has", "it") if self.waiting == 1 else ("have", "them")
        few = f"{counted(self.waiting, 'branch')} {verb} too few new messages"
        return f"{few}; include {pronoun} with --now" if self.waiting else ""


@dataclass(slots=True)
class _Covered:
    """What entries cover of one conversation: histories up to these tips, and single messages."""

    tips: list[Oid] = field(default_factory=list)
    messages: set[MessageId] = field(default_factory=set)


class _New(NamedTuple):
    """The messages of a branch that no entry covers, and what was done in them."""

    scope: EntryScope
    messages: PackedMessages
    activity: Activity


class _Branch(NamedTuple):
    """A branch with messages that no entry covers: those beyond `starts` that are not `covered`."""

    scope: EntryScope
    starts: tuple[Oid, ...]
    covered: Container[MessageId]

    def read(self, repository: Repository) -> _New:
        """Read the new messages."""
        activity = Activity()
        heads = walk_headers_beyond(repository, self.scope.tip, self.starts)
        replaced: set[MessageId] = set()
        found = walk_source_messages(repository, heads, replaced, activity.add)
        new = (source for source in found if source.head.id not in self.covered)
        return _New(self.scope, PackedMessages(new, replaced), activity)


class _Due:
    """The branches that get an entry; the messages of those beyond _MAX_KEPT_BYTES are read again when it is made."""

    def __init__(self, repository: Repository) -> None:
        self.words = _new_common_words()
        self._repository = repository
        self._branches: list[tuple[_Branch, _New | None]] = []
        self._kept_bytes = 0

    def add(self, branch: _Branch, new: _New) -> None:
        """Add a branch with its messages."""
        self.words.add(new.messages)
        self._kept_bytes += new.messages.packed_bytes
        self._branches.append((branch, new if self._kept_bytes <= _MAX_KEPT_BYTES else None))

    def read(self) -> Iterator[_New]:
        """Yield the messages of each branch."""
        for branch, new in self._branches:
            yield branch.read(self._repository) if new is None else new


def update(
    repository: Repository,
    branch: str | None = None,
    *,
    at_once: bool = False,
    built_in: bool = False,
    dry_run: bool = False,
    on_progress: Callable[[int], None] = lambda _count: None,
) -> MemoryUpdated:
    """Make an entry for each branch with enough new messages: for one branch, or for all that are not abandoned.

    A message is part of one entry only: of the active branch's if that contains it.

    at_once: one new message is enough, instead of scopes.memoryEvery (S0-10).
    built_in: do not run the user's summarizer.
    dry_run: store nothing, and do not run the user's summarizer.
    on_progress: called with 1 for each branch that was read, and for each entry.
    """
    memory_every = repository.config.find_integer("scopes.memoryEvery", DEFAULT_MEMORY_EVERY)
    if memory_every == 0 and not at_once:
        note = Note("the memory is switched off: scopes.memoryEvery is 0", "make an entry anyway: --now")
        return MemoryUpdated(entries=(), waiting=0, operation=None, notes=(note,))
    limit_memory()
    store = StoreHandle(repository)
    branches = iter([store.branch(branch)]) if branch is not None else _walk_branches(store)
    due, waiting = _Due(repository), 0
    for found, new in _walk_new_messages(repository, branches):
        on_progress(1)
        if len(new.messages) >= (1 if at_once else memory_every):
            due.add(found, new)
        else:
            waiting += 1
    from scopes.memory.entry_builder import EntryBuilder as EntryBuilder_

    new_builder: type[EntryBuilder] = EntryBuilder_
    builder = new_builder(repository, built_in=built_in or dry_run, common=due.words.find())
    if dry_run:
        preview = tuple(builder.build(new.messages, new.scope, new.activity) for new in due.read())
        return MemoryUpdated(entries=preview, waiting=waiting, operation=None, dry_run=True)
    entries: list[MemoryEntry] = []
    purged: list[Note] = []
    operation = None
    built: list[tuple[EntryScope, MemoryEntry]] = []
    is_costly = builder.uses_command  # then each entry is stored at once, else all together
    for new in due.read():
        built.append((new.scope, builder.build(new.messages, new.scope, new.activity)))
        on_progress(1)
        if is_costly:
            stored, operation_of_one = _store(repository, built, purged)
            entries += stored
            operation = operation_of_one or operation
            built = []
    stored, operation_of_all = _store(repository, built, purged)
    return MemoryUpdated(
        entries=(*entries, *stored),
        waiting=waiting,
        operation=operation_of_all or operation,
        notes=(*builder.notes, *purged),
    )


def _walk_branches(store: StoreHandle) -> Iterator[BranchHandle]:
    """Yield the branches of all conversations that are not abandoned, the active one of each first."""
    for conversation in store.conversations():
        active = conversation.active_branch
        entries = conversation.metadata.branches
        yield active
        for branch in conversation.branches():
            if branch != active and (branch.name not in entries or entries[branch.name].status != "abandoned"):
                yield branch


def _new_common_words() -> CommonWords:
    from scopes.memory.topics import CommonWords as CommonWords_

    made: CommonWords = CommonWords_()
    return made


def _walk_new_messages(repository: Repository, branches: Iterator[BranchHandle]) -> Iterator[tuple[_Branch, _New]]:
    """Yield the messages of each branch that no entry covers, by commit or, after a rebase, by message id."""
    memory = Memory(repository)
    covered_by_uuid = _read_covered(memory)
    uuids: dict[ConversationId, str] = {}
    for branch in branches:
        conversation, tip = branch.conversation.id, branch.tip
        if conversation not in uuids:
            uuids[conversation] = read_root(repository, read_commit(repository, tip), None).uuid
        scope = EntryScope(conversation, branch.name, uuids[conversation], tip)
        covered = covered_by_uuid.setdefault(scope.uuid, _Covered())
        if tip not in covered.tips:
            starts = tuple(oid for oid in covered.tips if repository.has(oid))
            found = _Branch(scope, starts, covered.messages)
            new = found.read(repository)
            covered.tips.append(tip)
            if len(new.messages):
                yield found, new


def _read_covered(memory: Memory) -> dict[str, _Covered]:
    """Return what entries cover, by the uuid of the conversation."""
    covered: dict[str, _Covered] = {}
    for uuid, tip in memory.walk_covered():
        covered.setdefault(uuid, _Covered()).tips.append(tip)
    for entry in memory.entries:
        if entry.uuid is not None:
            covered.setdefault(entry.uuid, _Covered()).messages.update(entry.sources.messages)
    return covered


def _store(
    repository: Repository, built: list[tuple[EntryScope, MemoryEntry]], purged: list[Note]
) -> tuple[list[MemoryEntry], OperationId | None]:
    """Store entries, except those of which another process has stored a message by now.

    One that may have something that was purged by now is not stored, either; `purged` gets a note of it.
    """
    if not built:
        return [], None
    with exclusive_write(repository):
        purged += [_note_purged(scope) for scope, _ in built if not repository.has(scope.tip)]
        built = [(scope, entry) for scope, entry in built if repository.has(scope.tip)]
        memory = Memory(repository)
        covered = _read_covered(memory)
        stored: list[MemoryEntry] = []
        by_uuid: dict[str | None, dict[MessageId, MemoryEntry]] = {}
        for entry in memory.entries:
            by_uuid.setdefault(entry.uuid, {})[entry.id] = entry
        changes: dict[str, BlobChange] = {}
        for scope, entry in built:
            if covered.get(scope.uuid, _Covered()).messages.isdisjoint(entry.sources.messages):
                same = by_uuid.setdefault(entry.uuid, {})  # of the conversation: others do not matter
                merged, older = merge_actions(entry, same.values())
                same |= {each.id: each for each in (*older, merged)}
                for each in (*older, merged):
                    changes |= entry_change(each)
                changes |= covered_change(scope.uuid, scope.branch, scope.tip)
                stored.append(merged)
        if not stored:
            return [], None
        summary = f"remember {', '.join(f'{entry.conversation}/{entry.branch}' for entry in stored[:3])}"
        return stored, change_memory(repository, memory, changes, summary + (", ..." if len(stored) > 3 else ""))


def _note_purged(scope: EntryScope) -> Note:
    text = f"something of {scope.conversation}/{scope.branch} was purged meanwhile: no entry of it was stored"
    return Note(text, "for what is left of it, again: scopes memory update")
