"""The turns of phrase about conflicts: what they are about and how much they matter, what a side says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.loading import load
from scopes.merge.conflict_keys import MESSAGES, group_of, shown_key
from scopes.render.text.claims import claim_text
from scopes.render.text.phrases import SHORT_ID_LENGTH, identifier
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scopes.model.conflict import Conflict, Position
    from scopes.render.colour import Style

_STYLE_OF_SEVERITY: Mapping[str, Style] = {"high": "bad", "medium": "warn", "low": "dim"}
_STYLE_OF_STATUS: Mapping[str, Style] = {"escalated": "warn", "resolved": "good"}
_BANDS = ((0.2, "Very Low"), (0.4, "Low"), (0.6, "Medium"), (0.8, "High"))


def severity(conflict: Conflict) -> Span:
    """Return how much a conflict matters."""
    return Span(conflict.severity, _STYLE_OF_SEVERITY.get(conflict.severity, ""))


def status(conflict: Conflict) -> Span:
    """Return how far a conflict has come."""
    return Span(conflict.status, _STYLE_OF_STATUS.get(conflict.status, ""))


def conflict_key(view: View, conflict: Conflict) -> str:
    """Return what a conflict is about, decoded: `decisions/auth`."""
    if group_of(conflict.key) == MESSAGES and view.terminal:
        return conflict.key[: len(MESSAGES) + 1 + SHORT_ID_LENGTH]
    return shown_key(conflict.key)


def conflict_agents(conflict: Conflict) -> str:
    """Return who disagrees, the target's first."""
    said = (*conflict.target, *conflict.source)
    return ", ".join(dict.fromkeys(position.agent for position in said if position.agent is not None))


def confidence(value: float) -> str:
    """Say how sure somebody is, as a word and the number: `High (0.75)`; each word begins at its lower bound."""
    word = next((word for bound, word in _BANDS if value < bound), "Very High")
    return f"{word} ({value:g})"


def _side_spans(key: str, positions: Sequence[Position]) -> Iterator[str | Span]:
    """Say what a side says, each position with its agent, in one line."""
    if not positions:
        yield Span("nothing", "dim")
    for number, position in enumerate(positions):
        yield ("; " if number else "") + claim_text(key, position.value)
        if position.agent is not None:
            yield " — "
            yield Span(position.agent, "agent")


def write_conflict_lines(view: View, numbered: Iterable[tuple[int, Conflict]], sides: tuple[str, str]) -> None:
    """Say conflicts with both their sides below, three lines each; `sides` names target and source."""
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
    """Cut a line to the terminal; what is no terminal gets all of it."""
    if not view.terminal:
        return line
    cut: tuple[Span, ...] = load("scopes.render.wrap:truncate_line")(line, view.width)
    return cut
