"""Between the commits of a project and the turns of conversations, in both directions."""

from __future__ import annotations

import pytest

from scopes.conversation.commit_turns import find_commit_turns
from scopes.conversation.diff_commit import diff_commit
from scopes.conversation.log import LogFilter, log
from scopes.conversation.show_commits import show_commits
from scopes.errors import NotFound
from tests.code_links.agent_session import ClaudeSession
from tests.code_links.hooked import Hooked
from tests.support.store import make_store

OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


@pytest.fixture
def project(tmp_path, store):
    """A project whose hooks are installed; a store that has them recorded calls `record`."""
    made = Hooked(tmp_path / "project", store)
    made.commit("base")
    return made


def session_in(project, tmp_path, **names):
    session = ClaudeSession(project, tmp_path / "session.jsonl", **names)
    session.path = tmp_path / f"{session.session}.jsonl"
    return session


@pytest.fixture
def places(project, tmp_path):
    return {"directory": project.directory, "index_directory": str(tmp_path / "index")}


def two_turns(project, tmp_path):
    """A session that edits in its first turn, and is told to commit in its second one."""
    session = session_in(project, tmp_path)
    session.prompt("Write the greeting function")
    session.edit("greeting.py", "def greeting_of(name):\n    return f'good morning, {name}'\n")
    session.say("Shall I commit?")
    session.prompt("yes")
    session.shell("git add -A && git commit -q -m 'Add a greeting'")
    session.say("Done.")
    session.import_now(project.repository)
    return project.head()


def texts_of(store, turns):
    only = LogFilter(messages=turns.messages)
    found = log(store, turns.conversation, all_branches=True, only=only, oldest_first=True)
    return [entry.head.subject for entry in found.items if entry.head.author_kind == "human"]


def test_the_log_of_a_commit_has_the_turn_that_wrote_it_and_the_one_that_made_it(project, store, places, tmp_path):
    made = two_turns(project, tmp_path)
    project.record()
    for revision in (made, "HEAD", "main", made[:10]):
        turns = find_commit_turns(store, revision, **places)
        assert (turns.conversation, texts_of(store, turns)) == ("conv-001", ["Write the greeting function", "yes"])


def test_without_a_record_the_call_and_the_content_are_enough(project, store, places, tmp_path):
    project.target.remove(project.place())
    made = two_turns(project, tmp_path)
    assert project.pending() == []
    assert texts_of(store, find_commit_turns(store, made, **places)) == ["Write the greeting function", "yes"]


