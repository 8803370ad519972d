"""Formats for conflicts shared by several renderers: severity, status, key, agents, sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.merge.conflict_keys import MESSAGES, group_of, shown_key
from scopes.render.text.claims import claim_text
from scopes.render.text.phrases import SHORT_ID_LENGTH, identifier
from scopes.render.view import Span, View
from scopes.render.wrap import truncate_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scopes.model.conflicts import Conflict, Position
    from scopes.render.color import Style

_STYLE_OF_SEVERITY: Mapping[str, Style] = {"high": "bad", "medium": "warn", "low": "dim"}
_STYLE_OF_STATUS: Mapping[str, Style] = {"escalated": "warn", "resolved": "good"}
_BANDS = ((0.2, "Very Low"), (0.4, "Low"), (0.6, "Medium"), (0.8, "High"))


def severity(conflict: Conflict) -> Span:
    """Return the severity of a conflict in its style."""
    return Span(conflict.severity, _STYLE_OF_SEVERITY.get(conflict.severity, ""))


def status(conflict: Conflict) -> Span:
    """Return the status of a conflict in its style."""
    return Span(conflict.status, _STYLE_OF_STATUS.get(conflict.status, ""))


def conflict_key(view: View, conflict: Conflict) -> str:
    """Return the decoded key of a conflict: `decisions/auth`."""
    if group_of(conflict.key) == MESSAGES and view.terminal:
        return conflict.key[: len(MESSAGES) + 1 + SHORT_ID_LENGTH]
    return shown_key(conflict.key)


def conflict_agents(conflict: Conflict) -> str:
    """Return the agents of both sides, those of the target first."""
    positions = (*conflict.target, *conflict.source)
    return ", ".join(dict.fromkeys(position.agent for position in positions if position.agent is not None))


def confidence(value: float) -> str:
    """Return a confidence as a word and the number: `High (0.75)`; each word starts at its lower bound."""
    word = next((word for bound, word in _BANDS if value < bound), "Very High")
    return f"{word} ({value:g})"


def _side_spans(key: str, positions: Sequence[Position]) -> Iterator[str | Span]:
    """Yield the positions of a side as one line, each with its agent."""
    if not positions:
        yield Span("nothing", "dim")
    for number, position in enumerate(positions):
        yield ("; " if number else "") + claim_text(key, position.value)
        if position.agent is not None:
            yield " — "
            yield Span(position.agent, "agent")


def write_conflict_lines(view: View, numbered: Iterable[tuple[int, Conflict]], sides: tuple[str, str]) -> None:
    """Write conflicts in three lines each, with both sides; `sides` are the names of target and source."""
    for number, conflict in numbered:
        kind = Span(conflict.type, "heading")
        name = identifier(view, conflict.id)
        line = (f"{number:>2}  ", kind, "  ", severity(conflict), "  ", conflict_key(view, conflict), "  ", name)
        view.line(*fit_line(view, line))
        width = max(map(len, sides))
        for word, branch, positions in (("target", sides[0], conflict.target), ("source", sides[1], conflict.source)):
            where = (f"    {word} ", Span(f"{branch:<{width}}", "branch"), "  ")
            view.line(*fit_line(view, (*where, *_side_spans(conflict.key, positions))))


def fit_line(view: View, line: tuple[str | Span, ...]) -> Iterable[str | Span]:
    """Return a line truncated to the terminal; unchanged elsewhere."""
    if not view.terminal:
        return line
    return truncate_line(line, view.width)
