"""Which sources a run reads, and in which order: every session once, and what others began from before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scopes.clock import parse_time
from scopes.errors import CannotImport
from scopes.importers.archive import digest_of
from scopes.importers.branch_names import SHORT_ID
from scopes.importers.formats.base import Format, Source, choose_format
from scopes.importers.formats.events import Draft, Session
from scopes.importers.identity import parent_source_keys, source_key_of
from scopes.importers.results import Skipped, skip_unreadable
from scopes.result import Note


@dataclass(slots=True)
class QueuedSource:
    """A source that was opened: its format, the session that it begins with, and the copies that it contains."""

    source: Source
    format: Format
    session: Session
    copies: tuple[Source, ...] = ()


def open_sources(
    sources: Sequence[Source], formats: Sequence[Format], skipped: list[Skipped], *, strict: bool = False
) -> list[QueuedSource]:
    """Find out what every source is; returns those to read, in the order in which they are to be read.

    What is in no known format, or cannot be read, is added to `skipped`; copies are with their work.

    Raises:
        CannotImport, Inaccessible: a file that somebody would miss was passed over, and `strict` allows none, or there
            is nothing else.
    """
    works = _in_order(_told_apart(_open_all(sources, formats, skipped)))
    troubles = [found.trouble for found in skipped if found.trouble is not None]
    if troubles and (strict or not works):
        raise troubles[0]
    return works


def _open_all(sources: Sequence[Source], formats: Sequence[Format], skipped: list[Skipped]) -> list[QueuedSource]:
    works = []
    for source in sources:
        try:
            chosen = choose_format(formats, source)
            first = next(iter(chosen.walk_events(source)), None)
        except CannotImport as error:
            missed = error if source.named or len(sources) == 1 else None
            reason = error.message.removeprefix(f"{source.path} ")
            skipped.append(Skipped(path=source.path, reason=reason, trouble=missed, told=missed is not None))
            continue
        except OSError as error:
            skipped.append(skip_unreadable(source.path, error))
            continue
        if isinstance(first, Session):
            works.append(QueuedSource(source, chosen, first))
        else:
            skipped.append(Skipped(path=source.path, reason="holds no session"))
    return works


def _told_apart(works: list[QueuedSource]) -> list[QueuedSource]:
    """Let every session be read once: of its copies the longest; one that differs from it becomes a part of its own."""
    by_key: dict[str, list[QueuedSource]] = {}
    for work in works:
        by_key.setdefault(source_key_of(work.session), []).append(work)
    kept = []
    for copies in by_key.values():
        copies.sort(key=lambda work: (-work.source.size, work.source.path))
        longest = copies[0]
        for work in copies[1:]:
            digest = digest_of(work.source, work.source.size)
            if digest == digest_of(longest.source, work.source.size):
                longest = replace(longest, copies=(*longest.copies, work.source))
            else:
                part = f"{work.session.part or 'copy'}-{digest[:SHORT_ID]}"
                details = {"line": "copy", **work.session.details}
                kept.append(replace(work, session=replace(work.session, part=part, details=details)))
        kept.append(longest)
    return kept


def _in_order(works: list[QueuedSource]) -> list[QueuedSource]:
    """Sort: what others began from first, then by creation time, then by native id; the same on every machine."""
    works.sort(key=lambda work: (work.session.part is not None, work.session.native_id, work.session.part or ""))
    works.sort(key=lambda work: parse_time(work.session.created or "") or 0)
    by_key = {source_key_of(work.session): work for work in works}
    ordered: dict[str, QueuedSource] = {}
    for work in works:
        _add(work, by_key, ordered)
    return list(ordered.values())


def _add(work: QueuedSource, by_key: dict[str, QueuedSource], ordered: dict[str, QueuedSource]) -> None:
    """Add a source behind those it began from, of which none is added twice; a circle is cut where it was entered."""
    line = [work]
    seen = {source_key_of(work.session)}
    while (before := _before(line[-1], by_key)) is not None and source_key_of(
        before.session
    ) not in seen | ordered.keys():
        seen.add(source_key_of(before.session))
        line.append(before)
    for waiting in reversed(line):
        ordered.setdefault(source_key_of(waiting.session), waiting)


def _before(work: QueuedSource, by_key: dict[str, QueuedSource]) -> QueuedSource | None:
    return next((by_key[key] for key in parent_source_keys(work.session) if key in by_key), None)


def drop_older(works: list[QueuedSource], since: int, notes: list[Note]) -> list[QueuedSource]:
    """Return the sources of sessions with a message at or after `since` (nanoseconds since 1970), or with none dated.

    The parts of a session stay together. How many are left out is added to the notes.
    """
    latest: dict[tuple[str, str], list[int]] = {}
    for work in works:
        latest.setdefault(_session_of(work), []).extend(_times(work))
    kept = [work for work in works if max(latest[_session_of(work)], default=since) >= since]
    if len(kept) < len(works):
        notes.append(
            Note(f"{len(works) - len(kept)} of {len(works)} transcripts were left out: nothing in them is as new")
        )
    return kept


def _session_of(work: QueuedSource) -> tuple[str, str]:
    return work.session.format, work.session.native_id


def _times(work: QueuedSource) -> list[int]:
    """Return when the last message of a source was written, as far as it says."""
    events = work.format.walk_events(work.source)
    times = (parse_time(event.time) for event in events if isinstance(event, Draft) and event.time is not None)
    newest = max((time for time in times if time is not None), default=None)
    return [] if newest is None else [newest]
