"""A program with full type annotations that uses the Python API; mypy checks it together with the package."""

from collections.abc import Sequence
from typing import assert_never, assert_type

import scopes

with scopes.open_store("scopes.git", create=True, author=scopes.Author("alice", "human")) as store:
    conversation = store.new("Login fails")
    conversation.append("text", to=["bob"], kind="decision", decision={"topic": "a", "decision": "b"})
    outcome = conversation.merge("fix")
    if isinstance(outcome, scopes.MergeConflicted):
        conversation.resolve(1, take="source")
        outcome = conversation.continue_merge()
    assert isinstance(outcome, scopes.Merged)
    assert_type(store.branch("conv-001").conversation, scopes.Conversation)
    assert_type(conversation.active_branch.conversation, scopes.Conversation)
    print(outcome.message, [message.text for message in conversation.log(only=scopes.LogFilter())])
    found = conversation.bisect(lambda point: point.head is None or "broken" not in point.head.subject)
    assert_type(found, scopes.Bisection)
    assert_type(conversation.range_diff("main", "fix").pairs, tuple[scopes.RangePair, ...])
    assert_type(conversation.merge_request(1).row.request, scopes.MergeRequest)
    for candidate in conversation.decision_candidates().candidates:
        assert_type(conversation.accept_decision(candidate.id, topic="a"), scopes.DecisionAccepted)
    assert_type(conversation.resume("codex", dry_run=True).command, tuple[str, ...])
    assert_type(store.usage(["day", "model"], since="1 week ago").rows, tuple[scopes.UsageRow, ...])
    assert_type(store.usage("agent").total.cost_micros, int | None)
    try:
        conversation.append("more")
    except scopes.NotFound as error:
        print(error.hint)

    store.register_agent("ann", capabilities=["review"], dependencies=["Seeds"])
    assert_type(store.inbox("ann", acknowledge=True).messages, Sequence[scopes.ReceivedMessage])
    print(conversation.send("look", to=["@review"], kind="plain").delivered_to)
    proposal = conversation.propose("task/42", {"status": "done"}, author="ann")
    assert_type(conversation.accept_proposal(proposal.id, rating=5), scopes.ProposalReviewed)
    conversation.collaborate("consensus", "Choose the queue", ["ann"])
    conversation.argue(scopes.Argument(about="the task", position="Redis", confidence=0.8), author="ann")
    assert_type(conversation.collaboration().positions, tuple[scopes.Position, ...])
    assert_type(conversation.run_facts({"ann": "./ann.sh"}), scopes.FactRun)

with scopes.open_store("scopes.git", at_operation="@-") as past:
    print(past.conflicts(include_all=True).conflicts, past.merge_requests(state="all").merge_requests)


def branch_of(outcome: scopes.MergeOutcome) -> str:
    """Every outcome of a merge is one of four classes."""
    match outcome:
        case scopes.UpToDate() | scopes.FastForwarded() | scopes.Merged():
            return outcome.target
        case scopes.MergeConflicted():
            return outcome.branch
        case _:
            assert_never(outcome)


def rely_on(fact: scopes.Fact) -> str:
    """What is proposed is no fact (S2-9): mypy reports each comment below that it does not need."""
    return fact.content


def agree(conversation: scopes.Conversation) -> None:
    """Only validation makes a fact of a proposal; there is no way around it."""
    proposed = conversation.propose_fact("Seeds", "it is slow", id="slow").fact
    assert_type(proposed, scopes.ProposedFact)
    rely_on(proposed)  # type: ignore[arg-type]
    for waiting in conversation.proposed_facts().proposals:
        rely_on(waiting.proposal)  # type: ignore[arg-type]
    rely_on(conversation.accept_fact("slow").fact)
    for row in conversation.facts("Seeds").facts:
        rely_on(row.fact)
    proposed.state = "pending"  # type: ignore[misc]
    view = conversation.fact("slow")
    if isinstance(view, scopes.FactView):
        view.row.fact.content = "it is fast"  # type: ignore[misc]
