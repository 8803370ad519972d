"""Render claims (key and value), and the lists made of them: blame, decisions (S1-29) and files (S1-20)."""

from __future__ import annotations

import json
from shlex import quote
from typing import TYPE_CHECKING, Any

from scopes.clock import in_seconds
from scopes.history.messages import display_time, shown_author
from scopes.merge.keys import decoded_key, display_key, group_of
from scopes.model.encoding import relative_path
from scopes.model.message import FILE_OPERATIONS
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import (
    SHORT_ID_LENGTH,
    UNKNOWN_TIME,
    WIDE,
    author,
    identifier,
    short_time,
    subject,
    write_hint,
    write_outcome,
)
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.conversation.changes import BlameList, BlameRow
    from scopes.conversation.decisions import DecisionList, DecisionRow, DecisionWithdrawn
    from scopes.conversation.stats import FileList, FileRow
    from scopes.memory.decision_candidates import CandidateDismissed, CandidateList, DecisionAccepted, DecisionCandidate

_ORDER = {name: place for place, name in enumerate(FILE_OPERATIONS)}
_HASH_LENGTH = len("sha256:") + 8
_BLAME_COLUMNS = (
    Column("ID"),
    Column("Author"),
    Column("Time"),
    Column("Key"),
    Column("Agent"),
    Column("Value"),
    Column("Subject"),
)
_DECISION_COLUMNS = (
    Column("Topic"),
    Column("Decision"),
    Column("Author"),
    Column("Time"),
    Column("ID"),
    Column("OID"),
    Column("State"),
    Column("Other spellings", hidden=True),
)
_CANDIDATE_COLUMNS = (
    Column("ID"),
    Column("Text"),
    Column("Branch"),
    Column("Why"),
    Column("Author"),
    Column("Time"),
)
_FILE_COLUMNS = (
    Column("Path"),
    Column("Operations"),
    Column("Messages"),
    Column("Last touch"),
    Column("Author"),
    Column("Message IDs", hidden=True),
)
_FILE_TERMINAL_COLUMNS = (
    Column("Path", "branch", flexible=True, paths=True),
    Column("Operations"),
    Column("Last touch"),
    Column("By", "agent", flexible=True),
)


def claim_name(key: str, agent: str | None) -> str:
    """Return the key of a claim as `decisions/auth`, with the agent if claims of its group are kept per agent."""
    return display_key(key) + (f" ({agent})" if agent is not None else "")


def claim_text(key: str, value: Any) -> str:
    """Return the value of a claim as one line: messages and files as a phrase, other documents as JSON."""
    match group_of(key), value:
        case _, str(text):
            line = text
        case "messages", {"retracted": True}:
            line = "retracted"
        case "messages", {"amended": str(digest)}:
            line = f"amended, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation), "content": str(digest)}:
            line = f"{operation}, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation), "derived": str(digest)}:
            line = f"{operation}; only the patch is recorded, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation)}:
            line = operation if operation == "delete" else f"{operation}; the resulting content is not recorded"
        case _, {"both": list(several)}:
            line = " | ".join(dict.fromkeys(claim_text(key, each) for each in several))
        case _:
            line = json.dumps(value, ensure_ascii=False)
    return line


@render_text.register
def render_blame_list(result: BlameList, view: View) -> None:
    """Write each claim and the message that set it; for a tool's result, the call and the agent that made it."""
    if not view.terminal:
        view.rows(_BLAME_COLUMNS, (_blame_row(row, view) for row in result.rows))
        return
    revision = result.revision
    place = revision.branch or revision.oid[:SHORT_ID_LENGTH]
    view.line("On ", Span(f"{revision.conversation}/{place}", "branch"), ":")
    for row in result.rows:
        view.sentence(Span(claim_name(row.key, row.agent), "heading"), ": ", _value_text(row))
        head = row.call_message or row.head
        who, when = author(head.author, head.author_kind), short_time(view, display_time(head))
        start = (identifier(view, head.id), " ", who, " ", when, ": ")
        view.cut(*start, *_what_was_done(row), indent=4)


@render_text.register
def render_decision_withdrawn(result: DecisionWithdrawn, view: View) -> None:
    """Write which decision is no longer in effect, and the message that withdrew it."""
    place = Span(f"{result.conversation}/{result.branch}", "branch")
    what = f"{result.topic} = {', '.join(result.decisions)}"
    if result.id is None:
        write_outcome(view, what, what, " would be withdrawn on ", place)
        return
    name = identifier(view, result.id)
    write_outcome(view, name, "withdrawn ", what, " on ", place, " by ", name, appended=True)


@render_text.register
def render_candidate_list(result: CandidateList, view: View) -> None:
    """Write the candidates, oldest first, each with where and why it was found."""
    if not view.terminal:
        view.rows(_CANDIDATE_COLUMNS, map(_candidate_row, result.candidates))
        return
    if not result.candidates:
        place = result.conversation if result.branch is None else f"{result.conversation}/{result.branch}"
        view.line(Span(place, "id"), " has no decision candidates.")
    for each in result.candidates:
        who = author(each.head.author, each.head.author_kind)
        when = short_time(view, display_time(each.head))
        view.line(
            Span(_short_candidate(each), "id"),
            " ",
            who,
            " ",
            when,
            " on ",
            Span(each.branch, "branch"),
            f": {each.why}",
        )
        view.body(each.text, indent=4)
    if result.candidates:
        first = _short_candidate(result.candidates[0])
        write_hint(
            view, f"accept one: scopes decisions accept {quote(result.conversation)} {quote(first)} --topic TOPIC"
        )


