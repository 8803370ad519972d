"""Turns, edits and commit calls, read from imported sessions and from appended messages."""

from __future__ import annotations

import pytest

from scopes.code_links.conversation_edits import read_conversation_edits
from scopes.code_links.turns import begins_turn, list_turn_messages
from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import new
from scopes.history.messages import header_of, plain_message
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import read_commit
from tests.support.history import history, say
from tests.support.random_ids import spread_ids  # noqa: F401
from tests.support.tool_calls import call_tool

LONG = "please add a command that lists the branches"


def read(repository, conversation="conv-001"):
    tips = list_branch_tips(repository, conversation).values()
    return read_conversation_edits(repository, walk_oldest_first(repository, tips))


def text_at(repository, oid):
    return None if oid is None else header_of(read_commit(repository, oid)).subject


def turns_of(repository, conversation="conv-001"):
    """Return number, prompt, agreed answer and long prompt of each turn."""
    return [
        (turn.number, *(text_at(repository, oid) for oid in (turn.prompt, turn.agreed_to, turn.long_prompt)))
        for turn in read(repository, conversation).turns[1:]
    ]


def edits_of(repository):
    """Return the number of the turn, the base name and the lines of each edit."""
    found = read(repository)
    return [(found.turns[each.turn].number, each.added.base_name, list(each.added.lines)) for each in found.edits]


def test_a_prompt_begins_a_turn_with_the_answer_before_it_and_the_last_long_prompt(world, repository):
    session = (
        world.claude().prompt(LONG).say("Shall I call it status?").prompt("yes").say("And with totals?").prompt("ok")
    )
    world.take(session)
    assert turns_of(repository) == [
        (1, LONG, None, None),
        (2, "yes", "Shall I call it status?", LONG),
        (3, "ok", "And with totals?", LONG),
    ]


def test_a_long_prompt_needs_no_other_one(world, repository):
    world.take(world.claude().prompt(LONG).say("Done.").prompt(f"now {LONG}"))
    assert turns_of(repository)[1] == (2, f"now {LONG}", "Done.", None)


def test_the_answer_that_is_agreed_to_is_the_last_one_with_text(world, project, repository):
    project.write("a.py", "x\n")
    session = world.claude().prompt(LONG).say("I will look.").say("Shall I?").bash("true").prompt("yes")
    world.take(session)
    assert turns_of(repository)[1][2] == "Shall I?"


def test_edits_belong_to_the_turn_in_which_they_were_made(world, project, repository):
    project.write("a.py", "x = 1\n")
    session = world.claude().prompt(LONG).edit("a.py", "x = 1\n", "x = 1\ny = 2\n").prompt("and z")
    session.edit("a.py", "y = 2\n", "y = 2\nz = 3\n")
    world.take(session)
    assert edits_of(repository) == [(1, "a.py", ["y = 2"]), (2, "a.py", ["z = 3"])]


def test_an_edit_has_its_message_its_call_and_the_time_of_its_result(world, project, repository):
    project.write("a.py", "x = 1\n")
    session = world.claude().prompt(LONG).edit("a.py", "x = 1\n", "y = 2\n")
    world.take(session)
    (edit,) = read(repository).edits
    assert (edit.tool, edit.call_id) == ("Edit", session._call_id)
    assert edit.time == (project.clock.now.timestamp() - 10)
    assert header_of(read_commit(repository, edit.oid)).id == edit.message


def test_a_failed_edit_is_none(world, project, repository):
    world.take(world.claude().prompt(LONG).fail("a.py", "x", "y"))
    assert read(repository).edits == []


def test_a_commit_call_has_its_turn_and_what_git_printed(world, project, repository):
    project.write("a.py", "x = 1\n")
    session = world.claude().prompt(LONG).prompt("commit it").commit("Add a file")
    world.take(session)
    found = read(repository)
    (call,) = found.commit_calls
    assert found.turns[call.turn].number == 2
    assert call.call.printed == ((project.head[:7], "Add a file"),)


def test_a_call_with_its_result_in_its_message_ends_when_the_first_message_after_it_begins(world, project, repository):
    began = project.clock.now.timestamp() + 10
    session = world.opencode().prompt(LONG).bash("git commit -m wip", seconds=60)
    world.take(session)
    (alone,) = read(repository).commit_calls
    assert (alone.call.began, alone.call.ended) == (began, began)
    world.take(session.say("Done.").prompt("now the next one, please").say("Done, too."))
    (call,) = read(repository).commit_calls
    assert (call.call.began, call.call.ended) == (began, began + 70)


def test_a_codex_session_is_read_too(world, project, repository):
    session = (
        world.codex().prompt(LONG).patch("a.py", "", "x = 1\ny = 2").bash("git add -A && git commit -m 'Add a file'")
    )
    world.take(session)
    found = read(repository)
    assert edits_of(repository) == [(1, "a.py", ["x = 1", "y = 2"])]
    assert [each.call.printed for each in found.commit_calls] == [((project.head[:7], "Add a file"),)]


