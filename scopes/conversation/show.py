"""`show`: one conversation with its branches, their sizes, and its latest messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from operator import attrgetter
from typing import NamedTuple

from scopes.clock import creation_time, known_seconds, later_of
from scopes.conversation.branch_reasons import OTHER_SESSION, find_sessions, reason_of
from scopes.conversation.continued import Continued, find_continued
from scopes.errors import Corrupt, NotFound
from scopes.history.conversations import participants_of, resolve_scope
from scopes.history.endings import Ending, find_ending
from scopes.history.handles import StoreHandle
from scopes.history.messages import (
    NO_TEXT,
    MessageHeader,
    header_of,
    is_root,
    message_id_of,
    read_message_at,
    read_root,
)
from scopes.history.metadata import Metadata
from scopes.history.recorded_times import RecordedTimes
from scopes.history.redacted_copies import RedactedCopy, find_original
from scopes.history.remote_branches import RemoteState, compare_with_remotes, read_remote_branches
from scopes.history.revisions import MAIN, Revision
from scopes.history.session_branches import successor_notes
from scopes.history.staleness import SUMMARY, is_news
from scopes.history.sub_agents import SubAgent, find_sub_agent
from scopes.history.titles import first_prompt, walk_main
from scopes.history.usage import tokens_of
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.loading import load
from scopes.model.conversation import BranchEntry, is_hidden
from scopes.model.message import Message
from scopes.model.signature import Signature
from scopes.result import Note, Result
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.projects import find_project
from scopes.store.refs import HEADS
from scopes.store.repository import Repository

RECENT = 3
_ANSWERS_TRIED = 5  # messages of agents whose models and tokens are looked at
_MAX_ESTIMATED = 100  # messages; more would delay the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRow(Result):
    """One branch.

    Attributes:
        messages: the number of messages since its fork point; `compactions` and `interrupts` are among them.
        total: the number of messages reachable from its tip (S4-54).
        newer: the number of messages after its last summary, which is stale if there are any (S4-47); None if it has no
            summary.
        reason: why an import made the branch, or why it was not continued, as in `branch_reasons`; None if unknown.
        session: the native id of the session that it follows, if that is another one than that of the conversation.
        sub_agent: the sub-agent, if a tool call of another agent started the branch.
        remotes: how it differs from the same branch of each remote, as that was last seen.
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
    session: str | None = None
    sub_agent: SubAgent | None = None
    remotes: tuple[RemoteState, ...] = ()


