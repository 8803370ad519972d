"""What a session's first messages stand on, and what it may have copied from there: the source that it goes on from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from scopes.conversation.heads import is_root, message_id_of, read_message
from scopes.ids import MessageId, Oid
from scopes.importers.home import Homes, Joined
from scopes.importers.projection import Session
from scopes.importers.source_record import walk_segments
from scopes.importers.weaving import OPEN, Known, Segment, Thread
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Repository


@dataclass(slots=True)
class Beginnings:
    """The sources that others go on from: those of this run as they were woven, the others as they are stored."""

    repository: Repository
    homes: Homes
    threads: dict[str, Thread] = field(default_factory=dict)

    def start_of(self, session: Session, joined: Joined) -> tuple[MessageId | None, Oid]:
        """Return what a session's first messages stand on: the root, or a message of the source it goes on from.

        `details.end_byte_offset` tells how many of that source's bytes the session takes over. Its last message may
        still be open; when it changes, the session is woven anew.
        """
        end = session.details.get("end_byte_offset")
        nothing = None, joined.home.root
        if session.base is None or joined.earlier is None or not isinstance(end, int):
            return nothing
        last: MessageId | None = None
        for segment in self._segments_of(joined.earlier):
            if segment.message is not None and segment.span.offset + segment.span.length <= end:
                last = segment.message
        oid = None if last is None else self._find_message(joined.earlier, last)
        return nothing if oid is None else (last, oid)

    def open_messages(self, earlier: str | None) -> Known:
        """Return the messages of a source that a longer one may still change."""
        if earlier is None:
            return {}
        if earlier in self.threads:
            return self.threads[earlier].open
        found: Known = {}
        for tip in self.homes.tracked.get(earlier, ()):
            for commit in walk_newest_first(self.repository, [tip]):
                if is_root(commit) or OPEN not in read_message(self.repository, commit.oid).extra:
                    break
                found[message_id_of(commit), commit.parents[0]] = commit.oid
        return found

    def _segments_of(self, key: str) -> Iterable[Segment]:
        if key in self.threads:
            return self.threads[key].segments
        stored = self.homes.stored(key)
        return () if stored is None else walk_segments(self.repository, stored.commit)

    def _find_message(self, key: str, wanted: MessageId) -> Oid | None:
        if key in self.threads:
            thread = self.threads[key]
            return next((thread.oids[name] for name, identity in thread.ids.items() if identity == wanted), None)
        commits = walk_newest_first(self.repository, self.homes.tracked.get(key, ()))
        return next((commit.oid for commit in commits if message_id_of(commit) == wanted), None)