@render_text.register
def render_decision_accepted(result: DecisionAccepted, view: View) -> None:
    """Write the new decision and its topic; in a pipe the id of its message."""
    on = Span(result.branch, "branch")
    write_outcome(view, result.id, f"accepted: {result.topic} = {result.candidate.text} on ", on, appended=True)


@render_text.register
def render_candidate_dismissed(result: CandidateDismissed, view: View) -> None:
    """Write which candidate is not listed any more."""
    write_outcome(view, result.candidate.id, f"dismissed: {result.candidate.text}", operation=result.operation)


def _candidate_row(each: DecisionCandidate) -> tuple[Cell, ...]:
    time = display_time(each.head) or UNKNOWN_TIME
    return each.id, each.text, each.branch, each.why, shown_author(each.head), time


def _short_candidate(each: DecisionCandidate) -> str:
    message, _, number = each.id.rpartition(".")
    return f"{message[:SHORT_ID_LENGTH]}.{number}"


@render_text.register
def render_decision_list(result: DecisionList, view: View) -> None:
    """Write the decisions, oldest first; those that the branch does not hold are marked."""
    if not view.terminal:
        view.rows(_DECISION_COLUMNS, (_decision_row(row, view) for row in result.decisions))
        return
    if not result.decisions:
        place = result.conversation if result.branch is None else f"{result.conversation}/{result.branch}"
        view.line(Span(place, "id"), " holds no decisions.")
    where = result.branch or "the active branch"
    for row in result.decisions:
        mark = f"only on {', '.join(row.branches)}" if row.branches else f"{row.state} on {where}"
        also = f" (also spelled {', '.join(map(_quoted, row.other_spellings))})" if row.other_spellings else ""
        view.line(Span(row.topic, "heading"), also, Span("" if row.current else f" ({mark})", "warn"))
        view.body(row.decision, indent=4)
        who, when = author(row.head.author, row.head.author_kind), short_time(view, display_time(row.head))
        commit = Span(f" commit {row.head.oid[:12]}", "dim")
        view.sentence("— ", who, ", ", when, ", message ", identifier(view, row.head.id), commit, indent=4)


@render_text.register
def render_file_list(result: FileList, view: View) -> None:
    """Write the files, the last touched first; on a terminal with paths relative to the project."""
    if not view.terminal:
        view.rows(_FILE_COLUMNS, map(_file_row, result.files))
        return
    if result.branch is not None:
        place = f"{result.conversation}/{result.branch}"
    else:
        place = result.conversation + (f", all {len(result.branches)} branches" if len(result.branches) > 1 else "")
    if not result.files:
        view.line(Span(place, "id"), " touched no files.")
        return
    brief = view.width < WIDE
    rows = (_file_terminal_row(row, view, result.cwd, brief=brief) for row in result.files)
    heading = "" if result.heading is None else f": {result.heading.text}"
    view.rows(_FILE_TERMINAL_COLUMNS, rows, title=f"Files of {place}{heading}")
    if brief:
        used = {name for row in result.files for name in row.operations}
        legend = ", ".join(f"{name[0]} {name}" for name in FILE_OPERATIONS if name in used)
        view.line(Span(f"operations: {legend}", "dim"))


def _value_text(row: BlameRow) -> str:
    """Return the value of a claim; of a file without recorded content only the operation."""
    match group_of(row.key), row.value:
        case "files", {"operation": str(operation), **rest} if "content" not in rest:
            return operation
    return claim_text(row.key, row.value)


def _what_was_done(row: BlameRow) -> tuple[str | Span, ...]:
    """Return the call that set a claim, else the subject of the message."""
    if row.call is None:
        return (subject(row.head),)
    from scopes.render.text.calls import call_line

    line: tuple[Span, ...] = call_line(row.call)
    return line


def _blame_row(row: BlameRow, view: View) -> tuple[Cell, ...]:
    head = row.call_message or row.head
    when = short_time(view, display_time(head))
    value, done = _value_text(row), _what_was_done(row)
    return head.id, shown_author(head), when, decoded_key(row.key), row.agent or "", value, done


def _decision_row(row: DecisionRow, view: View) -> tuple[Cell, ...]:
    time = short_time(view, display_time(row.head))
    return (
        row.topic,
        row.decision,
        shown_author(row.head),
        time,
        row.head.id,
        row.head.oid,
        row.state,
        ", ".join(row.other_spellings),
    )


def _quoted(topic: str) -> str:
    return f'"{topic}"'


def _file_row(row: FileRow) -> tuple[Cell, ...]:
    operations = ",".join(f"{name}:{count}" for name, count in row.operations.items())
    touched = in_seconds(row.last_touch or UNKNOWN_TIME)
    return row.path, operations, str(len(row.messages)), touched, row.last_author, ",".join(row.messages)


def _file_terminal_row(row: FileRow, view: View, cwd: str | None, *, brief: bool) -> tuple[Cell, ...]:
    """Return a row; with `brief`, operations are their first letters: `r5 e2`."""
    counts = sorted(row.operations.items(), key=lambda item: _ORDER.get(item[0], len(_ORDER)))
    operations = (" " if brief else ", ").join(f"{name[0]}{n}" if brief else f"{n} {name}" for name, n in counts)
    return relative_path(row.path, cwd), operations, short_time(view, row.last_touch), row.last_author
