"""Render which lines of a commit no edit accounts for: by file, with their numbers, or counted only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.text.phrases import SHORT_ID_LENGTH
from scopes.render.view import Column, Span, View
from scopes.result import counted

if TYPE_CHECKING:
    from scopes.conversation.commits import CommitAccount, FileAccount

_COLUMNS = (Column("Path"), Column("Line"), Column("Text"))
_STAT_COLUMNS = (Column("Path"), Column("Added"), Column("Edited"), Column("Short"), Column("Others"))


def render_commit_account(result: CommitAccount, view: View) -> None:
    """Write the lines that no edit has; with `stat` a row for each file."""
    if not view.terminal:
        if view.options.stat:
            view.rows(_STAT_COLUMNS, [_counts(file) for file in result.files])
        else:
            rows = ((file.path, str(each.number), each.text) for file in result.files for each in file.others)
            view.rows(_COLUMNS, list(rows))
        return
    names = ", ".join(result.conversations)
    view.line(Span(result.commit[:SHORT_ID_LENGTH], "id"), f" {result.subject}  ", Span(names, "branch"))
    for file in result.files:
        others = len(file.others)
        what = f"{file.edited} of {counted(file.added - file.short, 'line')} from edits"
        view.line(file.path, ": ", Span(what, "warn" if others else "good"), indent=2)
        for each in () if view.options.stat else file.others:
            view.line(Span(f"{each.number:>6} ", "dim"), Span(f"+{each.text}", "warn"), indent=2)


def _counts(file: FileAccount) -> tuple[str, ...]:
    return file.path, str(file.added), str(file.edited), str(file.short), str(len(file.others))
