"""What was brought in, for people."""

from __future__ import annotations

from scopes.conversation.import_sample import SampleImported
from scopes.importers.results import Imported
from scopes.render.text.dispatch import render_text
from scopes.render.text.phrases import counted, say_hint, say_outcome, size
from scopes.render.view import Column, Span, View


@render_text.register(SampleImported)
def sample_imported(result: SampleImported, view: View) -> None:
    """Say where the sample is."""
    name = Span(result.conversation, "id")
    extent = f"{counted(result.messages, 'message')} on {counted(result.branches, 'branch')}"
    if result.operation is None:
        say_outcome(view, name, "the sample is here already: ", name, f", {extent}")
    else:
        say_outcome(view, name, "brought in the sample as ", name, f": {extent}", operation=result.operation)


@render_text.register(Imported)
def imported(result: Imported, view: View) -> None:
    """Say what came in, a row a conversation, then what was passed over; with a report also where every byte went."""
    if result.report:
        _report(result, view)
    columns = (
        Column("ID", style="id"),
        Column("Title", flexible=True),
        Column("Messages", align="right"),
        Column("New", align="right"),
        Column("Branches", align="right"),
        Column("UUID", hidden=True),
    )
    rows = (
        (row.id, row.title or "", str(row.messages), str(row.new_messages), str(row.branches), row.uuid)
        for row in result.conversations
    )
    if view.terminal and result.operation is None and not result.dry_run and not result.report and result.sources:
        extent = f"{counted(len(result.sources), 'source')}, {counted(len(result.conversations), 'conversation')}"
        view.line(f"Nothing new in {extent}.")
        return
    view.rows(columns, rows, title="Would Come In" if result.dry_run else "Brought In")
    if view.terminal:
        _totals(result, view)


def _totals(result: Imported, view: View) -> None:
    view.line(
        f"{counted(len(result.sources), 'source')}, {size(sum(source.size for source in result.sources))}: ",
        counted(sum(row.new_messages for row in result.conversations), "new message"),
    )
    for source in result.sources:
        for problem in source.problems[:3]:
            view.line(Span(f"{source.path}: {problem}", "dim"), indent=2)
    for skipped in result.skipped:
        if not skipped.noted:
            view.line(Span(f"skipped {skipped.path}: {skipped.reason}", "dim"))
    if result.operation is not None:
        say_hint(view, "undo with: scopes undo")


def _report(result: Imported, view: View) -> None:
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
    if view.terminal and result.operation is None and not result.dry_run and not result.report and result.sources:
        extent = f"{counted(len(result.sources), 'source')}, {counted(len(result.conversations), 'conversation')}"
        view.line(f"Nothing new in {extent}.")
        return
    view.rows(columns, rows, title="Where Every Byte Went")
    if view.terminal:
        short = [source for source in accounts if source.accounted_bytes != source.size]
        for source in short:
            missing = source.size - source.accounted_bytes
            view.line(Span(f"{source.path}: {missing} bytes are not accounted for", "bad"))
        if not short:
            view.line(Span("every sum is its file's size", "good"))
