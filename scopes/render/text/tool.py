"""Format a tool call as one line: its name, its most informative argument and its outcome."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from scopes.model.tools import main_argument, tool_name
from scopes.render.text.tool_outcome import failure_spans, outcome_spans
from scopes.render.view import Span
from scopes.render.wrap import truncate_text
from scopes.sanitize import clean_line

if TYPE_CHECKING:
    from scopes.model.message import Part

_MAX_CHARACTERS = 1000
_MIN_WIDTH = 12  # cells of an argument that are worth showing

Line = tuple[Span, ...]


def call_line(part: Part, results: Iterable[Part] = (), room: int | None = None) -> Line:
    """Return a tool call as one line of at most `room` cells: name, main argument, outcome."""
    name = Span(tool_name(part), "key")
    ended = outcome_spans(part.fields.get("call_id"), results)
    text, is_path = main_argument(part)
    argument = clean_line(text)[:_MAX_CHARACTERS]
    if room is not None and argument:
        used = sum(len(clean_line(span.text)) for span in ended) + len(clean_line(name.text)) + 3
        argument = truncate_text(argument, max(room - used, _MIN_WIDTH), tail=is_path)
    return Span("→ "), name, *((Span(f" {argument}"),) if argument else ()), *ended


def calls_line(calls: Sequence[Part], results: tuple[Part, ...], room: int | None) -> Line:
    """Return the first call of a message, and the number of further ones, and of those that failed or were refused."""
    more = len(calls) - 1
    failures = failure_spans((call.fields.get("call_id") for call in calls[1:]), results)
    rest = (*((Span(f" · {more} more", "dim"),) if more else ()), *failures)
    used = sum(len(span.text) for span in rest)
    return *call_line(calls[0], results, None if room is None else room - used), *rest
