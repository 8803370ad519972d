"""Agents, proposals, facts and collaborations in a program: the results are those of the command line."""

from __future__ import annotations

import sys

import pytest

import scopes


@pytest.fixture
def team(conversation):
    """Two agents, one of them away, and a person."""
    conversation.append("main", "refactor the login", author="lead")
    conversation.run("agents", "register", "ann", "--capability", "review", "--depends-on", "Seeds")
    conversation.run("agents", "register", "bob", "--away")
    conversation.run("agents", "register", "carol", "--type", "human")
    return conversation


@pytest.fixture
def ready(team, talk):
    """The conversation of a team, as a program sees it."""
    return talk


def test_agents_are_registered_and_listed(store):
    made = store.register_agent(
        "ann", capabilities=["review"], dependencies=["Seeds"], metadata={"model": "m"}, description="reviews"
    )
    assert (made.change, made.agent.number, made.agent.metadata) == ("registered", 1, {"model": "m"})
    assert [row.name for row in store.agents(available=True).agents] == ["ann"]
    assert store.agents(capability="@fly").agents == ()


def test_a_message_is_sent_as_on_the_command_line(team, same):
    done = same(
        ("send", team.id, "--to", "@review", "--to", "bob", "--as", "lead", "look"),
        lambda talk: talk.send("look", to=["@review", "bob"], author="lead"),
    )
    assert (done.delivered_to, done.queued_for) == (("ann",), ("bob",))


def test_an_inbox_is_read_and_acknowledged(ready, store):
    ready.send("one", to="ann")
    ready.send("two", to="all", kind="analysis", analysis={"subject": "s", "finding": "f"})
    assert [each.message.text for each in store.inbox("ann").messages] == ["one", "two"]
    assert len(store.inbox("1", acknowledge=True).messages) == 2
    assert store.inbox("ann").messages == ()


def test_an_unknown_receiver_or_nobody_available_sends_nothing(ready):
    before = ready.branch().tip
    with pytest.raises(scopes.NotFound, match="zoe"):
        ready.send("x", to=["ann", "zoe"])
    with pytest.raises(scopes.NoAvailableAgents):
        ready.send("x", to="bob")
    assert ready.branch().tip == before
    assert ready.send("x", to="bob", queue=True).queued_for == ("bob",)


def test_a_proposal_is_made_as_on_the_command_line(team, same):
    words = ("task/42", "status=done", "labels+=ui", "--as", "ann", "--confidence", "0.8", "--to", "carol")
    done = same(
        ("proposals", "create", team.id, *words),
        lambda talk: talk.propose(
            "task/42", {"status": "done"}, append={"labels": "ui"}, author="ann", details={"confidence": 0.8},
            to=["carol"],
        ),
    )  # fmt: skip
    assert done.delivered_to == ("carol",)


def test_a_proposal_goes_its_way(ready):
    made = ready.propose("task/42", {"status": "done"}, append={"labels": "ui"}, author="ann")
    assert [row.proposal.id for row in ready.proposals().proposals] == [made.id]
    done = ready.accept_proposal(made.id, feedback="go", rating=4)
    assert (done.proposal.state, [each.after for each in done.values]) == ("applied", ["done", ["ui"]])
    history = [event.decision for event in ready.proposal(made.id).history]
    assert history == ["create", "accept", "apply"]
    assert ready.proposals().proposals == ()
    assert len(ready.proposals(include_closed=True).proposals) == len(ready.proposals(state="applied").proposals) == 1


def test_a_proposal_is_rejected_or_applied_later(ready):
    names = [ready.propose(f"task/{number}", {"status": "done"}, author="ann").id for number in range(2)]
    assert ready.reject_proposal(names[0], "too-risky", rating=1).proposal.state == "rejected"
    assert ready.accept_proposal(names[1], apply=False).proposal.state == "accepted"
    with pytest.raises(scopes.Refused):
        ready.propose("task/0", {"status": "x"}, before={"status": "done"})


def test_a_proposal_is_sent_to_reviewers(ready, store):
    made = ready.propose("task/42", {"status": "done"}, author="lead", to=[])
    assert (made.delivered_to, [each.entry.message for each in store.inbox("ann").messages]) == (("ann",), [made.id])


def test_a_fact_is_proposed_as_on_the_command_line(team, same):
    done = same(
        ("facts", "propose", team.id, "Seeds", "slow", "--data", '{"id": "slow", "confidence": 0.7}', "--as", "ann"),
        lambda talk: talk.propose_fact("Seeds", "slow", id="slow", confidence=0.7, author="ann"),
    )
    assert type(done.fact) is scopes.ProposedFact


def test_a_proposed_fact_becomes_a_fact_only_by_its_validation(ready):
    ready.propose_fact("seeds", "fast", id="fast")
    assert (ready.facts().facts, len(ready.proposed_facts().proposals)) == ((), 1)
    assert isinstance(ready.fact("fast"), scopes.ProposedFactView)
    assert type(ready.accept_fact("fast").fact) is scopes.Fact
    ready.propose_fact("Seeds", "slow", id="fast")
    with pytest.raises(scopes.ValidationError, match="with other content"):
        ready.accept_fact("fast")
    assert [row.fact.content for row in ready.facts("Seeds").facts] == ["fast"]


def test_people_decide_about_facts(ready):
    for name in ("a", "b"):
        ready.propose_fact("Seeds", name, id=name, author="ann")
    assert ready.accept_fact("a", "measured").decision.actor == "user"
    assert ready.reject_fact("b", "no", author="carol").proposal.state == "rejected"
    assert [row.state for row in ready.proposed_facts(include_all=True).proposals] == ["rejected"]
    assert isinstance(ready.fact("Seeds/a"), scopes.FactView)


def test_a_run_is_that_of_the_command_line(team, same):
    team.run("facts", "propose", team.id, "Seeds", "slow", "--data", '{"id": "slow"}')
    team.run("facts", "accept", team.id, "slow")
    program = """echo '{"facts": [{"key": "Signals", "content": "x", "id": "x"}]}'"""
    done = same(("facts", "run", team.id, "--agent", f"ann={program}"), lambda talk: talk.run_facts({"ann": program}))
    assert (done.ending, done.added) == ("converged", 1)


def test_a_run_stops_at_its_limits(ready, tmp_path):
    ready.accept_fact(ready.propose_fact("Seeds", "0").fact.id)
    program = f"""{sys.executable} -c "import json,sys; n=len(json.load(sys.stdin)['facts']); print(json.dumps({{'facts':
      [{{'key':'Seeds','content':str(n)}}]}}))" """
    done = ready.run_facts({"ann": program}, max_cycles=2)
    assert (done.ending, done.exit_code) == ("cycles", 9)


def test_a_collaboration_is_opened_as_on_the_command_line(team, same):
    words = ("collaborate", team.id, "--type", "consensus", "--agents", "ann,bob", "--task", "Choose", "--as", "lead")
    done = same(words, lambda talk: talk.collaborate("consensus", "Choose", ["ann", "bob"], author="lead"))
    assert done.branch == "collaboration/consensus"


def test_a_position_is_argued_in_a_collaboration(ready):
    ready.collaborate("consensus", "Choose", "ann", urgency="high")
    argument = scopes.Argument(
        about="the task", position="JWT", evidence=(scopes.Evidence(type="best-practice", description="RFC 7519"),)
    )
    ready.argue(argument, author="ann")
    report = ready.collaboration()
    assert [each.argument.position for each in report.positions] == ["JWT"]
