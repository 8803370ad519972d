"""Decide which sources a run imports and in which order: each session once, and parents before what continues them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain

from scopes import fast_json
from scopes.clock import parse_time
from scopes.errors import CannotImport, ScopesError
from scopes.importers.archive import digest_of
from scopes.importers.beginning import Beginning
from scopes.importers.branch_names import SHORT_ID
from scopes.importers.expand import expand_sources, find_folder_of
from scopes.importers.formats.base import (
    UNKNOWN_FORMAT,
    Format,
    Source,
    choose_format,
    name_source,
    read_session_with_messages,
)
from scopes.importers.formats.events import EDITION, FILE, Draft, Event, Session
from scopes.importers.identity import parent_source_keys, source_key_of
from scopes.importers.open_source import Opened, open_each
from scopes.importers.results import GroupedNote, Skipped, skip_unreadable
from scopes.result import Note

COPY = "copy"  # `details.line` of a file of a session that differs from the longest one, and its sub file
_MAX_NAMED = 5  # files in one error
_MANY_BYTES = 2 << 20  # of sources that take longer to read than the fast JSON library to load


@dataclass(frozen=True, slots=True)
class QueuedSource:
    """A source to import: its format, its first session, and the shorter copies that it contains.

    Sources that continue each other have the same `group` number. `joined` is the key of a source that begins with the
    same messages, if the session belongs to the conversation of that one. `beginning` is what joins are found by, where
    it was read already.
    """

    source: Source
    format: Format
    session: Session
    copies: tuple[Source, ...] = ()
    group: int = 0
    joined: str | None = None
    beginning: Beginning | None = field(default=None, compare=False)

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
    wants_beginning: Callable[[Session], bool] = lambda _: False,
    has_others: bool = False,
) -> list[QueuedSource]:
    """Find the format and session of every source; return those to import, in import order.

    Unreadable sources and those in no known format are added to `skipped`. Copies go with the longest source.
    `select` may leave out sources when only their headers have been read. `workers` is how many processes may open
    sources; `wants_beginning` tells whether to read the beginning of a session too. `has_others`: there are more
    sources than these, which are not to be opened.

    Raises:
        CannotImport, Inaccessible: a file that the user asked for was skipped, and `strict` is set or nothing is left;
            in a folder too, files are asked for if no source at all could be opened.
    """
    sources = expand_sources(sources, skipped)
    if sum(source.size for source in sources) >= _MANY_BYTES:
        fast_json.enable()
    opened = open_each(sources, formats, workers=workers, wants_beginning=wants_beginning)
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
            case (number, session, beginning):
                queue.append(QueuedSource(source, formats[number], session, beginning=beginning))
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
