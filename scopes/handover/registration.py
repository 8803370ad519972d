"""Register a written session as a source of its conversation, so that its import goes on where the history ends.

The source has the exact bytes and what each record is: the importer's own reader is asked, and has to find every
message. A branch `AGENT/N` is where the agent's new messages go; it begins at the tip that was handed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from itertools import count
from typing import BinaryIO, NamedTuple

from scopes.clock import now, seconds_of
from scopes.errors import Corrupt
from scopes.history.handles import BranchHandle
from scopes.history.messages import message_id_of
from scopes.history.names import find_root_commit
from scopes.history.sources import (
    SOURCES,
    TRACKING,
    Handover,
    SourceRecord,
    find_source_record,
    source_key,
    write_source_paths,
)
from scopes.history.transaction import Transaction
from scopes.ids import AgentName, BranchName, MessageId, Oid
from scopes.importers.archive import Segment, write_source_record
from scopes.importers.branch_updates import tracking_ref
from scopes.importers.formats.base import Format, Source
from scopes.importers.formats.events import Draft, SessionRecord, Unparsed
from scopes.importers.identity import PARSER_VERSION
from scopes.model.conversation import BranchEntry
from scopes.model.encoding import decode_component
from scopes.store.graph import walk_newest_first
from scopes.store.objects import read_commit
from scopes.store.refs import SOURCE_PATHS, RefNameConflicts

PURPOSE = "hand-over"
_ABANDONED = "abandoned/"


@dataclass(frozen=True, slots=True)
class WrittenSource(Source):
    """The bytes of a session that is being written."""

    data: bytes

    def open(self) -> BinaryIO:
        """Open the bytes for reading."""
        return BytesIO(self.data)


class WrittenSession(NamedTuple):
    """A session as it is written: its bytes, and where the agent finds it."""

    format: str
    native_id: str
    path: str
    data: bytes
    created: str


@dataclass(frozen=True, slots=True)
class Registered:
    """What the store has of a written session.

    branch: where the messages of the agent go.
    digest: of the session as it was stored last.
    is_continued: the agent has added messages.
    is_imported: it is here as a session that was imported, because its registration was undone before.
    """

    branch: BranchName
    digest: str
    is_continued: bool
    is_imported: bool = False


def find_registered(branch: BranchHandle, format_name: str, native_id: str) -> Registered | None:
    """Return what the store has of a session that was written from the tip of a branch; None if it was not."""
    repository, key = branch.repository, source_key(format_name, native_id, None)
    record = find_source_record(repository, key)
    if record is None or record.root != root_of(branch):
        return None
    if record.handover is None:
        followed = _find_followed(branch, key)
        return None if followed is None else Registered(followed, record.digest, is_continued=True, is_imported=True)
    tip = repository.find_ref(tracking_ref(key, record.handover.branch))
    return Registered(record.handover.branch, record.digest, tip != branch.tip)


def _find_followed(branch: BranchHandle, key: str) -> BranchName | None:
    """Return the branch on which an import continues a session; None if none is left."""
    tips = branch.conversation.tips
    prefix = f"{TRACKING}{key}/"
    tracked = [decode_component(ref.removeprefix(prefix)) for ref in branch.repository.list_refs(prefix)]
    found = sorted(filter(tips.__contains__, tracked), key=lambda name: name.startswith(_ABANDONED))
    return BranchName(found[0]) if found else None


def added_messages(branch: BranchHandle, registered: Registered) -> int:
    """Return how many messages an agent has added to a session that was written from the tip of a branch."""
    tip = branch.conversation.tips.get(registered.branch)
    if tip is None:
        return 0
    return sum(1 for _ in walk_newest_first(branch.repository, [tip], {branch.tip}))


def root_of(branch: BranchHandle) -> Oid | None:
    """Return the root commit of the conversation of a branch."""
    return find_root_commit(branch.repository, branch.conversation.id)


def choose_branch(branch: BranchHandle, agent: str) -> BranchName:
    """Return the first free name `AGENT/N` in the conversation; with a hyphen if a branch has the name of the agent.

    The branch of the same hand-over, which came from another store, is taken if nothing was added to it.
    """
    tips, entries = branch.conversation.tips, branch.conversation.metadata.branches
    for name, entry in entries.items():
        if (entry.purpose, entry.agent, entry.fork) == (PURPOSE, agent, branch.tip) == (PURPOSE, agent, tips.get(name)):
            return name
    names = RefNameConflicts(tips)
    separator = "/" if names.find(f"{agent}/0") in {None, f"{agent}/0"} else "-"
    candidates = (f"{agent}{separator}{number}" for number in count(1))
    return BranchName(next(name for name in candidates if names.find(name) is None))


def read_segments(chosen: Format, source: Source, owners: Mapping[int | str, MessageId]) -> list[Segment]:
    """Return what each record of a written session is; `owners` are the messages by offset, or by native id.

    Raises:
        Corrupt: the reader of the agent's sessions does not find what was written.
    """
    segments: list[Segment] = []
    for event in chosen.walk_events(source):
        match event:
            case Draft():
                segments += _segments_of(event, owners)
            case SessionRecord():
                segments += [Segment(span, state=event.key) for span in event.spans]
            case Unparsed():
                raise Corrupt(f"a record of the written session cannot be read: {event.reason}")
    return sorted(segments, key=lambda segment: segment.span.offset)


def _segments_of(draft: Draft, owners: Mapping[int | str, MessageId]) -> list[Segment]:
    """Return what the records of a draft are: what is one answer for an agent may be several messages in a row here.

    Raises:
        Corrupt: nothing of it is of a message.
    """
    named = next((owners[name] for name in draft.native_ids if name in owners), None)
    found = [owners.get(span.offset, named) for span in draft.spans]
    owner = next((each for each in reversed(found) if each is not None), None)
    if owner is None:
        raise Corrupt(f"a message of the written session is not one of the conversation: {draft.key}")
    return [
        Segment(span, message=each or owner, native_ids=draft.native_ids)
        for span, each in zip(draft.spans, found, strict=True)
    ]


def register(
    branch: BranchHandle, name: BranchName, session: WrittenSession, segments: Sequence[Segment]
) -> Transaction:
    """Return the transaction that registers a session, with its branch; needs the exclusive lock, commits nothing."""
    repository, tip, source = branch.repository, branch.tip, describe(branch, name, session)
    key = source_key(source.format, source.native_id, None)
    transaction = Transaction(repository, branch.conversation.id)
    if name not in branch.conversation.tips:
        transaction.create_branch(name, tip)
        agent = AgentName(source.format)
        entry = BranchEntry(purpose=PURPOSE, agent=agent, parent=branch.name, fork=tip, created=now())
        transaction.set_branch_entry(name, entry)
    before, stored = repository.find_ref(SOURCES + key), find_source_record(repository, key)
    if stored is None or replace(stored, path=source.path) != source:
        stream, previous = BytesIO(session.data), None if before is None else Oid(before)
        time = seconds_of(session.created)
        commit = write_source_record(repository, previous, source, stream, list(segments), time=time)
        transaction.move_ref(SOURCES + key, before, commit)
    wanted = tracking_ref(key, name)
    for ref, oid in repository.list_refs(f"{TRACKING}{key}/").items():
        if ref != wanted:
            transaction.move_ref(ref, oid, None)
    transaction.move_ref(wanted, repository.find_ref(wanted), tip)
    known = repository.find_ref(SOURCE_PATHS)
    paths = write_source_paths(repository, None if known is None else Oid(known), {key: source.path})
    transaction.move_ref(SOURCE_PATHS, known, paths)
    return transaction


def describe(branch: BranchHandle, name: BranchName, session: WrittenSession) -> SourceRecord:
    """Return the description of a written session."""
    root = root_of(branch)
    if root is None:
        raise Corrupt(f"the root of {branch.conversation.id} is damaged", hint="see: scopes verify")
    tip = message_id_of(read_commit(branch.repository, branch.tip))
    return SourceRecord(
        format=session.format, native_id=session.native_id, part=None, size=len(session.data),
        digest=sha256(session.data).hexdigest(), parser=PARSER_VERSION, path=session.path, root=root,
        handover=Handover(tip, name),
    )  # fmt: skip
