"""Format claims as JSON: blame, decisions, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.wire.fields import heading_fields
from scopes.render.wire.message import header_object

if TYPE_CHECKING:
    from scopes.conversation.changes import BlameList
    from scopes.conversation.decisions import DecisionList, DecisionWithdrawn
    from scopes.conversation.stats import FileList
    from scopes.memory.decision_candidates import CandidateDismissed, CandidateList, DecisionAccepted, DecisionCandidate


@to_wire.register
def format_blame_list(result: BlameList) -> dict[str, object]:
    """Return the claims, sorted by key."""
    rows = [
        without_none(key=row.key, agent=row.agent)
        | {"value": row.value, "message": header_object(row.head)}
        | without_none(
            caller=None if row.call_message is None else header_object(row.call_message),
            tool=None if row.call is None else row.call.fields.get("name"),
        )
        for row in result.rows
    ]
    place = without_none(
        conversation=result.revision.conversation, branch=result.revision.branch, oid=result.revision.oid
    )
    return {"kind": "blame", **place, "rows": rows}


@to_wire.register
def format_decision_withdrawn(result: DecisionWithdrawn) -> dict[str, object]:
    """Return what was withdrawn, and the message that did it; a dry run has none."""
    return without_none(
        kind="decision-withdrawn",
        conversation=result.conversation,
        branch=result.branch,
        topic=result.topic,
        decisions=list(result.decisions),
        id=result.id,
        oid=result.oid,
        dry_run=result.dry_run or None,
    )


@to_wire.register
def format_candidate_list(result: CandidateList) -> dict[str, object]:
    """Return the decision candidates, oldest first."""
    return without_none(
        kind="decision-candidates",
        conversation=result.conversation,
        branch=result.branch,
        candidates=[_candidate_object(each) for each in result.candidates],
    )


@to_wire.register
def format_decision_accepted(result: DecisionAccepted) -> dict[str, object]:
    """Return the message of an accepted decision."""
    return {
        "kind": "decision-accepted",
        "conversation": result.conversation,
        "branch": result.branch,
        "id": result.id,
        "oid": result.oid,
        "topic": result.topic,
        "candidate": _candidate_object(result.candidate),
    }


@to_wire.register
def format_candidate_dismissed(result: CandidateDismissed) -> dict[str, object]:
    """Return a dismissed candidate."""
    return {
        "kind": "decision-dismissed",
        "conversation": result.conversation,
        "candidate": _candidate_object(result.candidate),
        "operation": result.operation,
    }


def _candidate_object(each: DecisionCandidate) -> dict[str, object]:
    return {
        "id": each.id,
        "text": each.text,
        "branch": each.branch,
        "why": each.why,
        "message": header_object(each.head),
    }


@to_wire.register
def format_decision_list(result: DecisionList) -> dict[str, object]:
    """Return the decisions, oldest first."""
    decisions = [
        {"topic": row.topic, "decision": row.decision, "stands": row.current, "state": row.state}
        | without_none(branches=list(row.branches) or None, other_spellings=list(row.other_spellings) or None)
        | {"message": header_object(row.head)}
        for row in result.decisions
    ]
    return without_none(
        kind="decision-list", conversation=result.conversation, branch=result.branch, decisions=decisions
    )


@to_wire.register
def format_file_list(result: FileList) -> dict[str, object]:
    """Return the files, each with the messages that touched it, oldest first."""
    files = [
        without_none(
            path=row.path,
            operations=row.operations,
            messages=list(row.messages),
            last_touch=row.last_touch,
            last_author=row.last_author,
            last_operation=row.last_operation,
        )
        for row in result.files
    ]
    place = without_none(branch=result.branch, branches=list(result.branches) or None, cwd=result.cwd)
    return {
        "kind": "file-list",
        "conversation": result.conversation,
        **heading_fields(result.heading),
        **place,
        "files": files,
    }
