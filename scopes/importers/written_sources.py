"""Read what a stored session that `checkout` has written has of its conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scopes.history.sources import Handover
from scopes.ids import Oid
from scopes.importers.archive import Segment, walk_segments
from scopes.importers.formats.base import Format
from scopes.importers.formats.events import Draft, Event, Session
from scopes.importers.identity import content_bytes
from scopes.importers.stale_copy import StoredCopy
from scopes.importers.targets import StoredRecord
from scopes.importers.written_messages import WrittenMessages, WrittenRecords, read_written_messages
from scopes.store.objects import Objects


def find_written(
    objects: Objects,
    tips: Iterable[Oid],
    handover: Handover,
    chosen: Format,
    stored: StoredRecord,
    *,
    has_same_bytes: bool,
) -> WrittenMessages | None:
    """Return the messages that a session has from its conversation; None if the tip is no longer in the store.

    tips: commits to look for the tip from, the likely ones first.
    has_same_bytes: the session still begins with what is stored of it.
    """
    drafts = (event for event in _walk_stored(objects, chosen, stored) if isinstance(event, Draft))
    written = list_written(drafts, walk_segments(objects, stored.commit), is_purged=stored.record.purged)
    return read_written_messages(objects, tips, handover, written, has_same_bytes=has_same_bytes)


def read_written_title(objects: Objects, chosen: Format, stored: StoredRecord) -> str | None:
    """Return the title that a session had when it was stored last; None if it had none, or has purged messages."""
    events = () if stored.record.purged else _walk_stored(objects, chosen, stored)
    return next((event.title for event in events if isinstance(event, Session)), None)


def _walk_stored(objects: Objects, chosen: Format, stored: StoredRecord) -> Iterator[Event]:
    record = stored.record
    return chosen.walk_events(StoredCopy(record.file_name, record.size, objects, stored.commit))


def list_written(drafts: Iterable[Draft], segments: Iterable[Segment], *, is_purged: bool) -> list[WrittenRecords]:
    """Return the records of a session by its drafts and segments; of one with purged messages by the segments alone.

    The first records of a draft may be of several messages; then it is the last one of these.
    """
    messages = {each.span: each for each in segments if each.message is not None}
    if is_purged:
        return [
            WrittenRecords(span, each.native_ids, each.message, spans=((span, each.message),))
            for span, each in messages.items()
            if each.message is not None
        ]
    found = []
    for draft in drafts:
        last = messages.get(draft.spans[-1]) if draft.spans else None
        if last is not None and last.message is not None:
            results = tuple(part.fields.get("call_id") for part in draft.parts if part.type == "tool_result")
            content = content_bytes(draft)
            known = ((span, messages[span].message) for span in draft.spans if span in messages)
            spans = tuple((span, message) for span, message in known if message is not None)
            found.append(WrittenRecords(draft.spans[0], draft.native_ids, last.message, content, results, spans))
    return found
