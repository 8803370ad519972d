"""A commit of short lines, such as settings, is of the conversation that has several of them in sequence."""

from __future__ import annotations

import pytest

from scopes.code_links.commit_links import link_commit, main_link
from scopes.code_links.edit_times import EditTimes
from scopes.code_links.project_commits import read_project_commits
from scopes.code_links.short_lines import find_short_writer, find_writers, lines_of
from tests.code_links.test_why import begin

SETTINGS = "HOST = 'mx'\nPORT = 25\nTRIES = 3\nWAIT = 10\nBATCH = 9\n"


def committed(world, *sessions):
    """Return the last commit and the index, with the sessions in it."""
    with world.index(*sessions) as index, world.git() as git:
        (commit,) = read_project_commits(git, [world.project.head]).values()
        return commit, link_commit(index, commit, None), find_short_writer(index, commit, EditTimes(commit.author_time))


def write_settings(world, name="one", text=SETTINGS):
    return world.claude(name).prompt(f"write the settings, {name}").write("conf.py", text)


def commit_by_hand(project, *changes):
    text = project.read("conf.py")
    for old, new in changes:
        text = text.replace(old, new)
    project.write("conf.py", text)
    project.commit("By hand")


def test_a_commit_of_short_lines_is_likely_of_the_session_that_wrote_them_in_sequence(world, project):
    """No line has a hash, and a person made the commit: no session was known to have written it."""
    begin(project)
    session = write_settings(world)
    commit_by_hand(project, ("BATCH = 9", "BATCH = 8"))
    _, links, (name, share) = committed(world, session)
    link = main_link(links)
    assert (link.conversation, link.role, link.level, link.turn) == ("conv-001", "wrote", "likely", 1)
    assert link.evidence[0].text == "4 short lines, 4 of them in sequence"
    assert (name, share.lines, share.sequence, share.share) == ("conv-001", 4, 4, 0.8)


@pytest.mark.parametrize(
    "changes",
    [
        [("TRIES = 3", "TRIES = 4"), ("BATCH = 9", "BATCH = 8")],
        [("PORT = 25", "PORT = 1\nA = 1\nB = 2\nC = 3\nD = 4")],
        [("TRIES = 3", "TRIES = 3\nA = 1"), ("PORT = 25", "PORT = 25\nB = 1")],
    ],
    ids=["three lines", "less than half of them", "never three in a row"],
)
def test_too_few_lines_link_nothing(world, project, changes):
    begin(project)
    session = write_settings(world)
    commit_by_hand(project, *changes)
    assert committed(world, session)[1:] == ((), None)


def test_lines_that_two_sessions_have_link_none_of_them(world, project):
    begin(project)
    sessions = write_settings(world), write_settings(world, "two", f"# {SETTINGS}{SETTINGS}")
    commit_by_hand(project)
    assert committed(world, *sessions)[1:] == ((), None)


def test_an_edit_long_before_the_commit_is_not_its_source(world, project):
    begin(project)
    session = write_settings(world)
    project.clock.skip(hours=7)
    commit_by_hand(project)
    assert committed(world, session)[1:] == ((), None)


def test_a_commit_with_many_longer_lines_is_judged_by_these(world, project):
    begin(project)
    session = write_settings(world)
    longer = "".join(f"value_of_somebody_{number} = {number}\n" for number in range(6))
    commit_by_hand(project, ("HOST = 'mx'\n", longer + "HOST = 'mx'\n"))
    assert committed(world, session)[2] is None


def test_a_link_by_longer_lines_needs_no_short_ones(world, project):
    begin(project)
    session = write_settings(world, text=SETTINGS + "TIMEOUT_OF_A_QUEUE = 10\n")
    commit_by_hand(project)
    _, links, _ = committed(world, session)
    assert [link.evidence[0].text.partition(",")[0] for link in links] == ["1 line of 1 edit"]


def test_the_lines_of_a_commit_are_those_with_a_letter_or_digit(world, project):
    begin(project)
    commit_by_hand(project, ("", "{\n  a = 1\n}\n"))
    commit, _, _ = committed(world, write_settings(world))
    assert list(lines_of(commit)) == [("conf.py", 2)]


def test_an_edit_with_a_longer_line_is_found_by_its_short_ones_too(world, project):
    """A person changed the only line by which the edit could be found."""
    begin(project)
    session = write_settings(world, text=SETTINGS + "DEBUG = False\n")
    commit_by_hand(project, ("DEBUG = False", "DEBUG = True"))
    with world.index(session) as index, world.git() as git:
        (commit,) = read_project_commits(git, [project.head]).values()
        found = find_writers(index, commit, EditTimes(commit.author_time))
    assert {name: len(each.lines) for name, each in found.items()} == {"conv-001": 5}
