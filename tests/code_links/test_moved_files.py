"""Files that were moved after an edit: renames that git detects, and new files with the lines of other names."""

from __future__ import annotations

import pytest

from scopes.code_links.moved_files import find_moved, names_by_path
from scopes.code_links.project_commits import read_project_commits
from tests.code_links.test_merge_lines import account
from tests.code_links.test_why import begin

SENDER = """\
def send_mail(address, text):
    connection = open_smtp_connection()
    connection.deliver(address, text)
"""
READER = """\
import time

def pull(queue, wait):
    item = queue.get(timeout=wait)
    if item is None:
        raise ValueError('nothing in the queue')
    return item
"""
LOGGED = "    logger.info('pulled an item %s', item)\n"


def answer_of(found):
    return found.level, *((each.conversation, each.turn) for each in found.answers)


def test_a_file_that_an_agent_moved_before_its_first_commit_keeps_its_turn(world, project):
    begin(project)
    session = world.claude().prompt("write a mail sender").write("send.py", SENDER)
    session.prompt("commit it").bash("mkdir mail && mv send.py mail/sender.py").commit("Mail sender")
    (found,) = world.why("mail/sender.py", session).items
    assert (found.line, found.last_line) == (1, 3)
    assert answer_of(found) == ("likely", ("conv-001", 1))
    assert found.answers[0].how == "line + 2/2 neighbours, Write"


def test_a_person_may_move_and_commit_it(world, project):
    begin(project)
    session = world.claude().prompt("write a mail sender").write("send.py", SENDER)
    (project.path / "send.py").rename(project.path / "mailer.py")
    commit = project.commit("Mail sender")
    assert answer_of(world.line("mailer.py:2", session)) == ("likely", ("conv-001", 1))
    (link,) = world.links(commit)
    assert (link.role, link.level, link.turn) == ("wrote", "likely", 1)
    assert link.evidence[0].text == "3 lines of edits of send.py, before the file was moved or copied"
    assert account(world).files[0].edited == 3


def test_a_moved_file_that_is_not_committed_keeps_its_turn(world, project):
    begin(project)
    session = world.claude().prompt("write a mail sender").write("send.py", SENDER)
    (project.path / "send.py").rename(project.path / "mailer.py")
    assert answer_of(world.line("mailer.py:2", session)) == ("likely", ("conv-001", 1))


def test_a_new_file_with_few_of_the_lines_is_no_moved_one(world, project):
    begin(project)
    session = world.claude().prompt("write a mail sender").write("send.py", SENDER)
    own = "".join(f"own_line_of_a_person_{number} = {number}\n" for number in range(4))
    (project.path / "send.py").unlink()
    project.write("mailer.py", SENDER + own)
    project.commit("Another sender")
    found = world.why("mailer.py", session)
    assert {each.level for each in found.items} == {"none"}
    assert "no conversation in the store has edited a file called mailer.py" in found.notes[0].text


def test_edits_of_its_own_name_win(world, project):
    begin(project)
    one = world.claude().prompt("write a sender").write("send.py", SENDER)
    two = world.claude("two").prompt("write a mailer").write("mailer.py", SENDER).commit("Mailer")
    assert answer_of(world.line("mailer.py:2", one, two)) == ("certain", ("conv-002", 1))


@pytest.mark.parametrize(("days", "found"), [(1, {"mailer.py": frozenset({"send.py"})}), (3, {})])
def test_edits_of_other_names_count_for_two_days(world, project, days, found):
    begin(project)
    session = world.claude().prompt("write a mail sender").write("send.py", SENDER)
    project.clock.skip(days=days)
    (project.path / "send.py").rename(project.path / "mailer.py")
    commit = project.commit("Mail sender")
    with world.index(session) as index, world.git() as git:
        assert names_by_path(find_moved(index, read_project_commits(git, [commit])[commit])) == found


def test_lines_of_a_file_that_a_person_renamed_in_their_commit_are_certain(world, project):
    """No session was known, and `why` advised to import one that was there."""
    begin(project, "queue.py", READER)
    session = world.claude().prompt("log the item").edit("queue.py", "    return item\n", f"{LOGGED}    return item\n")
    project.clock.skip(seconds=30)
    session.say("Now it is logged.")
    project.git("mv", "queue.py", "reader.py")
    commit = project.commit("Rename, and the edit of the agent")
    found = world.why("reader.py:7", session)
    assert answer_of(found.items[0]) == ("certain", ("conv-001", 1))
    assert found.notes == ()
    assert [link.conversation for link in world.links(commit)] == ["conv-001"]
    assert account(world).exit_code == 0


def test_an_agent_may_edit_and_rename_in_one_turn(world, project):
    begin(project, "queue.py", READER)
    session = world.claude().prompt("log").edit("queue.py", "    return item\n", f"{LOGGED}    return item\n")
    session.bash("git mv queue.py reader.py").commit("Log the item")
    assert answer_of(world.line("reader.py:7", session)) == ("certain", ("conv-001", 1))


def test_an_unanswered_line_of_a_renamed_file_gives_no_hint_to_import(world, project):
    begin(project, "queue.py", READER)
    session = world.claude().prompt("write").edit("queue.py", "    return item\n", f"{LOGGED}    return item\n")
    project.commit("Log")
    project.git("mv", "queue.py", "reader.py")
    project.write("reader.py", project.read("reader.py") + "# a line that a person wrote\n")
    project.commit("Rename by hand")
    found = world.why("reader.py:9", session)
    assert (found.items[0].level, found.notes) == ("none", ())


def test_a_short_new_file_needs_two_lines(world, project):
    begin(project)
    session = world.claude().prompt("write").write("one.py", "value_of_everything = 42\n")
    (project.path / "one.py").rename(project.path / "two.py")
    project.commit("Two")
    assert answer_of(world.line("two.py:1", session)) == ("none",)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("mv queue.py reader.py", "reader.py"),
        ("mkdir -p jobs && git add . && git mv queue.py jobs/", "jobs/queue.py"),
        ("mkdir jobs; mv -v queue.py jobs; ls", "jobs/queue.py"),
    ],
)
def test_a_replacement_within_a_line_of_a_file_that_a_command_moved_is_found(world, project, command, name):
    """The agent records no hunks, so that the rest of the line is known from the file under its old name alone."""
    begin(project)
    session = world.claude().prompt("write a reader").write("queue.py", READER).prompt("move it").bash(command)
    session.prompt("do not wait for ever").replace(name, "timeout=wait", "timeout=min(wait, 60)").commit("Reader")
    assert answer_of(world.line(f"{name}:4", session)) == ("likely", ("conv-001", 3))
    assert answer_of(world.line(f"{name}:6")) == ("likely" if name == "reader.py" else "certain", ("conv-001", 1))
