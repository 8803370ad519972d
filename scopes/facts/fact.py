"""What is proposed and what is accepted: two types, so that no code takes a proposal for a fact (S2-9).

A fact has no time: the tree that a run writes depends on its inputs alone (S2-3). The commit that adds it has the time.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from scopes.clock import in_seconds
from scopes.errors import Corrupt, TooNew
from scopes.ids import Oid, is_oid
from scopes.model import canonical_json
from scopes.model.canonical_json import without_none

KEYS: Final = ("Seeds", "Hypotheses", "Strategies", "Constraints", "Signals")
"""The context keys that every conversation has; `facts propose --new-key` adds others (S2-11)."""
_FORMAT_VERSION = 1
_ID_BYTES = 10

State: TypeAlias = Literal["pending", "rejected"]
Decision: TypeAlias = Literal["approved", "rejected", "refine"]
DECISIONS: Final[tuple[Decision, ...]] = ("approved", "rejected", "refine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a fact comes from (S2-15).

    Attributes:
        agent: The name of who proposed it.
        number: The number of the registered agent; None if it is not registered.
        model: The model that an agent used, and the hash of its prompt; None if it did not say so.
        sources: Commits of messages that it is drawn from.
    """

    agent: str
    number: int | None = None
    model: str | None = None
    prompt_hash: str | None = None
    sources: tuple[Oid, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedFact:
    """A statement that nobody has validated.

    Attributes:
        key: The context key that it belongs to.
        id: Names it within its key; two of one id and other content conflict.
        confidence: From 0 to 1.
        invalidates: The id of the fact of the same key that it takes back (S2-14).
        proposed: When, as RFC 3339.
        expires: When it can no longer be promoted (S2-20); None for never.
        reason: Why it was rejected; None for a pending one.
    """

    key: str
    id: str
    content: str
    confidence: float
    provenance: Provenance
    invalidates: str | None = None
    proposed: str
    expires: str | None = None
    state: State = "pending"
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement that was validated; it is never edited. Only `promote` makes one.

    Attributes:
        validation: How it was validated: `rules`, or `rules, approved by NAME`.
        version: The version of the context that it was added in.
    """

    key: str
    id: str
    content: str
    confidence: float
    provenance: Provenance
    invalidates: str | None = None
    validation: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an agent asks a person in a run. A decision about its id answers it."""

    id: str
    key: str
    text: str
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanDecision:
    """What a person decided about a proposal or a question (S2-17)."""

    subject: str
    decision: Decision
    rationale: str
    actor: str
    timestamp: str

    @property
    def story(self) -> str:
        """Who decided what, when and why."""
        reason = f": {self.rationale}" if self.rationale else ""
        return f"{self.decision} by {self.actor}, {in_seconds(self.timestamp)}{reason}"


def derive_id(key: str, content: str) -> str:
    """Return the id of a fact without one: equal facts have equal ids."""
    return hashlib.sha256(f"{key}\0{content}".encode("utf-8", "surrogatepass")).hexdigest()[: 2 * _ID_BYTES]


def to_float(number: float) -> float:
    """Return a number of a JSON document as a float; one that is too large is infinite, and so no confidence."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def encode_fact(fact: Fact) -> bytes:
    """Encode a fact as indented JSON, readable with `git show`."""
    return _dump(
        {
            "v": _FORMAT_VERSION,
            **_statement(fact),
            "validation": fact.validation,
            "version": fact.version,
        }
    )


def encode_proposed(fact: ProposedFact) -> bytes:
    """Encode a proposal as indented JSON."""
    return _dump(
        {
            "v": _FORMAT_VERSION,
            **_statement(fact),
            "proposed": fact.proposed,
            **without_none(expires=fact.expires),
            "state": fact.state,
            **without_none(reason=fact.reason),
        }
    )


def decode_fact(data: bytes) -> Fact:
    """Decode a fact.

    Raises:
        Corrupt: it has not what a fact has; a proposal never has that.
    """
    match canonical_json.load(data):
        case {"validation": str(validation), "version": int(version), **rest}:
            return Fact(**_read_statement(rest), validation=validation, version=version)
    raise Corrupt("a fact is damaged", hint="see: scopes verify")


def decode_proposed(data: bytes) -> ProposedFact:
    """Decode a proposal.

    Raises:
        Corrupt: it has not what a proposal has, or its state does not fit its reason.
        TooNew: a newer version wrote it, and what this one does not know would be lost when it becomes a fact.
    """
    match canonical_json.load(data):
        case {"v": int(version)} if version > _FORMAT_VERSION:
            raise TooNew("a newer version of scopes wrote a proposed fact", hint="update scopes")
        case {"proposed": str(proposed), "state": "pending" | "rejected" as stored, **rest}:
            expires, reason = (_text(rest.get(name)) for name in ("expires", "reason"))
            state: State = "pending" if reason is None else "rejected"
            if state != stored:
                raise Corrupt(
                    "a proposed fact is damaged: its state does not fit its reason", hint="see: scopes verify"
                )
            return ProposedFact(**_read_statement(rest), proposed=proposed, expires=expires, state=state, reason=reason)
    raise Corrupt("a proposed fact is damaged", hint="see: scopes verify")


def encode_decision(decision: HumanDecision) -> bytes:
    """Encode a decision as indented JSON."""
    return _dump({name: getattr(decision, name) for name in ("subject", "decision", "rationale", "actor", "timestamp")})


def decode_decision(data: bytes) -> HumanDecision:
    """Decode a decision.

    Raises:
        Corrupt: it has not what a decision has.
    """
    match canonical_json.load(data):
        case {
            "subject": str(subject),
            "decision": str(decision),
            "rationale": str(rationale),
            "actor": str(actor),
            "timestamp": str(time),
        } if decision in DECISIONS:
            return HumanDecision(subject=subject, decision=decision, rationale=rationale, actor=actor, timestamp=time)
    raise Corrupt("a decision about a fact is damaged", hint="see: scopes verify")


def describe(fact: ProposedFact | Fact) -> dict[str, Any]:
    """Return what a proposal and a fact have in common, as a JSON object."""
    return _statement(fact)


def _statement(fact: ProposedFact | Fact) -> dict[str, Any]:
    source = fact.provenance
    return {
        "key": fact.key,
        "id": fact.id,
        "content": fact.content,
        "confidence": fact.confidence,
        "provenance": {
            "agent": source.agent,
            **without_none(number=source.number, model=source.model, prompt_hash=source.prompt_hash),
            "sources": list(source.sources),
        },
        **without_none(invalidates=fact.invalidates),
    }


def _read_statement(document: Mapping[Any, Any]) -> dict[str, Any]:
    match document:
        case {
            "key": str(key),
            "id": str(fact_id),
            "content": str(content),
            "confidence": int() | float() as confidence,
            "provenance": {"agent": str(agent), **source},
        }:
            number, sources = source.get("number"), source.get("sources")
            oids = [each for each in sources if isinstance(each, str)] if isinstance(sources, list) else []
            return {
                "key": key,
                "id": fact_id,
                "content": content,
                "confidence": to_float(confidence),
                "provenance": Provenance(
                    agent=agent,
                    number=number if isinstance(number, int) else None,
                    model=_text(source.get("model")),
                    prompt_hash=_text(source.get("prompt_hash")),
                    sources=tuple(Oid(each) for each in oids if is_oid(each)),
                ),
                "invalidates": _text(document.get("invalidates")),
            }
    raise Corrupt("a fact is damaged", hint="see: scopes verify")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _dump(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
