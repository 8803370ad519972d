"""Merge requests as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.wire.conflicts import conflict_object
from scopes.render.wire.file_comparison import file_object

if TYPE_CHECKING:
    from scopes.conversation.merge import MergeRequestChanged, MergeRequestList, MergeRequestRow, MergeRequestView


@to_wire.register
def format_merge_request_list(result: MergeRequestList) -> dict[str, object]:
    """Return the merge requests, newest first."""
    return {"kind": "merge-request-list", "merge_requests": [_request_object(row) for row in result.rows]}


@to_wire.register
def format_merge_request_changed(result: MergeRequestChanged) -> dict[str, object]:
    """Return a merge request that was opened or closed."""
    return {
        "kind": "merge-request",
        **_request_object(result.row),
        "change": result.change,
        "operation": result.operation,
    }


@to_wire.register
def format_merge_request_view(result: MergeRequestView) -> dict[str, object]:
    """Return a merge request with what its merge would do; `moved` is absent if the source was rewritten."""
    conflicts = [conflict_object(number, each) for number, each in enumerate(result.conflicts, 1)]
    return {
        "kind": "merge-request",
        **_request_object(result.row),
        **without_none(
            outcome=result.outcome,
            messages=result.messages,
            moved=result.moved,
            in_progress=result.in_progress,
            problem=result.problem,
            files=[file_object(file) for file in result.files] or None,
        ),
        "conflicts": conflicts,
        "gone": list(result.gone),
    }


def _request_object(row: MergeRequestRow) -> dict[str, object]:
    request = row.request
    return without_none(
        id=request.id,
        number=request.number,
        conversation=row.conversation,
        state=row.state,
        title=request.title,
        source=request.source,
        target=request.target,
        message=request.message or None,
        requester=request.requester,
        requester_kind=request.requester_kind,
        opened=request.opened,
        ended=request.ended,
        ended_by=request.ended_by,
        reason=request.reason,
        source_tip=request.source_tip,
        merge=request.merge,
    )
