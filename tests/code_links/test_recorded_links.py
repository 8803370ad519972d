"""From a commit to the message of the session that made it, by what was recorded then."""

from __future__ import annotations

import os

import pytest

from scopes.clock import parse_time
from scopes.code_links.record_commits import find_commit_facts, record_turn
from scopes.code_links.recorded_links import RecordedCommits
from scopes.code_links.reflog import begin_turn
from scopes.conversation.append import append
from scopes.history.handles import StoreHandle, read_uuid
from scopes.history.messages import plain_message
from scopes.store.projects import find_worktree
from tests.code_links.agent_session import ClaudeSession
from tests.code_links.hooked import CODEX

OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def project(hooked_with_base):
    return hooked_with_base


@pytest.fixture
def session(tmp_path, project):
    return ClaudeSession(project, tmp_path / f"{ClaudeSession(project, '').session}.jsonl")


def links_of(project, commit, *, worktree=False):
    facts = find_commit_facts(find_worktree(project.directory), [commit])
    found = RecordedCommits(project.repository, find_worktree(project.directory) if worktree else None)
    return found.links_of_commit(commit, facts[commit].identity if commit in facts else None)


def text_of(project, link):
    messages = StoreHandle(project.repository).conversation(link.conversation).branch().messages()
    return next(message for message in messages if message.id == link.message)


def test_a_commit_leads_to_the_call_of_the_session_that_made_it(project, session):
    session.prompt("Add one")
    session.commit("one function")
    session.prompt("Add two")
    call, made = session.commit("two function")
    session.say("Done.")
    session.import_now(project.repository)
    project.record()
    (link,) = links_of(project, made).links
    assert (link.conversation, link.role, link.level, link.turn) == ("conv-001", "made", "certain", 2)
    assert (link.evidence[0].kind, link.evidence[0].text) == ("recorded", "recorded in a shell of this session")
    assert call in str(text_of(project, link).parts)


def test_what_hooks_have_left_counts_before_it_is_taken_over(project, session):
    session.prompt("Add one")
    _, made = session.commit("one function")
    session.import_now(project.repository)
    assert links_of(project, made).links == ()
    (link,) = links_of(project, made, worktree=True).links
    assert link.level == "certain"
    assert len(project.pending()) == 1


def test_a_session_that_is_not_imported_is_named(project, session):
    session.prompt("Add one")
    _, made = session.commit("one function")
    project.record()
    found = links_of(project, made)
    assert found.links == ()
    assert [(record.tool, record.session) for record in found.unknown] == [("claude-code", session.session)]


def rewrite_in_many_ways(project, made):
    project.git("commit", "-q", "--amend", "-m", "another subject")
    project.git("switch", "-q", "-c", "other", "HEAD~1")
    project.commit("elsewhere")
    project.git("rebase", "-q", "other", "main")


def test_a_commit_that_was_amended_and_rebased_leads_to_the_first_one(project, session):
    session.prompt("Add one")
    _, made = session.commit("one function")
    session.import_now(project.repository)
    rewrite_in_many_ways(project, made)
    for worktree in (True, False):
        (link,) = links_of(project, project.head(), worktree=worktree).links
        assert link.level == "certain"
        assert f"rewritten from {made[:8]}" in link.evidence[0].text
        project.record()


def test_a_commit_that_was_rebased_just_now_is_followed_through_what_was_recorded_before(project, session):
    """The amend is in the store, and the rebase is still a file of the hook."""
    session.prompt("Add one")
    _, made = session.commit("one function")
    session.import_now(project.repository)
    project.git("commit", "-q", "--amend", "-m", "another subject")
    project.record()
    project.git("switch", "-q", "-c", "other", "HEAD~1")
    project.commit("elsewhere")
    project.git("rebase", "-q", "other", "main")
    assert [bool(each.rewritten) for each in project.pending()] == [True]
    (link,) = links_of(project, project.head(), worktree=True).links
    assert (link.conversation, link.level) == ("conv-001", "certain")
    assert f"rewritten from {made[:8]}" in link.evidence[0].text


