"""Format a range-diff as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions

if TYPE_CHECKING:
    from scopes.conversation.diff import NumberedMessage, RangeDifference, RangePair, RangeSide

_STATUS = {"=": "equal", "!": "changed", "<": "only-old", ">": "only-new"}


@to_wire.register_with_options
def format_range_difference(result: RangeDifference, options: ViewOptions = DEFAULT_OPTIONS) -> dict[str, object]:
    """Return both ranges, the number of pairs by status, and the pairs; with `--no-patch` without changed lines."""
    marks: list[str] = [pair.mark for pair in result.pairs]
    return {
        "kind": "range-diff",
        "equal": result.exit_code == 0,
        "old": _side(result.old),
        "new": _side(result.new),
        "counts": {status.replace("-", "_"): marks.count(mark) for mark, status in _STATUS.items()},
        "pairs": [_pair(pair, patch=not options.oneline) for pair in result.pairs],
    }


def _side(side: RangeSide) -> dict[str, object]:
    return {"name": side.name, "conversation": side.conversation, "oid": side.tip, "messages": side.messages}


def _pair(pair: RangePair, *, patch: bool) -> dict[str, object]:
    return without_none(
        status=_STATUS[pair.mark],
        mark=pair.mark,
        old=_message(pair.old),
        new=_message(pair.new),
        similarity=pair.similarity,
        diff=list(pair.lines) if patch and pair.mark == "!" else None,
    )


def _message(message: NumberedMessage | None) -> dict[str, object] | None:
    if message is None:
        return None
    return {"number": message.number, **message.head.document(), "subject": message.subject}
