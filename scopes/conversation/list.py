"""`list`: all conversations, the most recently active first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scopes.clock import format_seconds
from scopes.conversation.heads import MESSAGE_FILE, STATE_DIRECTORY, is_root, walk_heads_newest_first
from scopes.conversation.lookup import MAIN, find_active_branch
from scopes.conversation.metadata import read_metadata
from scopes.errors import NotFound
from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.model.conversation import Root, decode_root
from scopes.model.keys import decode_component
from scopes.result import Result
from scopes.store import refs as names
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit, read_tree
from scopes.store.trees import find_blob, find_entry

_PARTICIPANTS = f"{STATE_DIRECTORY}/participants"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSummary(Result):
    """One conversation in a list; what costs a walk is None unless it was asked for. Times are RFC 3339."""

    id: ConversationId
    participants: tuple[AgentName, ...]
    branches: int
    last_activity: str
    active_branch: BranchName | None = None
    uuid: str | None = None
    title: str | None = None
    created_at: str | None = None
    source: str | None = None
    messages: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationList(Result):
    """Conversations by last activity, newest first (S4-53)."""

    conversations: tuple[ConversationSummary, ...]


def list_conversations(repository: Repository, *, whole: bool = False) -> ConversationList:
    """List every conversation; `whole` also reads titles and roots and counts messages, which walks every history."""
    found: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in repository.list_refs(names.HEADS).items():
        place = names.split_branch_ref(ref)
        if place is not None:
            found.setdefault(place[0], {})[place[1]] = Oid(oid)
    summaries = [summarize(repository, conversation, tips, whole=whole) for conversation, tips in found.items()]
    summaries.sort(key=lambda summary: summary.id)
    summaries.sort(key=lambda summary: summary.last_activity, reverse=True)
    return ConversationList(conversations=tuple(summaries))


def summarize(
    repository: Repository, conversation: ConversationId, tips: dict[BranchName, Oid], *, whole: bool
) -> ConversationSummary:
    """Describe one conversation from the tips of its branches."""
    commits = [read_commit(repository, oid) for oid in dict.fromkeys(tips.values())]
    brief = ConversationSummary(
        id=conversation,
        participants=participants_of(repository, commits),
        branches=len(tips),
        last_activity=format_seconds(max(commit.time for commit in commits)),
    )
    if not whole:
        return brief
    metadata = read_metadata(repository, conversation)
    main = metadata.branches.get(MAIN)
    root = read_root(repository, commits[0], None if main is None else main.fork)
    return ConversationSummary(
        id=conversation,
        participants=brief.participants,
        branches=brief.branches,
        last_activity=brief.last_activity,
        active_branch=find_active_branch(repository, conversation),
        uuid=root.uuid,
        title=metadata.title,
        created_at=root.created,
        source=root.format,
        messages=sum(1 for _ in walk_heads_newest_first(repository, tips.values())),
    )


def participants_of(repository: Repository, tips: Iterable[Commit]) -> tuple[AgentName, ...]:
    """Return everybody who spoke, or was named at the start, on one of the branches; sorted."""
    found: set[str] = set()
    seen: set[Oid] = set()
    for tip in tips:
        entry = find_entry(repository, tip.tree, _PARTICIPANTS)
        if entry is not None and entry.is_tree and entry.oid not in seen:
            seen.add(entry.oid)
            found |= {decode_component(name.removesuffix("=")) for name in read_tree(repository, entry.oid)}
    return tuple(AgentName(name) for name in sorted(found))


def read_root(repository: Repository, tip: Commit, known: Oid | None) -> Root:
    """Read a conversation's root: where its metadata says it is, or else at the end of the walk.

    Raises:
        NotFound: the history has no root.
    """
    commit = read_commit(repository, known) if known is not None and repository.has(known) else tip
    if not is_root(commit):
        commit = next((c for c in walk_newest_first(repository, [tip.oid]) if is_root(c)), commit)
    data = find_blob(repository, commit.tree, MESSAGE_FILE) if is_root(commit) else None
    if data is None:
        raise NotFound(f"the history of {tip.oid} has no root", hint="see: scopes verify")
    return decode_root(data)
