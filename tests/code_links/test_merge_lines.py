"""Lines that only a merge has, since somebody resolved a conflict with them, are looked up like those of any commit."""

from __future__ import annotations

import pytest

from scopes.conversation.commits import RevisionRequest, diff_commit
from scopes.errors import NotFound
from tests.code_links.test_why import begin

QUEUE = """\
def pull(queue, wait):
    item = queue.get(timeout=wait)
    return decode_plain(item)
"""
RESOLVED = "    decoder = choose_decoder_of(item)\n    return decoder.decode_lazily_and_strictly(item)\n"


@pytest.fixture
def conflict(world, project):
    """A session that has run into the conflict of a merge: a person changed the line that it changed."""
    begin(project, "queue.py", QUEUE)
    project.git("checkout", "-q", "-b", "feat")
    project.write("queue.py", QUEUE.replace("decode_plain", "decode_lazily"))
    project.commit("Lazy by hand")
    project.git("checkout", "-q", "main")
    session = world.claude().prompt("decode strictly").edit("queue.py", "decode_plain", "decode_strictly")
    session.commit("Strict decode")
    return session.prompt("merge feat, keep both").bash("git merge feat")


def resolve(session):
    """Let a session replace the block with the marks of the conflict."""
    text = session.project.read("queue.py")
    return session.edit("queue.py", text[text.index("<<<<<<<") :], RESOLVED)


def account(world):
    directory = str(world.project.path)
    request = RevisionRequest(revision="HEAD", directory=directory, index_directory=world.index_directory)
    return diff_commit(world.repository, request)


def test_the_lines_of_a_merge_are_of_the_edit_that_resolved_it(world, project, conflict):
    """The call `git merge` was named instead, as a command that may have written them."""
    session = resolve(conflict).commit("Merge feat, both decoders")
    (found,) = world.why("queue.py:3-4", session).items
    (answer,) = found.answers
    assert (found.level, answer.turn, answer.how) == ("certain", 2, "line + 1/1 neighbour, Edit")
    assert found.commit.id == project.head


def test_a_merge_has_links_to_who_made_it_and_who_wrote_its_lines(world, project, conflict):
    session = resolve(conflict).commit("Merge feat, both decoders")
    found = world.links(project.head, session)
    assert {(link.role, link.level, link.turn) for link in found} == {("made", "certain", 2), ("wrote", "certain", 2)}


def test_a_person_may_commit_what_a_session_resolved(world, project, conflict):
    session = resolve(conflict)
    project.clock.skip(minutes=1)
    commit = project.commit("Merge by hand")
    found = world.line("queue.py:4", session)
    assert (found.level, found.answers[0].turn) == ("certain", 2)
    assert [(link.role, link.level) for link in world.links(commit)] == [("wrote", "likely")]


def test_the_lines_that_the_edits_of_a_merge_account_for_are_counted(world, project, conflict):
    session = resolve(conflict)
    project.write("queue.py", project.read("queue.py") + "# a line of a person who helped with it\n")
    world.take(session.commit("Merge feat, both decoders"))
    found = account(world)
    (file,) = found.files
    assert (file.path, file.added, file.edited, found.exit_code) == ("queue.py", 3, 2, 1)
    assert [line.text for line in file.others] == ["# a line of a person who helped with it"]


def test_a_merge_that_adds_no_line_is_still_nobodys(world, project, conflict):
    project.git("checkout", "-q", "--theirs", "queue.py")
    world.take(conflict)
    project.clock.skip(days=1)
    commit = project.commit("Merge by hand")
    with pytest.raises(NotFound, match="no session is known to have written"):
        account(world)
    assert world.links(commit) == ()
