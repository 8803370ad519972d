"""Where a record stands: the message that it follows, found through records that are no messages.

Nothing is kept of a record but its uuid and the key of the message that it leads to. Claude Code itself writes links to
records that it never wrote; whoever follows such a link loses everything before it. Here the message then follows the
one before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from operator import itemgetter
from typing import Any

from scopes.importers.formats.base import Source
from scopes.importers.formats.claude_code.records import object_field, text_field
from scopes.importers.formats.events import Span
from scopes.importers.formats.json_lines import walk_records

_NO_LINK = object()
_CLEARED = "SessionStart:clear"  # a hook's event: the user has let the agent forget, and goes on
_UNNAMED = 8  # characters of a uuid that name a sub-agent without a name


@dataclass(frozen=True, slots=True)
class ParentLink:
    """The message before, the sub-agent's line where it is not the main one, and the link that leads nowhere.

    What stands where the context was `cleared` follows the message before it, of which the agent knows nothing.
    """

    parent: str | None
    side: str | None
    missing: str | None = None
    cleared: bool = False


class ParentLinks:
    """The links of a file, as far as it was read. `part` is the agent whose file it is."""

    def __init__(self, part: str | None) -> None:
        self._part = part
        self._leads: dict[str, str | None] = {}
        self._sides: dict[str, str] = {}
        self._cleared: set[str] = set()
        self._lasts: dict[str | None, str] = {}

    def __contains__(self, uuid: object) -> bool:
        """Tell whether a record of this uuid was read."""
        return uuid in self._leads

    def place(self, value: dict[str, Any], *, cut: bool = False) -> ParentLink:
        """Find out where a record stands; `cut` begins a line of history in spite of its link."""
        named, logical = text_field(value, "parentUuid"), text_field(value, "logicalParentUuid")
        side = self._side_of(value, named)
        compacts = value.get("isCompactSummary") is True or value.get("subtype") == "compact_boundary"
        if cut or (value.get("parentUuid", _NO_LINK) is None and logical is None and not compacts):
            before = self._lasts.get(side) if not cut and _clears(value) else None
            return ParentLink(before, side, cleared=before is not None)
        followed = named if named is not None else logical
        if followed not in self._leads:
            return ParentLink(self._lasts.get(side), side, named)
        parent = self._leads[followed]
        if parent is not None and self._sides.get(parent) != side:
            parent = self._lasts.get(side)
        return ParentLink(parent, side, cleared=followed in self._cleared)

    def lead(self, value: dict[str, Any], key: str | None) -> None:
        """Remember which message a record leads to."""
        uuid = text_field(value, "uuid")
        if uuid is not None:
            self._leads[uuid] = key

    def pass_on(self, value: dict[str, Any], place: ParentLink) -> None:
        """Remember that a record that is no message leads to the one before it."""
        self.lead(value, place.parent)
        uuid = text_field(value, "uuid")
        if uuid is not None and place.cleared:
            self._cleared.add(uuid)

    def begin(self, key: str, side: str | None) -> None:
        """Remember a new message as the last one of its line."""
        self._lasts[side] = key
        if side is not None:
            self._sides[key] = side

    def last(self, side: str | None) -> str | None:
        """Return the last message of a line, in file order."""
        return self._lasts.get(side)

    def _side_of(self, value: dict[str, Any], named: str | None) -> str | None:
        """Name the sub-agent that a record belongs to: by its id, by its parent's, or by the record that begins it."""
        if value.get("isSidechain") is not True:
            return None
        agent = text_field(value, "agentId")
        if agent is not None or self._part is not None:
            return None if agent in {None, self._part} else agent
        parent = self._leads.get(named) if named is not None else None
        known = self._sides.get(parent) if parent is not None else None
        return known or (text_field(value, "uuid") or "sidechain")[:_UNNAMED]


def _clears(value: dict[str, Any]) -> bool:
    """Tell whether a record without a link goes on behind a cleared context, as it does with a plan to carry out."""
    told = object_field(value, "data") or object_field(value, "attachment")
    return told.get("hookName") == _CLEARED or text_field(value, "planContent") is not None


class DeferredRecords:
    """The waiting records of a file, by the uuid that they wait for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._spans: dict[str, list[Span]] = {}
        self._uuids: frozenset[str] | None = None

    def is_in_file(self, uuid: str) -> bool:
        """Tell whether any record of the file has this uuid; the first question reads the whole file once more."""
        if self._uuids is None:
            self._uuids = frozenset(self._walk_uuids())
        return uuid in self._uuids

    def add(self, parent: str, span: Span) -> None:
        """Let a record wait for its parent."""
        self._spans.setdefault(parent, []).append(span)

    def release(self, parent: str | None) -> list[Span]:
        """Return the records that waited for this parent, in file order."""
        return self._spans.pop(parent, []) if parent is not None else []

    def leftovers(self) -> Iterator[Span]:
        """Yield what waits for each other in a circle, in file order; what was released meanwhile is passed over."""
        left = [(span.offset, parent, span) for parent, spans in self._spans.items() for span in spans]
        yield from (span for _, parent, span in sorted(left, key=itemgetter(0)) if parent in self._spans)

    def read(self, span: Span) -> Any:
        """Read a waiting record again."""
        with self._source.open() as stream:
            stream.seek(span.offset)
            data = stream.read(span.length)
        return next(record.value for record in walk_records(BytesIO(data), len(data)))

    def _walk_uuids(self) -> Iterator[str]:
        with self._source.open() as stream:
            for record in walk_records(stream, self._source.size):
                uuid = text_field(record.value, "uuid") if isinstance(record.value, dict) else None
                if uuid is not None:
                    yield uuid
