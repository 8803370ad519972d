"""Which call of a turn made a commit of which only the turn is recorded."""

from __future__ import annotations

import pytest

from scopes.code_links.commit_record import CommitRecord
from scopes.code_links.turn_calls import TurnCalls, commit_chance
from scopes.code_links.turns import list_turn_messages
from scopes.history.names import list_branch_tips
from scopes.model.message import Part

SUBJECT = "Add the second table"


def call_of(name, **given):
    return Part("tool_call", {"call_id": "c", "name": name, "input": given})


def find(world, at, *, commit="a" * 40, turn=1):
    """Return the call of a turn that made a commit at a time, such as `12:00:30`; None if there is none."""
    tips = list_branch_tips(world.repository, "conv-001")
    messages = list_turn_messages(world.repository, tips.values())
    own = [each.head.id for each in list_turn_messages(world.repository, [tips["main"]]) if each.number == turn]
    record = CommitRecord(
        commit=commit, recorded_by="turn", at=f"2025-12-20T{at}Z", conversation="u", message="m", subject=SUBJECT
    )
    last = next(each for each in messages if each.head.id == own[-1])
    found = TurnCalls(world.repository).find(messages, last, record)
    return found and found.call_id


@pytest.fixture
def session(world):
    """A prompt at 12:00:00; a call from 12:00:10 on, whose result is read 20 seconds later."""
    return world.claude().prompt("Go on")


def test_a_call_of_git_made_what_was_committed_while_it_ran(world, session):
    world.take(session.bash("git commit -q --allow-empty -F message.txt").say("Done."))
    assert find(world, "12:00:10").startswith("toolu_")
    assert find(world, "12:00:31") is not None
    assert find(world, "12:00:05") is None
    assert find(world, "12:01:00") is None


def test_what_was_committed_in_the_second_before_the_first_prompt_is_of_no_call(world, session):
    world.take(session.bash("git commit -q --allow-empty -m x"))
    assert find(world, "12:00:00") is None


@pytest.mark.parametrize(
    ("command", "is_made"),
    [
        ("git commit -qam 'Another table'", False),
        (f"git commit -qam '{SUBJECT}'", True),
        ("git commit -q --amend --no-edit -m x", True),
        ("git commit -qm x && git rebase -q main", True),
        ('git commit -qm "$(cat message)"', True),
        ("git merge -q topic", True),
    ],
)
def test_a_commit_in_the_second_before_a_call_is_not_of_one_that_words_another(world, session, command, is_made):
    """Git has whole seconds: a person may have committed just before the prompt."""
    world.project.clock.skip(seconds=0.5)
    world.take(session.bash(command))
    assert (find(world, "12:00:10") is not None) == is_made
    assert find(world, "12:00:20") is not None


@pytest.mark.parametrize("command", ["make release", f"echo '{SUBJECT}'"])
def test_a_call_that_may_run_git_or_not_made_nothing_that_it_does_not_name(world, session, command):
    world.take(session.bash(command))
    assert find(world, "12:00:20") is None


@pytest.mark.parametrize("named", [SUBJECT, "[main abcdef0] x"])
def test_a_script_made_the_commit_that_it_names(world, session, named):
    world.project.write("release.sh", f"echo '{named}'\n")
    world.take(session.bash("./release.sh; sh release.sh"))
    assert find(world, "12:00:20", commit="abcdef0" + "1" * 33) is not None
    assert find(world, "12:05:00", commit="abcdef0" + "1" * 33) is None


def test_a_call_that_the_user_refused_made_nothing(world, session):
    session._call("Bash", {"command": "git commit -m x"})
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    world.take(session._result(refusal, refusal, is_error=True))
    assert find(world, "12:00:15") is None


def test_a_call_without_a_result_may_still_have_run(world, session):
    session._call("Bash", {"command": "git commit -m x"})
    world.take(session.prompt("Go on"))
    assert find(world, "12:30:00") is not None
    assert find(world, "12:30:00", turn=2) is None


def test_only_the_calls_of_the_turn_count(world, session):
    world.take(session.bash("git commit -q --allow-empty -m x").prompt("And now?").bash("ls"))
    assert find(world, "12:00:15", turn=2) is None


def test_what_a_sub_agent_committed_is_made_in_the_turn_that_started_it(world, session):
    session._call("Task", {"prompt": "commit it"})
    call_id = session._call_id
    agent = world.claude("agent")
    agent.id = session.id
    agent.prompt("commit it").bash("git commit -q --allow-empty -m x").say("Yes")
    session._result("It is done.", {"agentId": "a1b2c3d"})
    world.take_with_sub_agent(session, agent, call_id)
    assert find(world, "12:00:35") is not None
    assert find(world, "12:00:05") is None


@pytest.mark.parametrize(
    ("call", "chance"),
    [
        (call_of("Bash", command="git commit -m x"), "git"),
        (call_of("Bash", command="ls"), "none"),
        (call_of("Read", file_path="/a"), "none"),
        (call_of("apply_patch", input="*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"), "none"),
        (call_of("mcp__git__git_commit", message="x"), "unknown"),
        (call_of("Task", prompt="x"), "unknown"),
    ],
)
def test_the_chance_of_a_call_is_that_of_its_command_or_tool(call, chance):
    assert commit_chance(call) == chance
