"""`memory update`: make entries of what is new since the last ones. Nothing else waits for it (S0-11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scopes.clock import format_seconds, new_id
from scopes.conversation.list import read_root
from scopes.conversation.lookup import branch_tips, conversation_ids, find_active_branch, find_both
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.memory.composing import actions_of, decisions_of, importance_of, main_agent, summary_of, topics_of
from scopes.memory.covered import Said, heads_beyond, read_said
from scopes.memory.entry import Entry, Sources
from scopes.memory.registry import Memory, change_memory, covered_change, entry_change, read_memory
from scopes.result import Note, Result
from scopes.store.repository import Repository, read_commit
from scopes.store.transaction import writing
from scopes.store.trees import Change

DEFAULT_EVERY = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpdated(Result):
    """The new entries, oldest conversation first, and how many branches have too little that is new."""

    entries: tuple[Entry, ...]
    waiting: int
    operation: OperationId | None


class _Branch(NamedTuple):
    conversation: ConversationId
    name: BranchName
    uuid: str
    tip: Oid


def update(repository: Repository, where: str | None = None, *, at_once: bool = False) -> MemoryUpdated:
    """Make an entry for a branch, or for every conversation's active one, where enough messages are new.

    Enough is the setting scopes.memoryEvery (S0-10); with `at_once` a single message is.
    """
    every = repository.config.find_integer("scopes.memoryEvery", DEFAULT_EVERY)
    if every == 0 and not at_once:
        note = Note("the memory is switched off: scopes.memoryEvery is 0", "an entry all the same: --now")
        return MemoryUpdated(entries=(), waiting=0, operation=None, notes=(note,))
    places = [find_both(repository, where, None)] if where is not None else _active_branches(repository)
    with writing(repository):
        memory = read_memory(repository)
        changes: dict[str, Change] = {}
        entries, waiting = [], 0
        for branch in (_branch(repository, *place) for place in places):
            said = _new(repository, memory, branch)
            if said and len(said) >= (1 if at_once else every):
                entry = compose(said, branch)
                changes |= entry_change(entry) | covered_change(branch.uuid, branch.name, branch.tip)
                entries.append(entry)
            else:
                waiting += bool(said)
        if not entries:
            return MemoryUpdated(entries=(), waiting=waiting, operation=None)
        what = f"remember {', '.join(f'{entry.conversation}/{entry.branch}' for entry in entries[:3])}"
        operation = change_memory(repository, memory, changes, what + (", ..." if len(entries) > 3 else ""))
    return MemoryUpdated(entries=tuple(entries), waiting=waiting, operation=operation)


def _active_branches(repository: Repository) -> list[tuple[ConversationId, BranchName]]:
    return [(chosen, find_active_branch(repository, chosen)) for chosen in conversation_ids(repository)]


def _branch(repository: Repository, conversation: ConversationId, name: BranchName) -> _Branch:
    tip = branch_tips(repository, conversation)[name]
    root = read_root(repository, read_commit(repository, tip), None)
    return _Branch(conversation, name, root.uuid, tip)


def _new(repository: Repository, memory: Memory, branch: _Branch) -> list[Said]:
    """Read what no entry covers: neither by its commit nor, after a rebase, by its id."""
    known = [tip for tip in memory.covered_of(branch.uuid) if repository.has(tip)]
    told = {source for entry in memory.entries if entry.uuid == branch.uuid for source in entry.sources.messages}
    said = read_said(repository, heads_beyond(repository, branch.tip, known))
    return [each for each in said if each.head.id not in told]


def compose(said: list[Said], branch: _Branch) -> Entry:
    """Make an entry of what was said, without a model (S0-22); its time is that of the last message."""
    name = new_id()
    decisions, actions = decisions_of(said), actions_of(said, name)
    return Entry(
        id=name,
        agent=main_agent(said),
        summary=summary_of(said),
        time=format_seconds(max(each.head.time for each in said)),
        importance=importance_of(said, decisions, actions),
        conversation=branch.conversation,
        uuid=branch.uuid,
        branch=branch.name,
        topics=topics_of(said),
        decisions=decisions,
        action_items=actions,
        sources=Sources(tuple(each.head.id for each in said), branch.tip),
    )
