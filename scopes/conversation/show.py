"""Why a branch exists that an import made, or why a branch was not continued."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from operator import attrgetter
from typing import NamedTuple

from scopes.clock import creation_time, format_seconds, known_seconds, later_of
from scopes.errors import NotFound
from scopes.history.activity import SUMMARY, Tokens, add_up, is_news, tokens_of
from scopes.history.handles import ConversationHandle, StoreHandle, participants_of, resolve_scope, walk_messages
from scopes.history.messages import (
    NO_TEXT,
    MessageHeader,
    RecordedTimes,
    author_kind_of,
    header_of,
    is_root,
    message_id_of,
    read_message_at,
    read_root,
)
from scopes.history.metadata import Metadata, RemoteState, compare_with_remotes, read_metadata, read_remote_branches
from scopes.history.names import MAIN, Revision, conversation_ids, resolve_revision
from scopes.history.rewritten_ids import RedactedCopy, find_original
from scopes.history.sessions import Ending, SubAgent, find_ending, find_sub_agent, successor_notes
from scopes.history.sources import TRACKING, find_source_record
from scopes.history.titles import Heading, first_prompt, read_heading, walk_main
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, is_message_id
from scopes.model.conversation import BranchEntry, is_hidden
from scopes.model.encoding import encode_component, file_leaf
from scopes.model.message import COPIED, FILE_WRITES, HANDOVER, Message, file_operations
from scopes.model.operation import Signature
from scopes.model.tools import is_refused
from scopes.result import Note, Result
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.projects import find_project
from scopes.store.repository import Repository, read_commit

SYNTHETIC, INTERRUPTED = "synthetic", "interrupted"
EDITED, REWOUND, ANSWERED_AGAIN, OTHER_SESSION = "edited", "rewound", "answered-again", "other-session"
FORK_PREFIX = "fork/"
SHORT_ID_LENGTH = 8
_PROMPT = "prompt"
_WITHOUT_CONTENT = frozenset({"meta", "notice", "interrupt", "system", "error"})  # kinds of message


def reason_of(name: BranchName, own: Sequence[Commit]) -> str | None:
    """Return why a branch exists, given its own messages, oldest first; None if that is unknown.

    An import names a fork within a session after its first message. That is how branches are told apart which the user
    of scopes created.
    """
    kinds = {_kind_of(commit) for commit in own}
    if own and kinds <= _WITHOUT_CONTENT:
        return SYNTHETIC
    if "interrupt" in kinds and kinds <= {*_WITHOUT_CONTENT, "answer", "tool-results"}:
        return INTERRUPTED
    if not own or name != fork_name(message_id_of(own[0])):
        return None
    first = next(kind for kind in map(_kind_of, own) if kind not in _WITHOUT_CONTENT)
    if first != _PROMPT:
        return ANSWERED_AGAIN
    return EDITED if kinds <= {*_WITHOUT_CONTENT, _PROMPT} else REWOUND


def _kind_of(commit: Commit) -> str | None:
    """Return the kind of a message; what a person wrote is a prompt."""
    kind = commit.kind
    is_prompt = kind not in _WITHOUT_CONTENT and author_kind_of(commit.author.email) == "human"
    return _PROMPT if is_prompt else kind


def fork_name(first: MessageId) -> BranchName:
    """Return the name that an import gives to a fork within a session; `first` is its first own message."""
    return BranchName(f"{FORK_PREFIX}{first[:SHORT_ID_LENGTH]}")


def find_sessions(repository: Repository, names: Iterable[BranchName], root: Oid) -> Mapping[BranchName, str]:
    """Return the native ids of the sessions that branches follow which an import named after a session."""
    encoded = {encode_component(name): name for name in names if name.startswith(FORK_PREFIX)}
    found: dict[BranchName, str] = {}
    for ref in repository.list_refs(TRACKING) if encoded else ():
        key, _, component = ref.removeprefix(TRACKING).partition("/")
        name = encoded.get(component)
        record = None if name is None else find_source_record(repository, key)
        if name is not None and record is not None and root in {record.root, *record.more_roots}:
            found[name] = record.native_id
    return found


class Continued(NamedTuple):
    """The last message of the history that a conversation began with; conversation None: the store does not have it."""

    conversation: ConversationId | None
    message: MessageId


def find_continued(repository: Repository, oldest_first: Iterable[Commit]) -> Continued | None:
    """Return what a conversation continues; None if its first prompt names nothing."""
    first = next((commit for commit in oldest_first if commit.kind == "prompt"), None)
    found = None if first is None else read_message_at(repository, first.tree).extra.get(HANDOVER)
    message = found.get("message") if isinstance(found, dict) else None
    if not isinstance(message, str) or not is_message_id(message):
        return None
    try:
        conversation = resolve_revision(repository, message).conversation
    except NotFound:
        conversation = None
    return Continued(conversation, MessageId(message))


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
    from scopes.tokens.count import EstimatingTokenizer

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """One file: the number of uses per operation, and the ids of the messages that used it, oldest first."""

    path: str
    operations: dict[str, int]
    messages: tuple[MessageId, ...]
    last_touch: str | None
    last_author: AgentName
    last_operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList(Result):
    """The files of a conversation, most recently used first, then by path.

    `branch` is the only branch that counts, None for all `branches`. `cwd` is the directory of the conversation.
    """

    conversation: ConversationId
    files: tuple[FileRow, ...]
    branch: BranchName | None = None
    branches: tuple[BranchName, ...] = ()
    cwd: str | None = None
    heading: Heading | None = None


@dataclass(slots=True)
class _FileUses:
    path: str
    last: MessageHeader
    last_operation: str
    operations: dict[str, int] = field(default_factory=dict)
    messages: list[MessageId] = field(default_factory=list)


def files(repository: Repository, where: str) -> FileList:
    """Collect every file that a message of a conversation, or of `CONV/BRANCH`, read, changed or mentioned.

    Raises:
        NotFound, Ambiguous: the conversation or the branch cannot be resolved.
    """
    scope = resolve_scope(repository, where)
    cwd = read_root(repository, read_commit(repository, next(iter(scope.tips.values()))), None).cwd
    cwd = cwd or read_metadata(repository, scope.conversation).directory
    uses_by_key: dict[str, _FileUses] = {}
    key_of = lru_cache(maxsize=None)(partial(file_leaf, base=cwd))
    callers: dict[Oid, AgentName] = {}
    for head, message in walk_messages(repository, scope):
        callers[head.oid] = _caller(head, callers)
        for path, operation in file_operations(message):
            uses = uses_by_key.setdefault(key_of(path), _FileUses(path, head, operation))
            if path.endswith(f"/{uses.path}"):
                uses.path = path  # the absolute one
            uses.operations[operation] = uses.operations.get(operation, 0) + 1
            if head.time >= uses.last.time:
                uses.last, uses.last_operation = head, operation
            if not uses.messages or uses.messages[-1] != head.id:
                uses.messages.append(head.id)
    rows = [_row(uses, callers[uses.last.oid]) for uses in sorted(uses_by_key.values(), key=lambda uses: uses.path)]
    rows.sort(key=lambda row: row.last_touch or "", reverse=True)
    return FileList(
        conversation=scope.conversation,
        files=tuple(rows),
        branch=scope.branch,
        branches=tuple(scope.tips),
        cwd=cwd,
        heading=read_heading(repository, scope.conversation),
    )


def _caller(head: MessageHeader, callers: Mapping[Oid, AgentName]) -> AgentName:
    """Return the author of a message or, if the author is a tool, the agent that called it."""
    parent = head.parents[0] if head.parents and head.author_kind == "tool" else None
    return head.author if parent is None else callers.get(parent, head.author)


def _row(uses: _FileUses, author: AgentName) -> FileRow:
    return FileRow(
        path=uses.path,
        operations=uses.operations,
        messages=tuple(uses.messages),
        last_touch=known_seconds(uses.last.time),
        last_author=author,
        last_operation=uses.last_operation,
    )


UNKNOWN = "unknown"
_WORKING = frozenset({"agent", "tool"})  # kinds of author
_NO_REAL_TIME = frozenset({COPIED, "none"})  # precisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(Result):
    """Counts over all branches, each message once. Mappings are sorted by count, then by name; times are RFC 3339.

    Without a `conversation` the counts are those of the whole store, where a history shared by several conversations
    counts once; `branch` is the only branch that was counted. `files` were read or changed, `files_changed` were
    changed. `tool_errors` counts failed calls by tool: their result is an error, or an exit code other than 0.
    `tool_refusals` counts the calls that the user or a rule refused; they are not among the failed ones.
    `active_seconds` is the time in which agents and tools were working.
    """

    conversation: ConversationId | None
    conversations: int
    branches: int
    messages: int
    characters: int
    files: int
    files_changed: int
    tool_calls: int
    authors: Mapping[str, int]
    kinds: Mapping[str, int]
    models: Mapping[str, int]
    tools: Mapping[str, int]
    tool_errors: Mapping[str, int]
    tool_refusals: Mapping[str, int]
    tokens: Mapping[str, Tokens]
    first: str | None
    last: str | None
    duration_seconds: int | None
    active_seconds: int | None
    branch: BranchName | None = None
    heading: Heading | None = None

    @property
    def all_tokens(self) -> Tokens | None:
        """The tokens of all models together."""
        return add_up(self.tokens.values())


def stats(repository: Repository, where: str | None = None) -> Stats:
    """Count one conversation, one branch given as `CONV/BRANCH`, or the whole store if none is given.

    Only one message is in memory at a time, but all names, paths and ids.

    Raises:
        NotFound, Ambiguous: the conversation or the branch cannot be resolved.
    """
    scopes = [
        resolve_scope(repository, name) for name in ([where] if where is not None else conversation_ids(repository))
    ]
    counts = _Counts()
    for scope in scopes:
        counts.begin_conversation()
        for head, message in walk_messages(repository, scope):
            counts.add(head, message)
        counts.end_conversation()
    branches = sum(len(scope.tips) for scope in scopes)
    if where is None:
        return counts.result(None, len(scopes), branches)
    result = counts.result(scopes[0].conversation, 1, branches)
    return replace(result, branch=scopes[0].branch, heading=read_heading(repository, scopes[0].conversation))


class ActiveTime:
    """The time in which agents or tools were working in one conversation, in whole seconds.

    It is the union of the intervals from the parent of a message of an agent or tool to that message.
    """

    def __init__(self) -> None:
        self._times: dict[Oid, int] = {}
        self._intervals: list[tuple[int, int]] = []

    def add(self, head: MessageHeader, message: Message) -> None:
        """Add a message; its parents must have been added before."""
        if message.time is None or message.extra.get("precision") in _NO_REAL_TIME:
            return
        self._times[head.oid] = head.time
        start = self._times.get(head.parents[0]) if head.parents else None
        if start is not None and start <= head.time and head.author_kind in _WORKING:
            self._intervals.append((start, head.time))

    def seconds(self) -> int | None:
        """Return the length of the union of the intervals; None if there are none."""
        if not self._intervals:
            return None
        total, reached = 0, min(self._intervals)[0]
        for start, end in sorted(self._intervals):
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
        return total


@dataclass(slots=True)
class _Counts:
    """The counts so far; `calls` (tool name by call id) and `active_time` are those of the current conversation."""

    seen: set[MessageId] = field(default_factory=set)
    authors: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    tokens: dict[str, Tokens] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)
    changed_paths: set[str] = field(default_factory=set)
    characters: int = 0
    copied: int = 0
    first: int | None = None
    last: int | None = None
    active_seconds: int | None = None
    calls: dict[str, str] = field(default_factory=dict)
    active_time: ActiveTime = field(default_factory=ActiveTime)

    def begin_conversation(self) -> None:
        self.calls = {}
        self.active_time = ActiveTime()

    def end_conversation(self) -> None:
        seconds = self.active_time.seconds()
        if seconds is not None:
            self.active_seconds = (self.active_seconds or 0) + seconds

    def add(self, head: MessageHeader, message: Message) -> None:
        """Count a message if it is new; of a copy only remember the tools that its calls name."""
        is_new = head.id not in self.seen
        self._add_tools(message, is_new=is_new)
        if not is_new:
            return
        self.seen.add(head.id)
        self.active_time.add(head, message)
        self.authors[message.author.name] += 1
        self.kinds[message.kind] += 1
        if message.time is not None:
            self.first = head.time if self.first is None else min(self.first, head.time)
            self.last = head.time if self.last is None else max(self.last, head.time)
        self.characters += len(message.text)
        self.copied += message.extra.get("precision") == COPIED
        for path, operation in file_operations(message):
            self.paths.add(path)
            if operation in FILE_WRITES:
                self.changed_paths.add(path)
        if message.model is not None:
            self.models[message.model] += 1
        tokens = tokens_of(message)
        if tokens is not None:
            model = message.model or UNKNOWN
            self.tokens[model] = tokens.plus(self.tokens.get(model, Tokens()))

    def _add_tools(self, message: Message, *, is_new: bool) -> None:
        for part in message.parts:
            call_id = part.fields.get("call_id")
            if part.type == "tool_call":
                name = str(part.fields.get("name", UNKNOWN))
                self.tools[name] += is_new
                if isinstance(call_id, str):
                    self.calls[call_id] = name
            elif part.type == "tool_result" and is_new:
                name = self.calls.get(call_id, UNKNOWN) if isinstance(call_id, str) else UNKNOWN
                if is_refused(part):
                    self.refusals[name] += 1
                elif part.fields.get("is_error") is True:
                    self.errors[name] += 1

    def result(self, conversation: ConversationId | None, conversations: int, branches: int) -> Stats:
        first, last = self.first, self.last
        return Stats(
            conversation=conversation,
            conversations=conversations,
            branches=branches,
            messages=len(self.seen),
            characters=self.characters,
            files=len(self.paths),
            files_changed=len(self.changed_paths),
            tool_calls=self.tools.total(),
            authors=_sort_by_count(self.authors),
            kinds=_sort_by_count(self.kinds),
            models=_sort_by_count(self.models),
            tools=_sort_by_count(self.tools),
            tool_errors=_sort_by_count(self.errors),
            tool_refusals=_sort_by_count(self.refusals),
            tokens=dict(sorted(self.tokens.items(), key=lambda item: (-(item[1].input or 0), item[0]))),
            first=format_seconds(first) if first is not None else None,
            last=format_seconds(last) if last is not None else None,
            duration_seconds=last - first if first is not None and last is not None else None,
            active_seconds=self.active_seconds,
            notes=(_copied_note(self.copied),) if self.copied else (),
        )


def _copied_note(messages: int) -> Note:
    text = f"{messages} of the messages were copied from a session that was not imported; it has their tokens and times"
    return Note(text, hint="messages and calls are counted, their tokens are not: import that session as well")


def _sort_by_count(counter: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(counter.items(), key=lambda item: (-item[1], item[0])) if count}
