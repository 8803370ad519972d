"""What a session's first messages stand on, and what it may have copied from there: the source that it goes on from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scopes.history.messages import is_root, message_id_of, read_message
from scopes.ids import MessageId, Oid
from scopes.importers.archive import walk_segments
from scopes.importers.commits import OPEN, ImportedSession, Known, Segment
from scopes.importers.formats.events import Session
from scopes.importers.identity import parent_source_keys, source_key_of
from scopes.importers.targets import ImportTargets, TargetMatch
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Objects


@dataclass(slots=True)
class FinishedSession:
    """A session that this run has woven: its thread until its family is in, and its record once its source is."""

    thread: ImportedSession | None
    tips: list[Oid]
    open: Known
    record: Oid | None = None


@dataclass(slots=True)
class ForkPoints:
    """The sources that others go on from: those of this run as they were woven, the others as they are stored."""

    objects: Objects
    homes: ImportTargets
    ended: dict[str, FinishedSession] = field(default_factory=dict)

    def add(self, key: str, thread: ImportedSession, tips: list[Oid]) -> None:
        """Let others go on from a session."""
        self.ended[key] = FinishedSession(thread, tips, thread.open)

    def keep_record(self, key: str, record: Oid) -> None:
        """Forget what every byte of a session became, since its source's record tells."""
        ended = self.ended[key]
        ended.record = record
        if ended.thread is not None:
            ended.thread.segments = []

    def let_go(self, key: str) -> ImportedSession | None:
        """Forget a session's thread; returns it, if it was there still."""
        ended = self.ended[key]
        thread, ended.thread = ended.thread, None
        return thread

    def start_of(self, session: Session, joined: TargetMatch) -> tuple[MessageId | None, Oid]:
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
        if earlier in self.ended:
            return self.ended[earlier].open
        found: Known = {}
        for tip in self.homes.tracked.get(earlier, ()):
            for commit in walk_newest_first(self.objects, [tip]):
                if is_root(commit) or OPEN not in read_message(self.objects, commit.oid).extra:
                    break
                found[message_id_of(commit), commit.parents[0]] = commit.oid
        return found

    def _segments_of(self, key: str) -> Iterable[Segment]:
        ended, stored = self.ended.get(key), self.homes.stored(key)
        if ended is not None and ended.record is None and ended.thread is not None:
            return ended.thread.segments
        record = ended.record if ended is not None else None if stored is None else stored.commit
        return () if record is None else walk_segments(self.objects, record)

    def _find_message(self, key: str, wanted: MessageId) -> Oid | None:
        ended = self.ended.get(key)
        if ended is not None and ended.thread is not None:
            thread = ended.thread
            return next((thread.oids[name] for name, identity in thread.ids.items() if identity == wanted), None)
        commits = walk_newest_first(self.objects, self.homes.tracked.get(key, ()) if ended is None else ended.tips)
        return next((commit.oid for commit in commits if message_id_of(commit) == wanted), None)


def number_families(sessions: Sequence[Session], homes: ImportTargets) -> list[int]:
    """Give each session the number of its family: those that go on from each other, now or in what the store has."""
    heads: dict[str, str] = {}

    def head_of(name: str) -> str:
        while (above := heads.setdefault(name, name)) != name:
            heads[name] = heads[above]
            name = above
        return name

    for session in sessions:
        for key in (source_key_of(session), *parent_source_keys(session)):
            for name in (key, *homes.roots_of(key)):
                heads[head_of(name)] = head_of(source_key_of(session))
    numbers: dict[str, int] = {}
    return [numbers.setdefault(head_of(source_key_of(session)), len(numbers)) for session in sessions]
