"""Merges as text: what was merged, or the conflicts that stopped it, and the commands to continue or undo it."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from scopes.model.conflicts import PLAN_DIVERGENCE
from scopes.render.dispatch import render_text
from scopes.render.text.conflict_phrases import (
    MAX_LINES,
    fit_line,
    write_aborted,
    write_conflict_notes,
    write_more,
    write_next_commands,
    write_open_conflicts,
    write_resolution_branch,
    write_resolved,
)
from scopes.render.text.file_comparison import write_files
from scopes.render.text.phrases import (
    SHORT_ID_LENGTH,
    UNDO_HINT,
    counted,
    identifier,
    subject,
    write_hint,
    write_outcome,
)
from scopes.render.view import Column, Span, View
from scopes.render.wrap import truncate_text
from scopes.sanitize import SUBJECT_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scopes.conversation.merge_outcomes import (
        FastForwarded,
        MergeAborted,
        MergeConflicted,
        Merged,
        MergeOutcome,
        UpToDate,
    )
    from scopes.history.activity import CheckRun
    from scopes.merge.recorded_work import Alternatives
    from scopes.model.conflicts import Conflict

_PREVIEW = tuple(map(Column, ("Result", "Conversation", "Target", "Source", "Messages", "Conflicts")))


@render_text.register
def render_up_to_date(result: UpToDate, view: View) -> None:
    """Write that the target has all messages of the source."""
    sentence = (_target(result), " is already up to date with ", _source(result))
    if result.dry_run:
        _write_preview("up-to-date", result, view, *sentence)
    else:
        write_outcome(view, result.target, *sentence)
        if not view.terminal:
            view.aside("".join(part if isinstance(part, str) else part.text for part in sentence))


@render_text.register
def render_fast_forwarded(result: FastForwarded, view: View) -> None:
    """Write that the target was fast-forwarded, and by how many messages."""
    count = counted(len(result.messages), "message")
    if result.dry_run:
        sentence = (_target(result), " would be fast-forwarded to ", _source(result), f": {count}")
        _write_preview("fast-forward", result, view, *sentence)
        return
    sentence = (_target(result), " fast-forwarded to ", _source(result), f": {count}")
    write_outcome(view, result.target, *sentence)
    _write_active(result, view)
    if view.terminal and result.operation is not None:
        write_hint(view, UNDO_HINT)


@render_text.register
def render_merged(result: Merged, view: View) -> None:
    """Write how many messages of the source were merged, and list the automatically resolved conflicts."""
    number = len(result.messages) if result.source_messages is None else result.source_messages
    count = counted(number, "message")
    if result.dry_run:
        _write_preview("merged", result, view, _source(result), " would be merged into ", _target(result), f": {count}")
    else:
        by: tuple[str | Span, ...] = ()
        if result.tip_message is not None:
            by = (", now at ", identifier(view, result.tip_message))
        elif result.message is not None:
            by = (" by ", identifier(view, result.message))
        write_outcome(view, result.target, "merged ", _source(result), " into ", _target(result), *by, f": {count}")
    _write_work(result, view)
    write_resolved(view, _without_plans(result.conflicts))
    _write_active(result, view)
    if view.terminal and result.operation is not None:
        write_hint(view, UNDO_HINT)


@render_text.register
def render_conflicted(result: MergeConflicted, view: View) -> None:
    """List the open conflicts, and the commands to resolve them and to continue."""
    number = counted(sum(each.status != "resolved" for each in result.conflicts), "conflict")
    unchanged = "would be unchanged" if result.dry_run else "is unchanged"
    if not view.terminal:
        if result.dry_run:
            _write_preview_row("conflict", result, view)
        else:
            view.line(result.branch)
        what = f"{result.conversation}/{result.target} {unchanged}: {number} with {result.source}"
        write_conflict_notes(view, what, result, "merge")
        _write_work(result, view)
        return
    view.sentence(_target(result), f" {unchanged}: ", Span(number, "heading"), " with ", _source(result))
    if not result.dry_run:
        write_resolution_branch(view, result.branch)
    sides = result.target, result.source
    write_open_conflicts(view, result.conflicts, sides, result.spellings, before=result.others.conflicts)
    _write_work(result, view)
    write_resolved(view, _without_plans(result.conflicts))
    if not result.dry_run:
        write_next_commands(view, result, "merge")


@render_text.register
def render_aborted(result: MergeAborted, view: View) -> None:
    """Write which branch is active; in a pipe nothing."""
    write_aborted(view, result, "merge")


def _write_preview(outcome: str, result: MergeOutcome, view: View, *sentence: str | Span) -> None:
    """Write what a merge would do; in a pipe a row, and the sentence as a note."""
    if view.terminal:
        view.sentence(*sentence)
        return
    _write_preview_row(outcome, result, view)
    view.aside("".join(part if isinstance(part, str) else part.text for part in sentence))


def _write_preview_row(outcome: str, result: MergeOutcome, view: View) -> None:
    """Write the outcome of a dry run as a row; its first word is the `result` in the JSON."""
    number = sum(conflict.status != "resolved" for conflict in result.conflicts)
    row = (outcome, result.conversation, result.target, result.source, str(len(result.messages)), str(number))
    view.rows(_PREVIEW, [row])


def _without_plans(conflicts: Iterable[Conflict]) -> list[Conflict]:
    """Return conflicts without those about plans, which are listed as steps."""
    return [conflict for conflict in conflicts if conflict.type != PLAN_DIVERGENCE]


def _write_work(result: MergeOutcome, view: View) -> None:
    """Write what both sides did: files that both changed, the last tests, and two answers to one prompt."""
    write_files(view, result.files)
    write_tests(result.target, result.tests.target, view)
    write_tests(result.source, result.tests.source, view)
    if result.plans and view.terminal:
        view.line()
        view.line(f"plans that differ: {counted(len(result.plans), 'step')}")
    for step in result.plans[:MAX_LINES]:
        text, target, source = (_shortened(each) for each in (step.text, step.target, step.source))
        statuses = f"{result.target}: {target}, {result.source}: {source}"
        if view.terminal:
            view.line(*fit_line(view, ("    ", f"{text}  ", Span(statuses, "dim"))))
        else:
            view.aside(f"plan: {text}: {statuses}")
    if view.terminal:
        write_more(view, len(result.plans))
    if result.alternatives is not None:
        _write_alternatives(result, result.alternatives, view)


def _shortened(text: str) -> str:
    """Return a text of an agent on one line, at most as long as a subject."""
    return truncate_text(" ".join(text[: 4 * SUBJECT_LENGTH].split()), SUBJECT_LENGTH)


def _write_alternatives(result: MergeOutcome, found: Alternatives, view: View) -> None:
    """Write two answers to one prompt, and how to compare them."""
    sides = (result.target, found.target), (result.source, found.source)
    compare = f"scopes diff {quote(result.conversation)} " + " ".join(head.id[:SHORT_ID_LENGTH] for _, head in sides)
    if not view.terminal:
        answers = " and ".join(f"{head.id[:SHORT_ID_LENGTH]} ({name})" for name, head in sides)
        view.aside(f"two answers to prompt {found.prompt.id[:SHORT_ID_LENGTH]}: {answers}; compare them: {compare}")
        return
    view.line()
    title = ("two answers to one prompt: ", identifier(view, found.prompt.id), " ", subject(found.prompt))
    view.line(*fit_line(view, title))
    width = max(len(name) for name, _ in sides)
    for name, head in sides:
        line = ("    ", Span(f"{name:<{width}}", "branch"), "  ", identifier(view, head.id), "  ", subject(head))
        view.line(*fit_line(view, line))
    write_hint(view, f"compare them: {compare}")


def write_tests(branch: str, runs: Sequence[CheckRun], view: View) -> None:
    """Write the outcome of each test command of a side; a terminal wraps long commands."""
    outcomes = [_test_outcome(run) for run in runs]
    if not view.terminal:
        for run, outcome in zip(runs, outcomes, strict=True):
            view.aside(f"tests: {branch}: {run.command} {outcome.text}")
        return
    if runs:
        view.line()
        view.line("tests on ", Span(branch, "branch"), ":")
    width = max((len(outcome.text) for outcome in outcomes), default=0)
    for run, outcome in zip(runs, outcomes, strict=True):
        view.hanging(run.command, start=("    ", Span(outcome.text.ljust(width), outcome.style), "  "))


def _test_outcome(run: CheckRun) -> Span:
    """Return the outcome of a test command: `ok` or `failed (1)`."""
    if not run.failed:
        return Span("ok", "good")
    return Span("failed" + (f" ({run.exit_code})" if run.exit_code else ""), "bad")


def _write_active(result: MergeOutcome, view: View) -> None:
    """Write which branch the merge made active."""
    if result.active_branch is not None:
        view.aside(f"active branch: {result.active_branch}")


def _target(result: MergeOutcome) -> Span:
    return Span(f"{result.conversation}/{result.target}", "branch")


def _source(result: MergeOutcome) -> Span:
    return Span(result.source, "branch")
