"""What a transcript on disk and the store have in common, for people."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.importers.verify_source import SourceVerification
from scopes.render.text.dispatch import render_text
from scopes.render.text.phrases import counted, say_field
from scopes.render.view import Column, Span, View

_PIPED = (Column("Name"), Column("Value"))
_COMPARED = {
    "equal": "the stored bytes are the file's",
    "grown": "the stored bytes are the file's beginning",
    "cut": "the file is the beginning of the stored bytes",
    "different": "file and stored bytes differ",
}


@render_text.register(SourceVerification)
def certificate(result: SourceVerification, view: View) -> None:
    """Say what every byte became, what is to be known beside it, and a verdict; in a pipe a row each."""
    if not view.terminal:
        view.rows(_PIPED, _rows(result))
        return
    part = "" if result.part is None else f", part {result.part}"
    say_field(view, "File", Span(result.path, "id"))
    say_field(view, "Session", f"{result.native_id}{part} ({result.format})")
    say_field(view, "Compared", _COMPARED[result.comparison])
    width = max(len(f"{size:,}") for size in (result.size, *(count for _, count in _became(result))))
    for what, count in _became(result):
        view.line(f"{count:>{width},} {what}", indent=2)
    view.line(Span(f"{result.size:>{width},} bytes in the file", "key"), indent=2)
    for found in result.findings:
        severity = f"{found.severity}:"
        view.line(Span(severity, "bad") if found.severity == "error" else Span(severity, "warn"), " ", found.problem)
        if found.cure is not None:
            view.body(found.cure, indent=4, style="dim")
    if result.whole:
        view.line(Span("whole: ", "good"), "every byte of the file is in the store")
    else:
        damaged = Span("damaged: ", "bad"), "what is stored of this file cannot be trusted"
        lacking = Span("not whole: ", "warn"), f"{counted(result.new_bytes, 'byte')} of the file are not in the store"
        view.line(*(damaged if result.exit_code == 7 else lacking))


def _became(result: SourceVerification) -> Iterator[tuple[str, int]]:
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
