"""Mistakes at `send`, `inbox`, `proposals` and `collaborate`: each is one error that names it and its cure."""

from __future__ import annotations

import pytest

from tests.support.random_ids import spread_ids

__all__ = ["spread_ids"]


@pytest.fixture
def team(conversation, spread_ids):
    """A conversation with a reviewer, an agent that is away, and an open collaboration."""
    conversation.append("main", "refactor the login", author="lead")
    conversation.run("agents", "register", "ann", "--capability", "review")
    conversation.run("agents", "register", "bob", "--away")
    words = ("--type", "CONSENSUS", "--agents", "ann", "--task", "Choose", "--urgency", "HIGH")
    conversation.run("collaborate", conversation.id, *words)
    return conversation


MISTAKES = [
    ("send CONV --to| x", 2, "the name of an agent is empty", "scopes agents list"),
    ("send CONV --to @ x", 4, "no other agent has the capability ''", "capabilities: review"),
    ("send CONV --to @fly x", 4, "no other agent has the capability 'fly'", "capabilities: review"),
    ("send CONV --to all|", 2, "the message is empty", 'scopes send conv-001 --to all "hello"'),
    ("send CONV --to ann", 2, "no message given", 'scopes send conv-001 --to all "hello", or - for'),
    ("send CONV hello", 2, "no receiver is named", "--to NAME"),
    ("send CONV --to bob hello", 1, "no agent is available: bob", "--queue"),
    ("send ann hello", 2, "ann is an agent, not a conversation", "scopes send CONV --to ann TEXT"),
    ("inbox nobody", 4, "there is no agent 'nobody'", "scopes agents list"),
    ("agents register|", 2, "an agent needs a name", "scopes agents register reviewer"),
    ("inbox ann --idle 3", 2, "--idle needs --watch", "--watch --idle 60"),
    ("inbox ann --watch --idle nan", 2, "--idle needs --watch, and seconds of 0 or more", "--watch --idle 60"),
    ("inbox ann --watch --idle -1", 2, "seconds of 0 or more", "--watch --idle 60"),
    ("inbox ann --deliver", 2, "no program is set for the messages of ann", "scopes.agent.ann.delivery COMMAND"),
    ("inbox ann --deliver --ack", 2, "--deliver cannot be combined with", "takes out what it delivers"),
    ("proposals create CONV task/42", 2, "no change was given", "task/42 status=done"),
    ("proposals create CONV task status=done", 2, "'task' is not an entity: TYPE/ID", "task/42"),
    ("proposals create CONV task/42 status", 2, "'status' is not FIELD=VALUE", "status=done"),
    ("proposals create CONV task/42 a=b a=c", 2, "the field 'a' is changed twice", "once"),
    (
        "proposals create CONV task/42 a=b --confidence 2",
        2,
        "the confidence 2 is not between 0 and 1",
        "--confidence 80%",
    ),
    ("proposals create CONV task/42 a=b --category x", 2, "category: must be 'optimization'", "help proposals create"),
    ("proposals create CONV task/42 a=b --risk x", 2, "risk_level: must be 'none'", "help proposals create"),
    ("proposals create CONV task/42 a=b --expires never", 2, "--expires 'never' is not a time", "12h, 7d"),
    ("proposals create CONV task/42 a=b --expires 2001-01-01", 2, "is not in the future", "--expires 7d"),
    ("proposals create CONV task/42 a=1e999", 2, "cannot be stored as JSON", ""),
    ("proposals create CONV task/42 a=b --queue", 2, "--queue is for a proposal that is sent", "--send or --to"),
    ("proposals create CONV task/42 a=b --to bob", 1, "no agent is available: bob", "--queue"),
    ("proposals create CONV task/42 a=b --before c=d", 2, "--before names the field 'c'", "leave it out"),
    ("proposals create CONV task/42 a=b --before a=d", 1, 'a is none, not "d"', "leave out --before"),
    ("proposals list CONV --state open", 2, "'open' is not a state of a proposal", "states: pending, accepted"),
    ("proposals accept CONV", 2, "no proposal given", "scopes proposals list conv-001"),
    ("proposals show CONV zzzz", 4, "there is no proposal 'zzzz' in conv-001", "proposals list conv-001 --all"),
    ("proposals reject CONV zzzz --reason nope", 2, "'nope' is not a reason to reject", "incorrect-analysis"),
    ("proposals feedback CONV zzzz", 2, "there is no feedback", '--feedback "the tests are faster now" --rating 5'),
    ("collaborate CONV --type chat --agents ann --task x", 2, "'chat' is not a type of collaboration", "peer-review"),
    ("collaborate CONV --type consensus --agents , --task x", 2, "nobody is asked", "--agents all"),
    ("collaborate CONV --type consensus --agents ann --task|", 2, "there is no task", "--task"),
    ("collaborate CONV --type handoff --agents ann,bob --task x", 2, "a handoff goes to one agent, not 2", "--agents"),
    ("collaborate CONV --type consensus --agents zoe --task x", 4, "there is no agent 'zoe'", "agents list"),
    ("collaborate argue CONV| --as ann", 2, "the position is empty", "keep the queue"),
    ("collaborate argue CONV x --evidence rumour:x", 2, "'rumour:x' is not evidence", "performance-data"),
    ("collaborate argue CONV x --confidence nan", 2, "the confidence nan is not between 0 and 1", "0.8"),
    ("collaborate argue conv-001/main x", 4, "conv-001/main is not a collaboration", "collaborate status conv-001"),
    ("collaborate show conv-9", 4, "there is no conversation 'conv-9'", ""),
    ("conflicts argue CONV 1 x", 4, "conflict", ""),
    ("conflicts escalate CONV 1", 4, "there is no conflict", "conflicts list"),
]


