"""An argument: what somebody holds about a topic or a conflict, what speaks for it, and its form in a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from scopes.ids import AgentName, MessageId
from scopes.model.encoding import without_none

ARGUMENT: Final = "argument"
"""The field of a message that makes an argument."""
EvidenceType: TypeAlias = Literal[
    "performance-data", "historical-precedent", "best-practice", "technical-constraint", "user-feedback",
    "industry-standard",
]  # fmt: skip
EVIDENCE_TYPES: Final[tuple[EvidenceType, ...]] = get_args(EvidenceType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One piece of evidence for a position.

    Attributes:
        source: Where it can be looked up; None if nothing is said.
        weight: How much it counts, from 0 to 1; None if nothing is said.
    """

    type: EvidenceType
    description: str
    source: str | None = None
    weight: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A position and what speaks for it.

    Attributes:
        about: What it is about: the topic of a collaboration, or the id of a conflict.
        confidence: From 0 to 1.
    """

    about: str
    position: str
    reasoning: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    trade_offs: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """An argument that somebody made, newest of its author about its subject."""

    author: AgentName
    time: str | None
    message: MessageId
    argument: Argument


def argument_field(argument: Argument) -> dict[str, Any]:
    """Return the field of a message that makes an argument."""
    return {
        ARGUMENT: {
            "about": argument.about,
            "position": argument.position,
            **without_none(confidence=argument.confidence),
            "reasoning": list(argument.reasoning),
            "evidence": [evidence_object(each) for each in argument.evidence],
            "trade_offs": list(argument.trade_offs),
            "alternatives": list(argument.alternatives),
        }
    }


def evidence_object(evidence: Evidence) -> dict[str, object]:
    """Return a piece of evidence as a JSON object."""
    more = without_none(source=evidence.source, weight=evidence.weight)
    return {"type": evidence.type, "description": evidence.description, **more}


def read_argument(value: object) -> Argument | None:
    """Return an argument from its JSON form; what is damaged in it is left out, None if there is no position."""
    match value:
        case {"about": str(about), "position": str(position), **rest}:
            evidence = rest.get("evidence")
            found = map(_read_evidence, evidence if isinstance(evidence, list) else ())
            return Argument(
                about=about,
                position=position,
                reasoning=_texts(rest.get("reasoning")),
                evidence=tuple(each for each in found if each is not None),
                trade_offs=_texts(rest.get("trade_offs")),
                alternatives=_texts(rest.get("alternatives")),
                confidence=_share(rest.get("confidence")),
            )
    return None


def argument_text(argument: Argument) -> str:
    """Return the text of a message that makes an argument: the position, then a line for each thing that backs it."""
    rows = list_support(argument)
    return "\n".join((argument.position, *([""] if rows else []), *(f"- {row}" for row in rows)))


def list_support(argument: Argument) -> list[str]:
    """Return what speaks for a position, and what else was said about it, as lines: `reason: there is no state`."""
    return [
        *(f"reason: {text}" for text in argument.reasoning),
        *(f"{each.type}: {each.description}{_origin(each)}" for each in argument.evidence),
        *(f"trade-off: {text}" for text in argument.trade_offs),
        *(f"alternative: {text}" for text in argument.alternatives),
        *([] if argument.confidence is None else [f"confidence: {argument.confidence:g}"]),
    ]


def _origin(evidence: Evidence) -> str:
    weight = None if evidence.weight is None else f"{evidence.weight:g}"
    known = without_none(source=evidence.source, weight=weight)
    return f" ({', '.join(f'{name}: {value}' for name, value in known.items())})" if known else ""


def _read_evidence(value: object) -> Evidence | None:
    match value:
        case {"type": str(kind), "description": str(description), **rest} if kind in EVIDENCE_TYPES:
            source = rest.get("source")
            text = source if isinstance(source, str) else None
            return Evidence(type=kind, description=description, source=text, weight=_share(rest.get("weight")))
    return None


def _share(value: object) -> float | None:
    """Return a number from 0 to 1; None if it is something else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isinstance(value, int | float) and 0 <= value <= 1 else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
