"""Write what both sides of a merge made of files: one line each, and the changes of both sides to one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.text.conflict_phrases import MAX_LINES, write_more
from scopes.render.view import Span, View
from scopes.sanitize import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scopes.merge.files import FileComparison, LineRange
    from scopes.render.color import Style

_MAX_RANGES = 5
_MAX_PATCH_LINES = 60  # of one patch on a terminal
_STYLES: dict[str, Style] = {"compatible": "good", "overlap": "warn", "unknown": "dim"}
_PATCH_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "key"}


def file_outcome(file: FileComparison) -> str:
    """Return what both sides made of a file: `both edited, lines 40-52 disagree`."""
    match file.outcome:
        case "compatible":
            text = "both edited, compatible"
        case "overlap" if file.ranges:
            text = f"both edited, {_lines(file.ranges)} disagree"
        case "unknown":
            text = "both edited, not compared"
        case _:
            text = "both edited" if file.note is not None else "both edited, the edits overlap"
    return f"{text} ({file.note})" if file.note is not None else text


def write_files(view: View, files: Sequence[FileComparison]) -> None:
    """List the files that both sides changed: on a terminal as a block, elsewhere as notes."""
    if not files:
        return
    for number, file in enumerate(files[:MAX_LINES]):
        outcome = file_outcome(file)
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


def _lines(ranges: Sequence[LineRange]) -> str:
    """Return ranges as `lines 40-52, 60`: those of the target."""
    shown = [_range(each.target) for each in ranges[:_MAX_RANGES]]
    more = f" and {len(ranges) - _MAX_RANGES} more ranges" if len(ranges) > _MAX_RANGES else ""
    single = len(ranges) == 1 and "-" not in shown[0]
    return f"{'line' if single else 'lines'} {', '.join(shown)}{more}"


def _range(lines: tuple[int, int]) -> str:
    first, last = lines
    return str(max(first, 1)) if last <= first else f"{first}-{last}"
