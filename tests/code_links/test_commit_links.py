"""Commits and conversations: linked by the call that made the commit, or by its content, or not at all."""

from __future__ import annotations

import pytest

from scopes.code_links.commit_links import link_commit, main_link
from scopes.code_links.content_match import match_content
from scopes.code_links.link import CodeLink, CommitId, Evidence
from scopes.code_links.project_commits import AddedLine, ProjectCommit, read_project_commits
from scopes.ids import ConversationId

LINES = [f"value_number_{number} = compute({number})" for number in range(12)]


def text(*numbers):
    return "".join(f"{LINES[number]}\n" for number in numbers)


def write(world, name, *numbers, file="app.py"):
    return world.claude(name).prompt(f"please write some values, {name}").write(file, text(*numbers))


def links_of(world, *sessions, commit=None):
    with world.index(*sessions) as index, world.git() as git:
        (found,) = read_project_commits(git, [commit or world.project.head]).values()
        return link_commit(index, found, None)


def shares_of(world, *sessions):
    with world.index(*sessions) as index, world.git() as git:
        (found,) = read_project_commits(git, [world.project.head]).values()
        return {name: (share.share, share.lines) for name, share in match_content(index, found).items()}


def brief(links):
    return [(link.conversation, link.role, link.level) for link in links]


def test_a_commit_is_linked_by_the_call_that_made_it_and_by_its_content(world):
    links = links_of(world, write(world, "one", *range(6)).commit("Add values"))
    assert brief(links) == [("conv-001", "made", "certain"), ("conv-001", "wrote", "certain")]
    assert [link.evidence[0].kind for link in links] == ["call", "content"]
    assert (links[0].evidence[0].text, links[1].evidence[0].share) == ("a call printed this commit", 1.0)
    assert links[1].evidence[0].text == "6 lines of 1 edit"


def test_the_turns_of_both_links_may_differ(world):
    session = write(world, "one", *range(6)).say("Done.").prompt("commit it").commit("Add values")
    assert [(link.role, link.turn) for link in links_of(world, session)] == [("made", 2), ("wrote", 1)]


def test_the_call_comes_before_the_content_of_another_conversation(world):
    one = write(world, "one", *range(6))
    two = world.claude("two").prompt("commit everything, please").commit("Add values")
    assert brief(links_of(world, one, two)) == [("conv-002", "made", "certain"), ("conv-001", "wrote", "likely")]


def test_an_amended_commit_is_found_by_its_author_time_and_subject(world, project):
    session = write(world, "one", *range(6)).commit("Add values")
    project.clock.skip(hours=1)
    project.write("app.py", text(*range(6), 7))
    project.git("commit", "-q", "-a", "--amend", "--no-edit")
    assert brief(links_of(world, session))[0] == ("conv-001", "made", "certain")


@pytest.mark.parametrize(("options", "how"), [("", "printed this commit"), ("-q ", "names this subject")])
def test_a_slow_call_whose_result_is_in_its_message_made_the_commit(world, project, options, how):
    """OpenCode gives a message the time when it was created, before the call ran: the next message ends the call."""
    project.write("app.py", text(0))
    command = f'make check; git add -A; git commit {options}-m "Add values"'
    session = world.opencode().prompt("commit it").bash(command, seconds=90).say("Done.").prompt("thanks")
    (link,) = links_of(world, session)
    assert (link.role, link.level, link.turn) == ("made", "certain", 1)
    assert link.evidence[0].text == f"a call {how}"


@pytest.mark.parametrize("is_last", [True, False])
def test_a_call_that_has_no_result_made_the_commit_that_it_names(world, project, is_last):
    """The agent died in it, or the session was imported while it ran."""
    project.write("app.py", text(0))
    session = world.claude().prompt("commit it").bash("git add -A && git commit -qm 'Add some values'", seconds=10)
    del session.records[-1]
    session._parent = session.records[-1]["uuid"]
    if not is_last:
        session.prompt("go on")
    (link,) = links_of(world, session)
    assert (link.role, link.level, link.turn) == ("made", "likely", 1)
    assert link.evidence[0].text == "a call names this subject (it has no result)"


