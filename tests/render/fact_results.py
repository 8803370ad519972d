"""Results about facts, one of each kind, for the tests of the renderers."""

from __future__ import annotations

from dataclasses import replace

from scopes.facts.cycle import Applied, Cycle, FactAgent, Ran
from scopes.facts.decide import FactDecided, FactPromoted
from scopes.facts.fact import Fact, HumanDecision, ProposedFact, Provenance, Question
from scopes.facts.list import (
    EligibleAgents,
    EligibleRow,
    FactList,
    FactLog,
    FactOrder,
    FactRow,
    FactView,
    ProposedFactList,
    ProposedFactView,
    ProposedRow,
    QuestionRow,
)
from scopes.facts.propose import FactProposed, KeyAdded
from scopes.facts.run import FactRun
from scopes.render.view import ViewOptions
from tests.render.with_options import WithOptions

_CONVERSATION = "conv-001"
_OPERATION = "opkx3q2mf5a7b2c4d6e2f3g4h5"
_TIME = "2025-12-01T08:00:00.000Z"
_SOURCE = Provenance(agent="planner", number=1, model="gpt-5", prompt_hash="3f2a", sources=("ab" * 20,))
_FACT = Fact(
    key="Constraints", id="cookie", content="The session cookie must be SameSite=Lax,\nalso on Safari.", confidence=0.7,
    provenance=_SOURCE, invalidates="old-cookie", validation="rules, approved by carol", version=4,
)  # fmt: skip
_PLAIN = Fact(
    key="Seeds", id="budget", content="20 days", confidence=1.0, provenance=Provenance(agent="carol"),
    validation="rules", version=1,
)  # fmt: skip
_PROPOSAL = ProposedFact(
    key="Strategies", id="cache", content="Cache it for a day", confidence=0.35, provenance=_SOURCE, proposed=_TIME,
    expires="2025-12-08T08:00:00.000Z",
)  # fmt: skip
_REJECTED = replace(_PROPOSAL, id="drop", state="rejected", reason="not measured", expires=None)
_DECISION = HumanDecision(
    subject="Constraints/cookie", decision="approved", rationale="tested on Safari", actor="carol", timestamp=_TIME
)
_QUESTION = Question(id="drop-ie", key="Seeds", text="Drop IE 11?", agent="planner")
_CYCLE = Cycle(
    number=2,
    version=4,
    ran=(
        Ran(1, "planner", ("Seeds",), None, ("read 2 facts",)),
        Ran(3, "tester", ("Seeds", "Signals"), "took longer than 60 seconds"),
    ),
    applied=(
        Applied(1, "planner", 1, "Constraints", "cookie", "added"),
        Applied(1, "planner", 2, "Seeds", "budget", "conflict", "agent carol said otherwise"),
    ),
    dirty=frozenset({"Constraints"}),
)
_LAST = Cycle(number=3, version=4, ran=(), applied=(), dirty=frozenset())
_ROW = FactRow(_CONVERSATION, _FACT, None)
_TAKEN_BACK = FactRow(_CONVERSATION, _PLAIN, "budget-2")
_PENDING = ProposedRow(_CONVERSATION, _PROPOSAL, "pending")
_RUN = FactRun(
    conversation=_CONVERSATION, ending="converged", cycles=(_CYCLE, _LAST), version=4, added=1, waiting=0,
    operations=(_OPERATION,),
)  # fmt: skip

_CROWDED_CYCLE = replace(
    _CYCLE, number=12,
    ran=tuple(
        Ran(
            number, "設計レビュー担当エージェント" if number == 2 else f"agent-generated-from-a-template-{number:040d}", ("Seeds",),
            "failed with exit code 3: Traceback (most recent call last): the file was not found" if number % 4 == 3 else None,
            (f"read {number} facts about the cache, and none about sessions, so there is nothing more to say",),
        )
        for number in range(1, 9)
    ),
)  # fmt: skip

FACTS = {
    "list": FactList(facts=(_ROW, _TAKEN_BACK)),
    "empty-list": FactList(facts=()),
    "proposed-list": ProposedFactList(
        proposals=(
            _PENDING,
            ProposedRow(_CONVERSATION, _REJECTED, "rejected"),
            ProposedRow(_CONVERSATION, _PROPOSAL, "expired"),
        ),
        questions=(QuestionRow(_CONVERSATION, _QUESTION),),
    ),
    "empty-proposed-list": ProposedFactList(proposals=(), questions=()),
    "fact": FactView(row=_TAKEN_BACK, commit="cd" * 20, added=_TIME, cycle=None, applied=None, decision=None),
    "explained": WithOptions(
        FactView(
            row=_ROW, commit="cd" * 20, added=_TIME, cycle=2, applied=_CYCLE.applied[0], because=("Seeds",),
            read=("Seeds/budget",), decision=_DECISION,
        ),
        ViewOptions(origin=True),
    ),
    "explained-without-run": WithOptions(
        FactView(row=_TAKEN_BACK, commit=None, added=None, cycle=None, applied=None, decision=None),
        ViewOptions(origin=True),
    ),
    "proposal": ProposedFactView(row=_PENDING, problems=("the content is empty",), decision=None),
    "rejected-proposal": ProposedFactView(
        row=ProposedRow(_CONVERSATION, _REJECTED, "rejected"), problems=(), decision=replace(_DECISION, decision="rejected")
    ),
    "proposed": FactProposed(conversation=_CONVERSATION, fact=_PROPOSAL, operation=_OPERATION),
    "already-proposed": FactProposed(conversation=_CONVERSATION, fact=_PROPOSAL, operation=None),
    "key": KeyAdded(key="Requirements", operation=_OPERATION),
    "known-key": KeyAdded(key="Requirements", operation=None),
    "promoted": FactPromoted(conversation=_CONVERSATION, fact=_PLAIN, decision=None, operation=_OPERATION),
    "accepted": FactPromoted(conversation=_CONVERSATION, fact=_FACT, decision=_DECISION, operation=_OPERATION),
    "rejected": FactDecided(
        conversation=_CONVERSATION, decision=replace(_DECISION, decision="rejected"), proposal=_REJECTED,
        operation=_OPERATION,
    ),
    "decided": FactDecided(
        conversation=_CONVERSATION, decision=replace(_DECISION, subject="drop-ie", decision="refine"), proposal=None,
        operation=_OPERATION,
    ),
    "run": _RUN,
    "waiting-run": replace(_RUN, ending="waiting", waiting=2),
    "full-run": replace(_RUN, ending="facts", cycles=(replace(_CYCLE, is_full=True),)),
    "log": FactLog(conversation=_CONVERSATION, cycles=(_LAST, _CYCLE), decisions=(_DECISION,)),
    "crowded-log": FactLog(
        conversation=_CONVERSATION, cycles=(_CROWDED_CYCLE, _CYCLE), decisions=(replace(_DECISION, rationale="measured twice " * 9),)
    ),
    "order": FactOrder(conversation=_CONVERSATION, cycles=(_CYCLE,), decisions=()),
    "empty-log": FactLog(conversation=_CONVERSATION, cycles=(), decisions=()),
    "eligible": EligibleAgents(
        conversation=_CONVERSATION, agents=(EligibleRow(FactAgent(1, "planner", ("Seeds",)), ("Seeds",)),),
        dirty=("Seeds", "Signals"),
    ),
    "none-eligible": EligibleAgents(conversation=_CONVERSATION, agents=(), dirty=()),
}  # fmt: skip