class OpenMerge(NamedTuple):
    """A merge, rebase or cherry-pick in progress; `conflict` is the id of its first open conflict."""

    kind: str
    source: str
    target: str
    branch: BranchName
    open_conflicts: int
    conflict: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView(Result):
    """A conversation (S4-48); `recent` is oldest first, with `recent_bodies` and `recent_endings` in the same order.

    `recent_signatures` is what git says about those of `recent`, if that was requested.
    `opening` is the beginning of the first prompt, if there is no title. `directory` is where the conversation began,
    `project` the project of that. `branch` is the only branch that is described, None for all `branch_count`.
    `native_id` is the id of the imported session, `continues` what it was given the history of. `models` are those of
    the newest answers. `tokens` is the size of the newest context: recorded with its answer, or an estimate of the
    texts. `redacted` says of which conversation it is a redacted copy that was made here.
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
    branches: tuple[BranchRow, ...]
    recent: tuple[MessageHeader, ...]
    recent_bodies: tuple[Message, ...] = ()
    recent_endings: tuple[Ending | None, ...] = ()
    recent_signatures: tuple[Signature | None, ...] = ()
    opening: str | None = None
    directory: str | None = None
    project: str | None = None
    branch: BranchName | None = None
    branch_count: int = 0
    native_id: str | None = None
    continues: Continued | None = None
    started: str | None = None
    models: tuple[str, ...] = ()
    tokens: int | None = None
    tokens_method: str | None = None
    in_progress: tuple[OpenMerge, ...] = ()
    redacted: RedactedCopy | None = None


class ContextSize(NamedTuple):
    """The models of the newest answers of a branch, and the tokens of its newest context."""

    models: tuple[str, ...]
    tokens: int | None
    method: str | None


def show(
    repository: Repository,
    where: str,
    *,
    recent: int = RECENT,
    include_hidden: bool = False,
) -> ConversationView:
    """Describe a conversation, or one branch of it, and its `recent` latest messages.

    Include abandoned branches, and those of ended conflicts, with `include_hidden` (S4-8), or if `where` names them.

    Raises:
        NotFound, Ambiguous: the conversation or the branch cannot be resolved.
    """
    scope = resolve_scope(repository, where)
    handle = StoreHandle(repository).conversation(scope.conversation)
    metadata, active = handle.metadata, handle.active_branch.name
    tips, by_oid, damaged = _read_branches(repository, handle.tips, {active, scope.branch})
    damaged = sorted({*damaged, *_damaged_refs(repository, scope.conversation)})
    main = metadata.branches.get(MAIN)
    root = read_root(repository, by_oid[tips[active]], None if main is None else main.fork)
    ids = {commit.oid: message_id_of(commit) for commit in by_oid.values() if not is_root(commit)}
    branches = _summarize_branches(by_oid, ids, tips, metadata, active)
    shown = [
        branch for branch in branches if include_hidden or branch.active or not is_hidden(branch.purpose, branch.status)
    ]
    directory = metadata.directory or root.cwd
    project = None if directory is None else find_project(directory)
    inside = by_oid.keys() if scope.branch is None else _reachable(by_oid, tips[scope.branch])
    messages = {message_id: by_oid[oid] for oid, message_id in ids.items() if scope.branch is None or oid in inside}
    by_time = sorted(messages.values(), key=attrgetter("time"))
    latest = by_time[-recent:] if recent > 0 else []
    bodies = [read_message_at(repository, commit.tree) for commit in latest]
    newest = max(by_oid[oid].time for name, oid in scope.tips.items() if name in tips)
    size = _measure_context(repository, by_oid, tips[scope.branch or active])
    return ConversationView(
        id=handle.id,
        uuid=root.uuid,
        title=metadata.title,
        participants=participants_of(repository, (by_oid[oid] for oid in tips.values())),
        active_branch=active,
        messages=len(messages),
        created_at=creation_time(root.created),
        last_activity=later_of(known_seconds(newest), root.created),
        source=root.format,
        branches=_compare_branches(
            repository,
            metadata,
            by_oid,
            _explain_branches(
                repository,
                by_oid,
                [each for each in (shown if scope.branch is None else branches) if scope.branch in {None, each.name}],
            ),
        ),
        recent=tuple(map(RecordedTimes(repository).add_to, map(header_of, latest))),
        recent_bodies=tuple(bodies),
        recent_endings=tuple(starmap(partial(find_ending, repository, by_oid), zip(latest, bodies, strict=True))),
        opening=None if metadata.title is not None else first_prompt(repository, walk_main(repository, tips, by_oid)),
        directory=directory,
        project=None if project is None else project.name,
        branch=scope.branch,
        branch_count=len(shown),
        native_id=root.native_id,
        continues=None if root.native_id is None else find_continued(repository, by_oid.values()),
        started=known_seconds(by_time[0].time) if by_time else None,
        models=size.models,
        tokens=size.tokens,
        tokens_method=size.method,
        in_progress=_list_in_progress(repository, handle.id, metadata),
        redacted=find_original(repository, handle.id),
        notes=(
            *(Note(f"the branch {name} is left out: it is damaged", "see: scopes verify") for name in damaged),
            *successor_notes(repository, Revision(handle.id, active, tips[active]), where),
        ),
    )


def _list_in_progress(
    repository: Repository, conversation: ConversationId, metadata: Metadata
) -> tuple[OpenMerge, ...]:
    """Return what is in progress; the modules of merges are imported only if a branch may hold the conflicts of one."""
    if not any(entry.purpose == "conflict-resolution" and entry.extra for entry in metadata.branches.values()):
        return ()
    found: list[OpenMerge] = []
    list_conflicts_of = load("scopes.merge.in_progress:list_conflicts_of")
    for each in load("scopes.merge.in_progress:list_in_progress")(repository, conversation):
        unresolved = [record.id for record in list_conflicts_of(repository, each) if record.status != "resolved"]
        first = unresolved[0] if unresolved else None
        found.append(OpenMerge(each.kind, each.source, each.target, each.branch, len(unresolved), first))
    return tuple(found)


def _read_branches(
    repository: Repository, tips: Mapping[BranchName, Oid], required: Container[BranchName | None]
) -> tuple[dict[BranchName, Oid], dict[Oid, Commit], list[BranchName]]:
    """Return the readable branches, their commits, and the branches whose history is damaged.

    Raises:
        Corrupt: a required branch is damaged.
    """
    damaged: list[BranchName] = []
    try:
        return (
            dict(tips),
            {commit.oid: commit for commit in walk_oldest_first(repository, sorted(tips.values()))},
            damaged,
        )
    except (Corrupt, NotFound):
        readable: dict[BranchName, Oid] = {}
        for name, oid in tips.items():
            try:
                list(walk_oldest_first(repository, [oid]))
                readable[name] = oid
            except (Corrupt, NotFound) as error:
                if name in required:
                    raise Corrupt(
                        f"the branch {name} is damaged: {error.message}", hint="see: scopes verify"
                    ) from error
                damaged.append(name)
    commits = walk_oldest_first(repository, sorted(readable.values()))
    return readable, {commit.oid: commit for commit in commits}, damaged


def _damaged_refs(repository: Repository, conversation: ConversationId) -> list[BranchName]:
    """Return the branches whose ref files are damaged."""
    prefix = f"{HEADS}{conversation}/"
    return [BranchName(ref.removeprefix(prefix)) for ref in repository.ref_files(prefix).list_damaged((prefix,))]


def _measure_context(repository: Repository, by_oid: Mapping[Oid, Commit], tip: Oid) -> ContextSize:
    """Read the newest answers of a branch until one has recorded tokens; without any, estimate a short history."""
    models: dict[str, None] = {}
    tried = 0
    newest_first: list[Commit] = []
    commit = by_oid[tip]
    while not is_root(commit):
        newest_first.append(commit)
        if tried < _ANSWERS_TRIED and header_of(commit).author_kind == "agent":
            tried += 1
            message = read_message_at(repository, commit.tree)
            models |= {message.model: None} if message.model is not None else {}
            used = tokens_of(message)
            if used is not None and used.input is not None:
                return ContextSize(tuple(models), used.input + (used.output or 0), "recorded")
        if not commit.parents or commit.parents[0] not in by_oid or len(newest_first) > _MAX_ESTIMATED:
            break
        commit = by_oid[commit.parents[0]]
    if not newest_first or len(newest_first) > _MAX_ESTIMATED:
        return ContextSize(tuple(models), None, None)
    count = load("scopes.tokens.estimate:EstimatingTokenizer")().count
    tokens = sum(count(read_message_at(repository, commit.tree).text) for commit in newest_first)
    return ContextSize(tuple(models), tokens, "estimate")


class Drawing(NamedTuple):
    """The commits of a diagram, parents before children, and the bodies of those whose subject has no text."""

    commits: tuple[Commit, ...]
    bodies: Mapping[Oid, Message]


def read_drawing(repository: Repository, view: ConversationView) -> Drawing:
    """Read the commits of the branches that a view shows."""
    commits = tuple(walk_oldest_first(repository, sorted({branch.tip for branch in view.branches})))
    bodies = {commit.oid: read_message_at(repository, commit.tree) for commit in commits if commit.subject == NO_TEXT}
    return Drawing(commits, bodies)


def _explain_branches(
    repository: Repository, by_oid: Mapping[Oid, Commit], branches: list[BranchRow]
) -> tuple[BranchRow, ...]:
    """Return branches with what their messages do not tell: the sub-agents and the sessions that they come from."""
    unexplained = [branch.name for branch in branches if branch.reason is None]
    root = next((oid for oid, commit in by_oid.items() if is_root(commit)), None)
    sessions = {} if root is None else find_sessions(repository, unexplained, root)
    return tuple(
        replace(
            branch,
            sub_agent=_sub_agent_of(repository, by_oid, branch),
            session=sessions.get(branch.name),
            reason=OTHER_SESSION if branch.name in sessions else branch.reason,
        )
        for branch in branches
    )


def _compare_branches(
    repository: Repository, metadata: Metadata, by_oid: Mapping[Oid, Commit], branches: tuple[BranchRow, ...]
) -> tuple[BranchRow, ...]:
    """Return branches with how they differ from those of remotes."""
    root = next((oid for oid, commit in by_oid.items() if is_root(commit)), None)
    there = read_remote_branches(repository, root)
    if not there:
        return branches
    entries = metadata.branches
    return tuple(
        replace(row, remotes=compare_with_remotes(repository, there, row.name, entries.get(row.name), row.tip))
        for row in branches
    )


def _sub_agent_of(repository: Repository, by_oid: Mapping[Oid, Commit], branch: BranchRow) -> SubAgent | None:
    """Return the sub-agent of a branch; only a branch that forks at the root can have one."""
    if branch.fork is None or branch.fork not in by_oid or not is_root(by_oid[branch.fork]):
        return None
    newest_first = []
    commit = by_oid[branch.tip]
    while commit.oid != branch.fork and commit.parents and commit.parents[0] in by_oid:
        newest_first.append(commit)
        commit = by_oid[commit.parents[0]]
    return find_sub_agent(repository, newest_first)


def _created(metadata: Metadata, name: BranchName) -> str:
    """Return the creation time of a branch as a sort key; branches without metadata come first."""
    entry = metadata.branches.get(name)
    return "" if entry is None else entry.created


def _summarize_branches(
    by_oid: Mapping[Oid, Commit],
    ids: Mapping[Oid, MessageId],
    tips: Mapping[BranchName, Oid],
    metadata: Metadata,
    active: BranchName,
) -> list[BranchRow]:
    """Describe the branches: main first, then by creation time and name."""
    names = sorted(tips, key=lambda name: (name != MAIN, _created(metadata, name), name))
    has_copies = len(ids) != len(set(ids.values()))  # of messages in other commits
    return [
        _summarize_branch(by_oid, ids, tips, name, entry, active=name == active, has_copies=has_copies)
        for name in names
        for entry in [metadata.branches.get(name, BranchEntry())]
    ]


def _summarize_branch(
    by_oid: Mapping[Oid, Commit],
    ids: Mapping[Oid, MessageId],
    tips: Mapping[BranchName, Oid],
    name: BranchName,
    entry: BranchEntry,
    *,
    active: bool,
    has_copies: bool,
) -> BranchRow:
    """Describe one branch from the commits of its conversation; `ids` maps the commits of messages to message ids."""
    tip = by_oid[tips[name]]
    is_all = set(tips.values()) == {tip.oid}  # a set of all commits would take memory
    reachable: AbstractSet[Oid] = by_oid.keys() if is_all else _reachable(by_oid, tip.oid)
    below: AbstractSet[Oid] = _reachable(by_oid, entry.fork) if entry.fork in by_oid else frozenset()
    own = reachable - below if below else reachable
    own_messages = _count_messages(ids, own, has_copies=has_copies)
    parent = tips.get(entry.parent) if has_copies and entry.parent is not None else None
    copied = _count_copies(by_oid, ids, own, reachable, parent)
    kinds = Counter(by_oid[oid].kind for oid in own)
    return BranchRow(
        name=name,
        messages=own_messages - copied,
        total=(
            own_messages if ids.keys().isdisjoint(below) else _count_messages(ids, reachable, has_copies=has_copies)
        ),
        tip=tip.oid,
        fork=entry.fork,
        purpose=entry.purpose,
        agent=entry.agent,
        parent=entry.parent,
        status=_status(by_oid, tips, entry, tip, has_messages=own_messages > 0),
        active=active,
        created_at=creation_time(entry.created),
        last_activity=later_of(known_seconds(tip.time), entry.created),
        compactions=kinds["compaction"],
        interrupts=kinds["interrupt"],
        newer=_count_newer(by_oid, reachable) if SUMMARY in kinds else None,
        reason=None if entry.parent is None else reason_of(name, _in_order(by_oid, own & ids.keys())),
    )


def _count_messages(ids: Mapping[Oid, MessageId], oids: Iterable[Oid], *, has_copies: bool) -> int:
    """Count messages, each message id once."""
    found = (ids[oid] for oid in oids if oid in ids)
    return len(set(found)) if has_copies else sum(1 for _ in found)


def _in_order(by_oid: Mapping[Oid, Commit], wanted: Container[Oid]) -> list[Commit]:
    """Return some commits, parents before children."""
    return [commit for oid, commit in by_oid.items() if oid in wanted]


def _count_copies(
    by_oid: Mapping[Oid, Commit],
    ids: Mapping[Oid, MessageId],
    own: Container[Oid],
    reachable: Container[Oid],
    parent: Oid | None,
) -> int:
    """Count the messages of a branch of which its parent has a copy in another commit, as `diff` counts them."""
    if parent not in by_oid:
        return 0
    copies = {ids[oid] for oid in _reachable(by_oid, parent) if oid in ids and oid not in reachable}
    return len({ids[oid] for oid in ids if oid in own} & copies)


def _count_newer(by_oid: Mapping[Oid, Commit], reachable: Container[Oid]) -> int:
    """Count the messages after the last summary of a branch; `by_oid` has parents before children."""
    newer = 0
    for oid in reversed(list(by_oid)):
        if oid in reachable:
            head = header_of(by_oid[oid])
            if head.kind == SUMMARY:
                break
            newer += is_news(head)
    return newer


def _status(
    by_oid: Mapping[Oid, Commit],
    tips: Mapping[BranchName, Oid],
    entry: BranchEntry,
    tip: Commit,
    *,
    has_messages: bool,
) -> str:
    """Return `active`, `abandoned` or `merged`: its parent branch contains all its messages (S4-8)."""
    if entry.status != "active":
        return entry.status
    parent = tips.get(entry.parent) if entry.parent is not None else None
    return "merged" if has_messages and parent is not None and tip.oid in _reachable(by_oid, parent) else "active"


def _reachable(by_oid: Mapping[Oid, Commit], tip: Oid | None) -> AbstractSet[Oid]:
    seen: set[Oid] = set()
    stack = [tip] if tip is not None else []
    while stack:
        oid = stack.pop()
        if oid not in seen and oid in by_oid:
            seen.add(oid)
            stack.extend(by_oid[oid].parents)
    return seen
