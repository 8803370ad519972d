"""Resolve parent links: find the message that a record follows, through records that are not messages.

Only the uuid of a record and the key of its message are kept. Claude Code itself writes links to records that it never
wrote. Such a message follows the previous one of its line, so that the history before it is not lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from operator import itemgetter
from typing import Any, NamedTuple

from scopes.importers.formats.base import Source
from scopes.importers.formats.events import ByteRange
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.json_lines import walk_records
from scopes.importers.formats.lossless_json import NOT_DECODED, find_text_field

_NO_LINK = object()
_CLEARED = "SessionStart:clear"  # a hook event: the user cleared the context and went on
_UNNAMED = 8  # characters of a uuid that name a sub-agent without an id


class ParentLink(NamedTuple):
    """The message that a record follows.

    side: name of the sub-agent's line; None on the main line
    missing: parent uuid that no record has
    cleared: the user cleared the context before this record
    """

    parent: str | None
    side: str | None
    missing: str | None = None
    cleared: bool = False


class ParentLinks:
    """The links of the records read so far; `sub_file` is the sub-agent that the file belongs to, if any."""

    def __init__(self, sub_file: str | None) -> None:
        self._sub_file = sub_file
        self._messages: dict[str, str | None] = {}
        self._sides: dict[str, str] = {}
        self._cleared: set[str] = set()
        self._last: dict[str | None, str] = {}

    def __contains__(self, uuid: object) -> bool:
        """Return True if a record with this uuid was read."""
        return uuid in self._messages

    def resolve(self, value: dict[str, Any], *, cut: bool = False) -> ParentLink:
        """Return the message that a record follows; with `cut`, it starts a line of history in spite of its link."""
        followed = parent_uuid = text_field(value, "parentUuid")
        side = self._side_of(value, parent_uuid)
        if cut:
            return ParentLink(None, side)
        if parent_uuid is None:
            followed = text_field(value, "logicalParentUuid")
            compacts = value.get("isCompactSummary") is True or value.get("subtype") == "compact_boundary"
            if value.get("parentUuid", _NO_LINK) is None and followed is None and not compacts:
                before = self._last.get(side) if _clears(value) else None
                return ParentLink(before, side, cleared=before is not None)
        if followed not in self._messages:
            return ParentLink(self._last.get(side), side, parent_uuid)
        parent = self._messages[followed]
        if parent is not None and self._sides.get(parent) != side:
            parent = self._last.get(side)
        return ParentLink(parent, side, cleared=followed in self._cleared)

    def set_message(self, value: dict[str, Any], key: str | None) -> None:
        """Record which message a record belongs to; None before the first message."""
        uuid = text_field(value, "uuid")
        if uuid is not None:
            self._messages[uuid] = key

    def set_transparent(self, value: dict[str, Any], link: ParentLink) -> None:
        """Let links to this record, which is not a message, lead to the message before it."""
        uuid = text_field(value, "uuid")
        if uuid is not None:
            self._messages[uuid] = link.parent
            if link.cleared:
                self._cleared.add(uuid)

    def begin(self, key: str, side: str | None) -> None:
        """Record a new message as the last one of its line."""
        self._last[side] = key
        if side is not None:
            self._sides[key] = side

    def last(self, side: str | None) -> str | None:
        """Return the last message of a line in file order; side None is the main line."""
        return self._last.get(side)

    def _side_of(self, value: dict[str, Any], parent_uuid: str | None) -> str | None:
        """Return the name of a record's side line: its agent id, its parent's line, or the uuid of the first record."""
        if value.get("isSidechain") is not True:
            return None
        agent = text_field(value, "agentId")
        if agent is not None or self._sub_file is not None:
            return None if agent in {None, self._sub_file} else agent
        parent = self._messages.get(parent_uuid) if parent_uuid is not None else None
        known = self._sides.get(parent) if parent is not None else None
        return known or (text_field(value, "uuid") or "sidechain")[:_UNNAMED]


def _clears(value: dict[str, Any]) -> bool:
    """Return True if a record without a link follows a cleared context, as the execution of a plan does."""
    hook = object_field(value, "data") or object_field(value, "attachment")
    return hook.get("hookName") == _CLEARED or text_field(value, "planContent") is not None


class DeferredRecords:
    """Records that come before their parent in the file, by the parent's uuid. They are read again when it comes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spans: dict[str, list[ByteRange]] = {}
        self._possible: frozenset[str] | None = None
        self._uuids: frozenset[str] | None = None

    def __bool__(self) -> bool:
        """Return True if any record waits for its parent."""
        return bool(self._spans)

    def is_in_file(self, uuid: str) -> bool:
        """Return True if any record of the file has this uuid; the first call reads the whole file.

        Most parents that are asked for are in no record: that is found without decoding all of them.
        """
        if self._possible is None:
            self._possible = frozenset(self._walk_possible())
        if uuid not in self._possible:
            return False
        if self._uuids is None:
            self._uuids = frozenset(self._walk_uuids())
        return uuid in self._uuids

    def add(self, parent: str, span: ByteRange) -> None:
        """Defer a record until its parent is read."""
        self._spans.setdefault(parent, []).append(span)

    def release(self, parent: str | None) -> list[ByteRange]:
        """Return and remove the records deferred for this parent, in file order."""
        return self._spans.pop(parent, []) if parent is not None else []

    def leftovers(self) -> Iterator[ByteRange]:
        """Yield records whose links form a cycle, in file order, except those released meanwhile."""
        left = [(span.offset, parent, span) for parent, spans in self._spans.items() for span in spans]
        yield from (span for _, parent, span in sorted(left, key=itemgetter(0)) if parent in self._spans)

    def read(self, span: ByteRange) -> Any:
        """Read a deferred record again."""
        with self._source.open() as stream:
            stream.seek(span.offset)
            data = stream.read(span.length)
        return next(record.value for record in walk_records(BytesIO(data), len(data)))

    def _walk_possible(self) -> Iterator[str]:
        """Yield the uuids of all records, and perhaps some of records that cannot be read."""
        found: list[str] = []

        def is_simple(line: bytes) -> bool:
            uuid = find_text_field(line, "uuid")
            if isinstance(uuid, str):
                found.append(uuid)
            return uuid is not NOT_DECODED

        with self._source.open() as stream:
            for record in walk_records(stream, self._source.size, is_simple):
                uuid = text_field(record.value, "uuid") if isinstance(record.value, dict) else None
                if uuid is not None:
                    yield uuid
        yield from found

    def _walk_uuids(self) -> Iterator[str]:
        with self._source.open() as stream:
            for record in walk_records(stream, self._source.size):
                uuid = text_field(record.value, "uuid") if isinstance(record.value, dict) else None
                if uuid is not None:
                    yield uuid
