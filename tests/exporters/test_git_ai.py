"""The commits of a conversation as notes of git-ai, which git-ai and we read again."""

from __future__ import annotations

import json
import re
from hashlib import sha256

import pytest

from scopes.code_links.foreign_notes import note_keys, parse_note
from scopes.code_links.known_links import KnownLinks
from scopes.code_links.project_git import find_project_repository, open_project_git
from scopes.code_links.recorded_links import RecordedCommits
from scopes.exporters.commit_notes import NOTES_REF, CommitRequest, export_traces, note_commits
from tests.code_links.agent_session import SESSION, ClaudeSession
from tests.support.store import make_store
from tests.support.worktrees import Project

KEY = "s_" + sha256(f"claude:{SESSION}".encode()).hexdigest()[:14]
OTHER = SESSION.replace("1", "9")


@pytest.fixture
def repository(tmp_path):
    return make_store(tmp_path / "store.git")


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    made.commit("base")
    return made


@pytest.fixture
def session(project, tmp_path, repository):
    """Two commits of a session: a file of it alone, and one with lines that a person wrote in between."""
    found = ClaudeSession(project, tmp_path / f"{SESSION}.jsonl")
    found.prompt("Add one function")
    found.commit("one function")
    found.prompt("Add two functions")
    text = "def first_function():\n    return 'first value'\n\n\ndef second_function():\n    return 'second value'\n"
    found.edit("two files.py", text)
    project.write("two files.py", text.replace("\n\n\n", "\n\n\nA_VALUE_OF_A_PERSON = 5\nONE_MORE_VALUE = 6\n"))
    found.shell("git add -A && git commit -q -m 'two functions'")
    found.import_now(repository)
    return found


@pytest.fixture
def request_of(project, tmp_path):
    """Return what asks for the commits of a conversation."""

    def make(conversation="conv-001"):
        return CommitRequest(conversation, project.directory, str(tmp_path / "index"))

    return make


def note_of(project, revision="HEAD", ref=NOTES_REF):
    return project.git("notes", f"--ref={ref}", "show", revision)


def known_links(repository, project, commit):
    """Return the links that notes and records say, before anything is searched."""
    with open_project_git(find_project_repository(project.directory)) as git:
        return KnownLinks(repository, git, RecordedCommits(repository)).links_of(commit)


def test_a_note_has_the_paths_and_lines_then_the_sessions_as_json(project, repository, session, request_of):
    noted = note_commits(repository, request_of(), "git-ai")
    assert (noted.ref, len(noted.commits), noted.notes) == (NOTES_REF, 2, ())
    head, _, rest = note_of(project, "HEAD~1").partition("\n---\n")
    assert re.fullmatch(rf"one\.py\n  {KEY}::t_[0-9a-f]{{14}} 1-2", head)
    assert json.loads(rest) == {
        "schema_version": "authorship/3.0.0",
        "base_commit_sha": project.git("rev-parse", "HEAD~1"),
        "prompts": {},
        "sessions": {KEY: {"agent_id": {"tool": "claude", "id": SESSION, "model": "claude-x"}}},
    }


def test_a_path_with_a_blank_is_quoted_and_lines_of_others_are_left_out(project, repository, session, request_of):
    note_commits(repository, request_of(), "git-ai")
    path, entry, *_ = note_of(project).splitlines()
    assert path == '"two files.py"'
    assert entry.split()[-1] == "1-4,7-8"


def test_the_id_of_the_session_is_what_git_ai_calls_it(project, repository, session, request_of):
    assert KEY in note_keys("claude-code", SESSION)
    note_commits(repository, request_of(), "git-ai")
    (claim,) = parse_note(note_of(project).encode())
    assert (claim.tool, claim.session, claim.key, claim.lines) == ("claude-code", SESSION, KEY, 6)


def test_out_and_in_again_gives_the_same_links(project, repository, session, request_of, tmp_path):
    """The other store has the session too, and knows nothing of the commits but what the notes say."""
    noted = note_commits(repository, request_of(), "git-ai")
    other = make_store(tmp_path / "other.git")
    session.import_now(other)
    for commit in noted.commits:
        (link,) = known_links(other, project, commit)
        assert (link.commit, link.conversation, link.role, link.level) == (commit, "conv-001", "wrote", "candidate")
        assert link.evidence[0].kind == "note"
    records = [json.loads(line) for line in b"".join(export_traces(repository, request_of()).pieces).splitlines()]
    assert [record["vcs"]["revision"] for record in records] == list(noted.commits)
    for record in records:
        ranges = record["files"][0]["conversations"][0]["ranges"]
        (claim,) = parse_note(note_of(project, record["vcs"]["revision"]).encode())
        assert claim.lines == sum(each["end_line"] - each["start_line"] + 1 for each in ranges)


