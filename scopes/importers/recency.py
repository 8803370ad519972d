"""Which sessions have gone on since a moment: by what their records say, since a file's own time says who copied it."""

from __future__ import annotations

from scopes.clock import parse_time
from scopes.importers.opening import Work
from scopes.importers.projection import Draft
from scopes.result import Note


def leave_out_older(works: list[Work], since: int, notes: list[Note]) -> list[Work]:
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


def _session_of(work: Work) -> tuple[str, str]:
    return work.session.format, work.session.native_id


def _times(work: Work) -> list[int]:
    """Return when the last message of a source was written, as far as it says."""
    events = work.format.walk_events(work.source)
    times = (parse_time(event.time) for event in events if isinstance(event, Draft) and event.time is not None)
    newest = max((time for time in times if time is not None), default=None)
    return [] if newest is None else [newest]
