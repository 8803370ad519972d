"""Register a written session as a source of its conversation, so that its import goes on where the history ends.

The source has the exact bytes and what each record is: the importer's own reader is asked, and has to find every
message. A branch `AGENT/N` is where the agent's new messages go; it begins at the tip that was handed over.

The file of a session is written in two steps: a complete file waits under another name until the session is registered,
because a watcher that imports it at once has to know it. A file that scopes did not write, or that the agent has gone
on with, is never replaced, and an undo deletes only one that is as it was written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from itertools import count
from typing import BinaryIO, NamedTuple

from scopes.clock import now, seconds_of
from scopes.conversation.undo import Undone
from scopes.errors import Corrupt, Inaccessible, Refused
from scopes.exporters.atomic_save import prepared_file
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
    walk_chunks,
    write_source_paths,
)
from scopes.history.transaction import Transaction
from scopes.ids import AgentName, BranchName, MessageId, Oid
from scopes.importers.archive import Segment, write_source_record
from scopes.importers.branch_updates import tracking_ref
from scopes.importers.formats.base import Format, Source
from scopes.importers.formats.events import Draft, SessionRecord, Unparsed
from scopes.importers.identity import PARSER_VERSION
from scopes.model.canonical_json import decode_component
from scopes.model.conversation import BranchEntry
from scopes.model.operation import Operation
from scopes.regular_file import UnusableFile, open_regular
from scopes.result import Note
from scopes.secret_scan.clearance import Cleared
from scopes.secrets.gates import gate_of
from scopes.store.graph import walk_newest_first
from scopes.store.objects import read_commit
from scopes.store.operations import walk_operations
from scopes.store.refs import SOURCE_PATHS, RefNameConflicts
from scopes.store.repository import Repository

PURPOSE = "hand-over"
_ABANDONED = "abandoned/"
KIND = "checkout"
FILE = "handed_over"  # of the details of an operation: the file of the session, and its SHA-256
DATABASE = "handed_over_to"  # of those for an agent that has a database: its name, and the id of the session


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


def digest_of_file(path: str) -> str | None:
    """Return the SHA-256 of a file; None if there is none.

    Raises:
        Refused: it is not a regular file.
        Inaccessible: it cannot be read.
    """
    digest = sha256()
    with _opened(path) as file:
        if file is None:
            return None
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def begins_with(path: str, data: bytes) -> bool:
    """Return True if a file is there that begins with these bytes; raises as `digest_of_file` does."""
    with _opened(path) as file:
        return file is not None and file.read(len(data)) == data


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO | None]:
    """Open a file; None if there is none. Raises as `digest_of_file` does."""
    try:
        with open_regular(path) as file:
            yield file
    except FileNotFoundError:
        yield None
    except UnusableFile as error:
        raise Refused(f"{path} is not a file", hint="move it away") from error
    except OSError as error:
        raise Inaccessible(f"cannot read {path}: {error.strerror}", hint="check its permissions") from error


@contextmanager
def prepared_session(path: str, content: Cleared, *, replaces: bool) -> Iterator[Callable[[], int]]:
    """Write the file of a session for its owner alone, under another name, until what the block gets is called.

    replaces: a file of that name may be there. Else one that was just made stays.

    Raises:
        Refused: the name is taken.
        Inaccessible: the file or its folder cannot be written; nothing is left there.
    """
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise Inaccessible(f"cannot write {path}: {error.strerror}", hint="nothing was left there") from error
    with prepared_file(path, [content], force=replaces, mode=0o600) as place:
        yield place


def delete_unchanged(path: str, digest: str) -> bool:
    """Delete a file that still has this SHA-256; return False if it has not, or is gone."""
    try:
        if digest_of_file(path) != digest:
            return False
        os.unlink(path)
    except (OSError, Refused, Inaccessible):
        return False
    return True


def follow_undo(repository: Repository, undone: Undone) -> Undone:
    """Delete the file of a session whose registration was undone, if it is as it was written; write it after a redo.

    Raises:
        Inaccessible: it cannot be written again.
    """
    if undone.operation is None:
        return undone  # a dry run
    operation = _find_redone(repository, undone.target) if undone.redo else undone.target
    if operation is None or operation.kind != KIND:
        return undone
    written, added = operation.details.get(FILE), operation.details.get(DATABASE)
    if isinstance(added, Mapping) and not undone.redo:
        return replace(undone, notes=(*undone.notes, _note_added(added)))
    if not isinstance(written, Mapping):
        return undone
    path, digest = str(written.get("file")), str(written.get("sha256"))
    if undone.redo:
        note = None if _write_again(repository, operation, path) else Note(f"{path} is there, and stays as it is")
    elif delete_unchanged(path, digest):
        note = Note(f"deleted {path}")
    else:
        is_there = os.path.lexists(path)
        note = Note(f"{path} has changed since it was written, and stays", "delete it yourself") if is_there else None
    return undone if note is None else replace(undone, notes=(*undone.notes, note))


def _note_added(added: Mapping[str, object]) -> Note:
    """Return what becomes of a session in the database of an agent, from which scopes deletes nothing."""
    text = f"the session {added.get('session')} stays in the database of {added.get('agent')}"
    return Note(text, "an import makes a branch of it: delete it there first; or take undo back: scopes redo")


def _find_redone(repository: Repository, undo: Operation) -> Operation | None:
    """Return the operation that an undo took back."""
    return next((record for _, record in walk_operations(repository) if record.id == undo.undoes), None)


def _write_again(repository: Repository, operation: Operation, path: str) -> bool:
    """Write the session that an operation registered, unless there is a file; return whether it was written."""
    source = next((change.new for change in operation.changes if change.ref.startswith(SOURCES)), None)
    if source is None or digest_of_file(path) is not None:
        return False
    data = b"".join(walk_chunks(repository, Oid(source)))
    content = gate_of(repository, "allow").clear(data, "the session")  # it was cleared when it was written first
    with prepared_session(path, content, replaces=False) as place:
        place()
    return True
