"""Make proposals, agents and effects for tests of facts."""

from __future__ import annotations

from typing import Any

from scopes.facts.cycle import Acceptance, Effects, FactAgent
from scopes.facts.fact import ProposedFact, Provenance, derive_id

TIME = "2026-01-02T03:04:05.000Z"
ALL = Acceptance()


def proposed(content: str = "it is slow", key: str = "Seeds", **fields: Any) -> ProposedFact:
    """Return a valid proposal; fields replace what it has."""
    provenance = fields.pop(
        "provenance", Provenance(agent=fields.pop("agent", "ann"), number=fields.pop("number", None))
    )
    given: dict[str, Any] = {"id": derive_id(key, content), "confidence": 1.0, "proposed": TIME, **fields}
    return ProposedFact(key=key, content=content, provenance=provenance, **given)


def agent(number: int, *dependencies: str) -> FactAgent:
    """Return an agent that depends on keys."""
    return FactAgent(number, f"agent-{number}", dependencies)


def effects(*facts: ProposedFact, **fields: Any) -> Effects:
    """Return what an agent returns in a cycle."""
    return Effects(facts=facts, **fields)
