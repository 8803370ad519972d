"""How a tool call ended: whether it worked, how long it took, how much it gave back, and the line that tells most."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from scopes.loading import load
from scopes.render.text.phrases import counted, format_duration, format_size
from scopes.render.view import Span

if TYPE_CHECKING:
    from scopes.model.message import Part
    from scopes.render.colour import Style

# What Codex and Claude Code write in front of or around what a tool gave back.
_PREAMBLE = re.compile(
    r"\A(?:(?:Command: .*?\n)?Chunk ID: [^\n]*\n|Exit code: -?\d+\n)"
    r"(?:Wall time: (?P<seconds>[\d.]+) seconds?\n)?(?:(?!Output:\n)[^\n]*\n){0,3}Output:\n",
    re.DOTALL,
)
_RUNNING = re.compile(r"^Process running with session ID", re.MULTILINE)
_AROUND = re.compile(r"\AExit code -?\d+\n|</?tool_use_error>|<system-reminder>.*?</system-reminder>", re.DOTALL)
_NUMBERED = re.compile(r"^\s*\d+(?:→|\t)", re.MULTILINE)
_TELLS = re.compile(r"[^\W_]")
_SMALL = 1024
_SEARCHED = 4000  # characters in which a line that tells something is looked for


def outcome_spans(call_id: object, results: Iterable[Part]) -> tuple[Span, ...]:
    """Say how a call ended, in front of each fact a dot; a call without an id or an answer says nothing."""
    found = _find_result(call_id, results)
    return () if found is None else tuple(_separated_by_dots([_status(found), *_result_facts(found)]))


def call_failed(call_id: object, results: Iterable[Part]) -> bool:
    """Tell whether the answer to a call says that it failed."""
    found = _find_result(call_id, results)
    return found is not None and _status(found).style == "bad"


def result_line(part: Part, room: int | None = None) -> tuple[Span, ...]:
    """Say what came back in one line: how it ended where that is no success, the first line that tells, how much."""
    status = _status(part)
    ended = (Span(status.text, status.style), Span(": ")) if status.style in {"bad", "warn"} else ()
    first = first_content_line(output_of(part)) or "(no output)"
    measures = tuple(_separated_by_dots(_result_facts(part)))
    if room is not None:
        taken = sum(len(span.text) for span in (*ended, *measures)) + 2
        first = load("scopes.render.wrap:truncate_text")(first, max(room - taken, 12))
    return Span("← "), *ended, Span(first, "dim"), *measures


def output_of(part: Part) -> str:
    """Return what a tool gave back: its text, the text of its blocks, or JSON, without what its agent put around it."""
    value = part.fields.get("output", part.fields.get("output_text"))
    if isinstance(value, list) and value and all(isinstance(b, dict) and isinstance(b.get("text"), str) for b in value):
        text = "\n".join(block["text"] for block in value)
    elif value is None:
        text = ""
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _AROUND.sub("", _PREAMBLE.sub("", text, count=1))


def first_content_line(text: str) -> str:
    """Return the first line with a letter or a digit, without the number that a reader of files put before it."""
    lines = [line.strip() for line in _NUMBERED.sub("", text[:_SEARCHED]).splitlines()]
    return next((line for line in lines if _TELLS.search(line)), next(filter(None, lines), ""))


def format_extent(text: str) -> str:
    """Say how much a text is, where it is more than a line or a kibibyte."""
    lines = text.rstrip("\n").count("\n") + 1
    length = len(text.encode("utf-8", "surrogatepass"))
    said = [counted(lines, "line")] if lines > 1 else []
    return ", ".join(said + ([format_size(length)] if length >= _SMALL else []))


def _find_result(call_id: object, results: Iterable[Part]) -> Part | None:
    return None if call_id is None else next((part for part in results if part.fields.get("call_id") == call_id), None)


def _status(part: Part) -> Span:
    fields = part.fields
    code = fields.get("exit_code")
    style: Style = "bad" if fields.get("is_error") is True or code not in {None, 0} else "good"
    if _RUNNING.search(str(fields.get("output", ""))[:_SEARCHED]):
        return Span("running", "warn")
    if style == "bad":
        return Span("error" if code in {None, 0} else f"exit {code}", style)
    known = code == 0 or fields.get("is_error") is False or isinstance(fields.get("structured"), Mapping)
    return Span("ok", style) if known else Span("done", "dim")


def _result_facts(part: Part) -> Iterator[Span]:
    """Yield how long it took, what it changed, and how much it gave back, as far as that is known."""
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
    elif said := format_extent(output_of(part)):
        yield Span(said, "dim")


def _seconds(text: str, facts: Mapping[str, Any]) -> float:
    found = _PREAMBLE.match(text)
    if found is not None and found["seconds"]:
        return float(found["seconds"])
    for name, unit in (("durationMs", 1000), ("totalDurationMs", 1000), ("durationSeconds", 1)):
        value = facts.get(name)
        if isinstance(value, int | float):
            return value / unit
    return 0.0


def _patch_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the patches that came with a result."""
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
