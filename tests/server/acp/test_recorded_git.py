"""The last message of a turn says where HEAD of the project was, and how it moved."""

from __future__ import annotations

import pytest

from scopes.code_links.commit_store import CommitRecords
from scopes.conversation.undo import undo
from scopes.history.transaction import walk_history
from scopes.server.acp.session_directories import SessionDirectories
from scopes.store.repository import Caller
from tests.support.acp_client import AcpError, prompt_params
from tests.support.worktrees import Project


def test_the_last_message_of_a_turn_has_the_commits_that_were_made_in_it(desk):
    project = Project(desk.project)
    first = project.commit("one")
    editor = desk.editor()
    session = editor.open(desk.project)
    ended = editor.begin("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "work"}]})
    while not editor.chunks(session):
        pass
    second = project.commit("two")
    editor.send({"method": "session/cancel", "params": {"sessionId": session}})
    ended()
    prompt, _, answer = desk.messages()
    assert "git" not in prompt.extra
    git = answer.extra["git"]
    assert [(move["old"], move["new"], move["action"]) for move in git["moves"]] == [(first, second, "commit: two")]
    assert (git["root"], git["branch"], git["before"], git["after"]) == (project.directory, "main", first, second)


def records_of(desk, commit):
    return [(record.recorded_by, record.message) for record in CommitRecords(desk.store).find(commit)]


def turn_with(desk, change):
    """Run a turn in which something is changed in the project, and return the editor."""
    editor = desk.editor()
    session = editor.open(desk.project)
    ended = editor.begin("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "work"}]})
    while not editor.chunks(session):
        pass
    change()
    editor.send({"method": "session/cancel", "params": {"sessionId": session}})
    ended()


def test_the_commits_of_a_turn_are_recorded_with_its_last_message(desk):
    project = Project(desk.project)
    project.commit("one")
    turn_with(desk, lambda: (project.commit("two"), project.git("commit", "-q", "--amend", "-m", "three")))
    first, second = project.git("reflog", "-2", "--format=%H").split()[::-1]
    answer = desk.messages()[-1]
    assert records_of(desk, first) == records_of(desk, second) == [("turn", answer.id)]
    assert CommitRecords(desk.store).list_earlier(second) == [first]
    assert [each.subject for each in CommitRecords(desk.store).find(second)] == ["three"]


def test_an_undo_after_such_a_turn_takes_back_its_last_message(desk):
    project = Project(desk.project)
    turn_with(desk, lambda: project.commit("one"))
    newest, before = list(walk_history(desk.store))[:2]
    assert (newest.actor, newest.kind) == ("hooks", "commits")
    store = desk.store
    store.caller = Caller(before.actor)
    assert undo(store).target == before


def test_commits_that_a_turn_only_picked_are_not_its_own(desk):
    project = Project(desk.project)
    project.commit("base")
    project.git("switch", "-q", "-c", "fix")
    old = project.commit("old", GIT_AUTHOR_DATE="2020-01-01T00:00:00Z")
    project.git("switch", "-q", "main")
    project.commit("elsewhere")
    turn_with(desk, lambda: project.git("cherry-pick", old))
    assert records_of(desk, project.head()) == []


def test_a_turn_without_a_commit_says_where_head_was(desk):
    project = Project(desk.project)
    first = project.commit("one")
    desk.run("hello")
    git = desk.messages()[-1].extra["git"]
    assert (git["before"], git["after"], git["moves"]) == (first, first, [])


def test_outside_of_git_a_turn_has_nothing_of_it(desk):
    desk.run("hello")
    assert "git" not in desk.messages()[-1].extra


def test_a_turn_that_fails_has_it_in_the_message_of_the_error(desk):
    project = Project(desk.project)
    first = project.commit("one")
    editor = desk.editor()
    session = editor.open(desk.project)
    ended = editor.begin("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "fail"}]})
    with pytest.raises(AcpError, match="the model is gone"):
        ended()
    error = desk.messages()[-1]
    assert (error.kind, error.extra["git"]["after"]) == ("error", first)


def test_a_turn_that_the_editor_leaves_open_has_it_too(desk):
    project = Project(desk.project)
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.begin("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "work"}]})
    while not editor.chunks(session):
        pass
    made = project.commit("one")
    editor.close()
    assert [move["new"] for message in desk.messages() for move in message.extra.get("git", {}).get("moves", ())] == [
        made
    ]


def test_with_redaction_secrets_in_the_subject_of_a_commit_are_not_stored(desk):
    project = Project(desk.project)
    project.commit("one")
    editor = desk.editor("--secrets", "redact")
    session = editor.open(desk.project)
    ended = editor.begin("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "work"}]})
    while not editor.chunks(session):
        pass
    made = project.commit("use AKIAIOSFODNN7EXAMPLQ", path="two.txt")
    editor.send({"method": "session/cancel", "params": {"sessionId": session}})
    ended()
    (move,) = desk.messages()[-1].extra["git"]["moves"]
    assert move["new"] == made
    assert "AKIA" not in move["action"]


def test_a_commit_during_a_turn_without_a_tool_call_is_one_by_a_person(desk):
    project = Project(desk.project)
    first = project.commit("one")
    editor = desk.editor()
    session = editor.open(desk.project)
    ended = editor.begin("session/prompt", prompt_params(session, "wait"))
    while not editor.chunks(session):
        pass
    made = project.commit("by hand")
    editor.send({"method": "session/cancel", "params": {"sessionId": session}})
    ended()
    git = desk.messages()[-1].extra["git"]
    assert (git["before"], git["after"], git["moves"]) == (first, made, [])
    assert records_of(desk, made) == []


def test_a_commit_after_the_answer_is_one_by_a_person_however_late_the_recorder_is(desk):
    """The editor has the answer; the store was locked."""
    project = Project(desk.project)
    first = project.commit("one")
    directories = SessionDirectories()
    directories.add("s", project.directory)
    directories.observe("editor", {"id": 1, "method": "session/prompt", "params": {"sessionId": "s"}}, 0)
    closed = directories.observe("agent", {"id": 1, "result": {"stopReason": "end_turn"}}, 0)
    project.commit("by hand")
    git = closed.end()
    assert (git["before"], git["after"], git["moves"]) == (first, first, [])