def test_a_call_that_has_no_result_made_no_commit_long_after_it(world, project):
    session = world.claude().prompt("commit it").bash("git commit -qm 'Add some values'")
    del session.records[-1]
    session._parent = session.records[-1]["uuid"]
    project.clock.skip(seconds=90)
    project.write("app.py", text(0))
    project.commit("Add some values")
    assert links_of(world, session) == ()


def test_what_is_committed_after_the_next_message_is_not_of_a_call_before_it(world, project):
    session = world.opencode().prompt("try to commit").bash('git commit -m "Add values"').say("There is nothing yet.")
    project.clock.skip(seconds=30)
    project.write("app.py", text(0))
    project.commit("Add values")
    assert links_of(world, session) == ()


def test_a_commit_that_a_call_only_printed_was_not_made_by_it(world, project):
    """A rebase of somebody's old commit prints it in the form of `git commit`."""
    project.write("other.py", text(0, 1, 2))
    old = project.commit("Somebody's commit")
    project.clock.skip(days=1)
    session = world.claude().prompt("amend the last commit, please").bash('git commit --amend -m "Somebody\'s commit"')
    assert project.head != old
    assert links_of(world, session) == ()


def test_half_of_the_lines_are_half_the_share(world, project):
    session = write(world, "one", 0, 1, 2)
    project.write("app.py", text(*range(6)))
    project.commit("Values")
    assert shares_of(world, session) == {"conv-001": (0.5, 3)}


def test_equal_lines_of_a_file_with_another_name_do_not_count(world, project):
    session = write(world, "one", *range(6), file="lib/other.py")
    (project.path / "lib" / "other.py").rename(project.path / "app.py")
    project.commit("Values")
    assert shares_of(world, session) == {}


def test_the_directory_of_a_file_does_not_matter(world, project):
    session = write(world, "one", *range(6), file="lib/app.py")
    (project.path / "lib" / "app.py").rename(project.path / "app.py")
    project.commit("Values")
    assert shares_of(world, session) == {"conv-001": (1.0, 6)}


def test_edits_after_the_commit_do_not_count(world, project):
    project.write("app.py", text(*range(6)))
    project.commit("Values")
    project.clock.skip(minutes=5)
    assert shares_of(world, write(world, "one", *range(6))) == {}


def test_of_two_conversations_that_wrote_a_line_the_last_one_counts_fully_and_the_other_half(world, project):
    sessions = write(world, "one", *range(6)), write(world, "two", *range(6))
    world.take(sessions[0])
    project.write("app.py", "")
    project.commit("Empty")
    three = write(world, "three", *range(6))
    project.commit("Values")
    found = shares_of(world, three)
    assert list(found) == ["conv-002", "conv-001"]
    assert found["conv-001"][0] == pytest.approx(found["conv-002"][0] / 2)


def test_lines_that_are_too_short_do_not_count(world, project):
    session = world.claude().prompt("please close the braces").write("app.py", "}\n}\n)\n")
    project.commit("Braces")
    assert shares_of(world, session) == {}
    assert links_of(world) == ()


@pytest.mark.parametrize(("hours", "level"), [(1, "certain"), (48, "certain"), (100, "likely")])
def test_many_lines_are_certain_for_three_days_in_a_session_that_goes_on(world, project, hours, level):
    session = write(world, "one", *range(8))
    project.clock.skip(hours=hours)
    session.prompt("what else is there to do in this project?")
    project.commit("Values")
    session.say("Nothing.")
    assert brief(links_of(world, session)) == [("conv-001", "wrote", level)]


@pytest.mark.parametrize(("hours", "level"), [(1, "certain"), (7, "likely")])
def test_few_lines_are_certain_for_six_hours_only(world, project, hours, level):
    """Single lines such as `if err != nil {` are written again and again."""
    session = write(world, "one", 0, 1)
    project.clock.skip(hours=hours)
    session.prompt("what else is there to do in this project?")
    project.commit("Values")
    session.say("Nothing.")
    assert brief(links_of(world, session)) == [("conv-001", "wrote", level)]


