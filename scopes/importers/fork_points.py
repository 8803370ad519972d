"""Find where a session continues another one: the commit that its first messages follow, and messages it shares.

`number_groups` groups sessions that continue each other, so that memory can be freed group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from scopes.history.messages import is_root, message_id_of, read_body
from scopes.ids import MessageId, Oid
from scopes.importers.archive import Segment, walk_segments
from scopes.importers.formats.events import Session
from scopes.importers.identity import parent_source_keys, source_key_of
from scopes.importers.session_commits import OPEN, Commits, ImportedSession
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Objects


@dataclass(slots=True)
class ParentSession:
    """A session that others may continue, from this run or from the store.

    `imported` is set until its group is done, in this run only; `record` is the commit of its source's record.
    """

    tips: Sequence[Oid]
    record: Oid | None = None
    imported: ImportedSession | None = None
    open: Commits = field(default_factory=dict)


def stored_parent(objects: Objects, tips: Sequence[Oid], record: Oid | None) -> ParentSession:
    """Return a session as the store has it; its open messages are those at its tips."""
    found: Commits = {}
    for tip in tips:
        for commit in walk_newest_first(objects, [tip]):
            if is_root(commit) or OPEN not in read_body(objects, commit).extra:
                break
            found[message_id_of(commit), commit.parents[0]] = commit.oid
    return ParentSession(tips, record, open=found)


def find_start(
    objects: Objects, session: Session, root: Oid, parent: ParentSession | None
) -> tuple[MessageId | None, Oid]:
    """Return the message and commit that a session's first messages follow; (None, root) at the beginning.

    `details.end_byte_offset` is how many bytes of the parent's source the session includes. The message that ends there
    may still be open; if it changes, the session is imported anew.
    """
    end = session.details.get("end_byte_offset")
    if session.base is None or parent is None or not isinstance(end, int):
        return None, root
    last: MessageId | None = None
    for segment in _segments_of(objects, parent):
        if segment.message is not None and segment.span.offset + segment.span.length <= end:
            last = segment.message
    oid = None if last is None else _find_message(objects, parent, last)
    return (None, root) if oid is None else (last, oid)


def number_groups(
    sessions: Sequence[Session],
    roots_of: Callable[[str], Iterable[Oid]],
    joined: Mapping[str, str] = MappingProxyType({}),
) -> list[int]:
    """Give sessions that continue each other, or share a conversation, one number (union-find).

    `roots_of` returns the root commits of the conversations that a source went to at its last import. `joined` maps the
    key of a session to that of the one whose conversation it joins.
    """
    parents: dict[str, str] = {}

    def find(name: str) -> str:
        while (above := parents.setdefault(name, name)) != name:
            parents[name] = parents[above]
            name = above
        return name

    for session in sessions:
        own = source_key_of(session)
        for key in (own, *parent_source_keys(session), *filter(None, [joined.get(own)])):
            for name in (key, *roots_of(key)):
                parents[find(name)] = find(own)
    numbers: dict[str, int] = {}
    return [numbers.setdefault(find(source_key_of(session)), len(numbers)) for session in sessions]


def _segments_of(objects: Objects, parent: ParentSession) -> Iterable[Segment]:
    if parent.record is not None:
        return walk_segments(objects, parent.record)
    return () if parent.imported is None else parent.imported.segments


def _find_message(objects: Objects, parent: ParentSession, wanted: MessageId) -> Oid | None:
    if parent.imported is not None:
        imported = parent.imported
        return next((imported.oids[key] for key, identity in imported.ids.items() if identity == wanted), None)
    commits = walk_newest_first(objects, parent.tips)
    return next((commit.oid for commit in commits if message_id_of(commit) == wanted), None)
