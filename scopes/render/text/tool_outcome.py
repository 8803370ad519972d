"""Format the outcome of a tool call: status, duration, changed lines, size and first line of its output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from scopes.model.tools import is_refused
from scopes.render.text.phrases import counted, format_duration, format_size
from scopes.render.view import Span
from scopes.render.wrap import truncate_text

if TYPE_CHECKING:
    from scopes.model.message import Part
    from scopes.render.color import Style

_PREAMBLE = re.compile(  # of Codex
    r"(?s)\A(?:(?:Command: .*?\n)?Chunk ID: [^\n]*\n|Exit code: -?\d+\n)"
    r"(?:Wall time: (?P<seconds>[\d.]+) seconds?\n)?(?:(?!Output:\n)[^\n]*\n){0,3}Output:\n"
)
_MARKUP = re.compile(  # text in an output that the tool did not write: of Claude Code, Gemini CLI, Copilot CLI
    r"(?s)\AExit code -?\d+\n|</?tool_use_error>|<system-reminder>.*?</system-reminder>"
    r"|\A<untrusted_context>\n?|\n?</untrusted_context>\Z|\n?<exited with exit code -?\d+>\s*\Z"
)
_RUNNING = re.compile(r"^Process running with session ID", re.MULTILINE)
_DURATIONS = {"durationMs": 1000, "totalDurationMs": 1000, "durationSeconds": 1}  # units per second
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t)", re.MULTILINE)
_HAS_CONTENT = re.compile(r"[^\W_]")
_SMALL = 1024
_REFUSED = "refused"
_SEARCHED = 4000  # characters searched for a line with content


def outcome_spans(call_id: object, results: Iterable[Part]) -> tuple[Span, ...]:
    """Return the outcome of a call as facts separated by dots; empty without an id or a result."""
    found = _find_result(call_id, results)
    return () if found is None else tuple(_separated_by_dots([_status(found), *_result_facts(found)]))


def failure_spans(call_ids: Iterable[object], results: tuple[Part, ...]) -> tuple[Span, ...]:
    """Return how many of some calls failed and how many were refused; empty if none."""
    found = [_status(result) for call_id in call_ids if (result := _find_result(call_id, results)) is not None]
    failed = sum(status.style == "bad" for status in found)
    refused = sum(status.text == _REFUSED for status in found)
    return (
        *((Span(f", {failed} failed", "bad"),) if failed else ()),
        *((Span(f", {refused} {_REFUSED}", "warn"),) if refused else ()),
    )


def result_line(part: Part, room: int | None = None) -> tuple[Span, ...]:
    """Return a tool result as one line: the status unless it succeeded, the first line with content, the size."""
    status = _status(part)
    status_spans = (Span(status.text, status.style), Span(": ")) if status.style in {"bad", "warn"} else ()
    first = first_content_line(output_of(part)) or "(no output)"
    measures = tuple(_separated_by_dots(_result_facts(part)))
    if room is not None:
        used = sum(len(span.text) for span in (*status_spans, *measures)) + 2
        first = truncate_text(first, max(room - used, 12))
    return Span("← "), *status_spans, Span(first, "dim"), *measures


def output_of(part: Part) -> str:
    """Return the output of a tool (its text, the text of its blocks, or JSON) without text added by the agent."""
    value = part.fields.get("output", part.fields.get("output_text"))
    if isinstance(value, list) and value and all(isinstance(b, dict) and isinstance(b.get("text"), str) for b in value):
        text = "\n".join(block["text"] for block in value)
    elif value is None:
        text = ""
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _MARKUP.sub("", _PREAMBLE.sub("", text))


def first_content_line(text: str) -> str:
    """Return the first line with a letter or digit, without the line number of a file reader."""
    lines = [line.strip() for line in _NUMBERED.sub("", text[:_SEARCHED]).splitlines()]
    return next((line for line in lines if _HAS_CONTENT.search(line)), next(filter(None, lines), ""))


def format_extent(text: str) -> str:
    """Return the lines and bytes of a text, as far as they exceed one line or one KiB."""
    lines = text.rstrip("\n").count("\n") + 1
    length = len(text.encode("utf-8", "surrogatepass"))
    extent = [counted(lines, "line")] if lines > 1 else []
    return ", ".join(extent + ([format_size(length)] if length >= _SMALL else []))


def _find_result(call_id: object, results: Iterable[Part]) -> Part | None:
    return None if call_id is None else next((part for part in results if part.fields.get("call_id") == call_id), None)


def _status(part: Part) -> Span:
    fields = part.fields
    code = fields.get("exit_code")
    style: Style = "bad" if fields.get("is_error") is True or code not in {None, 0} else "good"
    output = str(fields.get("output", ""))[:_SEARCHED]
    if _RUNNING.search(output):
        return Span("running", "warn")
    if is_refused(part):
        return Span(_REFUSED, "warn")
    if style == "bad":
        return Span("error" if code in {None, 0} else f"exit {code}", style)
    known = code == 0 or fields.get("is_error") is False or isinstance(fields.get("structured"), Mapping)
    return Span("ok", style) if known else Span("done", "dim")


def _result_facts(part: Part) -> Iterator[Span]:
    """Yield the duration, and the changed lines or the size of the output, as far as known."""
    text = str(part.fields.get("output", ""))
    structured = part.fields.get("structured")
    facts: Mapping[str, Any] = structured if isinstance(structured, Mapping) else {}
    seconds = _seconds(text, facts)
    if seconds >= 0.1:
        yield Span(format_duration(seconds), "dim")
    lines = list(_patch_lines(facts))
    if lines:
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        yield Span(f"+{added} -{removed}", "dim")
    elif extent := format_extent(output_of(part)):
        yield Span(extent, "dim")


def _seconds(text: str, facts: Mapping[str, Any]) -> float:
    found = _PREAMBLE.match(text)
    if found is not None and found["seconds"]:
        return float(found["seconds"])
    for name, units_per_second in _DURATIONS.items():
        value = facts.get(name)
        if isinstance(value, int | float):
            return value / units_per_second
    return 0.0


def _patch_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the patches in a result."""
    patch, changes = facts.get("structuredPatch"), facts.get("changes")
    for hunk in patch if isinstance(patch, list) else ():
        yield from map(str, hunk.get("lines", ()) if isinstance(hunk, Mapping) else ())
    for change in changes.values() if isinstance(changes, Mapping) else ():
        diff = change.get("unified_diff") if isinstance(change, Mapping) else None
        yield from str(diff or "").splitlines()


def _separated_by_dots(facts: Iterable[Span]) -> Iterator[Span]:
    for fact in facts:
        yield Span(" · ", "dim")
        yield fact
