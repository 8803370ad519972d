"""The commits of a conversation as records of Agent Trace 0.1, and as notes on request."""

from __future__ import annotations

import json
import subprocess

import pytest
from jsonschema import Draft202012Validator

from scopes.code_links.session_turn import record_last_turn
from scopes.code_links.why import WhyRequest, why
from scopes.errors import NotFound
from scopes.exporters.commit_notes import NOTES_REF, CommitRequest, export_traces, note_commits
from scopes.history.handles import read_uuid
from tests.code_links.agent_session import SESSION, ClaudeSession
from tests.support.store import make_store
from tests.support.worktrees import Project


def closed(required, **properties):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TEXT = {"type": "string"}
LINE = {"type": "integer", "minimum": 1}
CONTRIBUTOR = closed(
    ["type"], type={"enum": ["human", "ai", "mixed", "unknown"]}, model_id={"type": "string", "maxLength": 250}
)
RANGE = closed(["start_line", "end_line"], start_line=LINE, end_line=LINE, content_hash=TEXT, contributor=CONTRIBUTOR)
CONVERSATION = closed(
    ["ranges"], url={"type": "string", "format": "uri"}, contributor=CONTRIBUTOR, ranges={"type": "array", "items": RANGE},
    related={"type": "array", "items": closed(["type", "url"], type=TEXT, url=TEXT)},
)  # fmt: skip
# What schemas/trace-record.json of the specification demands: nothing unknown outside of `metadata`.
SCHEMA = closed(
    ["version", "id", "timestamp", "files"],
    version={"type": "string", "pattern": r"^[0-9]+\.[0-9]+$"},
    id={"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"},
    timestamp={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$"},
    vcs=closed(["type", "revision"], type={"enum": ["git", "jj", "hg", "svn"]}, revision=TEXT),
    tool=closed(["name", "version"], name=TEXT, version=TEXT),
    files={"type": "array", "items": closed(["path", "conversations"], path=TEXT, conversations={"type": "array", "items": CONVERSATION})},
    metadata={"type": "object"},
)  # fmt: skip


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
    """Two turns with a commit each; a person has changed the second one before."""
    found = ClaudeSession(project, tmp_path / f"{SESSION}.jsonl")
    found.prompt("Add one function")
    found.commit("one function")
    found.prompt("Add two functions")
    found.edit("two.py", "def first_function():\n    pass\n\n\ndef second_function():\n    pass\n")
    project.write("two.py", "def first_function():\n    pass\n\n\ndef renamed_by_hand():\n    pass\n")
    found.shell("git add -A && git commit -q -m 'two functions'")
    found.import_now(repository)
    return found


@pytest.fixture
def places(project, tmp_path):
    return {"directory": project.directory, "index_directory": str(tmp_path / "index")}


def records_of(exported):
    return [json.loads(line) for line in b"".join(exported.pieces).splitlines()]


def test_every_record_is_one_of_agent_trace(project, repository, session, places):
    records = records_of(export_traces(repository, CommitRequest("conv-001", **places)))
    for record in records:
        Draft202012Validator(SCHEMA).validate(record)
    assert [record["vcs"]["revision"] for record in records] == [project.git("rev-parse", "HEAD~1"), project.head()]


def test_a_record_has_the_lines_that_edits_have(project, repository, session, places):
    one, two = records_of(export_traces(repository, CommitRequest("conv-001", **places)))
    ((first,), (second,)) = (record["files"] for record in (one, two))
    (whole,) = first["conversations"]
    assert [(each["start_line"], each["end_line"]) for each in whole["ranges"]] == [(1, 2)]
    assert (whole["url"], whole["contributor"]["type"]) == (f"urn:uuid:{read_uuid(repository, 'conv-001')}", "ai")
    assert whole["contributor"]["model_id"] == "anthropic/claude-x"
    assert [(each["start_line"], each["end_line"]) for each in second["conversations"][0]["ranges"]] == [(1, 4)]
    assert two["metadata"]["dev.scopes"]["links"][0] == {"role": "made", "level": "certain"}


def test_exporting_again_gives_the_same_records(project, repository, session, places):
    first, second = (records_of(export_traces(repository, CommitRequest("conv-001", **places))) for _ in range(2))
    assert first == second
    assert len({record["id"] for record in first}) == 2


def test_notes_are_written_on_request_and_under_a_ref_of_scopes_only(project, repository, session, places):
    before = project.git("for-each-ref")
    noted = note_commits(repository, CommitRequest("conv-001", **places), "agent-trace")
    assert (noted.ref, len(noted.commits)) == (NOTES_REF, 2)
    record = json.loads(project.git("notes", "--ref=scopes", "show", "HEAD"))
    assert record["vcs"]["revision"] == project.head()
    after = project.git("for-each-ref")
    assert [line.split()[-1] for line in after.splitlines() if line not in before.splitlines()] == [NOTES_REF]
    assert project.git("status", "--porcelain") == ""
    project.git("fsck", "--strict")


def test_notes_that_are_written_again_are_replaced(project, repository, session, places):
    for _ in range(2):
        note_commits(repository, CommitRequest("conv-001", **places), "agent-trace")
    assert len(project.git("notes", "--ref=scopes", "list").splitlines()) == 2


def test_hooks_of_the_project_do_not_run_for_notes(project, repository, session, places, tmp_path):
    for name in ("reference-transaction", "post-commit", "pre-commit"):
        path = project.write(f".git/hooks/{name}", f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
        subprocess.run(["chmod", "+x", path], check=True)
    note_commits(repository, CommitRequest("conv-001", **places), "agent-trace")
    assert not (tmp_path / "ran").exists()


def test_a_conversation_without_commits_has_no_records(project, repository, tmp_path, places):
    found = ClaudeSession(project, tmp_path / f"{SESSION}.jsonl")
    found.prompt("Say hello")
    found.say("Hello.")
    found.import_now(repository)
    assert records_of(export_traces(repository, CommitRequest("conv-001", **places))) == []
    assert note_commits(repository, CommitRequest("conv-001", **places), "agent-trace").commits == ()


def test_outside_of_a_repository_there_is_nothing_to_export(repository, session, tmp_path):
    with pytest.raises(NotFound, match="is not in a git repository"):
        export_traces(repository, CommitRequest("conv-001", str(tmp_path), str(tmp_path / "index")))


SHORT = """\
class Greeting:
    n = 0

    def say(self, name):
        if not name:
            return
        print(f"good morning, {name}")
        return
"""


def lines_of(record):
    """Return the lines of the first file of a record, by its ranges."""
    ranges = record["files"][0]["conversations"][0]["ranges"]
    return [number for each in ranges for number in range(each["start_line"], each["end_line"] + 1)]


def answered_lines(places, repository, target):
    """Return the lines of a file for which `why` has an answer that is certain or likely."""
    request = WhyRequest(target=target, cwd=places["directory"])
    items = why(repository, places["index_directory"], request).items
    found = [each for each in items if each.level in {"certain", "likely"}]
    return [number for each in found for number in range(each.line, each.last_line + 1)]


@pytest.fixture
def short_lines(project, tmp_path, repository):
    """A commit with a class of a session, most lines of which are short, and a line of a person above and below it."""
    found = ClaudeSession(project, tmp_path / f"{SESSION}.jsonl")
    found.prompt("Add a class that greets people")
    found.edit("greeting.py", SHORT)
    project.write("greeting.py", f"MAXIMUM_OF_NAMES = 5\n\n{SHORT}MINIMUM_OF_NAMES = 3\n")
    found.shell("git add -A && git commit -q -m 'greeting'")
    found.import_now(repository)


def test_a_record_has_all_lines_for_which_why_has_an_answer(project, repository, short_lines, places):
    """Also short ones, such as `return`, at the end of a function and of the lines of a session."""
    (record,) = records_of(export_traces(repository, CommitRequest("conv-001", **places)))
    assert lines_of(record) == answered_lines(places, repository, "greeting.py") == list(range(3, 11))


def test_a_record_has_every_short_line_that_why_calls_certain_alone(project, repository, short_lines, places):
    (record,) = records_of(export_traces(repository, CommitRequest("conv-001", **places)))
    alone = [n for n in range(1, 12) if answered_lines(places, repository, f"greeting.py:{n}")]
    assert set(alone) <= set(lines_of(record))
    assert {8, 10} & set(alone)


def test_a_commit_that_was_replaced_has_no_record(project, repository, session, places):
    old = project.head()
    project.git("commit", "-q", "--amend", "-m", "two functions, amended")
    records = records_of(export_traces(repository, CommitRequest("conv-001", **places)))
    assert old not in [record["vcs"]["revision"] for record in records]


def test_a_commit_of_a_person_while_the_agent_worked_is_not_exported_as_the_agents(
    project, session, repository, places
):
    session.prompt("What is there?")
    session.shell("ls")
    by_hand = project.commit("by hand", path="by_hand.py")
    session.import_now(repository)
    assert record_last_turn(repository, "claude-code", session.session, project.directory) is not None
    exported = export_traces(repository, CommitRequest(conversation="conv-001", **places))
    assert by_hand not in {record["vcs"]["revision"] for record in records_of(exported)}
