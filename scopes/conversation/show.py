"""`show`, `cat` and the rows of `list`: describe a conversation with its branches and latest messages, or one message.

A branch that an import made says why it exists, or why it was not continued.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice, takewhile
from operator import attrgetter
from shlex import quote
from typing import Final, NamedTuple

from scopes.clock import Time, creation_time, known_seconds, last_activity, parse_time, utc
from scopes.conversation.log import LogEntry, staleness
from scopes.errors import Ambiguous, Corrupt, NotFound
from scopes.history.activity import SUMMARY, count_since, is_news, tokens_of
from scopes.history.handles import (
    ConversationHandle,
    ParticipantCache,
    RedactedCopy,
    StoreHandle,
    first_prompt,
    list_copies,
    participants_of,
    resolve_scope,
    walk_main,
)
from scopes.history.messages import (
    NO_TEXT,
    MessageHeader,
    RecordedTimes,
    author_kind_of,
    find_claim,
    header_of,
    is_root,
    message_document,
    message_id_of,
    read_body,
    read_message_bytes,
    read_root,
)
from scopes.history.metadata import (
    Metadata,
    RemoteState,
    compare_with_remotes,
    read_directory_and_fork,
    read_manifest_branches,
    read_metadata,
    read_metadata_at,
    read_remote_branches,
)
from scopes.history.names import (
    MAIN,
    Revision,
    choose_active_branch,
    find_copies,
    find_root_commit,
    list_branch_tips,
    list_latest,
    read_active_branch,
    resolve_revision,
    resolve_with_latest,
)
from scopes.history.sessions import SubAgent, ending_of, find_ending, find_sub_agent, successor_notes
from scopes.history.sources import (
    TRACKING,
    find_source_record,
    list_stored_sources,
    read_spans,
    walk_chunks,
    walk_spans,
)
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, is_message_id
from scopes.index.caches import ConversationRow
from scopes.model.canonical_json import encode_component, without_none
from scopes.model.conversation import BranchEntry, Root, branch_id
from scopes.model.message import HANDOVER, Message, decode
from scopes.model.operation import Signature
from scopes.result import HIDDEN, OMIT_EMPTY, Note, RawDocument, Result, shown
from scopes.store.config import DEFAULT_REMOTE, find_default, list_family, read_addresses, read_gone, read_setting
from scopes.store.graph import is_ancestor, list_merge_bases, list_new_commits, walk_newest_first, walk_oldest_first
from scopes.store.objects import Commit, read_commit
from scopes.store.projects import find_project
from scopes.store.refs import ACTIVE, HEADS, META, REMOTES
from scopes.store.repository import Repository

FORK_PREFIX = "fork/"
SHORT_ID_LENGTH = 8
_PROMPT = "prompt"
_WITHOUT_CONTENT = frozenset({"meta", "notice", "interrupt", "system", "error"})  # kinds of message


def fork_name(first: MessageId) -> BranchName:
    """Return the name that an import gives to a fork within a session; `first` is its first own message."""
    return BranchName(f"{FORK_PREFIX}{first[:SHORT_ID_LENGTH]}")


def _find_reason(name: BranchName, own: Sequence[Commit]) -> str | None:
    """Return why a branch exists, given its own messages, oldest first; None if that is unknown.

    An import names a fork within a session after its first message. That is how branches are told apart which the user
    of scopes created.
    """
    kinds = [
        _PROMPT if c.kind not in _WITHOUT_CONTENT and author_kind_of(c.author.email) == "human" else c.kind for c in own
    ]
    content = [kind for kind in kinds if kind not in _WITHOUT_CONTENT]
    if own and not content:
        return "synthetic"
    if "interrupt" in kinds and {*content} <= {"answer", "tool-results"}:
        return "interrupted"
    if not own or name != fork_name(message_id_of(own[0])):
        return None
    if content[0] != _PROMPT:
        return "answered-again"
    return "edited" if {*content} == {_PROMPT} else "rewound"


def _find_sessions(repository: Repository, names: Iterable[BranchName], root: Oid) -> Mapping[BranchName, str]:
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


def _find_continued(repository: Repository, oldest_first: Iterable[Commit]) -> Continued | None:
    """Return what a conversation continues; None if its first prompt names nothing."""
    first = next((commit for commit in oldest_first if commit.kind == "prompt"), None)
    found = None if first is None else read_body(repository, first).extra.get(HANDOVER)
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


_REASONS: Final = {  # briefly, and in full
    "synthetic": ("nobody wrote on it", "no fork: no user or agent messages"),
    "interrupted": ("interrupted", "no fork: an answer that was interrupted, and nothing after it"),
    "edited": ("prompt edited", "the prompt was edited or sent again in the session, before an answer"),
    "rewound": ("session rewound", "the session was rewound to before this prompt"),
    "answered-again": ("answered again", "the session was rewound, and answered again from the same message"),
}


def branch_reason(reason: str, session: str | None = None, *, brief: bool = False) -> str:
    """Return why a branch exists, or was not continued."""
    if session is not None:
        return "another session" if brief else f"from session {session}"
    short, full = _REASONS.get(reason, (reason, reason))
    return short if brief else full


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRow:
    """One branch.

    Attributes:
        messages: the number of messages since its fork point; `compactions` and `interrupts` are among them.
        total: the number of messages reachable from its tip (S4-54).
        newer: the number of messages after its last summary, which is stale if there are any (S4-47); None if it has no
            summary.
        reason: why an import made the branch, or why it was not continued; None if unknown.
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
    created_at: Time | None
    last_activity: str | None
    compactions: int = 0
    interrupts: int = 0
    newer: int | None = field(default=None, metadata=HIDDEN)
    reason: str | None = None
    session: str | None = None
    sub_agent: SubAgent | None = None
    remotes: tuple[RemoteState, ...] = field(default=(), metadata=OMIT_EMPTY)

    @property
    @shown
    def summary(self) -> dict[str, object] | None:
        """Whether its last summary is stale (S4-47)."""
        return None if self.newer is None else {"stale": self.newer > 0, "newer_messages": self.newer}

    @property
    def star(self) -> str:
        """A star at the active branch."""
        return "*" if self.active else ""

    @property
    def why(self) -> str:
        """Why an import made the branch."""
        return "" if self.reason is None else branch_reason(self.reason, self.session)


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
    """A conversation (S4-48); `recent` are its latest messages, oldest first, as in a log.

    `opening` is the beginning of the first prompt, if there is no title. `directory` is where the conversation began,
    `project` the project of that. `branch` is the only branch that is described, None for all `branch_count`.
    `native_id` is the id of the imported session, `continues` what it was given the history of. `models` are those of
    the newest answers. `tokens` is the size of the newest context, as recorded with its answer. `redacted` says of
    which conversation it is a redacted copy that was made here.
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
    recent: tuple[LogEntry, ...]
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
    in_progress: tuple[OpenMerge, ...] = ()
    redacted: RedactedCopy | None = None

    def document(self) -> dict[str, object]:
        """Return the conversation; `title` is the beginning of the first prompt if it has none."""
        heading = self.opening if self.title is None else self.title
        source = "title" if self.title is not None else None if heading is None else "prompt"
        return without_none(
            kind="conversation",
            id=self.id,
            uuid=self.uuid,
            title=heading,
            title_source=source,
            participants=self.participants,
            active_branch=self.active_branch,
            messages=self.messages,
            created_at=utc(self.created_at),
            last_activity=self.last_activity,
            source=self.source,
            project=self.project,
            directory=self.directory,
            native_id=self.native_id,
            continues=self.continues,
            models=self.models or None,
            started=self.started,
            tokens=None if self.tokens is None else {"count": self.tokens, "method": "recorded"},
            branch=self.branch,
            redacted=None if self.redacted is None else without_none(original=self.redacted.original),
            in_progress=self.in_progress or None,
            branches=self.branches,
            recent=[each.head.document() | without_none(ending=each.ending, signature=each.signature)
                    for each in self.recent],
        )  # fmt: skip


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
    usual = [row for row in rows if row.active or not BranchEntry(purpose=row.purpose, status=row.status).is_hidden]
    shown = rows if include_hidden else usual
    wanted = shown if scope.branch is None else [row for row in rows if row.name == scope.branch]
    directory = metadata.directory or root.cwd
    project = None if directory is None else find_project(directory)
    inside = by_oid.keys() if scope.branch is None else branches.reachable(tips[scope.branch])
    by_id = {message: by_oid[oid] for oid, message in branches.ids.items() if oid in inside}
    by_time = sorted(by_id.values(), key=attrgetter("time"))
    latest = by_time[-recent:] if recent > 0 else []
    times = RecordedTimes(repository)
    newest = max(by_oid[oid].time for oid in scope.tips.values())
    models, tokens = _read_context(repository, by_oid, tips[scope.branch or active])
    return ConversationView(
        id=handle.id,
        uuid=root.uuid,
        title=metadata.title,
        participants=participants_of(repository, (by_oid[oid] for oid in tips.values())),
        active_branch=active,
        messages=len(by_id),
        created_at=creation_time(root.created),
        last_activity=last_activity(newest, root.created),
        source=root.format,
        branches=branches.explain(wanted),
        recent=tuple(
            LogEntry(
                head=times.add_to(header_of(each)),
                message=(message := read_body(repository, each)),
                ending=find_ending(repository, by_oid, each, message),
            )
            for each in latest
        ),
        opening=None if metadata.title is not None else first_prompt(repository, walk_main(repository, tips, by_oid)),
        directory=directory,
        project=None if project is None else project.name,
        branch=scope.branch,
        branch_count=len(shown),
        native_id=root.native_id,
        continues=None if root.native_id is None else _find_continued(repository, by_oid.values()),
        started=known_seconds(by_time[0].time) if by_time else None,
        models=models,
        tokens=tokens,
        in_progress=_list_in_progress(repository, handle.id, metadata),
        redacted=next((each for each in list_copies(repository) if each.copy == handle.id), None),
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
        first = next(iter(unresolved), None)
        found.append(OpenMerge(each.kind, each.source, each.target, each.branch, len(unresolved), first))
    return tuple(found)


def _read_context(repository: Repository, by_oid: Mapping[Oid, Commit], tip: Oid) -> tuple[tuple[str, ...], int | None]:
    """Return the models of the newest answers of a branch, and the size of its newest context, if that is recorded."""
    models: dict[str, None] = {}
    answers = (each for each in _walk_line(by_oid, tip) if author_kind_of(each.author.email) == "agent")
    for commit in islice(answers, _ANSWERS_TRIED):
        message = read_body(repository, commit)
        models |= {message.model: None} if message.model is not None else {}
        used = tokens_of(message)
        if used is not None and used.input is not None:
            return tuple(models), used.input + (used.output or 0)
    return tuple(models), None


def _walk_line(by_oid: Mapping[Oid, Commit], tip: Oid) -> Iterator[Commit]:
    """Yield the commits of messages along first parents, newest first."""
    oid: Oid | None = tip
    while oid is not None and not is_root(by_oid[oid]):
        yield by_oid[oid]
        oid = next(iter(by_oid[oid].parents), None)


class Drawing(NamedTuple):
    """The commits of a diagram, parents before children, and the bodies of those whose subject has no text."""

    commits: tuple[Commit, ...]
    bodies: Mapping[Oid, Message]


def read_drawing(repository: Repository, view: ConversationView) -> Drawing:
    """Read the commits of the branches that a view shows."""
    commits = tuple(walk_oldest_first(repository, sorted({branch.tip for branch in view.branches})))
    bodies = {commit.oid: read_body(repository, commit) for commit in commits if commit.subject == NO_TEXT}
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

    def reachable(self, tip: Oid | None) -> set[Oid]:
        """Return the commits below a tip, with itself; none if it is None."""
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
        above = self.reachable(None if entry.parent is None else self.tips.get(entry.parent))
        own = reachable - self.reachable(entry.fork)
        # an import that joins sessions copies messages of the parent
        messages, total, copied = (
            {self.ids[oid] for oid in oids if oid in self.ids} for oids in (own, reachable, above - reachable)
        )
        kinds = Counter(self.by_oid[oid].kind for oid in own)
        status = entry.status
        if status == "active" and messages and tip.oid in above:
            status = "merged"  # S4-8
        own_commits = [commit for oid, commit in self.by_oid.items() if oid in own and oid in self.ids]
        newest_first = (header_of(self.by_oid[oid]) for oid in reversed(self.by_oid) if oid in reachable)
        after_summary = takewhile(lambda head: head.kind != SUMMARY, newest_first)
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
            last_activity=last_activity(tip.time, entry.created),
            compactions=kinds["compaction"],
            interrupts=kinds["interrupt"],
            newer=sum(map(is_news, after_summary)) if SUMMARY in kinds else None,
            reason=None if entry.parent is None else _find_reason(name, own_commits),
        )

    def explain(self, rows: list[BranchRow]) -> tuple[BranchRow, ...]:
        """Return rows with what their messages do not tell: sub-agents, sessions, and how remotes differ."""
        root = next((oid for oid, commit in self.by_oid.items() if is_root(commit)), None)
        there = read_remote_branches(self._repository, root)
        unexplained = [row.name for row in rows if row.reason is None]
        sessions = {} if root is None else _find_sessions(self._repository, unexplained, root)
        return tuple(
            replace(
                row,
                sub_agent=self._find_sub_agent(row),
                session=sessions.get(row.name),
                reason="other-session" if row.name in sessions else row.reason,
                remotes=compare_with_remotes(self._repository, there, row.name, self._entries.get(row.name), row.tip),
            )
            for row in rows
        )

    def _find_sub_agent(self, row: BranchRow) -> SubAgent | None:
        """Return the sub-agent of a branch; only a branch that forks at the root can have one."""
        if row.fork is None or row.fork not in self.by_oid or not is_root(self.by_oid[row.fork]):
            return None
        return find_sub_agent(self._repository, _walk_line(self.by_oid, row.tip))


_HEADS_LENGTH = len(HEADS)


class ConversationRefs(NamedTuple):
    """The refs of one conversation."""

    conversation: ConversationId
    tips: Mapping[BranchName, Oid]
    meta: str | None
    active: str | None

    @property
    def active_branch(self) -> BranchName:
        """The branch that messages go to if none is named."""
        return choose_active_branch(self.conversation, self.tips, self.active)

    @property
    def state(self) -> str:
        """A digest of the refs that a brief row depends on."""
        values = repr((sorted(self.tips.items()), self.meta))
        return sha256(values.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def group_by_conversation(values: Mapping[str, str]) -> Iterator[ConversationRefs]:
    """Group refs by conversation; a conversation without a branch is left out."""
    tips_of: dict[ConversationId, dict[BranchName, Oid]] = {}
    for ref, oid in values.items():  # without a call for each of very many refs, such as `split_branch_ref`
        if ref.startswith(HEADS):
            name, slash, branch = ref[_HEADS_LENGTH:].partition("/")
            if slash:
                tips_of.setdefault(ConversationId(name), {})[BranchName(branch)] = Oid(oid)
    for name, tips in tips_of.items():
        yield ConversationRefs(name, tips, values.get(META + name), values.get(ACTIVE + name))


class RowReader:
    """Reads conversations for the rows of `list`."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._participants: ParticipantCache = {}
        self._times = RecordedTimes(repository)

    def _open(self, refs_of: ConversationRefs) -> tuple[Metadata, dict[Oid, Commit], Root]:
        """Return the metadata, the tips and the root of a conversation."""
        metadata = Metadata() if refs_of.meta is None else read_metadata_at(self._repository, Oid(refs_of.meta))
        commits = {oid: read_commit(self._repository, oid) for oid in set(refs_of.tips.values())}
        active, main = commits[refs_of.tips[refs_of.active_branch]], metadata.branches.get(MAIN)
        return metadata, commits, read_root(self._repository, active, None if main is None else main.fork)

    def read(self, refs_of: ConversationRefs) -> ConversationRow:
        """Return a row without details, from the tips, the metadata and the root.

        A conversation that was created after its messages was active when it was created.
        """
        metadata, by_oid, root = self._open(refs_of)
        commits = list(by_oid.values())
        is_only = len(refs_of.tips) == 1  # it is counted
        hidden = [name for name, entry in metadata.branches.items() if entry.is_hidden and not is_only]
        newest = max(commit.time for commit in commits)
        recorded = self._times.find_newest(commits)
        moment = parse_time(root.created) or 0
        with suppress(Corrupt, NotFound):  # commits have whole seconds, messages nanoseconds
            for commit in commits:
                if commit.time == newest and not is_root(commit):
                    message = read_body(self._repository, commit)
                    moment = max(moment, parse_time(message.time or "") or 0)
        return ConversationRow(
            id=refs_of.conversation,
            participants=participants_of(self._repository, commits, self._participants),
            branches=sum(name not in hidden for name in refs_of.tips),
            last_activity=last_activity(newest, root.created),
            moment=moment,
            recorded_at=known_seconds(recorded) if recorded > newest else None,
            title=metadata.title,
        )

    def read_details(self, refs_of: ConversationRefs, row: ConversationRow) -> ConversationRow:
        """Add the fields that need a walk over the history, which is read once."""
        repository, (metadata, by_oid, root) = self._repository, self._open(refs_of)
        tips = list(dict.fromkeys(refs_of.tips.values()))
        known = {commit.oid: commit for commit in walk_newest_first(repository, tips, known=by_oid)}
        commits = [commit for commit in known.values() if not is_root(commit)]
        answers = [commit for commit in commits if author_kind_of(commit.author.email) == "agent"]
        agents = Counter(AgentName(commit.author.name) for commit in answers)
        model = None
        with suppress(Corrupt, NotFound):
            models = (read_body(repository, each).model for each in answers[:_ANSWERS_TRIED])
            model = next((name for name in models if name is not None), None)
        main_line = walk_main(repository, refs_of.tips, known) if metadata.title is None else ()
        return row._replace(
            uuid=root.uuid,
            opening=first_prompt(repository, main_line),
            created_at=creation_time(root.created),
            source=root.format,
            messages=len(set(map(message_id_of, commits))),
            directory=metadata.directory or root.cwd,
            agent=min(agents, key=lambda name: (-agents[name], name), default=None),
            model=model,
            tags=tuple(sorted(metadata.tags)) or None,
        )


