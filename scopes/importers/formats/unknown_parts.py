"""Parts of a message that its format does not know: the message holds them raw, and the account of the source tells."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.importers.formats.events import Draft, Span, Unparsed
from scopes.model.message import Part

_MAX_WORD = 64
_COMPACTION = "compaction"  # what it replaces the history with is kept raw, and known


def report_unknown_parts(draft: Draft) -> Iterator[Draft | Unparsed]:
    """Yield a message, and before it what could not be read of it: no bytes, since those are the message's."""
    start = min((span.offset for span in draft.spans), default=0)
    for part in draft.parts:
        if part.type == "raw" and not (draft.kind == _COMPACTION and _is_history(part)):
            yield Unparsed(spans=(Span(start, 0),), reason=_describe(part))
    yield draft


def _is_history(part: Part) -> bool:
    return "json" not in part.fields or isinstance(part.fields["json"], dict | list)


def _describe(part: Part) -> str:
    value = part.fields.get("json")
    kind = value.get("type") if isinstance(value, dict) else None
    known = f"a part {kind[:_MAX_WORD]!a}" if isinstance(kind, str) and kind else "a part without a type"
    return f"{known} that scopes does not know, kept raw in its message"
