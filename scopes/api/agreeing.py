"""The methods of a conversation about facts: propose, validate, decide, and let agents derive them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scopes.api.proposing import ProposingConversation
from scopes.model.message import Author

if TYPE_CHECKING:
    from scopes.facts.decide import FactDecided, FactPromoted
    from scopes.facts.fact import Decision
    from scopes.facts.list import (
        FactList,
        FactLog,
        FactView,
        ProposedFactList,
        ProposedFactView,
    )
    from scopes.facts.propose import FactProposed
    from scopes.facts.run import FactRun


@dataclass(frozen=True, slots=True)
class AgreeingConversation(ProposingConversation):
    """A conversation with facts. A `ProposedFact` is no `Fact`; a type checker refuses one for the other.

    Proposed facts are named by their ids, unique prefixes of them, or `KEY/ID`.
    """

    def propose_fact(
        self,
        key: str,
        content: str,
        *,
        id: str | None = None,  # noqa: A002
        confidence: float = 1.0,
        author: Author | str | None = None,
        model: str | None = None,
        prompt_hash: str | None = None,
        sources: Sequence[str] = (),
        invalidates: str | None = None,
        expires_seconds: int | None = None,
    ) -> FactProposed:
        """Propose a fact: `result.fact` is a `ProposedFact`; `promote_fact` or `accept_fact` makes a `Fact` of it.

        key: a context key such as `Constraints`, in any case.
        id: names it within its key; default: a hash of key and content.
        sources: messages or revisions that it is drawn from.
        invalidates: the id of the fact of the same key that it takes back.
        """
        from scopes.facts.propose import Proposal
        from scopes.facts.propose import propose as store_proposed

        given = Proposal(
            key=key,
            content=content,
            agent=self._author(author).name,
            id=id,
            confidence=confidence,
            model=model,
            prompt_hash=prompt_hash,
            sources=sources,
            invalidates=invalidates,
            expires_seconds=expires_seconds,
        )
        return store_proposed(self.repository, self.id, given)

    def promote_fact(self, name: str) -> FactPromoted:
        """Validate a proposed fact and make a fact of it; nobody decides."""
        from scopes.facts.decide import promote as promote_proposed

        return promote_proposed(self.repository, self.id, name)

    def accept_fact(self, name: str, reason: str = "", *, author: Author | str | None = None) -> FactPromoted:
        """Approve a proposed fact: it becomes a fact, and the decision is recorded; raises as `promote_fact` does."""
        from scopes.facts.decide import accept as accept_proposed

        return accept_proposed(self.repository, self.id, name, actor=self._author(author).name, rationale=reason)

    def reject_fact(self, name: str, reason: str, *, author: Author | str | None = None) -> FactDecided:
        """Reject a proposed fact; it stays with the reason."""
        from scopes.facts.decide import reject as reject_proposed

        return reject_proposed(self.repository, self.id, name, actor=self._author(author).name, reason=reason)

    def decide(
        self, subject: str, decision: Decision, reason: str = "", *, author: Author | str | None = None
    ) -> FactDecided:
        """Answer a question of an agent, or ask for something better than a proposed fact with `refine`."""
        from scopes.facts.decide import decide as record_decision

        who = self._author(author).name
        return record_decision(self.repository, self.id, subject, decision, actor=who, rationale=reason)

    def facts(self, key: str | None = None, *, include_all: bool = False) -> FactList:
        """Return the facts by key and id; those that were taken back only with `include_all`."""
        from scopes.facts.list import list_facts

        return list_facts(self.repository, self.id, key=key, everything=include_all)

    def proposed_facts(self, key: str | None = None, *, include_all: bool = False) -> ProposedFactList:
        """Return what waits for a decision: proposed facts and questions; all of them with `include_all`."""
        from scopes.facts.list import list_proposed

        return list_proposed(self.repository, self.id, key=key, everything=include_all)

    def fact(self, name: str) -> FactView | ProposedFactView:
        """Return a fact with how it came about, or a proposed one with why it is none yet."""
        from scopes.facts.list import show_fact

        return show_fact(self.repository, self.id, name)

    def fact_log(self, limit: int | None = None) -> FactLog:
        """Return the newest cycles of runs, and the decisions of people."""
        from scopes.facts.list import log_cycles

        return log_cycles(self.repository, self.id, limit=limit)

    def run_facts(
        self,
        commands: Mapping[str, str] | None = None,
        *,
        max_cycles: int = 100,
        max_facts: int = 10_000,
        seconds: int | None = None,
        min_confidence: float = 0.0,
        review: bool = False,
        expires_seconds: int | None = None,
        all_keys: bool = False,
    ) -> FactRun:
        """Let registered agents derive facts, cycle by cycle, until no key has new ones or a limit is reached.

        commands: the program of an agent by its name, before that of the settings of the user.
        seconds: what an agent may take in a cycle; default: the setting of the agent, or 60.
        min_confidence, review: a person decides about facts below this confidence, or about all.
        expires_seconds: how long proposals of the run wait for a person.
        all_keys: all keys count as new.

        `ending` of the result says why it ended, and `failed` which agents did; its `exit_code` is 9 at a limit.
        """
        from scopes.facts.cycle import Acceptance
        from scopes.facts.run import RunLimits, run_programs

        acceptance = Acceptance(review, min_confidence, max_facts)
        limits = RunLimits(
            cycles=max_cycles,
            all_keys=all_keys,
            seconds=seconds,
            expires_seconds=expires_seconds,
            acceptance=acceptance,
        )
        return run_programs(self.repository, self.id, commands or {}, limits)