def test_the_other_turns_of_the_conversation_are_left_out(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    for subject in ("first thing", "second thing", "third thing"):
        session.prompt(f"Do the {subject}")
        _, made = session.commit(subject)
    session.import_now(store)
    assert texts_of(store, find_commit_turns(store, f"{made}~1", **places)) == ["Do the second thing"]


def test_a_commit_that_nobody_knows_is_refused(project, store, places, tmp_path):
    two_turns(project, tmp_path)
    project.commit("by hand")
    with pytest.raises(NotFound, match=r"no conversation is linked to commit [0-9a-f]{8} 'by hand'"):
        find_commit_turns(store, "HEAD", **places)
    with pytest.raises(NotFound, match="the project has no commit 'nowhere'"):
        find_commit_turns(store, "nowhere", **places)


@pytest.mark.parametrize("revision", ["--all", "-h", "HEAD..main", ":/base", "HEAD^{tree}", "a\nb", "\udcff", ""])
def test_what_is_no_commit_is_refused(project, store, places, revision):
    """`:/base` is a commit for git: it is allowed, but nobody is linked to it."""
    with pytest.raises(NotFound):
        find_commit_turns(store, revision, **places)


def test_the_session_of_a_commit_that_is_not_imported_is_named(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Do it")
    session.commit("first thing")
    with pytest.raises(
        NotFound, match=f"was made by the session {session.session} of claude-code, which is not in the"
    ):
        find_commit_turns(store, "HEAD", **places)


def test_outside_of_a_repository_there_are_no_commits_to_ask_for(store, tmp_path):
    with pytest.raises(NotFound, match="is not in a git repository"):
        find_commit_turns(store, "HEAD", directory=str(tmp_path), index_directory=str(tmp_path / "index"))


def test_a_commit_of_two_conversations_is_shown_of_the_surest_with_a_note(project, store, places, tmp_path):
    writer = session_in(project, tmp_path)
    writer.prompt("Write the greeting function")
    writer.edit("greeting.py", "def greeting_of(name):\n    return f'good morning, {name}'\n")
    writer.import_now(store)
    other = session_in(project, tmp_path, session=OTHER)
    other.prompt("commit what is there")
    other.shell("git add -A && git commit -q -m 'Add a greeting'")
    other.import_now(store)
    turns = find_commit_turns(store, "HEAD", **places)
    assert texts_of(store, turns) == ["commit what is there"]
    assert turns.notes[-1].text == "also linked to the commit: conv-001"
    named = find_commit_turns(store, "HEAD", conversation="conv-001", **places)
    assert texts_of(store, named) == ["Write the greeting function"]


def roles(result):
    return [(row.subject, [(link.role, link.level, link.turn) for link in row.links]) for row in result.commits]


def test_a_conversation_shows_the_commits_that_it_made_and_wrote(project, store, places, tmp_path):
    two_turns(project, tmp_path)
    project.commit("by hand")
    project.record()
    result = show_commits(store, "conv-001", **places)
    assert roles(result) == [("Add a greeting", [("made", "certain", 2), ("wrote", "certain", 1)])]
    kinds = [evidence.kind for link in result.commits[0].links for evidence in link.evidence]
    assert kinds[0] == "recorded"
    assert "content" in kinds


def test_what_is_recorded_is_shown_without_the_project(project, store, places, tmp_path):
    two_turns(project, tmp_path)
    project.record()
    result = show_commits(store, "conv-001", directory=str(tmp_path), index_directory=places["index_directory"])
    assert roles(result) == [("Add a greeting", [("made", "certain", 2)])]
    assert result.commits[0].is_gone
    assert "only recorded commits are shown" in result.notes[0].text


def test_a_commit_that_git_made_again_is_shown_as_it_is_now(project, store, places, tmp_path):
    made = two_turns(project, tmp_path)
    project.git("commit", "-q", "--amend", "-m", "Greet people")
    project.record()
    project.git("reflog", "expire", "--expire=now", "--all")
    project.git("gc", "-q", "--prune=now")
    rows = {row.subject: row for row in show_commits(store, "conv-001", **places).commits}
    assert not rows["Greet people"].is_gone
    assert (rows["Add a greeting"].commit, rows["Add a greeting"].is_gone) == (made, True)


def test_a_conversation_without_commits_shows_none(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Say hello")
    session.say("Hello.")
    session.import_now(store)
    assert show_commits(store, "conv-001", **places).commits == ()


def test_edits_account_for_a_commit_that_nobody_touched(project, store, places, tmp_path):
    two_turns(project, tmp_path)
    result = diff_commit(store, "HEAD", **places)
    assert [(file.path, file.added, file.edited, file.others) for file in result.files] == [("greeting.py", 2, 2, ())]
    assert result.exit_code == 0


def test_lines_that_somebody_changed_before_the_commit_are_shown(project, store, places, tmp_path):
    session = session_in(project, tmp_path)
    session.prompt("Write the greeting function")
    session.edit("greeting.py", "def greeting_of(name):\n    return f'good morning, {name}'\n")
    text = "def greeting_of(name):\n    return f'good evening, {name}'\n\n\nMAXIMUM_OF_NAMES = 5\nx = 1\n"
    project.write("greeting.py", text)
    session.shell("git add -A && git commit -q -m 'Add a greeting'")
    session.import_now(store)
    result = diff_commit(store, "HEAD", conversation="conv-001", **places)
    (file,) = result.files
    assert (file.added, file.edited, file.short) == (6, 1, 3)
    assert file.others == ((2, "    return f'good evening, {name}'"), (5, "MAXIMUM_OF_NAMES = 5"))
    assert result.exit_code == 1