def count_by_conversation(
    repository: Repository, conversations: Iterable[ConversationRefs], values: Mapping[str, str]
) -> dict[ConversationId, tuple[int, int]]:
    """Return how many messages the default remote lacks, and how many only it has.

    Conversations that it did not have, or had no more, are left out. `values` are the refs. A branch that the remote
    lacks is compared with all that it has.
    """
    gone, addresses = read_gone(repository.path), read_addresses(repository.path)
    setting = read_setting(repository.config.store_file, DEFAULT_REMOTE)  # lists are cached by the store's files
    remote = find_default(repository.path, setting)
    manifests: dict[Oid, Oid] = {}
    for name in reversed(list_family(addresses, remote) if remote in addresses else ()):  # the oldest counts
        prefix = f"{REMOTES}{name}/"
        found_there = {ref.removeprefix(prefix): Oid(oid) for ref, oid in values.items() if ref.startswith(prefix)}
        manifests |= {Oid(root): oid for root, oid in found_there.items() if root not in gone.get(name, ())}
    found: dict[ConversationId, tuple[int, int]] = {}
    for refs_of in conversations if manifests else ():
        with suppress(Corrupt, NotFound):
            _, fork = (None, None) if refs_of.meta is None else read_directory_and_fork(repository, Oid(refs_of.meta))
            root = fork if fork in manifests else find_root_commit(repository, refs_of.conversation)
            if root is not None and root in manifests:
                found[refs_of.conversation] = _count(repository, refs_of, manifests[root])
    return found


