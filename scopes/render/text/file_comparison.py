"""Write what both sides of a merge made of files: one line each, and the changes of both sides to one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.text.conflict_phrases import MAX_LINES, write_more
from scopes.render.view import Span, View
from scopes.sanitize import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scopes.merge.files import FileComparison
    from scopes.render.color import Style

_MAX_PATCH_LINES = 60  # of one patch on a terminal
_STYLES: dict[str, Style] = {"compatible": "good", "overlap": "warn", "unknown": "dim"}
_PATCH_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "key"}


def write_files(view: View, files: Sequence[FileComparison]) -> None:
    """List the files that both sides changed: on a terminal as a block, elsewhere as notes."""
    if not files:
        return
    for number, file in enumerate(files[:MAX_LINES]):
        outcome = file.verdict
        if view.terminal:
            start = Span("        " if number else "files   ", "key")
            view.hanging(file.path, ": ", Span(outcome, _STYLES.get(file.outcome, "")), start=(start,), indent=2)
        else:
            view.aside(f"{file.path}: {outcome}")
    if view.terminal:
        write_more(view, len(files))
    elif len(files) > MAX_LINES:
        view.aside(f"{len(files) - MAX_LINES:,} more files that both sides changed")


def write_patch(view: View, title: str, patch: str) -> None:
    """Write a patch below a title; on a terminal at most 60 lines of it."""
    if not patch:
        return
    lines = clean(patch).removesuffix("\n").split("\n")
    most = _MAX_PATCH_LINES if view.terminal and len(lines) > _MAX_PATCH_LINES + 1 else len(lines)
    view.line()
    view.line(Span(title, "key"))
    for line in lines[:most]:
        view.cut("    ", Span(line.expandtabs(8), _PATCH_STYLES.get(line[:1], "")))
    if len(lines) > most:
        view.line(Span(f"    … {len(lines) - most:,} more lines", "dim"))
