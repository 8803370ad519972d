"""The command that wrote a file which no edit wrote."""

from __future__ import annotations

import pytest

from scopes.code_links.turn_commands import find_command
from scopes.history.messages import header_of
from scopes.store.objects import read_commit

PROMPT = "please make all the files tidy"


def found(world, session, path="app.py", number=0):
    """Return the command before a commit call of a session, and the subject of its prompt."""
    with world.index(session) as index:
        begin, end = 0.0, 4_000_000_000.0
        rows = index._connection.execute(
            "SELECT oid FROM commit_call WHERE began > ? AND ended < ? ORDER BY began", (begin, end)
        )
        oids = [oid for (oid,) in rows]
        command = find_command(world.repository, oids[number], path, index.commit_call_messages("conv-001"))
    if command is None:
        return None
    prompt = None if command.prompt is None else header_of(read_commit(world.repository, command.prompt)).subject
    return command.command, prompt


@pytest.fixture
def started(project):
    project.write("app.py", "x = 1\n")
    project.write("src/lib.py", "y = 1\n")
    project.commit("Begin")
    return project


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/x/y/ app.py",
        "cp src/lib.py app.py",
        "printf 'z = 3' > app.py",
        "git mv app.py b.py; git mv b.py app.py",
    ],
)
def test_a_command_that_writes_the_file_is_found(world, started, command):
    session = world.claude().prompt(PROMPT).bash(command).bash("ls").commit("Tidy up")
    assert found(world, session) == (command, PROMPT)


def test_the_last_of_several_commands_is_found(world, started):
    session = world.claude().prompt(PROMPT).bash("sed -i s/x/y/ app.py").bash("sed -i s/y/z/ app.py").commit("Tidy up")
    assert found(world, session)[0] == "sed -i s/y/z/ app.py"


def test_a_command_that_writes_another_file_is_none(world, started):
    session = world.claude().prompt(PROMPT).bash("sed -i s/y/z/ src/lib.py").bash("cat app.py").commit("Tidy up")
    assert found(world, session) is None
    assert found(world, session, "src/lib.py")[0] == "sed -i s/y/z/ src/lib.py"


def test_git_itself_writes_no_file(world, started):
    started.write("app.py", "z = 1\n")
    session = world.claude().prompt(PROMPT).bash("git add -A").bash("git commit -q -m 'Tidy up'")
    assert found(world, session) is None


def test_the_search_ends_at_the_commit_before(world, started):
    session = world.claude().prompt(PROMPT).bash("sed -i s/x/y/ app.py").commit("First")
    session.bash("sed -i s/y/z/ src/lib.py").commit("Second")
    assert found(world, session, number=0)[0] == "sed -i s/x/y/ app.py"
    assert found(world, session, number=1) is None


def test_the_command_may_be_in_an_earlier_turn(world, started):
    session = world.claude().prompt(PROMPT).bash("sed -i s/x/y/ app.py").prompt("commit it").commit("Tidy up")
    assert found(world, session) == ("sed -i s/x/y/ app.py", PROMPT)


def test_a_command_in_the_line_of_the_commit_is_found(world, started):
    session = world.claude().prompt(PROMPT).bash("sed -i s/x/y/ app.py && git commit -a -m 'Tidy up'")
    assert found(world, session)[0].startswith("sed -i")
