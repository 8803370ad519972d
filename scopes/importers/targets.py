"""The state of one import run, and the conversation that each session is imported into.

That is its own, or that of the session it continues or is part of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from scopes.clock import format_seconds
from scopes.history.messages import is_root, message_id_of, read_body, write_root_commit
from scopes.history.names import list_branch_tips
from scopes.history.sources import NOTHING, SOURCES, TRACKING, Purged, read_source_record, source_key
from scopes.history.transaction import RefTransaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.importers.archive import StoredRecord
from scopes.importers.conversation_roots import ConversationRoots, find_root_of, list_conversation_roots
from scopes.importers.formats.base import Format
from scopes.importers.formats.events import STREAM, Session
from scopes.importers.identity import parent_source_keys, session_uuid, source_key_of, stream_key
from scopes.importers.purged_texts import Quotes
from scopes.importers.results import GroupedNote, Skipped, SourceImported
from scopes.importers.session_commits import OPEN, ImportedSession, KnownMessages, ParentSession
from scopes.model.conversation import ACP, BranchEntry, Root, decode_root
from scopes.result import Note
from scopes.secrets.count import SecretFinder
from scopes.store.graph import walk_newest_first, walk_oldest_first
from scopes.store.objects import Objects, find_blob, read_commit
from scopes.store.packs import BulkObjects
from scopes.store.refs import HEADS, split_branch_ref
from scopes.store.repository import Prunes, Repository

UNDATED = format_seconds(0)
MIN_SESSION_ID = 16  # shorter ids are not unique


def may_be_recorded(session: Session) -> bool:
    """Return True if `scopes acp` may have recorded a session, and its id tells it from others."""
    return len(session.native_id) >= MIN_SESSION_ID and session.sub_file is None


def root_of_session(session: Session) -> Root:
    """Return the root of the conversation that begins with a session."""
    return Root(
        uuid=session_uuid(session.format, session.native_id),
        created=session.created or UNDATED,
        format=session.format,
        native_id=session.native_id,
        cwd=session.cwd,
    )


@dataclass(frozen=True, slots=True)
class JoinPoint:
    """The last message of a session that an earlier session has too, how many they share, and the branch from there."""

    session: str
    branch: BranchName
    message: MessageId
    equal_messages: int


@dataclass(frozen=True, slots=True)
class BranchTip:
    """A branch of an imported session.

    active: the source's last message is on it
    continues: for a later file of the same session, the commit that it follows
    recorded: for a session that was recorded live, where the branch of this name was, on which it was recorded
    """

    name: BranchName
    tip: Oid
    entry: BranchEntry
    active: bool = False
    continues: Oid | None = None
    recorded: Oid | None = None


@dataclass(frozen=True, slots=True)
class CommittedSession:
    """A session that this run has imported, with the branches it has.

    complete: it begins with all the bytes of its previous import
    moved: its previous import went to another conversation
    replaces: where main was left by the event stream of the session, which its file replaces now
    contained: it is an event stream whose calls are all in the session file
    join: where a new session joined the conversation of one that begins with the same messages
    secrets: the ids of the possible secrets in its new messages
    directory: its working directory, if only another file of the agent tells it
    """

    key: str
    tips: list[BranchTip]
    title: str | None
    complete: bool = False
    moved: bool = False
    replaces: tuple[Oid, ...] = ()
    contained: bool = False
    join: JoinPoint | None = None
    secrets: frozenset[str] = frozenset()
    directory: str | None = None


@dataclass(slots=True)
class ImportTarget:
    """A conversation that this run imports into.

    conversation: None until the refs are updated, for a new conversation
    known: its messages, as far as they have been read
    tips: commits of its branches and sources before the run
    unread, read: those of `tips` whose messages are not, or are, in `known`
    walked: commits that `known` covers
    sessions: what this run has imported; `unchanged` are keys of sessions that stay as they are
    messages, new_messages: counted when all its sources are done
    """

    root: Oid
    document: Root
    conversation: ConversationId | None = None
    known: KnownMessages = field(default_factory=KnownMessages)
    tips: list[Oid] = field(default_factory=list)
    unread: list[Oid] = field(default_factory=list)
    read: list[Oid] = field(default_factory=list)
    walked: set[Oid] = field(default_factory=set)
    sessions: list[CommittedSession] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    messages: int = 0
    new_messages: int = 0

    @property
    def own_key(self) -> str | None:
        """Return the key of the session with which the conversation began; None if it was not imported."""
        own = self.document
        return None if own.format is None or own.native_id is None else source_key(own.format, own.native_id, None)

    @property
    def keys(self) -> list[str]:
        """Return the keys of the sessions of this run that belong to the conversation."""
        return [*self.unchanged, *(session.key for session in self.sessions)]


@dataclass(frozen=True, slots=True)
class TargetMatch:
    """The conversation of a session; `own` if it is named after the session, `parent` is the source that it continues.

    `missing_base` names the session it continues where that was never imported. `joined` is the source whose
    conversation it joined because both begin with the same messages; it is no `parent` if it went to another
    conversation since.
    """

    target: ImportTarget
    own: bool
    parent: str | None = None
    missing_base: str | None = None
    joined: str | None = None


class ImportTargets:
    """The conversations of one run, by root commit. Those of the store are read when a session needs them.

    formats: those that can read the stored sources, by name.
    index_directory: where to keep what was read of all conversations and sources; None to read it again
    """

    def __init__(
        self,
        repository: Repository,
        objects: Objects,
        formats: Sequence[Format] = (),
        index_directory: str | None = None,
    ) -> None:
        self.repository = repository
        self.objects = objects
        self._targets: dict[Oid, ImportTarget] = {}
        self._roots: dict[str, Oid] = {}
        self._conversations: ConversationRoots | None = None
        self._followed: dict[Oid | None, ConversationId] | None = None
        self._stored: dict[str, StoredRecord | None] = {}
        self._groups: dict[int, dict[Oid, ImportTarget]] = {}
        self._previous_roots: dict[str, Oid] = {}
        self.index_directory = index_directory
        self.formats = {known.name: known for known in formats}
        self.tracked: dict[str, list[Oid]] = {}
        for ref, oid in repository.list_refs(TRACKING).items():
            self.tracked.setdefault(ref[len(TRACKING) :].partition("/")[0], []).append(Oid(oid))
        self._reimported: set[Oid] = set()

    def begin(self, keys: Iterable[str]) -> None:
        """Name the sources of the run, before the first of them is matched."""
        self._reimported = {tip for key in self._session_keys(keys) for tip in self.tracked.get(key, ())}

    def __iter__(self) -> Iterator[ImportTarget]:
        """Iterate over the conversations in the order of their first use."""
        return iter(self._targets.values())

    def roots(self) -> Iterable[Oid]:
        """Return the roots of the conversations in the order of their first use."""
        return self._targets.keys()

    def replace_all(self, targets: Iterable[ImportTarget]) -> None:
        """Replace the conversations of the run by those that worker processes have used."""
        self._targets = {target.root: target for target in targets}

    def match(self, session: Session, group: int, joined: str | None = None) -> TargetMatch:
        """Find or create the conversation of a session; `joined` is the source whose conversation it belongs to."""
        for key in parent_source_keys(session):
            root = self._find_root(key)
            if root is not None:
                self._roots[source_key_of(session)] = root
                return TargetMatch(self.at(root, group), False, key)
        if joined is not None and not self.was_imported(source_key_of(session)) and self._find_live_root(session):
            joined = None
        match = None if joined is None else self._match_joined(source_key_of(session), joined, group)
        if match is not None:
            return match
        root = self._find_own_root(session) or self._find_stream_root(session) or self._find_written_root(session)
        live = None if root is not None else self._find_live_root(session)
        root = root or live or self._write_root(session)
        self._roots[source_key_of(session)] = root
        missing = session.base if session.sub_file is None else None
        own = session.sub_file in {None, STREAM} and live is None and not self.is_written(source_key_of(session), root)
        return TargetMatch(self.at(root, group), own, missing_base=missing)

    def at(self, root: Oid, group: int) -> ImportTarget:
        """Return the conversation with this root; it is used by a group of sources from now on."""
        if root not in self._targets:
            document = self._read_document(root)
            target = self._targets[root] = ImportTarget(root, document, self._find_conversation(root))
            if target.conversation is not None:
                target.tips = sorted(list_branch_tips(self.repository, target.conversation).values())
                target.unread = [tip for tip in target.tips if tip not in self._reimported]
        self._groups.setdefault(group, {})[root] = self._targets[root]
        return self._targets[root]

    def _read_document(self, root: Oid) -> Root:
        if root in self._targets:
            return self._targets[root].document
        return decode_root(find_blob(self.objects, read_commit(self.objects, root).tree, "message.json") or b"")

    def was_imported(self, key: str) -> bool:
        """Return True if the store has a session from a previous import."""
        return key in self._previous_roots or self.stored(key) is not None

    def has_conversation(self, root: Oid) -> bool:
        """Return True if the store has the conversation with this root."""
        return self._find_conversation(root) is not None

    def _find_conversation(self, root: Oid) -> ConversationId | None:
        """Return the conversation with this root; None if there is none.

        One with a branch where the last import of a source of this run left it is looked at first: to read all of them
        takes seconds if they are thousands, and the hook of an agent imports after every turn.
        """
        if self._conversations is None:
            if self._followed is None:
                heads = self.repository.list_refs(HEADS).items() if self._reimported else ()
                pairs = (split_branch_ref(ref) for ref, oid in heads if oid in self._reimported)
                found = {pair[0] for pair in pairs if pair is not None}
                self._followed = {find_root_of(self.repository, conversation): conversation for conversation in found}
            if root in self._followed:
                return self._followed[root]
        return self._listed().by_root.get(root)

    def _listed(self) -> ConversationRoots:
        if self._conversations is None:
            self._conversations = list_conversation_roots(self.repository, self.index_directory)
        return self._conversations

    def is_any_deleted(self) -> bool:
        """Return True if a conversation that the run would change was deleted since the run has found it."""
        return any(
            find_root_of(self.repository, target.conversation) != target.root
            for target in self
            if target.conversation is not None and target.sessions
        )

    def stored(self, key: str) -> StoredRecord | None:
        """Return the stored record of a source; None if it was never imported."""
        if key not in self._stored:
            ref = self.repository.find_ref(SOURCES + key)
            self._stored[key] = (
                None if ref is None else StoredRecord(Oid(ref), read_source_record(self.objects, Oid(ref)))
            )
        return self._stored[key]

    def roots_of(self, key: str) -> tuple[Oid, ...]:
        """Return the roots of the conversations that a source went to at its last import."""
        stored = self.stored(key)
        return () if stored is None else (stored.record.root, *stored.record.more_roots)

    def keep_unchanged(self, target: ImportTarget, key: str) -> None:
        """Leave a session of the conversation as the store has it."""
        target.unchanged.append(key)
        target.tips += self.tracked.get(key, ())
        target.unread += self.tracked.get(key, ())

    def read_known(self, target: ImportTarget, key: str, match: TargetMatch, sub_agent_fields: Sequence[str]) -> None:
        """Read the messages of a conversation before a session is imported into it.

        The result must be the same as if all sources of the run were imported at once, so sessions still to come are
        left out. With `match.own`, the session's own messages of the previous import are read too: nothing else made
        them, or another parser version did, whose messages are kept.
        """
        target.tips += self.tracked.get(key, ())
        sources = [match.parent] if match.parent is not None and match.parent not in target.keys else []
        sources += [key] if match.own else []
        tips = [*target.unread, *(tip for source in sources for tip in self.tracked.get(source, ()))]
        for commit in walk_oldest_first(self.objects, tips, target.walked):
            target.walked.add(commit.oid)
            if commit.parents and not is_root(commit):
                message = read_body(self.objects, commit)
                target.known.add_calls(message.parts, message_id_of(commit), sub_agent_fields)
                if OPEN not in message.extra:
                    target.known.commits.setdefault((message_id_of(commit), commit.parents[0]), commit.oid)
        target.read += tips
        target.unread = []

    def skip_known(self, target: ImportTarget, key: str) -> None:
        """Do as `read_known`, but know no message from before the run."""
        target.tips += self.tracked.get(key, ())
        target.unread = []

    def take_group(self, group: int) -> list[ImportTarget]:
        """Return the conversations that a group of sources has used, and forget the group."""
        return list(self._groups.pop(group, {}).values())

    def finish(self, target: ImportTarget, imported: Mapping[str, ImportedSession]) -> None:
        """Count the messages of a conversation and free what only further sources of it would need.

        If another source comes after all, the messages are read again from the written commits.
        """
        before = self._messages_below(target.tips)
        now = {identity for session in imported.values() for identity in session.ids.values()}
        latest = {session.key: session for session in target.sessions}  # the one that `imported` has
        rest = [done for done in target.sessions if done.key not in imported or done is not latest[done.key]]
        now |= self._messages_below([leaf.tip for session in rest for leaf in session.tips])
        replaced = {tip for done in target.sessions if done.complete for tip in self.tracked.get(done.key, ())}
        remaining = self._messages_below([tip for tip in target.tips if tip not in replaced])
        target.messages, target.new_messages = len(now | remaining), len(now - before)
        target.unread += [*target.read, *(leaf.tip for session in target.sessions for leaf in session.tips)]
        target.read, target.known, target.walked = [], KnownMessages(), set()

    def _messages_below(self, tips: Iterable[Oid]) -> set[MessageId]:
        return {message_id_of(commit) for commit in walk_newest_first(self.objects, tips) if not is_root(commit)}

    def _session_keys(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield the keys of sources and of all other sessions that they held at their last import."""
        for key in keys:
            yield key
            stored = self.stored(key)
            if stored is not None:
                self._previous_roots |= {key: stored.record.root, **dict(stored.record.sessions)}
                yield from (session for session, _ in stored.record.sessions)

    def _find_root(self, key: str) -> Oid | None:
        """Return the root of a source's conversation, from this run or from its stored record."""
        if key in self._roots:
            return self._roots[key]
        stored = self.stored(key)
        return None if stored is None else stored.record.root

    def _match_joined(self, key: str, joined: str, group: int) -> TargetMatch | None:
        """Return the conversation that a session belongs to since it joined another one, or will join now."""
        previous, current = self._previous_roots.get(key), self._find_root(joined)
        root = current if previous is None else previous
        if root is None or (previous is not None and not self.repository.has(previous)):
            return None
        self._roots[key] = root
        parent = joined if current == root else None
        return TargetMatch(self.at(root, group), False, parent, joined=joined)

    def _find_own_root(self, session: Session) -> Oid | None:
        """Return the root of the session's own conversation at its last import, even if its header has changed."""
        root = self._previous_roots.get(source_key_of(session))
        if root is None or not self.repository.has(root):
            return None
        return root if self._read_document(root).uuid == session_uuid(session.format, session.native_id) else None

    def is_written(self, key: str, root: Oid) -> bool:
        """Return True if `checkout` has written a session from the conversation with a root."""
        stored = self.stored(key)
        return stored is not None and stored.record.handover is not None and stored.record.root == root

    def _find_written_root(self, session: Session) -> Oid | None:
        """Return the root of the conversation that `checkout` has written the session from; None if it did not."""
        stored = self.stored(source_key_of(session))
        if stored is None or stored.record.handover is None or session.sub_file is not None:
            return None
        return stored.record.root if self.repository.has(stored.record.root) else None

    def _find_stream_root(self, session: Session) -> Oid | None:
        """Return the root of the conversation of the session's event stream, if that was imported before its file."""
        root = self._find_root(stream_key(session)) if session.sub_file is None else None
        if root is None or not self.repository.has(root):
            return None
        return root if self._read_document(root).uuid == session_uuid(session.format, session.native_id) else None

    def _find_live_root(self, session: Session) -> Oid | None:
        """Return the root of the conversation in which `scopes acp` recorded the session, deleted or not."""
        if not may_be_recorded(session):
            return None
        root = self._previous_roots.get(source_key_of(session))
        if root is not None and self.repository.has(root) and self._read_document(root).format == ACP:
            return root
        recorded = self._listed().by_live_session.get(session.native_id, ())
        return next((live.root for live in recorded if live.may_be(session)), None)

    def _write_root(self, session: Session) -> Oid:
        return write_root_commit(self.objects, root_of_session(session), {})


