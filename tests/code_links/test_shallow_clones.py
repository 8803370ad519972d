"""A shallow clone: its first commit has all older lines, and nobody knows what it changed."""

from __future__ import annotations

import pytest

from scopes.code_links.why import WhyRequest, why
from scopes.conversation.commits import RevisionRequest, diff_commit, find_commit_turns, show_commits
from scopes.errors import NotFound
from tests.code_links.agent_session import ClaudeSession
from tests.support.worktrees import Project

PARSER = "def parse(text):\n    tokens = tokenize(text)\n    return build_tree(tokens)\n"


@pytest.fixture
def places(tmp_path):
    return {"directory": str(tmp_path / "clone"), "index_directory": str(tmp_path / "index")}


@pytest.fixture
def clone(hooked_with_base, tmp_path):
    """A clone with the last commit, by a person, of a project in which an agent wrote a file before."""
    project = hooked_with_base
    session = ClaudeSession(project, tmp_path / "session.jsonl")
    session.prompt("Write the parser")
    session.edit("parser.py", PARSER)
    session.shell("git add -A && git commit -qm 'parser of the language'")
    session.say("Done.")
    session.import_now(project.repository)
    project.record()
    project.write("LICENSE", "All rights are reserved by the owner.\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "licence")
    project.git("clone", "-q", "--depth", "1", f"file://{project.directory}", str(tmp_path / "clone"))
    return Project(tmp_path / "clone", create=False)


def test_why_is_not_certain_of_lines_at_the_boundary_and_says_that_the_clone_is_shallow(
    clone, hooked_with_base, places
):
    request = WhyRequest(target="parser.py", cwd=clone.directory)
    found = why(hooked_with_base.repository, places["index_directory"], request)
    assert {(each.level, each.answers[0].prompt) for each in found.items} == {("likely", "Write the parser")}
    (note,) = found.notes
    assert note.text.startswith(f"the clone is shallow: its history ends at {clone.head()[:7]}")
    assert "git fetch --unshallow" in note.hint


def test_the_commit_at_the_boundary_has_no_lines_of_its_own(clone, hooked_with_base, places):
    store = hooked_with_base.repository
    for look in (find_commit_turns, diff_commit):
        with pytest.raises(NotFound, match="no session is known to have written"):
            look(store, RevisionRequest(revision="HEAD", **places))
    assert clone.head() not in {row.commit for row in show_commits(store, "conv-001", **places).commits}


def test_a_whole_clone_has_certain_answers_and_no_note(clone, hooked_with_base, places):
    clone.git("fetch", "-q", "--unshallow")
    request = WhyRequest(target="parser.py", cwd=clone.directory)
    found = why(hooked_with_base.repository, places["index_directory"], request)
    assert ({each.level for each in found.items}, found.notes) == ({"certain"}, ())
    assert find_commit_turns(hooked_with_base.repository, RevisionRequest(revision="HEAD~1", **places)).messages
