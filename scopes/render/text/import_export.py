"""Render import (also of the sample), `verify --source` and export."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from scopes.clock import now_nanoseconds
from scopes.render.dispatch import render_text
from scopes.render.relative_time import ago
from scopes.render.text.phrases import counted, format_size, write_field, write_hint, write_outcome
from scopes.render.view import Cell, Column, Span, View
from scopes.sanitize import SUBJECT_LENGTH, mark_cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scopes.exporters.atomic_save import ExportSaved, SiteSaved
    from scopes.exporters.commit_notes import TracesNoted
    from scopes.importers.found_transcripts import FoundAgent, FoundTranscripts
    from scopes.importers.import_sample import SampleImported
    from scopes.importers.results import ConversationImported, Imported
    from scopes.importers.verify_source import SourceVerification

_COMMIT_COLUMNS = (Column("Commit", "id"),)
_PIPED_COLUMNS = (Column("Name"), Column("Value"))
_COMPARED = {
    "equal": "the stored bytes are the file's",
    "grown": "the stored bytes are the file's beginning",
    "cut": "the file is the beginning of the stored bytes",
    "different": "file and stored bytes differ",
}
_REPORT_ON_TERMINAL = (
    Column("Source", flexible=True, paths=True),
    Column("Format"),
    Column("In messages", align="right"),
    Column("In state", align="right"),
    Column("Unparsed", align="right"),
    Column("Sum", align="right"),
    Column("File", align="right"),
)


@render_text.register
def render_sample_imported(result: SampleImported, view: View) -> None:
    """Write which conversation the sample is."""
    name = Span(result.conversation, "id")
    extent = f"{counted(result.messages, 'message')} on {counted(result.branches, 'branch')}"
    if result.operation is None:
        write_outcome(view, name, "the sample is already imported: ", name, f", {extent}")
    else:
        write_outcome(view, name, "imported the sample as ", name, f": {extent}", operation=result.operation)


@render_text.register
def render_imported(result: Imported, view: View) -> None:
    """Write one row per conversation, then skipped files; with `--report` also the byte counts of every source."""
    if view.options.report:
        _write_byte_report(result, view)
    if view.options.report or view.options.details:
        for session, parent in result.missing_parents.items():
            view.aside(f"session {session} continues {parent}, which is not imported")
        for text in result.details:
            view.aside(text)
    columns = (
        Column("ID", style="id"),
        Column("Title", flexible=True),
        Column("Messages", align="right"),
        Column("New", align="right"),
        Column("Branches", align="right"),
        Column("UUID", hidden=True),
    )
    rows = (
        (row.id, _title(row, view), str(row.messages), str(row.new_messages), str(row.branches), row.uuid)
        for row in result.conversations
    )
    if view.terminal and (result.is_empty or _write_instead(result, view)):
        return
    if result.conversations or not result.unchanged:
        view.rows(columns, rows, title="Would Be Imported" if result.dry_run else "Imported")
    if view.terminal:
        _write_totals(result, view)
    if result.unchanged:
        view.aside(f"{counted(result.unchanged, 'conversation')} unchanged")


@render_text.register
def render_found_transcripts(result: FoundTranscripts, view: View) -> None:
    """Write a row for each agent; on a terminal other files, and how to import, are lines below it."""
    columns = (
        Column("Agent", "agent"),
        Column("Files", align="right"),
        Column("Size", align="right"),
        Column("New", align="right"),
        Column("Newest"),
        Column("Folder", flexible=True, paths=True),
    )
    view.rows(columns, (_found_cells(each, view) for each in result.agents), title="Transcripts")
    for each in result.agents:
        for problem in each.problems:
            view.aside(f"{each.agent}: {problem}")
        if each.unknown and view.terminal:
            view.aside(f"{each.agent}: {counted(each.unknown, 'other file')} of no known format")
    if view.terminal and any(each.new for each in result.agents):
        write_hint(view, "import what is new: scopes import")


def _found_cells(found: FoundAgent, view: View) -> tuple[Cell, ...]:
    newest = found.newest or ""
    return (
        found.agent,
        str(found.files),
        format_size(found.size) if view.terminal else str(found.size),
        Span(str(found.new), "good" if found.new else "dim"),
        ago(newest, now_nanoseconds()) if view.terminal and newest else newest,
        ", ".join(folder for folder in found.folders),
    )


@render_text.register
def render_source_verification(result: SourceVerification, view: View) -> None:
    """Write what the bytes of the file became, findings, and a verdict; in a pipe one row each."""
    if not view.terminal:
        view.rows(_PIPED_COLUMNS, _rows(result))
        return
    part = "" if result.part is None else f", part {result.part}"
    write_field(view, "File", Span(result.path, "id"))
    write_field(view, "Session", f"{result.native_id}{part} ({result.format})")
    write_field(view, "Compared", _COMPARED[result.comparison])
    width = max(len(f"{size:,}") for size in (result.size, *(count for _, count in _byte_counts(result))))
    for what, count in _byte_counts(result):
        view.line(f"{count:>{width},} {what}", indent=2)
    view.line(Span(f"{result.size:>{width},} bytes in the file", "key"), indent=2)
    for found in result.findings:
        severity = f"{found.severity}:"
        view.line(Span(severity, "bad") if found.severity == "error" else Span(severity, "warn"), " ", found.problem)
        if found.cure is not None:
            view.sentence(Span(found.cure, "dim"), indent=4)
    if result.whole:
        view.line(Span("whole: ", "good"), "every byte of the file is in the store")
    else:
        damaged = Span("damaged: ", "bad"), "the stored bytes of this file cannot be trusted"
        lacking = Span("not whole: ", "warn"), f"{counted(result.new_bytes, 'byte')} of the file are not in the store"
        view.line(*(damaged if result.exit_code == 7 else lacking))


@render_text.register
def render_export_saved(result: ExportSaved, view: View) -> None:
    """Write what was exported and where; in a pipe only the paths of the files."""
    paths = [os.path.join(result.path, name) for name in result.files] or [result.path]
    if not view.terminal:
        for each in paths:
            view.line(Span(each, "id"))
        return
    many = f"{counted(len(paths), 'file')} in " if len(paths) > 1 else ""
    path = Span(paths[0] if len(paths) == 1 else result.path, "id")
    content = "its original bytes" if result.format == "original" else "records of its commits"
    if result.messages is not None:
        content = f"{counted(result.messages, 'message')} as {result.format}"
    name = Span(result.conversation, "id")
    view.sentence("wrote ", name, " to ", many, path, f": {content}, {format_size(result.size_bytes)}")


@render_text.register
def render_site_saved(result: SiteSaved, view: View) -> None:
    """Write where the site is; in a pipe only its index."""
    index = os.path.join(result.path, "index.html")
    if not view.terminal:
        view.line(Span(index, "id"))
        return
    pages = f"{counted(result.conversations, 'conversation')}, {counted(result.messages, 'message')}"
    view.sentence("wrote a site of ", pages, f", {format_size(result.size_bytes)}: ", Span(index, "id"))


@render_text.register
def render_traces_noted(result: TracesNoted, view: View) -> None:
    """Write the commits that have a note now; on a terminal how to see them."""
    if not view.terminal:
        view.rows(_COMMIT_COLUMNS, [(commit,) for commit in result.commits])
        return
    view.sentence("wrote ", counted(len(result.commits), "note"), f" into {result.ref} of the project")
    if result.commits:
        write_hint(view, f"see them: git log --notes={result.ref.removeprefix('refs/notes/')}")


def _write_instead(result: Imported, view: View) -> bool:
    """Write one line instead of the table if nothing was imported; return whether it was written."""
    if result.operation is None and not result.dry_run and not view.options.report and result.sources:
        extent = f"{counted(len(result.sources), 'source')}, {counted(len(result.conversations), 'conversation')}"
        view.line(f"Nothing new in {extent}.")
        return True
    if result.other_sessions and not result.sources:
        view.line("There are no sessions of this project to import.")
        return True
    return False


def _title(row: ConversationImported, view: View) -> Cell:
    """Return the title, or the first prompt: what a terminal has room for, elsewhere no more than `list` has."""
    prompt = row.first_prompt or ""
    return row.title or Span(prompt if view.terminal else mark_cut(prompt[:SUBJECT_LENGTH].rstrip(), prompt), "dim")


def _write_totals(result: Imported, view: View) -> None:
    view.line(
        f"{counted(len(result.sources), 'source')}, {format_size(sum(source.size for source in result.sources))}: ",
        counted(sum(row.new_messages for row in result.conversations), "new message"),
        f" in {counted(len(result.conversations), 'conversation')}",
    )
    for source in result.sources:
        for problem in source.problems[:3]:
            view.body(f"{source.path}: {problem}", indent=2, style="dim")
    for skipped in result.skipped:
        if not skipped.noted:
            view.body(f"skipped {skipped.path}: {skipped.reason}", style="dim")
    if result.operation is not None:
        write_hint(view, "undo with: scopes undo")


def _write_byte_report(result: Imported, view: View) -> None:
    accounts = [*result.sources, *(skipped.account for skipped in result.skipped if skipped.account is not None)]
    columns = (
        Column("Source", flexible=True),
        Column("Format"),
        Column("Messages", align="right"),
        Column("State", align="right"),
        Column("Unparsed", align="right"),
        Column("Sum", align="right"),
        Column("File", align="right"),
    )
    rows = (
        (s.path, s.format, *map(str, (s.message_bytes, s.state_bytes, s.unparsed_bytes, s.accounted_bytes, s.size)))
        for s in accounts
    )
    view.rows(_REPORT_ON_TERMINAL if view.terminal else columns, rows, title="Bytes by Source")
    if view.terminal:
        short = [source for source in accounts if source.accounted_bytes != source.size]
        for source in short:
            missing = source.size - source.accounted_bytes
            view.line(Span(f"{source.path}: {missing} bytes are not accounted for", "bad"))
        if not short:
            view.line(Span("every byte of every file is accounted for", "good"))


def _byte_counts(result: SourceVerification) -> Iterator[tuple[str, int]]:
    yield f"became {counted(result.messages, 'message')}", result.message_bytes
    yield "are state records", result.state_bytes
    yield "are kept unread", result.unparsed_bytes
    if result.new_bytes:
        yield "are not in the store", result.new_bytes


def _rows(result: SourceVerification) -> Iterator[tuple[str, str]]:
    yield "path", result.path
    yield "format", result.format
    yield "session", result.native_id
    if result.part is not None:
        yield "part", result.part
    yield "comparison", result.comparison
    names = ("message_bytes", "state_bytes", "unparsed_bytes", "new_bytes", "size", "stored_size", "messages", "away")
    for name in names:
        yield name, str(getattr(result, name))
    yield "whole", "yes" if result.whole else "no"
    for found in result.findings:
        yield found.severity, found.problem
