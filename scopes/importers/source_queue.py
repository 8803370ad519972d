"""Decide which sources a run imports and in which order: each session once, and parents before what continues them.

A source is opened to find its format and its session. The sessions of other projects are left out, as are files that
another program made of a session that is there too. Of several files of a session the longest one is taken; copies go
with it, and a file that differs is a part of the session. A file that is only an older copy of what is stored is
replaced by the stored bytes: a source only grows, and importing it as it is would move the branches back.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain
from typing import TypeAlias

from scopes import fast_json
from scopes.clock import parse_time
from scopes.errors import CannotImport, ScopesError
from scopes.history.sources import (
    SOURCES,
    SourceRecord,
    find_source_record,
    read_source_record,
    source_key,
    walk_chunks,
    with_last_path,
)
from scopes.ids import Oid
from scopes.importers.archive import StoredCopy, StoredRecord, digest_of
from scopes.importers.expand import expand_sources, find_folder_of
from scopes.importers.formats.base import (
    UNKNOWN_FORMAT,
    Format,
    Source,
    choose_format,
    name_source,
    read_session,
    read_session_with_messages,
)
from scopes.importers.formats.events import EDITION, FILE, RENDERED_FROM, Draft, Event, Session
from scopes.importers.identity import SHORT_ID, parent_source_keys, source_key_of
from scopes.importers.results import GroupedNote, Skipped, skip_unreadable
from scopes.importers.workers import map_in_workers
from scopes.result import Note
from scopes.store.objects import Objects
from scopes.store.projects import Project
from scopes.store.repository import Repository

Opened: TypeAlias = "tuple[int, Session] | CannotImport | OSError | None"
"""The number of the format of a source, and its first session; None for a source without a message."""


def open_each(sources: Sequence[Source], formats: Sequence[Format], *, workers: int) -> list[Opened]:
    """Open sources, or find why they cannot be opened. Each is read as far as its first message."""
    return map_in_workers(lambda source: _open(source, formats), sources, workers)


def _open(source: Source, formats: Sequence[Format]) -> Opened:
    try:
        with name_source(source):
            chosen = choose_format(formats, source)
            session = read_session_with_messages(chosen, source)
    except (CannotImport, OSError) as error:
        return error
    return None if session is None else (formats.index(chosen), session)


COPY = "copy"  # `details.line` of a file of a session that differs from the longest one, and its sub file
_MAX_NAMED = 5  # files in one error
_MANY_BYTES = 2 << 20  # of sources that take longer to read than the fast JSON library to load


@dataclass(frozen=True, slots=True)
class QueuedSource:
    """A source to import: its format, its first session, and the shorter copies that it contains.

    Sources that continue each other have the same `group` number. `joined` is the key of a source that begins with the
    same messages, if the session belongs to the conversation of that one.
    """

    source: Source
    format: Format
    session: Session
    copies: tuple[Source, ...] = ()
    group: int = 0
    joined: str | None = None

    @property
    def parent_keys(self) -> list[str]:
        """Return the keys of sources that the session may continue, most likely first."""
        named = parent_source_keys(self.session)
        return named if self.joined is None else [*named, self.joined]

    @property
    def session_name(self) -> tuple[str, str]:
        """Return what all files of a session have in common."""
        return self.session.format, self.session.native_id


def open_sources(
    sources: Sequence[Source],
    formats: Sequence[Format],
    skipped: list[Skipped],
    *,
    strict: bool = False,
    select: Callable[[list[QueuedSource]], list[QueuedSource]] = lambda queue: queue,
    workers: int = 1,
    has_others: bool = False,
) -> list[QueuedSource]:
    """Find the format and session of every source; return those to import, in import order.

    Unreadable sources and those in no known format are added to `skipped`. Copies go with the longest source.
    `select` may leave out sources when only their headers have been read. `workers` is how many processes may open
    sources. `has_others`: there are more sources than these, which are not to be opened.

    Raises:
        CannotImport, Inaccessible: a file that the user asked for was skipped, and `strict` is set or nothing is left;
            in a folder too, files are asked for if no source at all could be opened.
    """
    sources = expand_sources(sources, skipped)
    if sum(source.size for source in sources) >= _MANY_BYTES:
        fast_json.enable()
    opened = open_each(sources, formats, workers=workers)
    queued = _sort(_merge_copies(select(_queue_all(sources, opened, formats, skipped, has_others=has_others)), skipped))
    errors = [(found, found.error) for found in skipped if found.error is not None]
    if errors and (strict or not (queued or has_others)):
        unknown = [found.path for found, _ in errors if found.reason == UNKNOWN_FORMAT]
        first, error = errors[0]
        raise _unknown_formats(unknown, error) if first.path in unknown and len(unknown) > 1 else error
    return queued


def check_any(sources: Sequence[Source], formats: Sequence[Format]) -> None:
    """Raise the error of `open_sources` if there is nothing to import; this reads no further than the first session.

    Raises:
        CannotImport, Inaccessible: none of the sources can be opened.
    """
    for source in chain.from_iterable(expand_sources([source], []) for source in sources):  # only as far as needed
        with suppress(CannotImport, OSError), name_source(source):
            if read_session_with_messages(choose_format(formats, source), source) is not None:
                return
    open_sources(sources, formats, [])


def drop_older(queue: list[QueuedSource], since: int, notes: list[Note | GroupedNote]) -> list[QueuedSource]:
    """Return the sources of sessions with a message at or after `since` (nanoseconds since 1970), or without times.

    Record times count, not the file's. The parts of a session stay together. A note says how many were left out.
    """
    latest: dict[tuple[str, str], list[int]] = {}
    for queued in queue:
        latest.setdefault(queued.session_name, []).extend(_newest_time(queued))
    kept = [queued for queued in queue if max(latest[queued.session_name], default=since) >= since]
    if len(kept) < len(queue):
        text = f"{len(queue) - len(kept)} of {len(queue)} transcripts were left out: all their messages are older"
        notes.append(Note(text))
    return kept


def _queue_all(
    sources: Sequence[Source],
    opened: Sequence[Opened],
    formats: Sequence[Format],
    skipped: list[Skipped],
    *,
    has_others: bool,
) -> list[QueuedSource]:
    queue = []
    refused: list[int] = []  # positions in `skipped`
    for source, found in zip(sources, opened, strict=True):
        match found:
            case CannotImport():
                refused.append(len(skipped))
                skipped.append(skip_failed(source, _name_folder(source, found)))
            case OSError():
                skipped.append(skip_unreadable(source.path, found, named=source.named))
            case None:
                skipped.append(Skipped(path=source.path, reason="contains no message"))
            case (number, session):
                queue.append(QueuedSource(source, formats[number], session))
    for position in refused if has_others or len(refused) < len(sources) else ():
        refusal = skipped[position]
        skipped[position] = refusal if refusal.named else replace(refusal, error=None, noted=False)
    return queue


def _name_folder(source: Source, error: CannotImport) -> CannotImport:
    """Return the error of a file; one of a folder that is a conversation as a whole names that folder."""
    folder = find_folder_of(source.path) if UNKNOWN_FORMAT in error.message else source.path
    if folder != source.path:
        error.hint = f"it is one file of a conversation: name its folder: scopes import {shlex.quote(folder)}"
    return error


def _unknown_formats(paths: Sequence[str], first: ScopesError) -> CannotImport:
    """Return one error for several files of unknown format; `first` is the error of the first of them."""
    named = ", ".join(paths[:_MAX_NAMED])
    more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
    return CannotImport(f"{len(paths)} files are of no known format: {named}{more}", hint=first.hint)


def drop_unreadable(queue: list[QueuedSource], skipped: list[Skipped]) -> list[QueuedSource]:
    """Return the sources that can still be read as far as when the import began; add the others to `skipped`."""
    kept = []
    for queued in queue:
        try:
            digest_of(queued.source, queued.source.size)
        except (OSError, CannotImport) as error:
            skipped.append(skip_failed(queued.source, error))
            continue
        copies = tuple(copy for copy in queued.copies if os.path.isfile(copy.stored_at))
        kept.append(replace(queued, copies=copies))
    return kept


def skip_failed(source: Source, error: OSError | CannotImport) -> Skipped:
    """Return the entry of a source that could be read at first, and then not any more, or not the same bytes."""
    if isinstance(error, OSError):
        return skip_unreadable(source.path, error, named=source.named)
    reason = error.message.removeprefix(f"{source.path}: ").removeprefix(f"{source.path} ")
    return Skipped(path=source.path, reason=reason, error=error, named=source.named, noted=True)


def _merge_copies(queue: list[QueuedSource], skipped: list[Skipped]) -> list[QueuedSource]:
    """Keep the longest source of every session; others are its copies, or parts of the session if they differ.

    If a source among several of one session cannot be read any more, it is added to `skipped`.
    """
    by_key: dict[str, list[QueuedSource]] = {}
    for queued in queue:
        by_key.setdefault(source_key_of(queued.session), []).append(queued)
    kept = []
    for candidates in by_key.values():
        same_session = candidates if len(candidates) == 1 else drop_unreadable(candidates, skipped)
        if not same_session:
            continue
        same_session.sort(key=lambda queued: (-edition_of(queued.session), -queued.source.size, queued.source.path))
        longest = same_session[0]
        others: list[QueuedSource] = []
        for queued in same_session[1:]:
            if _is_older_edition(queued, longest):
                reason = f"an older copy of {longest.source.path}, in an earlier layout"
                skipped.append(Skipped(path=queued.source.path, reason=reason, noted=queued.source.named))
                continue
            digest = digest_of(queued.source, queued.source.size)
            is_shorter = queued.source.size <= longest.source.size
            if is_shorter and digest == digest_of(longest.source, queued.source.size):
                longest = replace(longest, copies=(*longest.copies, queued.source))
            else:
                others.append(replace(queued, session=_as_part(queued.session, digest, longest.session)))
        kept += [*_merge_copies(others, skipped), longest]
    return kept


def _as_part(session: Session, digest: str, main: Session) -> Session:
    """Return the session of a file that differs from the main one of its session."""
    if session.sub_file is None and session.details.get(FILE) not in {None, main.details.get(FILE)}:
        return as_other_file(session)
    sub_file = f"{session.sub_file or COPY}-{digest[:SHORT_ID]}"
    return replace(session, sub_file=sub_file, details={"line": COPY, **session.details})


def edition_of(session: Session) -> int:
    """Return the number of the layout of a session's file."""
    edition: int = session.details.get(EDITION, 0)
    return edition


