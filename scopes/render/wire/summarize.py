"""Summaries as JSON."""

from __future__ import annotations

from scopes.memory.summaries import SummaryList, SummaryRow
from scopes.memory.summarize import Summarized
from scopes.render.wire.dispatch import to_wire
from scopes.render.wire.fields import known
from scopes.render.wire.message_shape import head_object


@to_wire.register(Summarized)
def summarized(result: Summarized) -> dict[str, object]:
    """Lay out a summary; id and oid are absent when it was only to be looked at."""
    return known(
        kind="summary",
        id=result.id,
        oid=result.oid,
        conversation=result.conversation,
        branch=result.branch,
        text=result.text,
        messages=result.messages,
        earlier=result.earlier,
        original_tokens=result.original_tokens,
        summary_tokens=result.summary_tokens,
        counted=result.counted,
        ratio=result.ratio,
        method=result.method,
        context_root=result.compact,
        operation=result.operation,
    )


@to_wire.register(SummaryList)
def summary_list(result: SummaryList) -> dict[str, object]:
    """Lay out the summaries of a branch, newest first."""
    return {
        "kind": "summary-list",
        "conversation": result.conversation,
        "branch": result.branch,
        "summaries": [_row(row) for row in result.summaries],
        "uncovered_messages": result.uncovered,
    }


def _row(row: SummaryRow) -> dict[str, object]:
    return {
        "message": head_object(row.head),
        "method": row.method,
        "messages": row.messages,
        "stale": row.stale,
        "newer_messages": row.newer,
        "changed": list(row.changed),
    }
