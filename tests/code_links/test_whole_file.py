"""`why FILE` says of each line what `why FILE:LINE` says of it."""

from __future__ import annotations

import random

import pytest

from scopes.code_links.line_hash import hash_line, is_blank
from scopes.code_links.line_match import ANSWERED, WHY_LEVELS
from tests.code_links.test_why import begin

SETTINGS = "HOST = 'mx'\nPORT = 25\nTRIES = 3\nWAIT = 10\nBATCH = 100\nDEBUG = False\n"
READER = """\
import time

def pull(queue, wait):
    w = 3
    item = queue.get(timeout=wait)
    if item is None:
        raise ValueError('nothing in the queue')
    return item
"""
LOGGED = "    print('pulled an item', item)\n    time.sleep(0.01)\n"
KEYS = ("ab", "size", "wait", "mode", "port", "maximum_of_all_values", "address_of_the_server")


def answer_of(found):
    """Return what is said of lines: the level, and the turn."""
    best = found.answers[0] if found.answers else None
    return found.level, best and (best.conversation, best.turn)


def check_every_line(world, name, *sessions):
    """Compare each line of a file with the group in which the file has it; return the groups."""
    groups = world.why(name, *sessions).items
    for number, text in enumerate(world.project.read(name).splitlines(), 1):
        (group,) = (each for each in groups if each.line <= number <= each.last_line)
        alone = world.line(f"{name}:{number}")
        if is_blank(text) or (hash_line(text) is None and alone.level not in {*ANSWERED, "none"}):
            assert WHY_LEVELS.index(group.level) <= WHY_LEVELS.index(alone.level), (number, text)
        else:
            assert answer_of(group) == answer_of(alone), (number, text)
    return [(each.line, each.last_line, each.level, each.answers[0].turn) for each in groups if each.answers]


def test_short_lines_of_an_edit_below_those_of_another_turn_are_of_their_own_turn(world, project):
    """`PORT = 587` was called certain of the turn that wrote `PORT = 25`."""
    begin(project)
    session = world.claude().prompt("write the settings").write("conf.py", SETTINGS)
    session.prompt("use tls").edit("conf.py", "PORT = 25\n", "PORT = 587\nTLS = True\n")
    project.commit("Settings by hand")
    groups = check_every_line(world, "conf.py", session)
    assert [(first, last, turn) for first, last, _, turn in groups] == [(1, 1, 1), (2, 3, 2), (4, 7, 1)]


def test_an_answer_of_a_commit_alone_does_not_hide_the_turns_of_the_lines_below_it(world, project):
    """After a squash the first line has no edit; it hid the five lines below it, which have one."""
    begin(project)
    base = project.head
    session = world.claude().prompt("write the settings").write("conf.py", SETTINGS).commit("Settings")
    session.prompt("use tls").edit("conf.py", "PORT = 25\n", "PORT = 587\nTLS = True\n").commit("Tls")
    new = "TRIES = 9\nWAIT = 60\nJITTER = 5\n"
    session.prompt("be patient").edit("conf.py", "TRIES = 3\nWAIT = 10\n", new).commit("Be patient")
    project.git("reset", "-q", "--soft", base)
    project.commit("All settings")
    groups = check_every_line(world, "conf.py", session)
    assert {(2, 3, "likely", 2), (4, 6, "likely", 3)} <= set(groups)


def test_a_short_line_that_a_person_changed_is_not_shown_with_the_lines_of_a_session_around_it(world, project):
    """All lines were said to be of nobody, because no edit has the first one any more.

    The commit is of the session, by its short lines; of what a person changed no more than that is known.
    """
    begin(project)
    session = world.claude().prompt("write the settings").write("conf.py", SETTINGS)
    new = "TRIES = 9\nWAIT = 60\nJITTER = 5\n"
    session.prompt("be patient").edit("conf.py", "TRIES = 3\nWAIT = 10\n", new)
    text = project.read("conf.py").replace("WAIT = 60", "WAIT = 30").replace("DEBUG = False", "DEBUG = True")
    project.write("conf.py", text)
    project.commit("Settings by hand")
    groups = check_every_line(world, "conf.py", session)
    assert [each for each in groups if each[2] != "commit-only"] == [(3, 3, "likely", 2), (5, 5, "likely", 2)]
    assert {world.line(f"conf.py:{number}").level for number in (4, 7)} == {"commit-only"}


def test_a_short_line_that_only_another_turn_has_is_not_shown_with_the_lines_above_it(world, project):
    """`BATCH = 100` was shown as the second turn's, which wrote the line above it."""
    begin(project)
    session = world.claude().prompt("write the settings").write("conf.py", SETTINGS)
    session.prompt("be patient").edit("conf.py", "TRIES = 3\nWAIT = 10\n", "TRIES = 9\nWAIT = 60\n")
    project.write("conf.py", project.read("conf.py").replace("DEBUG = False", "DEBUG = True"))
    project.commit("Settings by hand")
    groups = check_every_line(world, "conf.py", session)
    assert [(first, last) for first, last, level, _ in groups if level == "likely"] == [(3, 4)]


@pytest.mark.slow
def test_a_function_that_two_turns_wrote_has_the_answers_of_its_lines(world, project):
    begin(project)
    base = project.head
    session = world.claude().prompt("write a reader").write("q.py", READER).commit("Add a reader")
    last = "    return item\n"
    session.prompt("log each item").edit("q.py", last, LOGGED + last).commit("Log items")
    assert {turn for *_, turn in check_every_line(world, "q.py", session)} == {1, 2}
    project.git("reset", "-q", "--soft", base)
    project.commit("Squashed")
    assert {turn for *_, turn in check_every_line(world, "q.py")} == {1, 2}


def change(chance, text):
    """Return lines and what replaces them: some of the lines with other values, and perhaps one more."""
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    old = lines[at : at + chance.randint(1, 2)]
    new = [f"{line.split(' = ')[0].strip()} = {chance.randrange(100)}\n" for line in old]
    return "".join(old), "".join([*new, *chance.choice([[], ["\n"], [f"{chance.choice(KEYS)}_2 = 1\n"], ["}\n"]])])


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.sweep) for n in range(2, 40))])
@pytest.mark.slow
def test_in_a_file_of_short_lines_that_many_turns_changed_every_line_has_the_answer_of_its_group(world, project, seed):
    chance = random.Random(seed)
    begin(project)
    base = project.head
    text = "".join(f"{key} = {chance.randrange(100)}\n" for key in KEYS * 2)
    session = world.claude().prompt("write the settings").write("conf.py", text)
    for turn in range(5):
        old, new = change(chance, project.read("conf.py"))
        session.prompt(f"change number {turn}").edit("conf.py", old, new)
        if chance.random() < 0.4:
            session.commit(f"Change {turn}")
    if seed % 2:
        project.git("reset", "-q", "--soft", base)
    project.commit("By hand", "--allow-empty")
    assert check_every_line(world, "conf.py", session)