def _is_older_edition(queued: QueuedSource, newer: QueuedSource) -> bool:
    """Return True if a file was written anew in a later layout: that one has all of its messages."""
    if edition_of(queued.session) == edition_of(newer.session):
        return False
    return _message_ids(queued) <= _message_ids(newer)


def _message_ids(queued: QueuedSource) -> set[str]:
    """Return the agent's own ids of the messages of a source."""
    drafts = (event for event in queued.format.walk_events(queued.source) if isinstance(event, Draft))
    return {name for draft in drafts for name in draft.native_ids}


def name_of_file(file: str) -> str:
    """Return the sub file of a file of a session that is not the main one, by what the format tells them apart by."""
    return f"{COPY}-{sha256(file.encode('utf-8', 'surrogatepass')).hexdigest()[:SHORT_ID]}"


def as_other_file(session: Session) -> Session:
    """Return the session of a file that is not the main one."""
    details = {"line": COPY, **session.details}
    return replace(session, sub_file=name_of_file(session.details[FILE]), details=details)


def _sort(queue: list[QueuedSource]) -> list[QueuedSource]:
    """Sort by creation time, then by native id, with parents first; the order is the same on every machine."""
    return sort_parents_first(sorted(queue, key=sort_key))


def sort_parents_first(queue: Sequence[QueuedSource]) -> list[QueuedSource]:
    """Move every source after those that it continues."""
    by_key = {source_key_of(queued.session): queued for queued in queue}
    ordered: dict[str, QueuedSource] = {}
    for queued in queue:
        _add_after_parents(queued, by_key, ordered)
    return list(ordered.values())