def test_a_commit_that_was_picked_leads_to_the_first_one_by_author_time_and_subject(project, session):
    session.prompt("Add one")
    _, made = session.commit("one function")
    session.import_now(project.repository)
    project.record()
    project.git("switch", "-q", "-c", "other", "HEAD~1")
    project.commit("elsewhere")
    project.git("cherry-pick", made)
    (link,) = links_of(project, project.head()).links
    assert link.level == "certain"
    assert f"{made[:8]} has the same author, time and subject" in link.evidence[0].text


def test_a_commit_that_an_agent_only_amended_is_likely_its_own(project, session):
    session.prompt("Say it better")
    session.shell("git commit --amend -m 'better words'")
    session.import_now(project.repository)
    project.record()
    (link,) = links_of(project, project.head()).links
    assert link.level == "likely"


def rewrite_by_another(project, session, tmp_path, command):
    """Let a session make a commit, and another one rewrite it; return level and time of each conversation."""
    other = ClaudeSession(project, tmp_path / f"{OTHER}.jsonl", OTHER)
    session.prompt("Add one")
    session.commit("one function")
    other.prompt("Say it better")
    other.shell(command)
    for each in (session, other):
        each.import_now(project.repository)
    project.record()
    return {link.conversation: (link.level, link.recorded_at) for link in links_of(project, project.head()).links}


def test_a_session_that_amended_the_commit_of_another_is_linked_too(project, session, tmp_path):
    """Both are recorded: who made it first is no reason against who amended it."""
    found = rewrite_by_another(project, session, tmp_path, "git commit -q --amend -m 'better words'")
    assert {name: level for name, (level, _) in found.items()} == {"conv-001": "certain", "conv-002": "likely"}
    assert found["conv-001"][1] <= found["conv-002"][1]


def test_a_session_that_only_picked_the_commit_of_another_is_a_candidate(project, session, tmp_path):
    pick = "git switch -q -c other HEAD~1 && git commit -q --allow-empty -m Empty && git cherry-pick main"
    found = rewrite_by_another(project, session, tmp_path, pick)
    assert found["conv-001"][0] == "certain"
    assert found["conv-002"] == ("candidate", None)


def test_moving_head_to_a_commit_later_does_not_hide_that_it_was_made(project, session):
    """The last entry of the reflog with the commit is `reset: moving to`; the first one says what made it."""
    session.prompt("Add one")
    _, made = session.commit("one function")
    project.commit("elsewhere")
    project.git("reset", "-q", "--hard", made)
    session.import_now(project.repository)
    project.record()
    (link,) = links_of(project, made).links
    assert (link.level, link.recorded_at is None) == ("certain", False)


def test_a_shell_inside_of_two_agents_makes_both_candidates(project, session, tmp_path):
    session.environment |= CODEX
    session.prompt("Add one")
    _, made = session.commit("one function")
    session.import_now(project.repository)
    project.record()
    found = links_of(project, made)
    assert [(link.conversation, link.level) for link in found.links] == [("conv-001", "likely")]
    assert [record.tool for record in found.unknown] == ["codex"]


def turn_of(project, conversation, make):
    """Make a commit in a turn that was recorded live at the tip of a conversation, without hooks."""
    turn = begin_turn(project.directory, 0)
    make()
    message = next(StoreHandle(project.repository).conversation(conversation).branch().messages())
    record_turn(project.repository, read_uuid(project.repository, conversation), message.id, turn.end())


def two_conversations(project, session, tmp_path):
    session.prompt("Add one")
    session.say("Yes.")
    session.import_now(project.repository)
    other = ClaudeSession(project, tmp_path / f"{OTHER}.jsonl", OTHER)
    other.prompt("Add two")
    other.say("No.")
    other.import_now(project.repository)
    return other


def levels_of_turn(project, session, work):
    """Return the levels of the links of a commit that is recorded at the end of a turn, without hooks."""
    session.prompt("Add one")
    before = begin_turn(project.directory, 0)
    work()
    session.say("Yes.")
    session.import_now(project.repository)
    message = next(StoreHandle(project.repository).conversation("conv-001").branch().messages())
    record_turn(project.repository, read_uuid(project.repository, "conv-001"), message.id, before.end())
    return [link.level for link in links_of(project, project.head()).links]


