"""`list`: all conversations, the most recently active first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from scopes.clock import known_seconds, seconds_of
from scopes.conversation.heads import MESSAGE_FILE, NO_TEXT, STATE_DIRECTORY, count_messages, head_of, is_root
from scopes.conversation.lookup import MAIN, choose_active_branch
from scopes.conversation.metadata import Metadata, read_metadata_at, read_title
from scopes.errors import NotFound
from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.model.conversation import Root, decode_root
from scopes.model.keys import decode_component
from scopes.result import Result
from scopes.store import refs as names
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit, Entry, Tip
from scopes.store.repository import Repository, read_commit, read_tip, read_tree
from scopes.store.trees import find_blob, find_entry

Participants: TypeAlias = dict[Oid, frozenset[AgentName]]
"""Who is named in which tree: it is the same in very many commits."""

_PARTICIPANTS = "participants"
_MOST_WALKED = 5000  # commits, a tenth of a second


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSummary(Result):
    """One conversation in a list; what costs a walk is None unless it was asked for. Times are RFC 3339.

    `opening` is how its first prompt begins, for one that has no title.
    """

    id: ConversationId
    participants: tuple[AgentName, ...]
    branches: int
    last_activity: str | None
    active_branch: BranchName | None = None
    uuid: str | None = None
    title: str | None = None
    created_at: str | None = None
    source: str | None = None
    messages: int | None = None
    opening: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationList(Result):
    """Conversations by last activity, newest first (S4-53)."""

    conversations: tuple[ConversationSummary, ...]


def list_conversations(
    repository: Repository, *, titles: bool = False, openings: bool = False, whole: bool = False
) -> ConversationList:
    """List every conversation, also by title if asked; `whole` reads everything, which walks every history.

    With `openings` those without a title say how they began, the latest first and as long as that takes no time.
    """
    beside = (names.META, names.ACTIVE) if whole else (names.META,) if titles else ()
    refs = repository.list_refs(names.HEADS, *beside)
    found: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in refs.items():
        place = names.split_branch_ref(ref)
        if place is not None:
            found.setdefault(place[0], {})[place[1]] = Oid(oid)
    known: Participants = {}
    summaries = [
        _summarize(repository, conversation, tips, known, refs.get(names.meta_ref(conversation)))
        for conversation, tips in found.items()
    ]
    if whole:
        summaries = [_complete(repository, brief, found[brief.id], refs) for brief in summaries]
    summaries.sort(key=lambda summary: summary.id)
    summaries.sort(key=lambda summary: summary.last_activity or "", reverse=True)
    if openings:
        summaries = list(_opened(repository, summaries, found))
    return ConversationList(conversations=tuple(summaries))


def _opened(
    repository: Repository,
    summaries: Iterable[ConversationSummary],
    found: Mapping[ConversationId, dict[BranchName, Oid]],
) -> Iterator[ConversationSummary]:
    """Add how conversations without a title began, while the walks back to their beginnings are short in sum."""
    left = _MOST_WALKED
    for summary in summaries:
        if summary.title is not None:
            yield summary
            continue
        tips = found[summary.id]
        line = list(islice(walk_newest_first(repository, [tips.get(MAIN) or next(iter(tips.values()))]), left))
        left -= len(line)
        yield replace(summary, opening=_opening(line))


def _opening(newest_first: list[Commit]) -> str | None:
    """Say how the first prompt begins, or else the first thing that an agent said; nothing of half a history."""
    if not newest_first or not is_root(newest_first[-1]):
        return None
    heads = [head for head in map(head_of, reversed(newest_first[:-1])) if head.subject != NO_TEXT]
    spoken = (head.subject for kind in ("human", "agent") for head in heads if head.author_kind == kind)
    return next(spoken, None)


def _summarize(
    repository: Repository,
    conversation: ConversationId,
    tips: Mapping[BranchName, Oid],
    known: Participants,
    meta: str | None,
) -> ConversationSummary:
    """Describe a conversation from the tips of its branches, and its metadata where that was looked up."""
    commits = [read_tip(repository, oid) for oid in set(tips.values())]
    return ConversationSummary(
        id=conversation,
        participants=participants_of(repository, commits, known),
        branches=len(tips),
        last_activity=known_seconds(max(commit.time for commit in commits)),
        title=None if meta is None else read_title(repository, Oid(meta)),
    )


def _complete(
    repository: Repository, brief: ConversationSummary, tips: Mapping[BranchName, Oid], refs: Mapping[str, str]
) -> ConversationSummary:
    """Add what costs a walk; what one look at all refs has found serves every conversation."""
    meta = refs.get(names.meta_ref(brief.id))
    metadata = Metadata() if meta is None else read_metadata_at(repository, Oid(meta))
    active = choose_active_branch(brief.id, tips, refs.get(names.active_ref(brief.id)))
    main = metadata.branches.get(MAIN)
    root = read_root(repository, read_commit(repository, tips[active]), None if main is None else main.fork)
    return ConversationSummary(
        id=brief.id,
        participants=brief.participants,
        branches=brief.branches,
        last_activity=not_before(brief.last_activity, root.created),
        active_branch=active,
        uuid=root.uuid,
        title=metadata.title,
        created_at=known_created(root.created),
        source=root.format,
        messages=count_messages(walk_newest_first(repository, tips.values())),
    )


def known_created(created: str) -> str | None:
    """Return when something was made; None where nobody told, which is written as the year 1970."""
    return created if seconds_of(created) else None


def not_before(last_activity: str | None, created: str) -> str | None:
    """Return the later of two moments: nothing was active before it was made (S4-5)."""
    made = known_created(created)
    return made if made is not None and seconds_of(made) >= seconds_of(last_activity or "") else last_activity


def participants_of(
    repository: Repository, tips: Iterable[Commit | Tip], known: Participants | None = None
) -> tuple[AgentName, ...]:
    """Return everybody who spoke, or was named at the start, on one of the branches; sorted."""
    known = {} if known is None else known
    found: set[AgentName] = set()
    for tip in tips:
        state = find_entry(repository, tip.tree, STATE_DIRECTORY)
        if state is not None:
            if state.oid not in known:
                known[state.oid] = _read_participants(repository, state, known)
            found |= known[state.oid]
    return tuple(sorted(found))


def _read_participants(repository: Repository, state: Entry, known: Participants) -> frozenset[AgentName]:
    entry = find_entry(repository, state.oid, _PARTICIPANTS) if state.is_tree else None
    if entry is None or not entry.is_tree:
        return frozenset()
    if entry.oid not in known:
        found = read_tree(repository, entry.oid)
        known[entry.oid] = frozenset(AgentName(decode_component(name.removesuffix("="))) for name in found)
    return known[entry.oid]


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