def sort_key(queued: QueuedSource) -> tuple[int, bool, str, str]:
    """Return what sources are sorted by: creation time, then native id."""
    session = queued.session
    return (
        parse_time(session.created or "") or 0,
        session.sub_file is not None,
        session.native_id,
        session.sub_file or "",
    )


def _add_after_parents(queued: QueuedSource, by_key: dict[str, QueuedSource], ordered: dict[str, QueuedSource]) -> None:
    """Add a source after those that it continues, each once; a cycle is cut where it was entered."""
    line = {source_key_of(queued.session): queued}
    parent = _find_parent(queued, by_key)
    while parent is not None and (key := source_key_of(parent.session)) not in line and key not in ordered:
        line[key] = parent
        parent = _find_parent(parent, by_key)
    for key, member in reversed(line.items()):
        ordered.setdefault(key, member)


def _find_parent(queued: QueuedSource, by_key: dict[str, QueuedSource]) -> QueuedSource | None:
    return next((by_key[key] for key in queued.parent_keys if key in by_key), None)


def _walk_readable(queued: QueuedSource) -> Iterator[Event]:
    """Yield the events of a source until it cannot be read any more; the import reports that."""
    with suppress(OSError, CannotImport), name_source(queued.source):
        yield from queued.format.walk_events(queued.source)


