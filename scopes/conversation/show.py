"""`show`: one conversation with its branches, their sizes, and its latest messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from scopes.clock import creation_time, known_seconds, later_of
from scopes.conversation.branch_reasons import OTHER_SESSION, find_sessions, reason_of
from scopes.conversation.continued import Continued, find_continued
from scopes.history.conversations import participants_of, resolve_scope
from scopes.history.endings import Ending, find_ending
from scopes.history.handles import ConversationHandle, StoreHandle
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
from scopes.ids import AgentName, BranchName, ConversationId, Oid
from scopes.model.conversation import BranchEntry, is_hidden
from scopes.model.message import Message
from scopes.model.signature import Signature
from scopes.result import Result
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.projects import find_project
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
        Corrupt: the history of a branch is damaged.
    """
    scope = resolve_scope(repository, where)
    handle = StoreHandle(repository).conversation(scope.conversation)
    metadata, active = handle.metadata, handle.active_branch.name
    branches = _Branches(repository, handle)
    by_oid, tips = branches.by_oid, branches.tips
    main = metadata.branches.get(MAIN)
    root = read_root(repository, by_oid[tips[active]], None if main is None else main.fork)
    rows = branches.rows()
    shown = [row for row in rows if include_hidden or row.active or not is_hidden(row.purpose, row.status)]
    wanted = shown if scope.branch is None else [row for row in rows if row.name == scope.branch]
    directory = metadata.directory or root.cwd
    project = None if directory is None else find_project(directory)
    inside = by_oid.keys() if scope.branch is None else branches.reachable(tips[scope.branch])
    messages = {message: by_oid[oid] for oid, message in branches.ids.items() if oid in inside}
    by_time = sorted(messages.values(), key=attrgetter("time"))
    latest = by_time[-recent:] if recent > 0 else []
    bodies = [read_message_at(repository, commit.tree) for commit in latest]
    newest = max(by_oid[oid].time for oid in scope.tips.values())
    models, tokens, method = _measure_context(repository, by_oid, tips[scope.branch or active])
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
        branches=branches.explain(wanted),
        recent=tuple(map(RecordedTimes(repository).add_to, map(header_of, latest))),
        recent_bodies=tuple(bodies),
        recent_endings=tuple(find_ending(repository, by_oid, *each) for each in zip(latest, bodies, strict=True)),
        opening=None if metadata.title is not None else first_prompt(repository, walk_main(repository, tips, by_oid)),
        directory=directory,
        project=None if project is None else project.name,
        branch=scope.branch,
        branch_count=len(shown),
        native_id=root.native_id,
        continues=None if root.native_id is None else find_continued(repository, by_oid.values()),
        started=known_seconds(by_time[0].time) if by_time else None,
        models=models,
        tokens=tokens,
        tokens_method=method,
        in_progress=_list_in_progress(repository, handle.id, metadata),
        redacted=find_original(repository, handle.id),
        notes=successor_notes(repository, Revision(handle.id, active, tips[active]), where),
    )


def _list_in_progress(
    repository: Repository, conversation: ConversationId, metadata: Metadata
) -> tuple[OpenMerge, ...]:
    """Return what is in progress; the modules of merges are imported only if a branch may hold the conflicts of one."""
    if not any(entry.purpose == "conflict-resolution" and entry.extra for entry in metadata.branches.values()):
        return ()
    from scopes.merge.in_progress import list_conflicts_of, list_in_progress

    found: list[OpenMerge] = []
    for each in list_in_progress(repository, conversation):
        unresolved = [record.id for record in list_conflicts_of(repository, each) if record.status != "resolved"]
        first = unresolved[0] if unresolved else None
        found.append(OpenMerge(each.kind, each.source, each.target, each.branch, len(unresolved), first))
    return tuple(found)


def _measure_context(
    repository: Repository, by_oid: Mapping[Oid, Commit], tip: Oid
) -> tuple[tuple[str, ...], int | None, str | None]:
    """Return the models of the newest answers of a branch, and the tokens of its newest context and where from.

    Answers are read until one has recorded tokens; without any, a short history is estimated.
    """
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
                return tuple(models), used.input + (used.output or 0), "recorded"
        if not commit.parents or len(newest_first) > _MAX_ESTIMATED:
            break
        commit = by_oid[commit.parents[0]]
    if not newest_first or len(newest_first) > _MAX_ESTIMATED:
        return tuple(models), None, None
    from scopes.tokens.estimate import EstimatingTokenizer

    texts = (read_message_at(repository, commit.tree).text for commit in newest_first)
    return tuple(models), sum(map(EstimatingTokenizer().count, texts)), "estimate"


class Drawing(NamedTuple):
    """The commits of a diagram, parents before children, and the bodies of those whose subject has no text."""

    commits: tuple[Commit, ...]
    bodies: Mapping[Oid, Message]


