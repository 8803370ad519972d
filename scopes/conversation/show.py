"""`show` and `cat`: describe a conversation with its branches and latest messages, or read one message.

A branch that an import made says why it exists, or why it was not continued.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from shlex import quote
from typing import NamedTuple

from scopes.clock import creation_time, known_seconds, later_of
from scopes.errors import NotFound
from scopes.history.activity import SUMMARY, count_since, is_news, tokens_of
from scopes.history.handles import ConversationHandle, StoreHandle, participants_of, resolve_scope
from scopes.history.messages import (
    NO_TEXT,
    MessageHeader,
    RecordedTimes,
    author_kind_of,
    find_claim,
    header_of,
    is_root,
    message_id_of,
    read_message_at,
    read_message_bytes,
    read_root,
)
from scopes.history.metadata import Metadata, RemoteState, compare_with_remotes, read_remote_branches
from scopes.history.names import (
    MAIN,
    Revision,
    find_copies,
    list_branch_tips,
    read_active_branch,
    resolve_revision,
    resolve_with_latest,
)
from scopes.history.sessions import Ending, SubAgent, find_ending, find_sub_agent, successor_notes
from scopes.history.sources import (
    TRACKING,
    find_source_record,
    list_stored_sources,
    read_spans,
    walk_chunks,
    walk_spans,
)
from scopes.history.titles import RedactedCopy, find_original, first_prompt, walk_main
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, is_message_id
from scopes.model.conversation import BranchEntry, is_hidden
from scopes.model.encoding import encode_component
from scopes.model.message import HANDOVER, Message, decode
from scopes.model.operation import Signature
from scopes.result import Note, RawDocument, Result
from scopes.store.graph import is_ancestor, walk_newest_first, walk_oldest_first
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
    stored = read_message_bytes(repository, revision.oid)
    head, decoded = RecordedTimes(repository).add_to(header_of(commit)), decode(stored)
    claim = _find_claim(repository, revision, head)
    return MessageView(
        conversation=revision.conversation,
        branch=revision.branch,
        head=head,
        message=decoded,
        stored=stored,
        newer=_count_newer(repository, revision, head, decoded) if head.kind == SUMMARY else None,
        retracted="retracted" in claim,
        amended="amended" in claim,
        notes=_copy_notes(head, copies),
    )


def read_original(repository: Repository, message: str, *, conversation: str | None = None) -> OriginalRecords:
    """Read the records that a message was imported from, out of the first source that has it.

    A conversation or a branch stands for its newest message that was imported.

    Raises:
        NotFound: there is no such message, or it was not imported.
    """
    revision = _resolve(repository, message, conversation)
    commits: Iterable[Commit] = [read_commit(repository, revision.oid)]
    if revision.branch is not None and not any(mark in message for mark in "~^@{"):
        commits = islice(walk_newest_first(repository, [revision.oid]), _MAX_APPENDED)
    sources = list_stored_sources(repository)
    message_id = MessageId("")
    for commit in commits:
        message_id = message_id or message_id_of(commit)
        for source in sources:
            found = () if is_root(commit) else walk_spans(repository, source, {message_id_of(commit)})
            spans = sorted((offset, length) for offset, length, _ in found)
            if spans:
                return OriginalRecords(records=tuple(read_spans(walk_chunks(repository, source), spans)))
    hint = f"see how it is stored: scopes cat {message_id} --raw"
    raise NotFound(f"{message_id} was not imported, so it has no original", hint=hint)


def _resolve(repository: Repository, message: str, conversation: str | None) -> Revision:
    if conversation is None:
        return resolve_with_latest(repository, message)
    within, _, branch = conversation.partition("/")
    handle = StoreHandle(repository).conversation(within)
    revision = handle.revision(message)
    on = handle.branch(branch) if branch else None
    if on is not None and not is_ancestor(repository, revision.oid, on.tip):
        raise NotFound(
            f"that message is not on {on}", hint=f"to read it: scopes cat {quote(handle.id)} {quote(message)}"
        )
    return revision


def _copy_notes(head: MessageHeader, copies: Sequence[Revision]) -> tuple[Note, ...]:
    """Return a note that names the conversations with other copies of a message."""
    others = [revision.conversation for revision in copies[1:]]
    if not others:
        return ()
    text = f"message {head.id[:8]} of {copies[0].conversation} is shown; it is also in {', '.join(others)}"
    return (Note(text, f"to read that one: scopes cat {quote(others[0])}/{head.id[:8]}"),)


def _find_claim(repository: Repository, revision: Revision, head: MessageHeader) -> Mapping[str, object]:
    """Return the claim about a message on the named branch, else the active one, else the first that has it."""
    tips = list_branch_tips(repository, revision.conversation)
    order = (revision.branch, read_active_branch(repository, revision.conversation), *tips)
    for branch in dict.fromkeys(name for name in order if name in tips):
        if is_ancestor(repository, revision.oid, tips[branch]):
            return find_claim(repository, tips[branch], head.id)
    return {}


def _count_newer(repository: Repository, revision: Revision, head: MessageHeader, message: Message) -> int | None:
    """Count the messages after a summary on its branch: the named one, the summarized one, or the active one."""
    branches: list[str] = [] if revision.branch is None else [revision.branch]
    match message.extra.get("summarizes"):
        case {"branch": str(summarized)}:
            branches.append(summarized)
    branches.append(read_active_branch(repository, revision.conversation))
    return count_since(repository, revision.conversation, head, branches)
