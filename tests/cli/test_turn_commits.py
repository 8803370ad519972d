"""At the end of a turn that the hook of an agent records, the commits of the turn are recorded too."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from scopes.cli import hook_runner
from scopes.code_links.commit_store import CommitRecords
from scopes.code_links.session_turn import record_last_turn
from scopes.history.handles import StoreHandle
from scopes.live.event_log import HOOK_LOG, read_events
from scopes.store.projects import find_reflog_end
from scopes.store.repository import open_repository
from tests.cli.running import PRODUCT, scopes
from tests.cli.test_commits import wait_for
from tests.code_links.agent_session import ClaudeSession
from tests.support.store import make_store
from tests.support.worktrees import Project


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    made.commit("base", GIT_COMMITTER_DATE="2020-01-01T00:00:00Z")
    return made


@pytest.fixture
def session(project, sealed_world):
    folder = sealed_world / ".claude" / "projects" / "-project"
    folder.mkdir(parents=True)
    found = ClaudeSession(project, "")
    found.path = folder / f"{found.session}.jsonl"
    return found


def stop(project, session):
    """Run the hook of the agent as it does at the end of a turn, and wait until it has recorded."""
    before = len(events())
    settings = json.loads(Path(os.path.expandvars("$HOME/.claude/settings.json")).read_text())
    words = settings["hooks"]["Stop"][0]["hooks"][0]["command"]
    given = {"session_id": session.session, "transcript_path": str(session.path), "cwd": project.directory}
    data = json.dumps({**given, "hook_event_name": "Stop"}).encode()
    assert subprocess.run(["/bin/sh", "-c", words], input=data, check=False).returncode == 0
    wait_for(lambda: len(events()) > before)


def events():
    return read_events(os.path.expandvars("$HOME/.local/state/scopes"), HOOK_LOG).events


def records_of(commit):
    return CommitRecords(open_repository(os.environ["SCOPES_STORE"])).find(commit)


def test_commits_of_a_turn_are_recorded_without_hooks_of_git(project, session):
    assert scopes("setup", "claude-code", "--only", "hooks", table=PRODUCT).returncode == 0
    session.prompt("Add one function")
    made = session.commit("one function", "--no-verify")[1]
    session.say("Done.")
    stop(project, session)
    (record,) = wait_for(lambda: records_of(made))
    assert (record.recorded_by, record.subject) == ("turn", "one function")
    assert records_of(project.git("rev-parse", "HEAD~1")) == []


@pytest.fixture
def store(tmp_path):
    return make_store(tmp_path / "store.git")


def record(store, project, session):
    return record_last_turn(store, "claude-code", session.session, project.directory)


def test_the_messages_are_those_of_an_import_and_the_record_names_the_last_one(project, session, store):
    session.prompt("Add one function")
    made = session.commit("one function")[1]
    session.say("Done.")
    session.import_now(store)
    before = store.list_refs("refs/heads/")
    assert record(store, project, session) is not None
    assert store.list_refs("refs/heads/") == before
    last = next(StoreHandle(store).conversation("conv-001").branch().messages())
    (found,) = CommitRecords(store).find(made)
    assert (found.message, last.text) == (last.id, "Done.")


def test_a_turn_that_ends_several_times_is_recorded_once(project, session, store):
    session.prompt("Add one function")
    session.commit("one function")
    session.import_now(store)
    assert record(store, project, session) is not None
    session.say("Done.")
    session.import_now(store)
    assert record(store, project, session) is None


def test_only_the_commits_of_the_last_turn_are_recorded(project, session, store):
    early = project.commit("early", GIT_COMMITTER_DATE="2021-01-01T00:00:00Z")
    session.prompt("Add one function")
    made = session.commit("one function")[1]
    session.import_now(store)
    record(store, project, session)
    records = CommitRecords(store)
    assert (records.find(early), len(records.find(made))) == ([], 1)


def test_a_commit_after_the_last_message_is_not_one_of_the_turn(project, session, store):
    """A person may commit before the hook has recorded."""
    session.prompt("Add one function")
    made = session.commit("one function")[1]
    session.say("Done.")
    by_hand = project.commit("by hand", GIT_COMMITTER_DATE="2099-01-01T00:00:00Z")
    session.import_now(store)
    record(store, project, session)
    records = CommitRecords(store)
    assert (len(records.find(made)), records.find(by_hand)) == (1, [])


def test_a_session_that_is_not_there_or_has_no_prompt_records_nothing(project, session, store):
    assert record(store, project, session) is None
    session.say("Hello.")
    session.import_now(store)
    project.commit("one")
    assert record(store, project, session) is None


def test_outside_of_git_nothing_is_recorded(project, session, store, tmp_path):
    session.prompt("Add one function")
    session.commit("one function")
    session.import_now(store)
    assert record_last_turn(store, "claude-code", session.session, str(tmp_path)) is None


def test_a_commit_just_after_the_call_of_the_hook_is_not_one_of_the_turn(project, session, store):
    """The process that records is later than a person."""
    session.prompt("Add one function")
    made = session.commit("one function")[1]
    session.say("Done.")
    stop = find_reflog_end(project.directory)
    by_hand = project.commit("by hand", path="two.txt")
    session.import_now(store)
    record_last_turn(store, "claude-code", session.session, project.directory, stop)
    records = CommitRecords(store)
    assert (len(records.find(made)), records.find(by_hand)) == (1, [])


def test_a_noted_end_of_an_earlier_turn_does_not_hide_the_commits_of_this_one(project, session, store):
    """One process of two that the agent started reads both turns."""
    stop = find_reflog_end(project.directory)
    stop.at -= 3600
    session.prompt("Add one function")
    made = session.commit("one function")[1]
    session.import_now(store)
    record_last_turn(store, "claude-code", session.session, project.directory, stop)
    assert len(CommitRecords(store).find(made)) == 1


def two_prompts_in_quick_succession(project, session):
    """Let two turns commit in one second; return where the first one stopped, and the commits."""
    while time.time() % 1 > 0.7:
        time.sleep(0.05)
    second = f"GIT_COMMITTER_DATE='{int(time.time())} +0000'"
    session.prompt("Add one function")
    session.shell(f"echo 1 > one && git add one && {second} git commit -m 'one function'")
    session.say("Done.")
    first, stop = project.head(), find_reflog_end(project.directory)
    time.sleep(0.002)  # transcripts have milliseconds: the next prompt is later in them, too
    session.prompt("Add two functions")
    session.shell(f"echo 2 > two && git add two && {second} git commit -m 'two functions'")
    return stop, [first, project.head()]


def turns_of(store, commits):
    """Return the text of the last prompt up to the message of each record."""
    texts = {each.id: each.text for each in StoreHandle(store).conversation("conv-001").branch().messages()}
    ids = list(texts)  # newest first
    prompts = [each for each in ids if texts[each].startswith("Add")]
    turn = {each: next(prompt for prompt in prompts if ids.index(prompt) >= ids.index(each)) for each in ids}
    return [[texts[turn[record.message]] for record in CommitRecords(store).find(each)] for each in commits]


EACH_TURN_ITS_OWN = [["Add one function"], ["Add two functions"]]


def test_a_hook_that_sees_the_next_turn_records_the_commits_of_its_own_one_too(project, session, store):
    """The next prompt came while the hook waited for the files of the session to be quiet."""
    stop, commits = two_prompts_in_quick_succession(project, session)
    session.import_now(store)
    record_last_turn(store, "claude-code", session.session, project.directory, stop)
    assert turns_of(store, commits) == EACH_TURN_ITS_OWN


def test_the_last_commit_of_a_turn_is_not_one_of_the_turn_that_begins_in_the_same_second(project, session, store):
    stop, commits = two_prompts_in_quick_succession(project, session)
    session.import_now(store)
    for end in (stop, find_reflog_end(project.directory), None):
        record_last_turn(store, "claude-code", session.session, project.directory, end)
    assert turns_of(store, commits) == EACH_TURN_ITS_OWN


def test_a_commit_after_a_turn_without_a_tool_call_is_one_by_a_person(project, session):
    assert scopes("setup", "claude-code", "--only", "hooks", table=PRODUCT).returncode == 0
    session.prompt("What does this do?")
    session.say("Nothing.")
    by_hand = project.commit("by hand")
    stop(project, session)
    wait_for(lambda: [event for event in events() if event.name == "recorded"])
    assert records_of(by_hand) == []


def test_the_hook_notes_the_end_of_the_reflog_before_the_agent_goes_on(project, session, monkeypatch):
    """Of the directory in the input, else of the current one."""
    monkeypatch.chdir(project.directory)
    end = find_reflog_end(project.directory)
    for data in (json.dumps({"cwd": project.directory}).encode(), b'{"cwd": 7}', b"", b'{"cwd":"/a\\u0062"}'):
        found = hook_runner._find_reflog_end(data)
        assert (found.git_directory, found.inode, found.size) == (end.git_directory, end.inode, end.size)
    assert hook_runner._find_reflog_end(b'{"cwd": "/"}') is None
