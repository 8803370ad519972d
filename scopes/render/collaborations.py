"""Render the report of a collaboration, which is Markdown in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from scopes.collaboration.collaboration import THE_TASK, describe_end
from scopes.exporters.markdown_escape import escape_inline
from scopes.merge.keys import decoded_key
from scopes.model.conflicts import ENDED
from scopes.render.phrases import SHORT_ID_LENGTH, short_time
from scopes.render.view import View
from scopes.result import confidence, counted
from scopes.sanitize import clean_line

if TYPE_CHECKING:
    from scopes.collaboration.collaboration import Choice, CollaborationReport, Debate
    from scopes.merge.conflicts import ConflictRow
    from scopes.model.message import Evidence, Position


def render_collaboration_report(result: CollaborationReport, view: View) -> None:
    """Write the report, as Markdown."""
    view.markdown("\n".join(_lines(result, view)) + "\n")


def _lines(result: CollaborationReport, view: View) -> Iterator[str]:
    each = result.collaboration
    yield f"# {_text(each.type)}: {_text(each.task)}"
    yield ""
    merged = "" if each.merged_into is None else f"merged into {_text(each.merged_into)}"
    closed = "" if each.closed is None else f"closed {_time(view, each.closed)}"
    status = ", ".join(filter(None, (merged, closed))) or "open"
    by = f"{_time(view, each.opened)} by {_text(each.requester)}"
    yield f"Branch {_text(each.name)}, opened {by}, {status}."
    if each.outcome:
        yield ""
        yield f"**Outcome:** {_text(each.outcome)}"
    yield from ("", "## Participants", "")
    for one in each.participants:
        done = counted(one.messages, "message") if one.messages else "has not joined"
        unread = ", has not read the request" if one.is_unread and not one.messages else ""
        yield f"- {_text(one.name)}: {done}{unread}"
    yield from _positions(result)
    if result.decisions:
        yield from ("", "## Decisions", "")
        for decision in result.decisions:
            stated = f"{_text(decision.decision)} ({_text(decision.author)})"
            if decision.decided is not None:
                stated = f"{_text(decision.decided)} ({_text(decision.decided_by or '')}), instead of {stated}"
            yield f"- **{_text(decision.topic)}**: {stated}"
    yield from _conflicts(result)


def _conflicts(result: CollaborationReport) -> Iterator[str]:
    if result.conflicts:
        yield from ("", "## Conflicts", "")
    for row in result.conflicts:
        yield _conflict(row)
        for each in result.positions:
            if each.argument.about == row.conflict.id:
                yield from (f"  {line}" for line in _position(each))
        for debate in result.debates:
            if debate.about == row.conflict.id:
                lines = _debate(debate, is_open=row.conflict.status not in ENDED)
                yield from (f"  - {line}" for line in lines if line)


def _positions(result: CollaborationReport) -> Iterator[str]:
    conflicts = {row.conflict.id for row in result.conflicts}
    debates = [each for each in result.debates if each.about not in conflicts]
    if debates:
        yield from ("", "## Positions")
    is_open = result.collaboration.closed is None and result.collaboration.merged_into is None
    for subject in debates:
        heading = _text(result.collaboration.task if subject.about == THE_TASK else subject.about)
        yield from ("", f"### {heading}", "", _consensus(subject, is_open=is_open), "")
        yield from _debate(subject, is_open=is_open)
        for each in result.positions:
            if each.argument.about == subject.about:
                yield from _position(each)


def _consensus(subject: Debate, *, is_open: bool) -> str:
    if subject.phase == "consensus":
        return f"Consensus of {counted(len(subject.choices[0].holders), 'participant')}."
    held = "; ".join(f"{_text(each.position)} ({len(each.holders)})" for each in subject.choices)
    if len(subject.choices) < 2:
        return "One position so far." if is_open else "One position."
    return f"No consensus: {held}." if is_open else f"No consensus was reached before the end: {held}."


def _debate(debate: Debate, *, is_open: bool) -> Iterator[str]:
    """Yield what the positions have in common, and how well each is supported; nothing while there is one."""
    if debate.phase in {"arguments", "consensus"}:
        return
    shared = "; ".join(f"{_text(each.text)} ({', '.join(map(_text, each.agents))})" for each in debate.common_ground)
    if shared:
        yield f"Common ground: {shared}."
    accepted = [each for each in debate.choices if each.accepted_by]
    if accepted:
        yield f"Compromises: {'; '.join(map(_choice, accepted))}."
    yield f"Evaluation: {'; '.join(map(_support, debate.choices))}."
    if debate.phase == "escalation" and is_open:
        yield "Nothing in common: somebody neutral has to decide."
    yield ""


def _choice(choice: Choice) -> str:
    by = ", ".join(map(_text, choice.accepted_by))
    return f"{_text(choice.position)}, which {by} would accept"


def _support(choice: Choice) -> str:
    sure = "" if choice.confidence is None else f", confidence {choice.confidence:g}"
    shown = f", {counted(choice.evidence, 'piece')} of evidence of weight {choice.weight:g}" if choice.evidence else ""
    return f"{_text(choice.position)} ({len(choice.holders)} for it{sure}{shown})"


def _details_of(evidence: Evidence) -> str:
    source = [] if evidence.source is None else [f"source: {_text(evidence.source)}"]
    weight = [] if evidence.weight is None else [f"weight {evidence.weight:g}"]
    return f" ({', '.join((*source, *weight))})" if source or weight else ""


def _position(each: Position) -> Iterator[str]:
    argument = each.argument
    sure = "" if argument.confidence is None else f", confidence {confidence(argument.confidence)}"
    yield f"- **{_text(argument.position)}**, {_text(each.author)}{sure}"
    for text in argument.reasoning:
        yield f"  - reason: {_text(text)}"
    for evidence in argument.evidence:
        yield f"  - {evidence.type}: {_text(evidence.description)}{_details_of(evidence)}"
    for text in argument.trade_offs:
        yield f"  - trade-off: {_text(text)}"
    for text in argument.alternatives:
        yield f"  - alternative: {_text(text)}"


def _conflict(row: ConflictRow) -> str:
    conflict, resolution = row.conflict, row.conflict.resolution
    end = ""
    if resolution is not None:
        reason = f": {_text(resolution.reason)}" if resolution.reason else ""
        end = f", {resolution.strategy}, {_text(describe_end(resolution))}, by {_text(resolution.actor)}{reason}"
    name = f"{_text(decoded_key(conflict.key))} ({conflict.type}, {conflict.id[:SHORT_ID_LENGTH]})"
    return f"- {name}: {conflict.status}{end}"


def _text(text: str) -> str:
    """Return a text from outside as one line of Markdown without markup of its own."""
    return escape_inline(clean_line(" ".join(text.split())))


def _time(view: View, time: str | None) -> str:
    return short_time(view, time).text