@dataclass(slots=True)
class ImportRun:
    """State of one import run, changed by `import_sources` and `import_source`.

    `targets` and `session_commits` change the import targets and the sessions in it.

    again: import conversations that were deleted here
    parents: sessions of this run that others may continue, by source key
    versions: version of each source's record, by source key
    sources, copies, notes: for the result
    missing_parents: sessions that continue one which is not imported, and that one
    records: ref changes of the sources' records
    paths: path of each source, by source key
    purged: what does not come back
    grown: what of it was purged before it was complete
    quotes: the texts of it that were met
    find_secrets: counts the secrets in new messages; None: they are not counted
    rereads: read sources as if nothing of them was stored
    broken: sources that could not be read to their end; nothing of them is in the run
    stopped: how many sources were left out because of Ctrl-C
    """

    repository: Repository
    objects: BulkObjects
    targets: ImportTargets
    again: bool = False
    find_secrets: SecretFinder | None = None
    parents: dict[str, ParentSession] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    sources: list[SourceImported] = field(default_factory=list)
    copies: list[Skipped] = field(default_factory=list)
    notes: list[Note | GroupedNote] = field(default_factory=list)
    missing_parents: dict[str, str] = field(default_factory=dict)
    broken: list[Skipped] = field(default_factory=list)
    stopped: int = 0
    rereads: bool = False
    purged: Purged = NOTHING
    grown: Purged = NOTHING
    quotes: Quotes = field(default_factory=Quotes)
    paths: dict[str, str] = field(default_factory=dict)
    records: RefTransaction = field(init=False)
    prunes: Prunes = field(init=False)

    def __post_init__(self) -> None:
        self.records = RefTransaction(self.repository)
        self.prunes = Prunes(self.repository.path)  # the lock is held, under which the objects are written

    def start_source(self) -> None:
        """Start new lists of results and changes, without those of the sources before."""
        self.sources, self.copies, self.notes, self.missing_parents, self.paths = [], [], [], {}, {}
        self.records, self.grown = RefTransaction(self.repository), NOTHING

    def take_back_source(self) -> None:
        """Forget what the source that was started last has added: it cannot be read to its end."""
        for target in self.targets:
            target.sessions = [session for session in target.sessions if session.key not in self.paths]
        self.start_source()

    def use_objects(self, objects: BulkObjects) -> None:
        """Write to another pack from now on."""
        self.objects = self.targets.objects = objects

    def is_overtaken(self) -> bool:
        """Return True if another process has imported a source or deleted a conversation since this run read it.

        Also if one has purged something: what this run has written is gone, as no ref has it yet.
        """
        changes = self.records.list_changes()
        return (
            self.prunes.have_run()
            or self.targets.is_any_deleted()
            or any(self.repository.find_ref(change.ref) != change.old for change in changes)
        )

    def release(self, group: int) -> None:
        """Free the memory that only the sources of a group needed."""
        for target in self.targets.take_group(group):
            imported: dict[str, ImportedSession] = {}
            for session in target.sessions:
                parent = self.parents[session.key]
                if parent.imported is not None:
                    imported[session.key], parent.imported = parent.imported, None
            self.targets.finish(target, imported)
