"""`why` counts what was recorded when a commit was made, before what it finds afterwards."""

from __future__ import annotations

import pytest

from scopes.code_links.session_turn import record_last_turn
from scopes.code_links.why import WhyRequest, why
from scopes.conversation.commits import show_commits
from tests.code_links.agent_session import ClaudeSession
from tests.code_links.hooked import Hooked
from tests.support.store import make_store

OTHER = "99999999-2222-4333-8444-555555555555"


@pytest.fixture
def repository(tmp_path):
    return make_store(tmp_path / "store.git")


@pytest.fixture
def project(tmp_path, repository):
    made = Hooked(tmp_path / "project", repository)
    made.commit("base")
    return made


@pytest.fixture
def session(project, tmp_path):
    found = ClaudeSession(project, "")
    found.path = tmp_path / f"{found.session}.jsonl"
    return found


def explain(project, tmp_path, target):
    request = WhyRequest(target=target, cwd=project.directory)
    return why(project.repository, str(tmp_path / "index"), request).items[0]


def generate(project, session, *, hidden=""):
    """Let a session write a file with a program and commit it in a way that its transcript does not show."""
    session.prompt("Generate the table of values")
    project.write(
        "make.sh", f"{hidden}seq -f 'VALUE_NUMBER_%g = True' 5 > table.py\ngit add -A\ngit commit -q -m Table\n"
    )
    session.shell("sh make.sh")
    session.say("Done.")
    session.import_now(project.repository)


def test_a_commit_that_only_a_hook_knows_leads_to_its_conversation(project, session, tmp_path):
    generate(project, session)
    found = explain(project, tmp_path, "table.py:3")
    assert (found.level, found.commit.id) == ("commit-only", project.head())
    assert [(answer.conversation, answer.turn) for answer in found.answers] == [("conv-001", 1)]


def test_a_turn_without_an_edit_that_only_a_record_names_has_its_prompt(project, session, tmp_path):
    session.prompt("Look at the folder first, and say what is in it")
    session.say("There is a script that makes a table. Shall I run it?")
    generate(project, session)
    (answer,) = explain(project, tmp_path, "table.py:3").answers
    assert (answer.turn, answer.prompt) == (2, "Generate the table of values")
    assert answer.agreed_to is None


def test_without_the_record_nobody_knows(project, session, tmp_path):
    generate(project, session, hidden="unset CLAUDECODE CLAUDE_CODE_SESSION_ID\n")
    assert explain(project, tmp_path, "table.py:3").level == "none"


def test_a_record_and_the_edit_make_an_answer_certain_although_the_call_is_hidden(project, session, tmp_path):
    session.prompt("Write the greeting")
    text = "".join(f"line_of_the_greeting_{number} = {number}\n" for number in range(8))
    session.edit("greeting.py", text)
    project.write(
        "greeting.py", text + "".join(f"value_by_somebody_else_{number} = {number}\n" for number in range(80))
    )
    project.write("make.sh", "git add -A\ngit commit -q -m Greeting\n")
    session.shell("sh make.sh")
    session.import_now(project.repository)
    found = explain(project, tmp_path, "greeting.py:4")
    assert (found.level, found.answers[0].conversation) == ("certain", "conv-001")
    assert found.answers[0].made


def test_asking_takes_nothing_over(project, session, tmp_path):
    generate(project, session)
    explain(project, tmp_path, "table.py:3")
    assert len(project.pending()) == 1


def test_a_session_that_merely_worked_when_a_person_committed_did_not_make_the_commit(project, session, tmp_path):
    """`show --commits` of that session has no such commit either."""
    start, function = (
        "import os.path\nimport sys\n\n\n",
        "def read_settings(path):\n    with open(path) as handle:\n        return handle\n",
    )
    session.prompt("Write the settings reader")
    session.edit("settings.py", start + function)
    session.shell("git add -A && git commit -qm 'settings reader'")
    session.say("Done.")
    session.import_now(project.repository)
    other = ClaudeSession(project, tmp_path / "other.jsonl", OTHER)
    other.prompt("Add a starter")
    other.shell("true")
    project.write("reader.py", "import os.path\n\n" + function)
    project.write("settings.py", start)
    project.git("add", "-A")
    project.git("commit", "-qm", "split by a person")
    other.edit("start.bat", "@echo off\nset PORT=8080\n")
    other.say("Done.")
    other.import_now(project.repository)
    project.record()
    record_last_turn(project.repository, "claude-code", OTHER, project.directory)
    for rows in (show(project, tmp_path, "conv-002"), show(project, tmp_path, "conv-001")[1:]):
        assert [row.subject for row in rows if any(link.role == "made" for link in row.links)] == []
    found = explain(project, tmp_path, "reader.py:1")
    (answer,) = found.answers
    assert found.commit.subject == "split by a person"
    assert (answer.conversation, answer.made, "made the commit" in answer.how) == ("conv-001", False, False)


def show(project, tmp_path, name):
    places = {"directory": project.directory, "index_directory": str(tmp_path / "index")}
    return show_commits(project.repository, name, **places).commits
