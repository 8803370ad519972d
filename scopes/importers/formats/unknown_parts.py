"""Report message parts that a format does not know. The message keeps them raw."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.importers.formats.events import ByteRange, Draft, Unparsed
from scopes.model.message import Part

_MAX_WORD = 64
_COMPACTION = "compaction"  # its replacement history is raw but known


def report_unknown_parts(draft: Draft) -> Iterator[Draft | Unparsed]:
    """Yield an Unparsed event without bytes for each unknown part of a draft, then the draft."""
    start = min((span.offset for span in draft.spans), default=0)
    for part in draft.parts:
        if part.type == "raw" and not (draft.kind == _COMPACTION and _is_history(part)):
            yield Unparsed(spans=(ByteRange(start, 0),), reason=_describe(part))
    yield draft


def _is_history(part: Part) -> bool:
    return "json" not in part.fields or isinstance(part.fields["json"], dict | list)


def _describe(part: Part) -> str:
    value = part.fields.get("json")
    kind = value.get("type") if isinstance(value, dict) else None
    name = f"unknown part {kind[:_MAX_WORD]!a}" if isinstance(kind, str) and kind else "part without a type"
    return f"{name}, kept raw in its message"