def _newest_time(queued: QueuedSource) -> list[int]:
    """Return the time of the newest message of a source; an empty list if no message has a time.

    Reads the whole source, as an import does: messages need not be in the order of their times.
    """
    events = _walk_readable(queued)
    times = (parse_time(event.time) for event in events if isinstance(event, Draft) and event.time is not None)
    newest = max((time for time in times if time is not None), default=None)
    return [] if newest is None else [newest]


@dataclass(slots=True)
class ProjectFilter:
    """Selects the sessions of some projects, None for all; `left_out` are the names of the other sessions.

    is_stored: tells of the key of a source whether the store has it
    """

    projects: Sequence[Project] | None
    is_stored: Callable[[str], bool]
    left_out: set[tuple[str, str]] = field(default_factory=set)
    _found: bool = False

    def select(self, queue: list[QueuedSource]) -> list[QueuedSource]:
        """Return the sources to import.

        A file that the user named is always among them, and a session that the store has: a project may be moved. A
        session is imported with all its files, such as those of its sub-agents, if one of them is. A session without a
        recorded directory belongs to no project.
        """
        if self.projects is None:
            return queue
        directories = {directory for queued in queue if (directory := _directory_of(queued)) is not None}
        ours = {path for project in self.projects for path in project.find(directories)}
        selected = {
            queued.session_name
            for queued in queue
            if queued.source.named or _directory_of(queued) in ours or self.is_stored(source_key_of(queued.session))
        }
        self._found = self._found or bool(selected)
        self.left_out |= {queued.session_name for queued in queue} - selected
        return [queued for queued in queue if queued.session_name in selected]

    def notes(self) -> tuple[Note, ...]:
        """Return a note with the number of sessions that were left out, if any were; none is of a missing directory."""
        count = len(self.left_out)
        if not count:
            return ()
        missing = [each.text for each in self.projects or () if not self._found and not os.path.isdir(each.directory)]
        if missing:
            return (Note(f"no session is of {missing[0]}, which is no directory", hint="to import all: --project all"),)
        sessions = "1 session of another project was" if count == 1 else f"{count} sessions of other projects were"
        return (Note(f"{sessions} left out", hint="import all of them with: --project all"),)


def _directory_of(queued: QueuedSource) -> str | None:
    return queued.session.cwd or queued.session.local_directory


def drop_rendered(repository: Repository, queue: Sequence[QueuedSource], skipped: list[Skipped]) -> list[QueuedSource]:
    """Return the queue without renderings of sessions that the store has, or gets now; those are added to `skipped`."""
    keys = {source_key_of(queued.session) for queued in queue}
    kept = []
    for queued in queue:
        key = _key_of_original(queued.session)
        if key is None or (key not in keys and repository.find_ref(SOURCES + key) is None):
            kept.append(queued)
            continue
        agent, name = queued.session.details[RENDERED_FROM]
        which = "a session" if agent == queued.session.format else f"session {name}"  # an agent has many of its own
        reason = f"made of {which} of {agent}, which is imported itself"
        skipped.append(Skipped(path=queued.source.path, reason=reason, named=queued.source.named))
    return kept


def _key_of_original(session: Session) -> str | None:
    """Return the key of the session that a source was made of; None if it does not say."""
    original = session.details.get(RENDERED_FROM)
    return None if original is None else source_key(original[0], original[1], None)


