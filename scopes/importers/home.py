"""Which conversation a session belongs to: its own, or that of the session it is a part of or began from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scopes.clock import format_seconds
from scopes.conversation.heads import is_root, read_message, walk_heads_oldest_first
from scopes.conversation.lookup import MAIN, branch_tips, conversation_ids
from scopes.conversation.message_commit import write_root_commit
from scopes.conversation.metadata import read_metadata
from scopes.conversation.source_record import SOURCES, read_source_record
from scopes.ids import ConversationId, MessageId, Oid
from scopes.importers.identity import session_uuid, source_key
from scopes.importers.projection import Session
from scopes.importers.source_record import walk_segments
from scopes.importers.weaving import OPEN, Segment, Thread
from scopes.model.conversation import Root, decode_root
from scopes.result import Note
from scopes.store.repository import Objects, Repository, read_commit
from scopes.store.trees import find_blob

UNDATED = format_seconds(0)


@dataclass(slots=True)
class Home:
    """A conversation that sessions of this run go into; `conversation` is None until it has an id."""

    root: Oid
    document: Root
    conversation: ConversationId | None = None
    known: dict[MessageId, Oid] = field(default_factory=dict)
    calls: dict[str, MessageId] = field(default_factory=dict)
    before: frozenset[MessageId] = frozenset()
    threads: list[tuple[str, Thread]] = field(default_factory=list)
    segments: dict[str, list[Segment]] = field(default_factory=dict)


class Homes:
    """The conversations of one run, by root; those of the store are read when a session needs them."""

    def __init__(self, repository: Repository, objects: Objects) -> None:
        self._repository = repository
        self._objects = objects
        self._homes: dict[Oid, Home] = {}
        self._roots: dict[tuple[str, str], Oid] = {}
        self._stored: dict[Oid, ConversationId] | None = None

    def __iter__(self) -> Iterator[Home]:
        """Iterate over the conversations in the order in which they were first met."""
        return iter(self._homes.values())

    def of(self, session: Session) -> tuple[Home, bool, list[Note]]:
        """Return a session's conversation, whether it is its own, and what is to be said about it."""
        notes: list[Note] = []
        wanted = session.native_id if session.part is not None else session.base
        if wanted is not None:
            root = self._find_root(session.format, wanted)
            if root is not None:
                return self._home(root), False, notes
            if session.part is None:
                hint = "bring its parent in as well; both then share a conversation"
                notes.append(Note(f"session {session.native_id} began from {wanted}, which is not here", hint))
        own = session.part is None
        home = self._home(self._write_root(session))
        if own:
            self._roots[session.format, session.native_id] = home.root
        return home, own, notes

    def start_of(self, session: Session, home: Home) -> tuple[MessageId | None, Oid]:
        """Return what a session's first messages stand on: the root, or a message of its base.

        `details.end_byte_offset` tells how much of the base's bytes the session takes over.
        """
        end = session.details.get("end_byte_offset")
        if session.base is None or not isinstance(end, int):
            return None, home.root
        last: MessageId | None = None
        for segment in self._segments_of(session.format, session.base, home):
            if segment.message is not None and segment.span.offset + segment.span.length <= end:
                last = segment.message
        oid = home.known.get(last) if last is not None else None
        return (last, oid) if oid is not None else (None, home.root)

    def _segments_of(self, format_name: str, native_id: str, home: Home) -> Iterable[Segment]:
        key = source_key(format_name, native_id, None)
        if key in home.segments:
            return home.segments[key]
        stored = self._repository.find_ref(SOURCES + key)
        return () if stored is None else walk_segments(self._objects, Oid(stored))

    def _find_root(self, format_name: str, native_id: str) -> Oid | None:
        """Find the root of a session's conversation: from this run, or from the record of its source."""
        root = self._roots.get((format_name, native_id))
        if root is None:
            stored = self._repository.find_ref(SOURCES + source_key(format_name, native_id, None))
            root = None if stored is None else read_source_record(self._objects, Oid(stored)).root
        return root

    def _write_root(self, session: Session) -> Oid:
        document = Root(
            uuid=session_uuid(session.format, session.native_id),
            created=session.created or UNDATED,
            format=session.format,
            native_id=session.native_id,
            cwd=session.cwd,
        )
        return write_root_commit(self._objects, document, {})

    def _home(self, root: Oid) -> Home:
        if root in self._homes:
            return self._homes[root]
        if self._stored is None:
            self._stored = _roots_of(self._repository)
        document = decode_root(find_blob(self._objects, read_commit(self._objects, root).tree, "message.json") or b"")
        home = self._homes[root] = Home(root, document, self._stored.get(root))
        if home.conversation is not None:
            _load_known(self._repository, home, home.conversation)
        return home


def _load_known(repository: Repository, home: Home, conversation: ConversationId) -> None:
    """Read which messages a conversation has; one that was open at its last import is to be written anew."""
    found: set[MessageId] = set()
    for head in walk_heads_oldest_first(repository, sorted(branch_tips(repository, conversation).values())):
        found.add(head.id)
        message = read_message(repository, head.oid)
        for part in message.parts:
            if part.type == "tool_call" and isinstance(part.fields.get("call_id"), str):
                home.calls[part.fields["call_id"]] = head.id
        if OPEN not in message.extra:
            home.known[head.id] = head.oid
    home.before = frozenset(found)


def _roots_of(repository: Repository) -> dict[Oid, ConversationId]:
    """Return the root of every conversation that names it in its metadata."""
    found: dict[Oid, ConversationId] = {}
    for conversation in conversation_ids(repository):
        main = read_metadata(repository, conversation).branches.get(MAIN)
        if main is not None and main.fork is not None and is_root(read_commit(repository, main.fork)):
            found.setdefault(main.fork, conversation)
    return found
