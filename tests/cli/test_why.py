"""`scopes conv why`: output for people and for programs, exit codes, and errors with their cures."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.running import PRODUCT, imported, scopes
from tests.importers.streams import import_paths
from tests.support.code_sessions import ClaudeSession, Project
from tests.support.store import make_store

BEGIN = "import json\n"
STATUS = """\
def run_status(store):
    branches = store.list_branches()
    print("branches:", len(branches))
    for branch in sorted(branches):
        print("  ", branch.name, branch.tip)
"""


@pytest.fixture
def project(tmp_path):
    """A project in which a session wrote a function; its store is that of the environment."""
    made = Project(tmp_path / "project")
    made.write("app.py", BEGIN)
    made.commit("Begin")
    session = ClaudeSession(made).prompt("can you show the branches of a store?")
    session.say("I can add run_status to app.py.\n\nShall I?").prompt("yes")
    session.edit("app.py", BEGIN, f"{BEGIN}\n\n{STATUS}").commit("Add status command")
    repository = make_store(os.environ["SCOPES_STORE"])
    import_paths(repository, session.save(tmp_path / "home"))
    return made


def why(project, *words, code=0, **keywords):
    done = scopes("why", *words, table=PRODUCT, cwd=str(project.path), **keywords)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done


def test_a_line_is_a_row_in_a_pipe(project):
    row = why(project, "app.py:5").stdout.rstrip("\n").split("\t")
    assert row[:5] == ["5", project.head, "certain", "conv-001", "2"]
    assert row[7:] == ["line + 4/4 neighbours, Edit", "yes"]


def test_a_line_is_one_object_of_json(project):
    found = json.loads(why(project, "app.py:5", "--json").stdout)
    assert (found["kind"], found["file"], found["line"], found["last_line"]) == ("why", "app.py", 5, 5)
    assert (found["commit"], found["origin"]) == (project.head, {"path": "app.py", "line": 5})
    assert (found["level"], found["also"]) == ("certain", [])
    (answer,) = found["answers"]
    assert answer["agreed_to"] == "I can add run_status to app.py.\n\nShall I?"
    assert answer["longer_prompt"] == "can you show the branches of a store?"
    assert (answer["share"], answer["made_commit"]) == (1.0, True)


def test_a_file_is_a_line_of_json_for_each_answer(project):
    found = [json.loads(line) for line in why(project, "app.py", "--json").stdout.splitlines()]
    assert [(each["line"], each["last_line"], each["level"]) for each in found] == [(1, 1, "none"), (2, 8, "certain")]


def test_a_template_formats_an_answer(project):
    shown = why(project, "app.py:5", "--format", "{line} {level} {commit} {subject}").stdout
    assert shown == f"5 certain {project.head} Add status command\n"


def test_fields_select_columns_and_keys(project):
    assert why(project, "app.py:5", "--fields", "line,level,author").stdout == "5\tcertain\tAlice\n"


def test_a_line_without_an_answer_has_exit_code_1(project):
    assert why(project, "app.py:1", code=1).stdout.split("\t")[2] == "none"


def test_the_conversation_verb_is_the_same_command(project):
    done = scopes("ai", "conversations", "why", "app.py:5", table=PRODUCT, cwd=str(project.path))
    assert done.stdout == why(project, "app.py:5").stdout


def test_a_file_is_named_relative_to_the_current_directory_and_to_that_of_C(project, tmp_path):
    (project.path / "src").mkdir()
    done = scopes("why", "../app.py:5", table=PRODUCT, cwd=str(project.path / "src"))
    assert done.returncode == 0
    elsewhere = scopes("-C", str(project.path), "why", "app.py:5", table=PRODUCT, cwd=str(tmp_path))
    assert elsewhere.stdout == done.stdout


def test_a_revision_is_asked_for_with_rev(project):
    project.write("app.py", f"# new\n{project.read('app.py')}")
    project.commit("Comment")
    assert why(project, "app.py:5", "--rev", "HEAD~1").stdout.split("\t")[2] == "certain"
    assert why(project, "app.py:6").stdout.split("\t")[2] == "certain"
    assert why(project, "app.py:1", code=1).stdout.split("\t")[2] == "none"


@pytest.mark.parametrize(
    ("words", "code", "error", "cure"),
    [
        ((), 2, "Missing argument", None),
        (("app.py:9-2",), 2, "names no lines", "FILE:3-9"),
        (("app.py:99",), 2, "app.py has 8 lines, not 99", "give a line"),
        (("gone.py:1",), 4, "there is no file gone.py", "git ls-files"),
        (("app.py", "--rev", "v9"), 4, "there is no commit v9", "git log"),
        (("-n", "x", "app.py"), 2, "not a whole number", "help why"),
        (("../../x.py",), None, "", "-C DIR"),
    ],
)
def test_errors_name_their_cure(project, words, code, error, cure):
    done = scopes("why", *words, table=PRODUCT, cwd=str(project.path))
    assert done.returncode not in {0, 1}
    assert code is None or done.returncode == code
    assert error.lower() in done.stderr.lower()
    assert cure is None or cure in done.stderr


def test_an_error_is_json_with_json(project):
    done = scopes("why", "app.py:99", "--json", table=PRODUCT, cwd=str(project.path))
    assert json.loads(done.stderr)["error"]


def test_a_store_without_conversations_names_the_import(project, tmp_path):
    make_store(tmp_path / "empty.git")
    done = scopes("--store", str(tmp_path / "empty.git"), "why", "app.py:5", table=PRODUCT, cwd=str(project.path))
    assert done.returncode == 4
    assert "scopes import" in done.stderr


def test_candidates_and_their_number(project):
    one = why(project, "app.py:5", "--candidates").stdout.splitlines()
    none = why(project, "app.py:5", "-n", "0").stdout.splitlines()
    assert (len(one), len(none)) == (1, 1)


def test_an_earlier_state_of_the_store_is_refused(project):
    done = scopes("--at-operation", "@", "why", "app.py:5", table=PRODUCT, cwd=str(project.path))
    assert done.returncode == 2
    assert "--at-operation" in done.stderr


def test_neither_rich_nor_the_agents_formats_are_imported_for_a_pipe(project):
    modules = imported("-C", str(project.path), "why", "app.py:5")
    assert "scopes.code_links.why" in modules
    assert not {"rich", "typer", "mcp", "tiktoken"} & modules
    assert not [name for name in modules if name.startswith("scopes.importers")]