def _count(repository: Repository, refs_of: ConversationRefs, manifest: Oid) -> tuple[int, int]:
    parents, tips = read_commit(repository, manifest).parents, set(refs_of.tips.values())
    if tips in (set(parents), set(parents[1:])):  # the first one may be the manifest before
        return 0, 0
    there = read_manifest_branches(repository, manifest)
    entries = read_metadata(repository, refs_of.conversation).branches
    ahead: set[Oid] = set()
    behind: set[Oid] = set()
    for name, tip in refs_of.tips.items():
        other = there.get(branch_id(name, entries.get(name)))
        if other is None or other.tip != tip:
            ahead |= _list_new(repository, tip, manifest)
        if other is not None and other.tip != tip:
            behind |= _list_new(repository, other.tip, tip)
    return len(ahead), len(behind)


def _list_new(repository: Repository, tip: Oid, other: Oid) -> set[Oid]:
    bases = list_merge_bases(repository, tip, other)
    return {each.oid for each in list_new_commits(repository, tip, other, bases) if not is_root(each)}


_CALL_ID = re.compile(r"(?!conv-)[A-Za-z]+[_-][A-Za-z0-9_-]{3,}", re.ASCII)
_CALLS_NAMED = 5
_MAX_APPENDED = 1000  # messages since the import that are searched for an imported one


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView(Result):
    """One message; `stored` is the JSON line exactly as it is stored, `branch` the branch in the given name if any.

    For a summary, `newer` is the number of messages after it on its branch; if there are any, it is stale (S4-47).
    `retracted` and `amended` tell whether a later message on that branch, or else on the first one that has the
    message, retracted it or replaced its text. `signature` is what git says about that of its commit, if it has one and
    that was requested.
    """

    conversation: ConversationId
    branch: BranchName | None
    head: MessageHeader
    message: Message
    stored: bytes
    newer: int | None = None
    retracted: bool = False
    amended: bool = False
    signature: Signature | None = None

    def document(self) -> dict[str, object]:
        """Return the message with its conversation and branch."""
        return message_document(self.head, self.message) | without_none(
            ending=ending_of(self.message),
            conversation=self.conversation,
            branch=self.branch,
            retracted=self.retracted or None,
            amended=self.amended or None,
            **staleness(self.newer),
            signature=self.signature,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalRecords(RawDocument):
    """The source records of one message, byte for byte, in the order of the source."""

    records: tuple[bytes, ...]

    @property
    def pieces(self) -> Iterable[bytes]:
        """The records; a newline is added to a record that does not end with one."""
        return (record if record.endswith(b"\n") else record + b"\n" for record in self.records)


def cat(repository: Repository, message: str, *, conversation: str | None = None) -> MessageView:
    """Read one message by id, by revision (`conv-001/main~2`) or by tag.

    `conversation` is the only one that is searched; with `CONV/BRANCH` the message must be on this branch.

    An id that several conversations have, after a cherry-pick, is read in the latest of them, with a note.

    Raises:
        NotFound: there is no such message, it is not on the branch, or the revision is the root of a conversation.
    """
    copies = find_copies(repository, message) if conversation is None else []
    revision = copies[0] if copies else _resolve(repository, message, conversation)
    commit = read_commit(repository, revision.oid)
    if is_root(commit):
        where = f"{revision.conversation}/{revision.branch}" if revision.branch else revision.conversation
        hint = f'add one: scopes append {quote(revision.conversation)} "..."'
        raise NotFound(f"{where} has no message here", hint=hint)
    stored, name = read_message_bytes(repository, revision.oid), revision.conversation
    head, decoded = RecordedTimes(repository).add_to(header_of(commit)), decode(stored)
    tips, active = list_branch_tips(repository, name), read_active_branch(repository, name)
    places = [tips[each] for each in (revision.branch, active, *tips) if each is not None and each in tips]
    tip = next((each for each in dict.fromkeys(places) if is_ancestor(repository, revision.oid, each)), None)
    claim = {} if tip is None else find_claim(repository, tip, head.id)
    newer = None
    if head.kind == SUMMARY:
        about = decoded.extra.get("summarizes")
        named = about.get("branch") if isinstance(about, dict) else None
        branches = (str(each) for each in (revision.branch, named, active) if each is not None)
        newer = count_since(repository, name, head, branches)
    notes: tuple[Note, ...] = ()
    if others := [copy.conversation for copy in copies[1:]]:
        text = f"message {head.id[:8]} of {name} is shown; it is also in {', '.join(others)}"
        notes = (Note(text, f"to read that one: scopes cat {quote(others[0])}/{quote(head.id[:8])}"),)
    return MessageView(
        conversation=name,
        branch=revision.branch,
        head=head,
        message=decoded,
        stored=stored,
        newer=newer,
        retracted="retracted" in claim,
        amended="amended" in claim,
        notes=notes,
    )


def read_original(repository: Repository, message: str, *, conversation: str | None = None) -> OriginalRecords:
    """Read the records that a message was imported from, out of the first source that has it.

    A conversation or a branch stands for its newest message that was imported.

    Raises:
        NotFound: there is no such message, or it was not imported.
    """
    revision = _resolve(repository, message, conversation)
    named = read_commit(repository, revision.oid)
    commits: Iterable[Commit] = [named]
    if revision.branch is not None and not any(mark in message for mark in "~^@{"):
        commits = islice(walk_newest_first(repository, [revision.oid]), _MAX_APPENDED)
    sources = list_stored_sources(repository)
    for commit in commits:
        for source in sources:
            found = () if is_root(commit) else walk_spans(repository, source, {message_id_of(commit)})
            spans = sorted((offset, length) for offset, length, _ in found)
            if spans:
                return OriginalRecords(records=tuple(read_spans(walk_chunks(repository, source), spans)))
    hint = f"see how it is stored: scopes cat {message_id_of(named)} --raw"
    raise NotFound(f"{message_id_of(named)} was not imported, so it has no original", hint=hint)


def _find_call(repository: Repository, text: str) -> Revision | None:
    """Return the message with the tool call of an id, or of a unique beginning of one; None if there is none.

    Raises:
        Ambiguous: several calls begin so.
    """
    if not _CALL_ID.fullmatch(text):
        return None
    found: dict[str, Revision] = {}
    for conversation in list_latest(repository):
        for commit in walk_newest_first(repository, sorted(list_branch_tips(repository, conversation).values())):
            stored = b"" if is_root(commit) else read_message_bytes(repository, commit.oid)
            for part in decode(stored).parts if text.encode() in stored else ():
                if part.type == "tool_call" and (part.call_id or "").startswith(text):
                    found.setdefault(str(part.call_id), Revision(conversation, None, commit.oid))
        if text in found:
            return found[text]
    if len(found) > 1:
        few = ", ".join(sorted(found)[:_CALLS_NAMED])
        raise Ambiguous(f"{text!a} is the beginning of several calls: {few}", hint="type a few more letters")
    return next(iter(found.values()), None)


def _resolve(repository: Repository, message: str, conversation: str | None) -> Revision:
    if conversation is None:
        try:
            return resolve_with_latest(repository, message)
        except NotFound:
            if (found := _find_call(repository, message)) is None:
                raise
            return found
    within, _, branch = conversation.partition("/")
    handle = StoreHandle(repository).conversation(within)
    revision = handle.revision(message)
    on = handle.branch(branch) if branch else None
    if on is not None and not is_ancestor(repository, revision.oid, on.tip):
        raise NotFound(
            f"that message is not on {on}", hint=f"to read it: scopes cat {quote(handle.id)} {quote(message)}"
        )
    return revision
