"""Validate proposed facts, and make facts of them: the only way from one to the other (S2-10, S2-11)."""

from __future__ import annotations

import math
import re
from typing import Final

from scopes.clock import now_nanoseconds, parse_time
from scopes.errors import Invalid, Refused
from scopes.facts.context import FactContext
from scopes.facts.fact import Fact, ProposedFact
from scopes.lazy_patterns import compile_lazily

MAX_CONTENT_CHARACTERS: Final = 100_000
MAX_PROVENANCE_CHARACTERS: Final = 1_000  # of a model or the hash of a prompt
MAX_SOURCES: Final = 1_000
_ID = compile_lazily(r"[\w.:@+-]{1,100}", re.ASCII)
BY_RULES = "rules"


class ValidationError(Refused):
    """A proposed fact cannot become a fact; `reasons` say why."""

    def __init__(self, fact: ProposedFact, reasons: list[str]) -> None:
        super().__init__(f"the proposed fact {fact.id!a} is not valid: {'; '.join(reasons)}")
        self.reasons = tuple(reasons)


def find_problems(fact: ProposedFact, context: FactContext) -> list[str]:
    """Return why a proposal cannot become a fact of a context; empty if it can."""
    taken = context.find(fact.key, fact.id)
    is_free = taken is not None or not context.stored.holds(fact.key, fact.id)
    target = (fact.invalidates or "")[:100]
    known = ", ".join(context.known_keys())
    checks = (
        (bool(fact.content.strip()), "the content is empty"),
        (len(fact.content) <= MAX_CONTENT_CHARACTERS, f"the content has over {MAX_CONTENT_CHARACTERS:,} characters"),
        (context.known_key(fact.key) == fact.key, f"the key {fact.key[:100]!a} is unknown, known are {known}"),
        (is_id(fact.id), f"{fact.id[:100]!a} is not an id: letters, digits and ._:@+- are allowed"),
        (_is_confidence(fact.confidence), f"the confidence {fact.confidence} is not between 0 and 1"),
        (bool(fact.provenance.agent.strip()), "the provenance names no agent"),
        (_is_short(fact.provenance.model), f"the model has over {MAX_PROVENANCE_CHARACTERS:,} characters"),
        (_is_short(fact.provenance.prompt_hash), f"the prompt hash has over {MAX_PROVENANCE_CHARACTERS:,} characters"),
        (len(fact.provenance.sources) <= MAX_SOURCES, f"it has over {MAX_SOURCES:,} sources"),
        (taken is None or is_same(fact, taken), f"the id {fact.id!a} is that of a fact with other content"),
        (is_free, f"the id {fact.id!a} is that of a stored fact that cannot be read, see: scopes verify"),
        (fact.state == "pending", f"it was rejected: {fact.reason}"),
        (
            _has_target(fact, context),
            f"it takes back {target!a}, which is not a fact of {fact.key}",
        ),
    )
    return [problem for holds, problem in checks if not holds]


def promote(fact: ProposedFact, context: FactContext, *, approved_by: str | None = None) -> Fact:
    """Return the fact that a proposal becomes in the next version of a context; nothing is stored.

    Raises:
        ValidationError: it is not valid.
    """
    problems = find_problems(fact, context)
    if problems:
        raise ValidationError(fact, problems)
    return Fact(
        key=fact.key,
        id=fact.id,
        content=fact.content,
        confidence=fact.confidence,
        provenance=fact.provenance,
        invalidates=fact.invalidates,
        validation=BY_RULES if approved_by is None else f"{BY_RULES}, approved by {approved_by}",
        version=context.version + 1,
    )


def is_id(text: str) -> bool:
    """Return True if a text can be the id of a fact or a question: one that people can type."""
    return _ID.fullmatch(text) is not None


def is_same(proposed: ProposedFact, fact: Fact) -> bool:
    """Return True if a proposal says what a fact of its id says (S2-12)."""
    return (proposed.content, proposed.invalidates) == (fact.content, fact.invalidates)


def is_expired(proposal: ProposedFact) -> bool:
    """Return True if a proposal was not validated in time (S2-20); it may be proposed again."""
    moment = None if proposal.expires is None else parse_time(proposal.expires)
    return moment is not None and moment <= now_nanoseconds()


def check_expiry(seconds: int | None) -> None:
    """Check after how many seconds a proposal expires; None, for never, is valid.

    Raises:
        Invalid: it would expire at once.
    """
    if seconds is not None and seconds <= 0:
        raise Invalid("a proposal cannot expire at once", hint="for example: --expires 7d")


def _is_confidence(value: float) -> bool:
    return math.isfinite(value) and 0 <= value <= 1


def _is_short(text: str | None) -> bool:
    return text is None or len(text) <= MAX_PROVENANCE_CHARACTERS


def _has_target(fact: ProposedFact, context: FactContext) -> bool:
    return fact.invalidates is None or (
        fact.invalidates != fact.id and context.find(fact.key, fact.invalidates) is not None
    )