def test_a_commit_by_a_call_of_a_turn_is_likely_of_it(project, session):
    assert levels_of_turn(project, session, lambda: session.commit("one function")) == ["likely"]
    (link,) = links_of(project, project.head()).links
    assert (link.turn, link.evidence[0].text) == (1, "recorded in this turn, in which HEAD moved to it")
    assert link.evidence[0].call_id.startswith("toolu_")


def test_a_commit_of_a_person_while_an_agent_works_is_no_more_than_a_candidate(project, session):
    def work():
        session.shell("ls")
        session.edit("two.py", "TWO = 'of the agent'\n")
        project.commit("by hand")
        session.shell("git log -1")

    assert levels_of_turn(project, session, work) == ["candidate"]
    project.record()
    assert levels_of_turn(project, session, lambda: project.commit("without a call")) == ["candidate"]


def test_a_commit_in_the_time_of_two_turns_is_of_neither_for_sure(project, session, tmp_path):
    two_conversations(project, session, tmp_path)
    turn_of(project, "conv-001", lambda: turn_of(project, "conv-002", lambda: project.commit("one")))
    assert [link.level for link in links_of(project, project.head()).links] == ["candidate", "candidate"]


def test_the_hook_tells_which_of_two_turns_it_was(project, session, tmp_path):
    two_conversations(project, session, tmp_path)
    turn_of(
        project, "conv-001", lambda: turn_of(project, "conv-002", lambda: project.commit("one", **session.environment))
    )
    project.record()
    levels = {link.conversation: link.level for link in links_of(project, project.head()).links}
    assert levels == {"conv-001": "certain", "conv-002": "candidate"}


def test_the_commits_of_a_conversation_are_found_by_its_session_and_by_its_turns(project, session):
    session.prompt("Add one")
    _, made = session.commit("one function")
    session.import_now(project.repository)
    project.record()
    turn_of(project, "conv-001", lambda: project.commit("two"))
    found = RecordedCommits(project.repository).commits_of("conv-001")
    assert [record.subject for record in found.values()] == ["one function", "two"]
    assert list(found) == [made, project.head()]


def test_what_is_taken_over_while_somebody_asks_is_not_missed(project, session):
    """A hook of another commit may take it over between the reading of the records and of what hooks have left."""
    session.prompt("Add one")
    _, made = session.commit("one function")
    project.git("commit", "-q", "--amend", "-m", "one function, amended")
    session.import_now(project.repository)
    asking = RecordedCommits(project.repository, find_worktree(project.directory))
    project.record()
    assert [link.level for link in asking.links_of_commit(made).links] == ["certain"]
    assert asking.replacements_of([project.head()]) == {made: project.head()}


def test_the_earliest_record_of_a_commit_tells_when_it_was_made(project, session):
    """A hook and the end of the turn both record it, a moment apart."""
    session.prompt("Add one")
    turn = begin_turn(project.directory, 0)
    _, made = session.commit("one function")
    session.import_now(project.repository)
    project.record()
    uuid = read_uuid(project.repository, "conv-001")
    messages = StoreHandle(project.repository).conversation("conv-001").branch().messages()
    record_turn(project.repository, uuid, list(messages)[-1].id, turn.end())
    records = project.records().find(made)
    (found,) = RecordedCommits(project.repository).commits_of("conv-001").values()
    assert {record.recorded_by for record in records} == {"hook", "turn"}
    assert found.at == min(records, key=lambda record: parse_time(record.at)).at


def test_a_conversation_without_commits_has_none(project, session, tmp_path):
    two_conversations(project, session, tmp_path)
    project.commit("one", **session.environment)
    project.record()
    assert RecordedCommits(project.repository).commits_of("conv-002") == {}


def test_a_conversation_that_the_user_continued_is_still_found(project, session):
    session.prompt("Add one")
    _, made = session.commit("one function")
    session.import_now(project.repository)
    append(project.repository, "conv-001", plain_message("carol", "a note of mine"))
    project.record()
    assert [link.conversation for link in links_of(project, made).links] == ["conv-001"]


def test_without_the_objects_of_the_project_the_commit_itself_is_found(project, session):
    session.prompt("Add one")
    _, made = session.commit("one function")
    session.import_now(project.repository)
    project.record()
    os.rename(f"{project.directory}/.git/objects", f"{project.directory}/.git/gone")
    assert [link.level for link in links_of(project, made).links] == ["certain"]
