"""The lines of a commit with the edits that wrote them: the same answers that `why` gives line by line."""

from __future__ import annotations

import pytest

from scopes.code_links.commit_lines import lines_by_path, lines_of, match_commit
from scopes.code_links.commit_links import link_commit
from scopes.code_links.edit_index import EditIndex
from scopes.code_links.project_commits import read_project_commits

FIRST = "def first_function(value):\n    return\n\n\nFIRST_OF_THE_VALUES = 1\n"
SECOND = "\n\ndef second_function(value):\n    return value + FIRST_OF_THE_VALUES\n"
BY_HAND = "\n\nWRITTEN_BY_A_PERSON = 2\nx = 1\n"


@pytest.fixture
def session(world, project):
    """Two turns that write a file, below which a person adds lines before the commit."""
    found = world.claude().prompt("please write the first function").write("app.py", FIRST)
    found.prompt("please write the second function").edit("app.py", "VALUES = 1\n", f"VALUES = 1\n{SECOND}")
    project.write("app.py", FIRST + SECOND + BY_HAND)
    return found.prompt("commit everything").commit("Add functions")


def matched(world, index, git):
    (commit,) = read_project_commits(git, [world.project.head]).values()
    return dict(match_commit(index, commit, link_commit(index, commit, None)))


@pytest.mark.slow
def test_every_line_has_the_level_and_the_turn_that_why_answers_with(world, session):
    with world.index(session) as index, world.git() as git:
        lines = matched(world, index, git)["app.py"]
        found = {each.line.number: each.edit and index.turn(each.edit.turn).number for each in lines}
    answers = {number: world.line(f"app.py:{number}") for number in found}
    expected = {
        number: each.answers[0].turn if each.level in {"certain", "likely"} else None
        for number, each in answers.items()
    }
    assert found == expected
    assert (found[1], found[9], found[12]) == (1, 2, None)


def test_the_levels_are_those_of_why(world, session):
    with world.index(session) as index, world.git() as git:
        levels = {each.line.number: each.match.level for each in matched(world, index, git)["app.py"]}
    assert levels == {number: world.line(f"app.py:{number}").level for number in levels}


def test_short_lines_belong_to_those_above_them_and_a_line_of_a_person_ends_that(world, session):
    with world.index(session) as index, world.git() as git:
        lines = matched(world, index, git)["app.py"]
        own = [line.number for line in lines_of(lines, "conv-001")]
    assert own == list(range(1, 12))


def test_a_short_line_below_one_of_a_person_is_not_that_of_the_conversation(world, session):
    with world.index(session) as index, world.git() as git:
        own = {line.text for line in lines_of(matched(world, index, git)["app.py"], "conv-001")}
    assert "x = 1" not in own


def test_another_conversation_has_none_of_the_lines(world, session):
    with world.index(session) as index, world.git() as git:
        assert list(lines_of(matched(world, index, git)["app.py"], "conv-002")) == []


def test_the_lines_of_each_file_are_asked_for_once(world, session, monkeypatch):
    asked = []
    real = EditIndex.find_edits

    def find_edits(self, hashes, base_name, before):
        asked.append((base_name, before))
        return real(self, hashes, base_name, before)

    with world.index(session) as index, world.git() as git:
        (commit,) = read_project_commits(git, [world.project.head]).values()
        links = link_commit(index, commit, None)
        monkeypatch.setattr(EditIndex, "find_edits", find_edits)
        list(match_commit(index, commit, links))
    assert len(asked) == len(set(asked)) <= 2


def test_the_lines_of_a_commit_are_sorted_by_file(world, project):
    project.write("b.py", "one\n")
    project.write("a.py", "one\ntwo\n")
    project.commit("Two files")
    with world.git() as git:
        (commit,) = read_project_commits(git, [project.head]).values()
    assert {path: [line.number for line in lines] for path, lines in lines_by_path(commit).items()} == {
        "a.py": [1, 2], "b.py": [1],
    }  # fmt: skip
    assert lines_by_path(None) == {}
