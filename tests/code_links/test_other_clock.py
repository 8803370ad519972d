"""A commit that a shell of a session made while the clock of its agent was ahead of that of git, or behind."""

from __future__ import annotations

from datetime import timedelta

import pytest

from scopes.code_links.commit_lines import match_commit
from scopes.code_links.commit_links import link_commit
from scopes.code_links.link import CodeLink, CommitId, Evidence
from scopes.code_links.project_commits import read_project_commits
from scopes.code_links.recorded_evidence import SHELL
from scopes.ids import ConversationId

WRITER = "def clock_writer(target):\n    target.write_nanoseconds(12)\n"


def commit_at(session, ahead, subject="Write the clock", words=""):
    """Commit with a call, by a clock that is behind that of the agent by some seconds; return the time of that."""
    now = (session.project.clock.now - timedelta(seconds=ahead)).replace(microsecond=0)
    date = now.isoformat()
    session.bash(
        f'git add -A && GIT_AUTHOR_DATE="{date}" GIT_COMMITTER_DATE="{date}" git commit -m "{subject}" {words}'
    )
    return now.isoformat().replace("+00:00", ".500Z")


def shell_link(at, *, level="certain", text=SHELL):
    """Return what is recorded of a commit in the shell of a session, of which no message was written yet."""
    return CodeLink(
        commit=CommitId("a" * 40), conversation=ConversationId("conv-001"), role="made", level=level,
        evidence=(Evidence("recorded", text),), recorded_at=at,
    )  # fmt: skip


def linked(world, link, *sessions, revision="HEAD"):
    """Return the links of a commit, and the levels and turns of its lines."""
    commit = world.project.git("rev-parse", revision).strip()
    with world.index(*sessions) as index, world.git() as git:
        (found,) = read_project_commits(git, [commit]).values()
        links = link_commit(index, found, None, [link])
        lines = [each for matched in dict(match_commit(index, found, links)).values() for each in matched]
        numbers = [(each.match.level, each.edit and index.turn(each.edit.turn).number) for each in lines]
        return links, numbers


@pytest.mark.parametrize("ahead", [1.5, 5, 40, 200, 172_800])
def test_the_call_gives_the_turn_and_edits_before_it_count(world, ahead):
    """The session had "turn 0", and no edit had the lines."""
    session = world.claude().prompt("say hello").say("Hello.").prompt("write the clock").write("clock.py", WRITER)
    at = commit_at(session, ahead)
    links, lines = linked(world, shell_link(at), session)
    assert [(each.role, each.level, each.turn) for each in links] == [("made", "certain", 2), ("wrote", "certain", 2)]
    assert links[0].evidence[-1].text.startswith("a call printed this commit")
    assert lines == [("certain", 2), ("certain", 2)]


def test_a_clock_that_is_behind_does_not_move_the_commit_into_a_later_turn(world):
    session = world.claude().prompt("write the clock").write("clock.py", WRITER)
    at = commit_at(session, -3600)
    session.prompt("thanks").say("You are welcome.")
    links, lines = linked(world, shell_link(at), session)
    assert ([(each.role, each.turn) for each in links], lines[0]) == ([("made", 1), ("wrote", 1)], ("certain", 1))


def test_edits_after_the_call_do_not_count(world):
    session = world.claude().prompt("write the clock").write("clock.py", WRITER)
    at = commit_at(session, 200)
    session.project.path.joinpath("clock.py").unlink()
    session.prompt("write it again").write("clock.py", WRITER)
    assert linked(world, shell_link(at), session)[1] == [("certain", 1), ("certain", 1)]


def test_of_several_calls_with_one_subject_none_is_chosen_unless_it_printed_the_commit(world):
    session = world.claude().prompt("write the clock").write("clock.py", WRITER)
    at = commit_at(session, 4000, words="-q")
    session.prompt("once more").write("clock.py", WRITER * 2)
    commit_at(session, 4000, words="-q")
    (made, *_), _ = linked(world, shell_link(at), session, revision="HEAD~1")
    assert (made.turn, len(made.evidence)) == (None, 1)


@pytest.mark.parametrize(
    "changes", [{"level": "likely"}, {"text": "recorded in this turn, in which HEAD moved to it"}, {"at": None}]
)
def test_what_is_not_surely_of_a_shell_of_the_session_stays(world, changes):
    session = world.claude().prompt("write the clock").write("clock.py", WRITER)
    at = commit_at(session, 200)
    (made, *_), _ = linked(world, shell_link(**{"at": at, **changes}), session)
    assert made.turn is None


def test_a_call_at_the_time_of_the_commit_needs_no_other_clock(world):
    session = world.claude().prompt("write the clock").write("clock.py", WRITER)
    at = commit_at(session, 0)
    (made, *_), _ = linked(world, shell_link(at), session)
    assert [each.text for each in made.evidence] == [SHELL, "a call printed this commit"]