def test_what_a_sub_agent_did_belongs_to_the_turn_of_its_call(world, project, repository):
    session = world.claude().prompt(LONG).say("ok").prompt("let a sub-agent do it")
    session._call("Task", {"description": "do it", "prompt": "write a.py", "subagent_type": "general-purpose"})
    call_id = session._call_id
    agent = world.claude("agent")
    agent.id = session.id
    agent.prompt("write a.py").write("a.py", "x = 1\n").say("done")
    session._result("done", {"status": "completed", "agentId": "a1b2c3d", "prompt": "write a.py"})
    world.take_with_sub_agent(session, agent, call_id)
    assert edits_of(repository) == [(2, "a.py", ["x = 1"])]


def ask(repository, where, text):
    say(repository, where, text, author={"name": "carol", "kind": "human"}, kind="prompt")


def test_calls_with_equal_ids_in_several_messages_are_several_edits(repository):
    """Some agents number their calls in each message; here the ids of all calls are equal."""
    history(repository, "main: a")
    for name in ("one", "two"):
        call_tool(repository, "conv-001/main", "Write", {"file_path": f"/p/{name}.py", "content": "x = 1\n"})
    assert [name for _, name, _ in edits_of(repository)] == ["one.py", "two.py"]


@pytest.mark.usefixtures("spread_ids")
def test_a_branch_goes_on_counting_where_it_began(repository):
    history(repository, "main: a")
    ask(repository, "conv-001/main", LONG)
    branch(repository, "conv-001", name="fix", switch=False)
    for name in ("main", "fix"):
        ask(repository, f"conv-001/{name}", f"on {name}")
        call_tool(repository, f"conv-001/{name}", "Write", {"file_path": f"/p/{name}.py", "content": "x = 1\n"})
    assert sorted(edits_of(repository)) == [(2, "fix.py", ["x = 1"]), (2, "main.py", ["x = 1"])]
    assert [turn[0] for turn in turns_of(repository)] == [1, 2, 2]


def test_an_edit_before_the_first_prompt_is_of_turn_0(repository):
    history(repository, "main: a")
    call_tool(repository, "conv-001/main", "Write", {"file_path": "/p/a.py", "content": "x = 1\n"})
    assert edits_of(repository) == [(0, "a.py", ["x = 1"])]


def test_an_edit_without_a_result_is_none(world, project, repository):
    session = world.claude().prompt(LONG)
    session._call("Write", {"file_path": "/p/a.py", "content": "x = 1\n"})
    world.take(session)
    assert read(repository).edits == []


def test_times_of_the_first_and_the_last_message_are_known(world, project, repository):
    begin = int(project.clock.now.timestamp())
    world.take(world.claude().prompt(LONG).say("Done."))
    found = read(repository)
    assert (found.first, found.last) == (begin, begin + 10)
    assert (found.turns[1].began, found.turns[1].ended) == (begin, begin + 10)


def test_only_prompts_of_people_and_slash_commands_begin_a_turn(world, repository):
    session = world.claude().prompt("<command-name>/review</command-name> <command-message>review</command-message>")
    session.prompt("<local-command-stdout>See ya!</local-command-stdout>").prompt(LONG).say("ok")
    world.take(session)
    heads = [
        header_of(commit) for commit in walk_oldest_first(repository, list_branch_tips(repository, "conv-001").values())
    ]
    assert [head.subject[:14] for head in heads if begins_turn(head)] == ["<command-name>", LONG[:14]]


def test_turns_are_counted_as_those_of_messages_are(repository):
    """A person who records by hand may write a slash command, too."""
    user, agent = Author("alice", "human"), Author("claude", "agent")
    new(repository)
    for author, kind, text in (
        (user, "prompt", LONG), (agent, "answer", "ok"), (user, "meta", "<command-name>/review</command-name>"),
        (user, "meta", "<local-command-stdout>"), (agent, "answer", "fine"), (user, "plain", "go on"),
    ):  # fmt: skip
        append(repository, "conv-001", plain_message(author, text, kind=kind))
    tips = list_branch_tips(repository, "conv-001").values()
    begins = {each.number: each.begin for each in list_turn_messages(repository, tips)}
    assert {turn.number: turn.prompt for turn in read(repository).turns[1:]} == begins
    assert [*begins] == [1, 2, 3]


@pytest.mark.parametrize(("exit_code", "lines"), [(0, ["value = f(2) + 1"]), (1, ["f(2)"])])
def test_a_file_has_its_text_under_a_new_name_if_the_move_succeeded(repository, exit_code, lines):
    history(repository, "main: a")
    call_tool(repository, "conv-001/main", "Write", {"file_path": "/p/a.py", "content": "value = f(1) + 1\n"})
    call_tool(repository, "conv-001/main", "Bash", {"command": "mv a.py b.py"}, exit_code=exit_code)
    replaced = {"file_path": "/p/b.py", "old_string": "f(1)", "new_string": "f(2)"}
    call_tool(repository, "conv-001/main", "Edit", replaced)
    assert edits_of(repository)[-1] == (0, "b.py", lines)