@pytest.mark.parametrize(
    ("amount", "level", "words"),
    [
        ({"seconds": 30}, "likely", "6 lines of 1 edit, 40 seconds after the session was last active"),
        ({"hours": 7}, "likely", "6 lines of 1 edit, 7 hours after the session was last active"),
        ({"days": 2}, "likely", "6 lines of 1 edit, 2 days after the session was last active"),
        ({"days": 4}, "candidate", "6 lines of 1 edit, 4 days after the session was last active"),
    ],
)
def test_after_the_end_of_a_session_its_lines_are_likely_at_most(world, project, amount, level, words):
    """Nobody saw the session make the commit, and boilerplate is written again and again."""
    session = write(world, "one", *range(6))
    project.clock.skip(**amount)
    project.commit("Values")
    (link,) = links_of(world, session)
    assert (link.level, link.evidence[0].text) == (level, words)


def test_before_its_first_message_a_session_was_not_quiet_since_1970(world):
    """Its evidence then says nothing of a time, instead of 20,000 days."""
    with world.index(write(world, "one", *range(6))) as index:
        assert index.quiet_seconds(ConversationId("conv-001"), 1_000_000.0, 60) is None
        assert index.quiet_seconds(ConversationId("conv-001"), 4_000_000_000.0, 60) > 0


def test_in_a_rest_of_a_session_its_lines_are_likely_only(world, project):
    """That somebody goes on with the session on the next day does not tell who made the commit in the night."""
    session = write(world, "one", *range(6))
    project.clock.skip(hours=10)
    project.commit("Values")
    project.clock.skip(hours=10)
    session.prompt("good morning, what is left to do?")
    (link,) = links_of(world, session)
    assert (link.level, link.evidence[0].text.rpartition(", ")[2]) == (
        "likely",
        "10 hours after the session was last active",
    )


def test_between_two_turns_of_a_session_its_lines_are_certain(world, project):
    session = write(world, "one", *range(6))
    project.clock.skip(minutes=20)
    project.commit("Values")
    session.prompt("I have committed it, thank you; what is next?")
    (link,) = links_of(world, session)
    assert (link.level, link.evidence[0].text) == ("certain", "6 lines of 1 edit")


@pytest.mark.parametrize(("minutes", "level"), [(30, "likely"), (90, "candidate")])
def test_a_small_share_is_likely_only_near_the_time_of_a_turn(world, project, minutes, level):
    session = write(world, "one", 0)
    project.write("app.py", text(*range(12)))
    project.clock.skip(minutes=minutes)
    project.commit("Values")
    assert brief(links_of(world, session)) == [("conv-001", "wrote", level)]


def test_time_alone_links_nothing(world, project):
    session = write(world, "one", *range(6), file="one.py")
    project.commit("One")
    project.write("two.py", text(*range(6, 12)))
    project.commit("Two")
    assert links_of(world, session) == ()


def test_recorded_links_come_first(world, project):
    session = write(world, "one", *range(6)).commit("Add values")
    recorded = CodeLink(
        commit=CommitId(project.head), conversation=ConversationId("conv-001"), role="made", level="certain",
        evidence=(Evidence("recorded", "seen in the reflog"),),
    )  # fmt: skip
    with world.index(session) as index, world.git() as git:
        (commit,) = read_project_commits(git, [project.head]).values()
        links = link_commit(index, commit, None, [recorded])
    assert [link.evidence[0].kind for link in links] == ["recorded", "content"]


def test_a_commit_with_candidates_only_belongs_to_no_conversation():
    def link(level):
        return CodeLink(commit=CommitId("a" * 40), conversation=ConversationId("conv-001"), role="wrote", level=level)

    assert main_link([link("candidate")]) is None
    assert main_link([]) is None
    assert main_link([link("likely"), link("candidate")]).level == "likely"


def test_a_commit_without_lines_has_no_shares(world):
    commit = ProjectCommit(CommitId("a" * 40), "Alice", 0.0, 0.0, "Empty", [AddedLine("a.py", 1, "}")])
    with world.index(write(world, "one", 0)) as index:
        assert match_content(index, commit) == {}
        assert link_commit(index, commit, None) == ()
