"""Which conversation a session belongs to: its own, or that of the session it is a part of or began from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scopes.clock import format_seconds
from scopes.history.messages import is_root, message_id_of, read_message, write_root_commit
from scopes.history.metadata import read_metadata
from scopes.history.revparse import MAIN, conversation_ids, list_branch_tips
from scopes.history.sources import SOURCES, SourceRecord, read_source_record
from scopes.ids import ConversationId, MessageId, Oid
from scopes.importers.branch_names import BranchTip
from scopes.importers.commits import OPEN, ImportedSession, Known, note_calls
from scopes.importers.formats.events import Session
from scopes.importers.identity import parent_source_keys, session_uuid, source_key_of
from scopes.model.conversation import Root, decode_root
from scopes.result import Note
from scopes.store.graph import walk_newest_first, walk_oldest_first
from scopes.store.repository import Objects, Repository, read_commit
from scopes.store.trees import find_blob

_WANTED = "bring its parent in as well; both then share a conversation"
TRACKING = "refs/scopes/tracking/"
UNDATED = format_seconds(0)


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """What the store has of a source: the commit of its record, and the record."""

    commit: Oid
    record: SourceRecord


@dataclass(frozen=True, slots=True)
class CommittedSession:
    """A session that this run has read.

    `complete` tells that it holds all that it held at its last import, `moved` that this was in another conversation.
    """

    key: str
    leaves: list[BranchTip]
    title: str | None
    complete: bool = False
    moved: bool = False


@dataclass(slots=True)
class ImportTarget:
    """A conversation that sessions of this run go into; `conversation` is None until it has an id.

    `tips` are where it stood before the run, `read` those whose messages are among `known`, and `unread` those that are
    not yet. `messages` are counted when all its sources are in, and `new_messages`, those that this run brought.
    """

    root: Oid
    document: Root
    conversation: ConversationId | None = None
    known: Known = field(default_factory=dict)
    calls: dict[str, MessageId] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    tips: list[Oid] = field(default_factory=list)
    unread: list[Oid] = field(default_factory=list)
    read: list[Oid] = field(default_factory=list)
    learned: set[Oid] = field(default_factory=set)
    woven: list[CommittedSession] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    messages: int = 0
    new_messages: int = 0

    @property
    def keys(self) -> list[str]:
        """Name the sources of this run that belong here."""
        return [*self.kept, *(woven.key for woven in self.woven)]


@dataclass(frozen=True, slots=True)
class TargetMatch:
    """Where a session goes: its conversation, whether that is its own, and the source that it goes on from."""

    home: ImportTarget
    own: bool
    earlier: str | None = None


class ImportTargets:
    """The conversations of one run, by root; those of the store are read when a session needs them."""

    def __init__(self, repository: Repository, objects: Objects, keys: Iterable[str]) -> None:
        self._repository = repository
        self._objects = objects
        self._homes: dict[Oid, ImportTarget] = {}
        self._roots: dict[str, Oid] = {}
        self._conversations: dict[Oid, ConversationId] | None = None
        self._stored: dict[str, StoredRecord | None] = {}
        self._families: dict[int, dict[Oid, ImportTarget]] = {}
        self.family = 0
        self._begun: dict[str, Oid] = {}  # the roots of sessions at the last import of their sources
        self.tracked: dict[str, list[Oid]] = {}
        for ref, oid in repository.list_refs(TRACKING).items():
            self.tracked.setdefault(ref[len(TRACKING) :].partition("/")[0], []).append(Oid(oid))
        self._running: set[Oid] = {tip for key in self._sessions_of(keys) for tip in self.tracked.get(key, ())}

    def __iter__(self) -> Iterator[ImportTarget]:
        """Iterate over the conversations in the order in which they were first met."""
        return iter(self._homes.values())

    def join(self, session: Session, notes: list[Note]) -> TargetMatch:
        """Find a session's conversation; what is to be said about it is added to the notes."""
        for key in parent_source_keys(session):
            root = self._root_of(key)
            if root is not None:
                self._roots[source_key_of(session)] = root
                return TargetMatch(self.at(root), False, key)
        if session.base is not None and session.part is None:
            known = any(note.hint == _WANTED for note in notes)
            hint = None if known else _WANTED  # once is enough
            notes.append(Note(f"session {session.native_id} began from {session.base}, which is not here", hint))
        root = self._roots[source_key_of(session)] = self._find_own_root(session) or self._write_root(session)
        return TargetMatch(self.at(root), session.part is None)

    def at(self, root: Oid) -> ImportTarget:
        """Return the conversation of a root."""
        if root not in self._homes:
            if self._conversations is None:
                self._conversations = _roots_of(self._repository)
            tree = read_commit(self._objects, root).tree
            document = decode_root(find_blob(self._objects, tree, "message.json") or b"")
            home = self._homes[root] = ImportTarget(root, document, self._conversations.get(root))
            if home.conversation is not None:
                home.tips = sorted(list_branch_tips(self._repository, home.conversation).values())
                home.unread = [tip for tip in home.tips if tip not in self._running]
        self._families.setdefault(self.family, {})[root] = self._homes[root]
        return self._homes[root]

    def stored(self, key: str) -> StoredRecord | None:
        """Return what the store has of a source."""
        if key not in self._stored:
            ref = self._repository.find_ref(SOURCES + key)
            self._stored[key] = (
                None if ref is None else StoredRecord(Oid(ref), read_source_record(self._objects, Oid(ref)))
            )
        return self._stored[key]

    def roots_of(self, key: str) -> tuple[Oid, ...]:
        """Return what begins the conversations that a source went into at its last import."""
        stored = self.stored(key)
        return () if stored is None else (stored.record.root, *stored.record.more_roots)

    def keep(self, home: ImportTarget, key: str) -> None:
        """Let a session be as the store has it."""
        home.kept.append(key)
        home.tips += self.tracked.get(key, ())
        home.unread += self.tracked.get(key, ())

    def learn(self, home: ImportTarget, key: str, earlier: str | None, *, own: bool) -> None:
        """Read which messages and calls a conversation has, before the session of a source is woven into it.

        Only what would be there if all sources of the run came in at once: nothing of those that are still to come. Of
        the source itself only with `own`: where nothing but its own bytes has made its messages, or another parser has,
        whose work is kept.
        """
        home.tips += self.tracked.get(key, ())
        sources = [earlier] if earlier is not None and earlier not in home.keys else []
        wanted = [tip for source in [*sources, *([key] if own else [])] for tip in self.tracked.get(source, ())]
        tips = [*home.unread, *wanted]
        for commit in walk_oldest_first(self._objects, tips, home.learned):
            home.learned.add(commit.oid)
            if commit.parents and not is_root(commit):
                message = read_message(self._objects, commit.oid)
                note_calls(message.parts, message_id_of(commit), home.calls, home.agents)
                if OPEN not in message.extra:
                    home.known.setdefault((message_id_of(commit), commit.parents[0]), commit.oid)
        home.read += tips
        home.unread = []

    def of_family(self, family: int) -> list[ImportTarget]:
        """Return the conversations that a family of sources has gone into."""
        return list(self._families.pop(family, {}).values())

    def settle(self, home: ImportTarget, threads: Mapping[str, ImportedSession]) -> None:
        """Count a conversation's messages, and forget what only further sources of it would need.

        Should one come all the same, it is learned again from what is written.
        """
        before = self._messages_below(home.tips)
        now = {identity for thread in threads.values() for identity in thread.ids.values()}
        now |= self._messages_below([t.tip for woven in home.woven if woven.key not in threads for t in woven.leaves])
        left = {tip for woven in home.woven if woven.complete for tip in self.tracked.get(woven.key, ())}
        staying = self._messages_below([tip for tip in home.tips if tip not in left])
        home.messages, home.new_messages = len(now | staying), len(now - before)
        home.unread += [*home.read, *(leaf.tip for woven in home.woven for leaf in woven.leaves)]
        home.read, home.known, home.calls, home.agents, home.learned = [], {}, {}, {}, set()

    def _messages_below(self, tips: Iterable[Oid]) -> set[MessageId]:
        return {message_id_of(commit) for commit in walk_newest_first(self._objects, tips) if not is_root(commit)}

    def _sessions_of(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield the keys of sources, and of all other sessions that they held at their last import."""
        for key in keys:
            yield key
            stored = self.stored(key)
            if stored is not None:
                self._begun |= {key: stored.record.root, **dict(stored.record.sessions)}
                yield from (session for session, _ in stored.record.sessions)

    def _root_of(self, key: str) -> Oid | None:
        """Find the root of a source's conversation: from this run, or from its record."""
        if key in self._roots:
            return self._roots[key]
        stored = self.stored(key)
        return None if stored is None else stored.record.root

    def _find_own_root(self, session: Session) -> Oid | None:
        """Find what a session's own conversation began with at its last import, whatever its beginning says by now."""
        root = self._begun.get(source_key_of(session))
        if root is None or not self._repository.has(root):
            return None
        own = session_uuid(session.format, session.native_id)
        return root if self.at(root).document.uuid == own else None

    def _write_root(self, session: Session) -> Oid:
        document = Root(
            uuid=session_uuid(session.format, session.native_id),
            created=session.created or UNDATED,
            format=session.format,
            native_id=session.native_id,
            cwd=session.cwd,
        )
        return write_root_commit(self._objects, document, {})


def _roots_of(repository: Repository) -> dict[Oid, ConversationId]:
    """Return the root of every conversation that names it in its metadata."""
    found: dict[Oid, ConversationId] = {}
    for conversation in conversation_ids(repository):
        main = read_metadata(repository, conversation).branches.get(MAIN)
        if main is not None and main.fork is not None and is_root(read_commit(repository, main.fork)):
            found.setdefault(main.fork, conversation)
    return found
