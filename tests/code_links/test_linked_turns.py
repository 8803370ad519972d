"""The turns of a link: all that wrote lines of a commit by edits or commands, and the one that made it."""

from __future__ import annotations

import pytest

from scopes.code_links.link import CodeLink, LinkedTurn
from scopes.code_links.linked_commits import open_linker
from scopes.code_links.linked_turns import MAX_NAMED, TurnFinder, with_own_turn
from scopes.conversation.commits import RevisionRequest, find_commit_turns
from scopes.conversation.log import LogFilter, log

GREETING = "def greeting_of(name):\n    return 'good morning, ' + name\n"
PARTING = "def parting_of(name):\n    return 'good night, ' + name\n"


def links_of(world, *sessions, conversation="conv-001"):
    world.take(*sessions)
    with open_linker(world.repository, world.index_directory, str(world.project.path)) as linker:
        (linked,) = linker.link([world.project.head])
        return TurnFinder(world.repository, linker.index).links_of(linked, conversation)


def brief(links):
    return [(link.role, link.level, [turn.number for turn in link.turns]) for link in links]


def test_a_link_by_content_names_every_turn_with_lines_and_its_last_one_first_of_all(world):
    session = world.claude().prompt("please write a greeting").write("greeting.py", GREETING)
    session.prompt("please write a parting").write("parting.py", PARTING)
    session.prompt("commit everything").commit("Greet people")
    made, wrote = links_of(world, session)
    assert brief([made, wrote]) == [("made", "certain", [3]), ("wrote", "certain", [1, 2])]
    assert (wrote.turn, wrote.message) == (2, wrote.turns[-1].message)


def test_a_turn_whose_lines_were_written_again_later_is_not_named(world):
    session = world.claude().prompt("please write a greeting").write("greeting.py", GREETING)
    session.prompt("take it out and write it anew").edit("greeting.py", GREETING, "")
    session.edit("greeting.py", "", GREETING).commit("Greet people")
    assert brief(links_of(world, session)) == [("made", "certain", [2]), ("wrote", "certain", [2])]


def test_the_turns_of_another_conversation_are_not_those_of_this_one(world):
    first = world.claude("first").prompt("please write a greeting").write("greeting.py", GREETING)
    second = world.claude("second").prompt("please write a parting").write("parting.py", PARTING).commit("Greet people")
    assert brief(links_of(world, first, second)) == [("wrote", "likely", [1])]
    assert brief(links_of(world, conversation="conv-002")) == [("made", "certain", [1]), ("wrote", "certain", [1])]


def test_a_conversation_that_is_only_a_candidate_has_no_links(world, project):
    session = world.claude().prompt("please write a greeting").write("greeting.py", GREETING)
    project.clock.skip(days=30)
    project.commit("Greet people")
    assert links_of(world, session) == ()


def test_files_of_commands_name_the_turns_of_the_commands(world):
    session = world.claude().prompt("write a version").bash("echo 'version 1.2.3 of this program' > VERSION")
    session.prompt("write the authors too").bash("echo 'Alice and Bob, who wrote this' > AUTHORS")
    session.prompt("commit it").commit("Version and authors")
    made, wrote = links_of(world, session)
    assert brief([made, wrote]) == [("made", "certain", [3]), ("wrote", "likely", [1, 2])]
    assert wrote.evidence[0].text == "a command may have written lines of AUTHORS, VERSION"


@pytest.mark.parametrize(
    ("count", "end"), [(MAX_NAMED, "3.txt"), (MAX_NAMED + 1, "3.txt and 1 more file"), (9, "3.txt and 6 more files")]
)
def test_not_more_than_a_few_files_of_commands_are_named(world, count, end):
    names = " ".join(f"{number}.txt" for number in range(1, count + 1))
    session = world.claude().prompt("write some files")
    session.bash(f"for name in {names}; do echo 'a line of this file' > $name; done").commit("Add files")
    *_, wrote = links_of(world, session)
    assert (wrote.role, wrote.evidence[0].text) == ("wrote", f"a command may have written lines of 1.txt, 2.txt, {end}")


def test_files_of_a_commit_that_a_person_made_are_not_those_of_a_command(world, project):
    """Only the call that made the commit tells where to look for its commands."""
    session = world.claude().prompt("write a greeting and a version").write("greeting.py", GREETING * 3)
    session.bash("echo 'version 1.2.3 of this program' > VERSION")
    project.commit("Greet people")
    assert [link.evidence[0].kind for link in links_of(world, session)] == ["content"]


def test_the_log_of_a_commit_by_a_sub_agent_has_the_prompt_of_the_person_too(world):
    session = world.claude().prompt("let a sub-agent write the greeting")
    session._call("Task", {"description": "write", "prompt": "write it", "subagent_type": "general-purpose"})
    call_id = session._call_id
    agent = world.claude("agent")
    agent.id = session.id
    agent.prompt("write it").write("greeting.py", GREETING).say("done")
    session._result("done", {"status": "completed", "agentId": "a1b2c3d", "prompt": "write it"})
    session.prompt("something else, please").say("Yes?").prompt("commit it").commit("Greet people")
    world.take_with_sub_agent(session, agent, call_id)
    request = RevisionRequest(revision="HEAD", directory=str(world.project.path), index_directory=world.index_directory)
    turns = find_commit_turns(world.repository, request)
    shown = log(world.repository, "conv-001", all_branches=True, only=LogFilter(messages=turns.messages)).items
    subjects = {entry.head.subject for entry in shown}
    assert {"let a sub-agent write the greeting", "write it", "commit it"} <= subjects
    assert "something else, please" not in subjects
    assert turns.notes[0].text.endswith("made in turn 3; lines written in turn 1")


def test_a_merge_has_its_links_without_lines(world, project):
    project.write("other.py", "x = 1\n")
    project.commit("Begin")
    project.git("checkout", "-q", "-b", "topic")
    project.write("topic.py", "y = 1\n")
    project.commit("Topic")
    project.git("checkout", "-q", "main")
    session = world.claude().prompt("merge the topic").bash("git merge -q --no-ff --no-commit topic")
    session.bash("git commit -m 'Merge the topic into main'")
    assert brief(links_of(world, session)) == [("made", "certain", [1])]


def test_a_link_without_a_turn_stays_without_one():
    link = CodeLink(commit="a" * 40, conversation="conv-001", role="made", level="likely")
    assert with_own_turn(link).turns == ()


def test_a_link_with_a_turn_has_that_one():
    link = CodeLink(commit="a" * 40, conversation="conv-001", role="made", level="likely", turn=3, message="m")
    assert with_own_turn(link).turns == (LinkedTurn(3, "m"),)
