"""The context of a conversation: its facts by key, what changed since agents last ran, and what waits for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from scopes.facts.fact import KEYS, Fact, HumanDecision, ProposedFact, Question


class StoredFacts(Protocol):
    """Facts that are read when they are needed: the cost of a cycle depends on what is dirty, not on what exists."""

    def find(self, key: str, fact_id: str) -> Fact | None:
        """Return one fact; None if there is none."""

    def walk(self, key: str) -> Iterator[Fact]:
        """Yield the facts of a key, by id."""

    def keys(self) -> frozenset[str]:
        """Return the keys that have facts."""

    def find_proposal(self, key: str, fact_id: str) -> ProposedFact | None:
        """Return a proposal, pending or rejected; None if there is none."""

    def holds(self, key: str, fact_id: str) -> bool:
        """Return True if something is stored where a fact is, whether it can be read or not."""

    def holds_proposal(self, key: str, fact_id: str) -> bool:
        """Return True if something is stored where a proposal is, whether it can be read or not."""

    def walk_decisions(self) -> Iterator[HumanDecision]:
        """Yield the decisions of people, the newest one of each subject, in the order of time."""


class NoFacts:
    """The facts of a conversation that has none."""

    def find(self, key: str, fact_id: str) -> Fact | None:
        """Return None."""
        del key, fact_id
        return None

    def walk(self, key: str) -> Iterator[Fact]:
        """Yield nothing."""
        del key
        return iter(())

    def keys(self) -> frozenset[str]:
        """Return no key."""
        return frozenset()

    def find_proposal(self, key: str, fact_id: str) -> ProposedFact | None:
        """Return None."""
        del key, fact_id
        return None

    def holds(self, key: str, fact_id: str) -> bool:
        """Return False."""
        del key, fact_id
        return False

    def holds_proposal(self, key: str, fact_id: str) -> bool:
        """Return False."""
        del key, fact_id
        return False

    def walk_decisions(self) -> Iterator[HumanDecision]:
        """Yield nothing."""
        return iter(())


@dataclass(slots=True, kw_only=True)
class FactContext:
    """The facts of one conversation; facts are only added (S2-14).

    Attributes:
        stored: The facts that were there when the context was read.
        added: The facts that came since, by key, then by id.
        count: The number of all facts.
        more_keys: The keys beside `KEYS`.
        dirty: The keys with new facts or decisions since agents last ran (S2-7); all keys before they ever ran (S2-6).
        version: How many merges added facts (S2-13).
        cycles: How many cycles have run.
        questions: What agents asked and nobody has answered, by id.
        decided: The subjects about which a person has decided.
        unseen: By the number of an agent, the keys that were dirty when it was away, had no command, failed, or
            returned more than a limit allowed. They count as dirty for it in the first cycle of the next run.
        retried: Those of `unseen` for which agents run in the next cycle.
        more_fields: What a later version stored beside these.
    """

    stored: StoredFacts = field(default_factory=NoFacts)
    added: dict[str, dict[str, Fact]] = field(default_factory=dict)
    count: int = 0
    more_keys: frozenset[str] = frozenset()
    dirty: frozenset[str] = frozenset()
    version: int = 0
    cycles: int = 0
    questions: dict[str, Question] = field(default_factory=dict)
    decided: frozenset[str] = frozenset()
    unseen: dict[int, frozenset[str]] = field(default_factory=dict)
    retried: Mapping[int, frozenset[str]] = field(default_factory=dict)
    more_fields: Mapping[str, object] = field(default_factory=dict)
    _by_folded_name: dict[str, str] | None = field(default=None, init=False, repr=False)

    def known_key(self, name: str) -> str | None:
        """Return the key of a name, whatever its case; None if it is unknown."""
        if self._by_folded_name is None:
            self._by_folded_name = {key.casefold(): key for key in self.known_keys()}
        return self._by_folded_name.get(name.casefold())

    def known_keys(self) -> tuple[str, ...]:
        """Return the keys: those that every conversation has, then the others by name."""
        return (*KEYS, *sorted(self.more_keys))

    def find(self, key: str, fact_id: str) -> Fact | None:
        """Return a fact; None if there is none."""
        return self.added.get(key, {}).get(fact_id) or self.stored.find(key, fact_id)

    def walk(self, keys: Iterable[str] | None = None) -> Iterator[Fact]:
        """Yield the facts of some keys, or of all, key by key and by id."""
        for key in sorted(self.keys_with_facts()) if keys is None else keys:
            facts = {fact.id: fact for fact in self.stored.walk(key)} | self.added.get(key, {})
            yield from (facts[fact_id] for fact_id in sorted(facts))

    def keys_with_facts(self) -> frozenset[str]:
        """Return the keys that have facts."""
        return self.stored.keys() | self.added.keys()

    def add(self, fact: Fact) -> None:
        """Add a fact, whose id is not taken."""
        self.added.setdefault(fact.key, {})[fact.id] = fact
        self.count += 1

    @property
    def has_converged(self) -> bool:
        """True if nothing is dirty: no agent has anything new to read (S2-8)."""
        return not self.dirty


def taken_back(facts: Iterable[Fact]) -> frozenset[tuple[str, str]]:
    """Return key and id of the facts that others of them take back."""
    return frozenset((fact.key, fact.invalidates) for fact in facts if fact.invalidates is not None)
