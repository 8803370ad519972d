"""A commit that somebody amended is of the conversation that the earlier commit is of, if enough of it was kept."""

from __future__ import annotations

import pytest

from scopes.code_links.linked_commits import open_linker
from scopes.conversation.commits import RevisionRequest, diff_commit, show_commits
from scopes.errors import NotFound
from tests.code_links.test_why import begin

SETTINGS = "HOST = 'mx'\nPORT = 25\nDEBUG = False\n"


def links_of(world, *sessions, commit=None):
    world.take(*sessions)
    with open_linker(world.repository, world.index_directory, str(world.project.path)) as linker:
        (linked,) = linker.link([commit or world.project.head])
        return [(link.conversation, link.role, link.level, link.evidence[0].text) for link in linked.links]


def request_of(world):
    return RevisionRequest(
        revision="HEAD", directory=str(world.project.path), index_directory=world.index_directory, conversation=None
    )


def write_settings(world):
    """Let a session write three settings, of which only the last has a hash, and a person commit them."""
    begin(world.project)
    session = world.claude().prompt("write the settings").write("conf.py", SETTINGS)
    first = world.project.commit("Settings")
    return session.say("Done."), first


def amend(project, *changes, options=("--amend",)):
    text = project.read("conf.py")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    project.write("conf.py", text)
    return project.commit("Other settings", *options)


CHANGED = ("DEBUG = False", "DEBUG = True")


def test_a_link_follows_an_amend_that_changed_the_line_by_which_it_was_found(world, project):
    session, first = write_settings(world)
    amend(project, CHANGED)
    text = f"1 line of 1 edit, rewritten from {first[:8]}"
    assert links_of(world, session) == [("conv-001", "wrote", "likely", text)]


def test_without_the_reflog_nobody_knows(world, project):
    session, _ = write_settings(world)
    amend(project, CHANGED)
    project.git("reflog", "expire", "--expire=now", "--all")
    assert links_of(world, session) == []


def test_a_commit_on_top_of_another_one_is_not_that_one_again(world, project):
    session, _ = write_settings(world)
    amend(project, CHANGED, options=())
    assert links_of(world, session) == []


def test_what_was_amended_away_links_nothing(world, project):
    session, _ = write_settings(world)
    amend(project, CHANGED, ("HOST = 'mx'", "HOST = 'mail'"), ("PORT = 25", "PORT = 587\nA = 1\nB = 1"))
    assert links_of(world, session) == []


def test_several_amends_are_followed(world, project):
    session, first = write_settings(world)
    amend(project, CHANGED)
    amend(project, ("PORT = 25", "PORT = 587"))
    ((name, _, level, text),) = links_of(world, session)
    assert (name, level) == ("conv-001", "likely")
    assert text.endswith(f"rewritten from {first[:8]}")


def test_a_fixup_by_a_rebase_is_followed(world, project):
    session, _ = write_settings(world)
    project.git("config", "sequence.editor", "true")
    amend(project, CHANGED, options=("--fixup", "HEAD"))
    project.git("rebase", "-q", "-i", "--autosquash", "HEAD~2")
    assert [each[:3] for each in links_of(world, session)] == [("conv-001", "wrote", "likely")]


def test_an_amend_in_another_worktree_is_followed(world, project):
    session, first = write_settings(world)
    other = type(project)(project.path.parent / "other", project.clock)
    project.git("worktree", "add", "-q", "--force", "--detach", str(other.path / "tree"), first)
    other.path = other.path / "tree"
    amended = amend(other, CHANGED)
    assert [each[:3] for each in links_of(world, session, commit=amended)] == [("conv-001", "wrote", "likely")]


def test_a_call_that_made_the_earlier_commit_likely_made_the_new_one_of_another_subject(world, project):
    begin(project)
    session = world.claude().prompt("write the settings").write("conf.py", SETTINGS).commit("Settings")
    amend(project, CHANGED)
    assert [each[:3] for each in links_of(world, session)] == [
        ("conv-001", "made", "likely"),
        ("conv-001", "wrote", "likely"),
    ]


def test_a_commit_with_links_of_its_own_is_not_looked_up(world, project):
    session, _ = write_settings(world)
    amend(project, ("PORT = 25", "PORT = 587"))
    assert links_of(world, session) == [("conv-001", "wrote", "certain", "1 line of 1 edit")]


def test_all_commands_about_commits_follow_an_amend(world, project):
    session, _ = write_settings(world)
    amend(project, CHANGED)
    world.take(session)
    account = diff_commit(world.repository, request_of(world))
    assert [(file.path, [line.text for line in file.others]) for file in account.files] == [
        ("conf.py", ["DEBUG = True"])
    ]
    assert world.line("conf.py:1").level == "commit-only"
    place = {"directory": str(project.path), "index_directory": world.index_directory}
    shown = show_commits(world.repository, "conv-001", **place)
    assert project.head in {row.commit for row in shown.commits}


def test_a_commit_of_another_person_stays_unlinked_after_an_amend(world, project):
    session, _ = write_settings(world)
    project.write("other.py", "value_by_hand_number_one = 1\n")
    project.commit("Another file")
    project.write("other.py", "value_by_hand_number_two = 2\n")
    project.commit("Another file", "--amend")
    world.take(session)
    with pytest.raises(NotFound, match="no session is known"):
        diff_commit(world.repository, request_of(world))
