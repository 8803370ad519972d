"""What the positions about a subject have in common, which of them all would accept, and how each is supported.

It is derived from the positions alone: first common ground, then compromises, then an evaluation, then consensus or
escalation. Nobody has to start a phase, and the same positions give the same debate on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scopes.ids import AgentName
from scopes.model.message import Argument, Position

Phase: TypeAlias = Literal["arguments", "consensus", "compromise", "common-ground", "escalation"]


class Shared(NamedTuple):
    """Something that several participants say: a reason, a trade-off or an alternative."""

    text: str
    agents: tuple[AgentName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One position, and what speaks for it.

    Attributes:
        holders: Who holds it, in the order of stating.
        accepted_by: Who else names it as an alternative.
        confidence: The mean confidence of the holders who state one.
        evidence: How many pieces of evidence the holders have.
        weight: The sum of their weights; one without a weight counts 1.
    """

    position: str
    holders: tuple[AgentName, ...]
    accepted_by: tuple[AgentName, ...]
    confidence: float | None
    evidence: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """The debate about one subject.

    Attributes:
        about: A topic, or the id of a conflict.
        phase: `arguments` while one participant has stated a position; `consensus` if all hold the same; `compromise`
            if all hold or accept one; `common-ground` if they share at least something; else `escalation`: somebody
            neutral has to decide.
        common_ground: What at least two participants say beside their positions, that of most first.
        choices: The positions, the best supported first: by who holds or accepts it, confidence, weight of evidence.
    """

    about: str
    phase: Phase
    common_ground: tuple[Shared, ...]
    choices: tuple[Choice, ...]


def find_debates(positions: Sequence[Position]) -> tuple[Debate, ...]:
    """Return the debate about each subject, in the order in which the subjects came up."""
    subjects: dict[str, list[Position]] = {}
    for each in positions:
        subjects.setdefault(each.argument.about, []).append(each)
    return tuple(_debate(about, found) for about, found in subjects.items())


def folded(text: str) -> str:
    """Return a text in a form that is equal for texts that differ in case and spacing only."""
    return " ".join(text.casefold().split())


def _debate(about: str, positions: Sequence[Position]) -> Debate:
    authors = {each.author for each in positions}
    shared = _shared(positions)
    choices = _choices(positions)
    phase: Phase = "common-ground" if shared else "escalation"
    if len(authors) < 2:
        phase = "arguments"
    elif len(choices) == 1:
        phase = "consensus"
    elif any(len(each.holders) + len(each.accepted_by) == len(authors) for each in choices):
        phase = "compromise"
    return Debate(about=about, phase=phase, common_ground=shared, choices=choices)


def _shared(positions: Iterable[Position]) -> tuple[Shared, ...]:
    stated: dict[str, tuple[str, dict[AgentName, None]]] = {}
    for each in positions:
        argument = each.argument
        for text in (*argument.reasoning, *argument.trade_offs, *argument.alternatives):
            stated.setdefault(folded(text), (text, {}))[1][each.author] = None
    found = [Shared(text, tuple(names)) for text, names in stated.values() if len(names) > 1]
    return tuple(sorted(found, key=lambda each: -len(each.agents)))


def _choices(positions: Sequence[Position]) -> tuple[Choice, ...]:
    groups: dict[str, list[Position]] = {}
    for each in positions:
        groups.setdefault(folded(each.argument.position), []).append(each)
    found = [_choice(group, [each for each in positions if each not in group]) for group in groups.values()]
    return tuple(sorted(found, key=_rank))


def _choice(group: Sequence[Position], others: Iterable[Position]) -> Choice:
    arguments: list[Argument] = [each.argument for each in group]
    name = folded(arguments[0].position)
    stated = [each.confidence for each in arguments if each.confidence is not None]
    evidence = [each for argument in arguments for each in argument.evidence]
    return Choice(
        position=arguments[0].position,
        holders=tuple(each.author for each in group),
        accepted_by=tuple(each.author for each in others if name in map(folded, each.argument.alternatives)),
        confidence=round(sum(stated) / len(stated), 3) if stated else None,
        evidence=len(evidence),
        weight=round(sum(1.0 if each.weight is None else each.weight for each in evidence), 3),
    )


def _rank(choice: Choice) -> tuple[float, ...]:
    return -len(choice.holders) - len(choice.accepted_by), -(choice.confidence or 0), -choice.weight