def use_stored_source(objects: Objects, stored: StoredRecord | None, queued: QueuedSource) -> QueuedSource:
    """Return the source as it is stored, with the file as its copy, if the file is an older copy; else unchanged.

    Raises:
        CannotImport: parts of what is stored were purged, so that nobody can tell.
    """
    if stored is None or stored.record.size <= queued.source.size:
        return queued
    if stored.record.purged:  # what was stored of it can no longer be compared with the file
        raise CannotImport("it is shorter than what was imported of it before, of which messages were purged")
    if _digest_of_prefix(objects, stored.commit, queued.source.size) != digest_of(queued.source, queued.source.size):
        return queued
    source = StoredCopy(queued.source.path, stored.record.size, objects, stored.commit)
    session = read_session(queued.format, source)
    if session is not None:
        queued = replace(
            queued, session=replace(session, sub_file=queued.session.sub_file, details=queued.session.details)
        )
    return replace(queued, source=source, copies=(queued.source, *queued.copies))


def list_stored_sources(
    repository: Repository, formats: Sequence[Format], skipped: list[Skipped]
) -> list[QueuedSource]:
    """Return all stored sources in the order of an import, to be read again; those that cannot be are skipped.

    Sessions that `checkout` has written are left out: their messages are those of the conversation.
    """
    by_name = {each.name: each for each in formats}
    queue = []
    for ref, oid in sorted(repository.list_refs(SOURCES).items()):
        record = with_last_path(repository, read_source_record(repository, Oid(oid)))
        if record.handover is not None:
            continue
        queued = None if record.purged else _open_stored(repository, Oid(oid), record, by_name.get(record.format))
        if queued is None or source_key_of(queued.session) != ref.removeprefix(SOURCES):
            skipped.append(Skipped(path=record.file_name, reason="cannot be read again; its messages stay as they are"))
        else:
            queue.append(queued)
    return sort_parents_first(sorted(queue, key=sort_key))


def _open_stored(objects: Objects, commit: Oid, record: SourceRecord, chosen: Format | None) -> QueuedSource | None:
    """Return a stored source as an import would queue it; None if its format is not known or cannot read it."""
    source = StoredCopy(record.file_name, record.size, objects, commit)
    session = None
    with suppress(CannotImport), name_source(source):
        session = None if chosen is None else read_session(chosen, source)
    if session is None or chosen is None:
        return None
    is_copy = session.sub_file != record.part and not session.is_stream  # of another file of the session
    details = {"line": COPY, **session.details} if is_copy else session.details
    return QueuedSource(source, chosen, replace(session, sub_file=record.part, details=details))


def _digest_of_prefix(objects: Objects, commit: Oid, size: int) -> str:
    digest = sha256()
    for chunk in walk_chunks(objects, commit):
        digest.update(chunk[:size])
        size -= min(size, len(chunk))
        if not size:
            break
    return digest.hexdigest()


def name_session_files(repository: Repository, objects: Objects, queue: Sequence[QueuedSource]) -> list[QueuedSource]:
    """Return the queue with the file of each session that was the main one at its last import as the main one again."""
    return [_name(repository, objects, queued) for queued in queue]


def _name(repository: Repository, objects: Objects, queued: QueuedSource) -> QueuedSource:
    session = queued.session
    file = session.details.get(FILE)
    other = None if file is None else name_of_file(file)
    if file is None or session.sub_file not in {None, other}:
        return queued
    main = _find_main_file(repository, objects, queued)
    if main is None or FILE not in main.details:
        return queued
    is_main = main.details[FILE] == file and edition_of(main) <= edition_of(session)
    if is_main == (session.sub_file is None):
        return queued
    details = {name: value for name, value in session.details.items() if name != "line"}
    named = replace(session, sub_file=None, details=details) if is_main else as_other_file(session)
    return replace(queued, session=named)


def _find_main_file(repository: Repository, objects: Objects, queued: QueuedSource) -> Session | None:
    """Return the session as the stored main file begins it; None if there is none, or it is this one."""
    key = source_key(queued.session.format, queued.session.native_id, None)
    record, commit = find_source_record(repository, key), repository.find_ref(SOURCES + key)
    if record is None or commit is None or record.purged:
        return None
    if queued.session.sub_file is None and with_last_path(repository, record).path == queued.source.path:
        return None
    stored = StoredCopy(queued.source.path, record.size, objects, Oid(commit))
    return read_session(queued.format, stored)
