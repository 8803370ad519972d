"""Sessions on the list of what was purged, and which of them an import takes nevertheless: those of what is here.

The list may name a session of a conversation that was never purged: it may be somebody else's, or the session has
several files. Such a session is taken where it belongs: where its source was imported, or if the conversation begins
with it. That it only begins like a conversation which is here opens no door. One that `scopes acp` recorded again since
then is taken from there on, see `after_purge`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from scopes.clock import parse_time
from scopes.errors import CannotImport
from scopes.history.messages import write_root_commit
from scopes.history.sources import SOURCES, Purged, find_source_record, name_of_live_session, source_key
from scopes.ids import ConversationId, Oid
from scopes.importers.conversation_roots import list_conversation_roots
from scopes.importers.formats.events import Session
from scopes.importers.identity import session_uuid, source_key_of
from scopes.importers.targets import MIN_SESSION_ID, ImportTarget, TargetMatch, may_be_recorded, root_of_session
from scopes.model.conversation import ACP
from scopes.store.objects import ObjectsInMemory
from scopes.store.repository import Repository

STAYS_OUT = "what was purged does not come back; begin a new session of the agent to go on"


class _Imported(NamedTuple):
    """Where a session was imported; `is_whole` if nothing of its source was left out."""

    root: Oid
    is_whole: bool


class ListedSessions:
    """The sessions that are on the list, compared with what the store has."""

    def __init__(self, repository: Repository, purged: Purged) -> None:
        self._repository = repository
        self._purged = purged

    def is_listed(self, session: Session) -> bool:
        """Return True if a session, or the recorded one that it is a copy of, belonged to a purged conversation."""
        return any(map(self._purged.has_conversation, _names_of(session)))

    def is_left_out(self, session: Session) -> bool:
        """Return True for a session of a purged conversation if the store has no conversation that it is of."""
        if not self._purged.conversations:
            return False
        own = self._own_root(session)
        if self._purged.has_conversation(own):
            return True
        return self.is_listed(session) and not any(map(self._is_here, (own, *self._imported_into(session))))

    def is_of(self, session: Session, target: ImportTarget) -> bool:
        """Return True if a session belongs to a conversation that is here, and does not only begin like it."""
        if not self._is_here(target.root):
            return False
        is_own = target.document.uuid == session_uuid(session.format, session.native_id)
        return is_own or target.root in self._imported_into(session)

    def is_whole(self, session: Session, target: ImportTarget) -> bool:
        """Return True if the source of a session was imported into a conversation, and nothing was left out of it."""
        return _Imported(target.root, is_whole=True) == self._find_imported(source_key_of(session))

    def check(self, session: Session, match: TargetMatch) -> None:
        """Raise if a session would bring a purged conversation back.

        Raises:
            CannotImport: it would.
        """
        target = match.target
        if self._purged.has_conversation(target.root):
            raise CannotImport("its conversation was purged", hint=STAYS_OUT)
        if self.is_listed(session) and not self.is_of(session, target) and not _is_recorded_again(session, match):
            like = "" if target.conversation is None else f"; {target.conversation} only has the same beginning"
            raise CannotImport(f"its conversation was purged{like}", hint=STAYS_OUT)

    def _is_here(self, root: Oid) -> bool:
        return root in self._here and not self._purged.has_conversation(root)

    def _own_root(self, session: Session) -> Oid:
        return write_root_commit(ObjectsInMemory(self._repository), root_of_session(session), {})

    def _imported_into(self, session: Session) -> Iterator[Oid]:
        """Yield where the source of a session was imported, or as a whole, that of which it is a part or a copy."""
        found = self._find_imported(source_key_of(session))
        if found is not None:
            yield found.root
        for name in filter(None, (session.native_id, session.base)):
            main = self._find_imported(source_key(session.format, name, None))
            if main is not None and main.is_whole:
                yield main.root

    def _find_imported(self, key: str) -> _Imported | None:
        record = find_source_record(self._repository, key)
        return self._others.get(key) if record is None else _Imported(record.root, is_whole=not record.purged)

    @cached_property
    def _here(self) -> dict[Oid, ConversationId]:
        return list_conversation_roots(self._repository, self._repository.caller.index_directory).by_root

    @cached_property
    def _others(self) -> dict[str, _Imported]:
        """The sessions after the first one of each source; whether one was left out of it says nothing of them."""
        keys = [ref.removeprefix(SOURCES) for ref in self._repository.list_refs(SOURCES)]
        records = filter(None, (find_source_record(self._repository, key) for key in keys))
        return {key: _Imported(root, is_whole=True) for record in records for key, root in record.sessions}


def _names_of(session: Session) -> Iterator[str]:
    """Yield what a session of a purged conversation is listed by; a part of a session goes with it.

    So does a copy of a session that was recorded live: its messages have other ids there, and tell nothing.
    """
    yield source_key_of(session)
    if session.sub_file is not None:
        yield source_key(session.format, session.native_id, None)
    is_copy = session.base is not None and session.sub_file is None and "end_byte_offset" not in session.details
    for name in (session.native_id, session.base if is_copy else None):
        if name is not None and len(name) >= MIN_SESSION_ID:
            yield name_of_live_session(name)


def _is_recorded_again(session: Session, match: TargetMatch) -> bool:
    """Return True if `scopes acp` recorded a session since it was purged; a part of one must begin later."""
    target = match.target
    if target.conversation is None or target.document.format != ACP or match.joined is not None:
        return False
    if may_be_recorded(session):
        return match.parent is None
    since, recorded = parse_time(session.created or ""), parse_time(target.document.created)
    return session.sub_file is not None and since is not None and recorded is not None and since >= recorded