def test_notes_of_agent_trace_are_read_again_too(project, repository, session, request_of, tmp_path):
    noted = note_commits(repository, request_of(), "agent-trace")
    other = make_store(tmp_path / "other.git")
    session.import_now(other)
    for commit in noted.commits:
        (link,) = known_links(other, project, commit)
        assert (link.conversation, link.evidence[0].kind) == ("conv-001", "note")


def test_a_record_that_was_copied_to_another_commit_says_nothing(project, repository, session, request_of):
    note_commits(repository, request_of(), "agent-trace")
    project.git("notes", f"--ref={NOTES_REF}", "copy", "-f", "HEAD", "HEAD~1")
    assert known_links(repository, project, project.git("rev-parse", "HEAD~1")) == ()
    assert len(known_links(repository, project, project.head())) == 1


def test_a_second_session_is_added_to_the_note_of_the_first(project, repository, session, tmp_path, request_of):
    second = ClaudeSession(project, tmp_path / f"{OTHER}.jsonl", OTHER)
    second.prompt("Add three functions")
    second.edit("three.py", "def third_function():\n    return 'third value'\n")
    session.edit("four.py", "def fourth_function():\n    return 'fourth value'\n")
    session.shell("git add -A && git commit -q -m 'three and four'")
    for each in (session, second):
        each.import_now(repository)
    for conversation in ("conv-001", "conv-002", "conv-001"):
        note_commits(repository, request_of(conversation), "git-ai")
    claims = {claim.session: claim.lines for claim in parse_note(note_of(project).encode())}
    assert claims == {SESSION: 2, OTHER: 2}
    assert note_of(project).count(f"  {KEY}::") == 1


def test_the_notes_of_other_programs_stay_as_they_are(project, repository, session, request_of):
    before = project.git("for-each-ref", "--format=%(refname)").split()
    note_commits(repository, request_of(), "git-ai")
    after = project.git("for-each-ref", "--format=%(refname)").split()
    assert sorted({*after} - {*before}) == [NOTES_REF]
    assert project.git("status", "--porcelain") == ""


def test_notes_that_are_written_again_are_the_same(project, repository, session, request_of):
    note_commits(repository, request_of(), "git-ai")
    first = project.git("notes", f"--ref={NOTES_REF}", "list")
    note_commits(repository, request_of(), "git-ai")
    assert project.git("notes", f"--ref={NOTES_REF}", "list") == first


def test_an_own_note_of_another_form_is_replaced(project, repository, session, request_of):
    note_commits(repository, request_of(), "agent-trace")
    note_commits(repository, request_of(), "git-ai")
    assert parse_note(note_of(project).encode())


def test_a_commit_that_the_conversation_only_made_has_no_note(project, repository, tmp_path, request_of):
    found = ClaudeSession(project, tmp_path / f"{SESSION}.jsonl")
    found.prompt("Commit my change")
    project.write("mine.py", "def written_by_a_person():\n    return 'my own value'\n")
    found.shell("git add -A && git commit -m 'my change'")
    found.import_now(repository)
    assert note_commits(repository, request_of(), "git-ai").commits == ()


def test_a_note_without_lines_is_read():
    document = {
        "schema_version": "authorship/3.0.0",
        "sessions": {KEY: {"agent_id": {"tool": "claude", "id": SESSION}}},
    }
    (claim,) = parse_note(f"---\n{json.dumps(document)}".encode())
    assert (claim.session, claim.lines) == (SESSION, 0)


def test_a_session_that_no_agent_has_kept_is_named_by_the_uuid_of_its_conversation():
    uuid = "0a1b2c3d-0000-4000-8000-000000000001"
    document = {"schema_version": "authorship/3.0.0", "sessions": {"s_1": {"agent_id": {"tool": "scopes", "id": uuid}}}}
    (claim,) = parse_note(f"a.py\n  s_1::t_2 1-3\n---\n{json.dumps(document)}".encode())
    assert (claim.uuid, claim.session, claim.lines) == (uuid, None, 3)