@pytest.mark.parametrize(("line", "code", "message", "hint"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_is_one_error_that_names_it_and_its_cure(team, line, code, message, hint):
    """A bar in a line stands for an empty word after it."""
    words = [{"CONV": team.id, "|": ""}.get(word, word) for word in line.replace("|", " | ").split()]
    before = team.run("operations", "-a", "--json")
    error = team.run_refused(*words, code=code)
    assert message in error["message"]
    assert hint in (error.get("hint") or "")
    assert team.run("operations", "-a", "--json") == before


def test_two_open_collaborations_are_ambiguous(team):
    """Exit code 5, as for every name that fits several things; it was 4."""
    team.run("collaborate", team.id, "--type", "handoff", "--agents", "ann", "--task", "Finish")
    error = team.run_refused("collaborate", "show", team.id, code=5)
    assert (error["kind"], error["hint"]) == ("ambiguous", "name one as CONV/BRANCH")
    assert "2 collaborations are open in conv-001" in error["message"]


def test_closing_with_open_conflicts_says_so(team):
    branch = "collaboration/consensus"
    for where, decision in ((branch, "jwt"), ("main", "sessions")):
        team.append_typed(where, "decision", {"topic": "auth", "decision": decision}, "ann")
    team.run("merge", team.id, "--source", branch, "--target", "main", code=3)
    done = team.run_main("collaborate", "close", f"{team.id}/{branch}", "--as", "lead")
    assert "1 of its conflicts is still open" in done.stderr
    assert "see: scopes conflicts list conv-001" in done.stderr


def test_text_that_is_no_terminal_text_is_made_visible(team):
    """Control characters of an entity, a field, a task and a position are shown, never sent to the terminal."""
    team.run("proposals", "create", team.id, "ta\x01sk/4\n2", "st\x1b[31m=d\x02", "--as", "odd")
    team.run("collaborate", "argue", team.id, "\x1b]0;x\x07\u202e", "--about", "a\x00b".replace("\x00", "\x01"))
    shown = team.run("proposals", "list", team.id) + team.run("collaborate", "show", team.id)
    assert not any(character in shown for character in "\x1b\x01\x02\x07\u202e")
