"""`show`: one conversation with its branches, their sizes, and what was said last."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from scopes.clock import known_seconds
from scopes.conversation.list import participants_of, read_root
from scopes.conversation.list_cached import creation_time, later_of
from scopes.history.messages import KIND_TRAILER, NO_TEXT, MessageHead, head_of, is_root, message_id_of, read_message
from scopes.history.metadata import Metadata, read_metadata
from scopes.history.revparse import MAIN, find_active_branch, find_conversation, list_branch_tips
from scopes.history.staleness import SUMMARY, is_news
from scopes.history.sub_agents import SubAgent, find_sub_agent
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.model.conversation import BranchEntry
from scopes.model.message import Message
from scopes.result import Result
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.repository import Repository

RECENT = 3
SYNTHETIC = "synthetic"
INTERRUPTED = "interrupted"
_UNSPOKEN = frozenset({"meta", "notice", "interrupt", "system", "error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSummary(Result):
    """One branch: `messages` are its own since its fork point, `total` all that its tip can reach (S4-54).

    Of its own are also `compactions` and `interrupts`; `newer` is how many messages came after its last summary, which
    is stale then (S4-47), None where it has none. `sub_agent` is there where an agent's tool call began it.
    `reason` is there where nobody took it up: nothing of it was said by anybody (a command to leave and its echo), or
    it is an interrupted answer to what was then answered elsewhere.
    """

    name: BranchName
    messages: int
    total: int
    tip: Oid
    fork: Oid | None
    purpose: str | None
    agent: AgentName | None
    parent: BranchName | None
    status: str
    active: bool
    created_at: str | None
    last_activity: str | None
    compactions: int = 0
    interrupts: int = 0
    newer: int | None = None
    reason: str | None = None
    sub_agent: SubAgent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView(Result):
    """A conversation (S4-48); `recent` is oldest first, `history` every commit, parents before children.

    `recent_bodies` are the bodies of the recent messages in the same order. `without_subject` are the bodies of the
    messages whose commit subject has no text; empty unless requested.
    """

    id: ConversationId
    uuid: str
    title: str | None
    participants: tuple[AgentName, ...]
    active_branch: BranchName
    messages: int
    created_at: str | None
    last_activity: str | None
    source: str | None
    branches: tuple[BranchSummary, ...]
    recent: tuple[MessageHead, ...]
    history: tuple[Commit, ...]
    recent_bodies: tuple[Message, ...] = ()
    without_subject: Mapping[Oid, Message] = field(default_factory=dict)


def show(
    repository: Repository,
    conversation: str,
    *,
    recent: int = RECENT,
    abandoned: bool = False,
    without_subject: bool = False,
) -> ConversationView:
    """Describe a conversation; abandoned branches are left out unless asked for (S4-8).

    Raises:
        NotFound, Ambiguous: there is no such conversation.
    """
    chosen = find_conversation(repository, conversation)
    tips = list_branch_tips(repository, chosen)
    metadata = read_metadata(repository, chosen)
    active = find_active_branch(repository, chosen)
    history = tuple(walk_oldest_first(repository, sorted(tips.values())))
    by_oid = {commit.oid: commit for commit in history}
    main = metadata.branches.get(MAIN)
    root = read_root(repository, by_oid[tips[active]], None if main is None else main.fork)
    ids = {commit.oid: message_id_of(commit) for commit in history if not is_root(commit)}
    branches = [
        summarize_branch(by_oid, ids, tips, name, metadata.branches.get(name, BranchEntry()), active=name == active)
        for name in sorted(tips, key=lambda name: (name != MAIN, _created(metadata, name), name))
    ]
    messages = {message: by_oid[oid] for oid, message in ids.items()}
    latest = sorted(messages.values(), key=lambda commit: commit.time)[-recent:] if recent > 0 else []
    return ConversationView(
        id=chosen,
        uuid=root.uuid,
        title=metadata.title,
        participants=participants_of(repository, (by_oid[oid] for oid in tips.values())),
        active_branch=active,
        messages=len(messages),
        created_at=creation_time(root.created),
        last_activity=later_of(known_seconds(max(by_oid[oid].time for oid in tips.values())), root.created),
        source=root.format,
        branches=tuple(
            replace(b, sub_agent=_sub_agent(repository, by_oid, b))
            for b in branches
            if abandoned or b.status != "abandoned" or b.active
        ),
        recent=tuple(map(head_of, latest)),
        history=history,
        recent_bodies=tuple(read_message(repository, commit.oid) for commit in latest),
        without_subject={
            commit.oid: read_message(repository, commit.oid)
            for commit in (messages.values() if without_subject else ())
            if commit.subject == NO_TEXT
        },
    )


def _sub_agent(repository: Repository, by_oid: Mapping[Oid, Commit], branch: BranchSummary) -> SubAgent | None:
    """Find who began a branch that goes back to the root alone."""
    if branch.fork is None or branch.fork not in by_oid or not is_root(by_oid[branch.fork]):
        return None
    line = []
    commit = by_oid[branch.tip]
    while not is_root(commit) and commit.parents and commit.parents[0] in by_oid:
        line.append(commit)
        commit = by_oid[commit.parents[0]]
    return find_sub_agent(repository, line)


def _created(metadata: Metadata, name: BranchName) -> str:
    """Return when a branch was made, to order branches by; one that nothing is known of comes first."""
    entry = metadata.branches.get(name)
    return "" if entry is None else entry.created


def summarize_branch(
    by_oid: Mapping[Oid, Commit],
    ids: Mapping[Oid, MessageId],
    tips: Mapping[BranchName, Oid],
    name: BranchName,
    entry: BranchEntry,
    *,
    active: bool,
) -> BranchSummary:
    """Describe one branch from the commits of its conversation; `ids` has those that are messages."""
    tip = by_oid[tips[name]]
    reached = _reachable(by_oid, tip.oid)
    before = _reachable(by_oid, entry.fork) if entry.fork in by_oid else frozenset()
    own = len({ids[oid] for oid in reached - before if oid in ids})
    kinds = [by_oid[oid].trailers.get(KIND_TRAILER) for oid in reached - before]
    return BranchSummary(
        name=name,
        messages=own,
        total=len({ids[oid] for oid in reached if oid in ids}),
        tip=tip.oid,
        fork=entry.fork,
        purpose=entry.purpose,
        agent=entry.agent,
        parent=entry.parent,
        status=_status(by_oid, tips, entry, tip, own),
        active=active,
        created_at=creation_time(entry.created),
        last_activity=later_of(known_seconds(tip.time), entry.created),
        compactions=kinds.count("compaction"),
        interrupts=kinds.count("interrupt"),
        newer=_count_newer(by_oid, reached) if SUMMARY in kinds else None,
        reason=_reason(kinds) if entry.parent is not None else None,
    )


def _count_newer(by_oid: Mapping[Oid, Commit], reached: Container[Oid]) -> int:
    """Count what was said after the last summary; `by_oid` has parents before children."""
    newer = 0
    for oid in reversed(list(by_oid)):
        if oid in reached:
            head = head_of(by_oid[oid])
            if head.kind == SUMMARY:
                break
            newer += is_news(head)
    return newer


def _reason(kinds: Iterable[str | None]) -> str | None:
    """Tell a branch that only the shape of its source made from one that somebody went on with."""
    found = set(kinds)
    if found and found <= _UNSPOKEN:
        return SYNTHETIC
    return INTERRUPTED if "interrupt" in found and found <= {*_UNSPOKEN, "answer", "tool-results"} else None


def _status(
    by_oid: Mapping[Oid, Commit], tips: Mapping[BranchName, Oid], entry: BranchEntry, tip: Commit, own: int
) -> str:
    """Tell active, merged (its parent branch has all of it) or abandoned (S4-8)."""
    if entry.status != "active":
        return entry.status
    parent = tips.get(entry.parent) if entry.parent is not None else None
    return "merged" if own and parent is not None and tip.oid in _reachable(by_oid, parent) else "active"


def _reachable(by_oid: Mapping[Oid, Commit], tip: Oid | None) -> frozenset[Oid]:
    seen: set[Oid] = set()
    stack = [tip] if tip is not None else []
    while stack:
        oid = stack.pop()
        if oid not in seen and oid in by_oid:
            seen.add(oid)
            stack.extend(by_oid[oid].parents)
    return frozenset(seen)