def read_drawing(repository: Repository, view: ConversationView) -> Drawing:
    """Read the commits of the branches that a view shows."""
    commits = tuple(walk_oldest_first(repository, sorted({branch.tip for branch in view.branches})))
    bodies = {commit.oid: read_message_at(repository, commit.tree) for commit in commits if commit.subject == NO_TEXT}
    return Drawing(commits, bodies)


class _Branches:
    """The branches of a conversation, with all their commits, parents before children, and the ids of messages."""

    def __init__(self, repository: Repository, conversation: ConversationHandle) -> None:
        self._repository = repository
        self._entries = conversation.metadata.branches
        self._active = conversation.active_branch.name
        self.tips = conversation.tips
        self.by_oid = {commit.oid: commit for commit in walk_oldest_first(repository, sorted(self.tips.values()))}
        self.ids = {commit.oid: message_id_of(commit) for commit in self.by_oid.values() if not is_root(commit)}

    def reachable(self, tip: Oid | None) -> AbstractSet[Oid]:
        """Return the commits below a tip, with itself."""
        if set(self.tips.values()) == {tip}:  # another set of all commits would take memory
            return self.by_oid.keys()
        seen: set[Oid] = set()
        stack = [tip] if tip is not None else []
        while stack:
            oid = stack.pop()
            if oid not in seen and oid in self.by_oid:
                seen.add(oid)
                stack.extend(self.by_oid[oid].parents)
        return seen

    def rows(self) -> list[BranchRow]:
        """Describe the branches: main first, then by creation time and name; without metadata first."""
        entries = {name: self._entries.get(name, BranchEntry()) for name in self.tips}
        names = sorted(self.tips, key=lambda name: (name != MAIN, entries[name].created, name))
        return [self._row(name, entries[name]) for name in names]

    def _row(self, name: BranchName, entry: BranchEntry) -> BranchRow:
        tip = self.by_oid[self.tips[name]]
        reachable = self.reachable(tip.oid)
        below = self.reachable(entry.fork) if entry.fork in self.by_oid else frozenset[Oid]()
        own = reachable - below if below else reachable
        messages, total = ({self.ids[oid] for oid in oids if oid in self.ids} for oids in (own, reachable))
        above = self.reachable(self.tips.get(entry.parent)) if entry.parent is not None else frozenset[Oid]()
        copied = {
            self.ids[oid] for oid in above - reachable if oid in self.ids
        }  # as an import that joins sessions does
        kinds = Counter(self.by_oid[oid].kind for oid in own)
        status = entry.status
        if status == "active" and messages and tip.oid in above:
            status = "merged"  # S4-8
        own_commits = [commit for oid, commit in self.by_oid.items() if oid in own and oid in self.ids]
        return BranchRow(
            name=name,
            messages=len(messages - copied),
            total=len(total),
            tip=tip.oid,
            fork=entry.fork,
            purpose=entry.purpose,
            agent=entry.agent,
            parent=entry.parent,
            status=status,
            active=name == self._active,
            created_at=creation_time(entry.created),
            last_activity=later_of(known_seconds(tip.time), entry.created),
            compactions=kinds["compaction"],
            interrupts=kinds["interrupt"],
            newer=self._count_newer(reachable) if SUMMARY in kinds else None,
            reason=None if entry.parent is None else reason_of(name, own_commits),
        )

    def _count_newer(self, reachable: AbstractSet[Oid]) -> int:
        """Count the messages after the last summary of a branch."""
        newer = 0
        for oid in reversed(self.by_oid):
            if oid in reachable:
                head = header_of(self.by_oid[oid])
                if head.kind == SUMMARY:
                    break
                newer += is_news(head)
        return newer

    def explain(self, rows: list[BranchRow]) -> tuple[BranchRow, ...]:
        """Return rows with what their messages do not tell: sub-agents, sessions, and how remotes differ."""
        root = next((oid for oid, commit in self.by_oid.items() if is_root(commit)), None)
        there = read_remote_branches(self._repository, root)
        unexplained = [row.name for row in rows if row.reason is None]
        sessions = {} if root is None else find_sessions(self._repository, unexplained, root)
        return tuple(
            replace(
                row,
                sub_agent=self._find_sub_agent(row),
                session=sessions.get(row.name),
                reason=OTHER_SESSION if row.name in sessions else row.reason,
                remotes=compare_with_remotes(self._repository, there, row.name, self._entries.get(row.name), row.tip)
                if there
                else (),
            )
            for row in rows
        )

    def _find_sub_agent(self, row: BranchRow) -> SubAgent | None:
        """Return the sub-agent of a branch; only a branch that forks at the root can have one."""
        if row.fork is None or row.fork not in self.by_oid or not is_root(self.by_oid[row.fork]):
            return None
        newest_first = []
        commit = self.by_oid[row.tip]
        while commit.oid != row.fork and commit.parents:
            newest_first.append(commit)
            commit = self.by_oid[commit.parents[0]]
        return find_sub_agent(self._repository, newest_first)
