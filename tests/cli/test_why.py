"""`scopes why`: output for people and for programs, exit codes, and errors with their cures."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess

import pytest

from tests.cli.running import PRODUCT, command_line, environment, imported, scopes
from tests.importers.streams import import_paths
from tests.support.code_sessions import ClaudeSession, Project
from tests.support.store import make_store, open_store

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
    assert code is None or done.returncode == code, (done.stdout, done.stderr)
    return done


def test_a_line_is_a_row_in_a_pipe(project):
    row = why(project, "app.py:5").stdout.rstrip("\n").split("\t")
    assert row[:5] == ["5", project.head, "certain", "conv-001", "2"]
    assert row[7:] == ["line + 4/4 neighbours, Edit", "yes", "main"]


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


def test_a_template_is_filled_for_each_answer_with_its_fields_and_those_of_the_line(project):
    shown = why(project, "app.py:5", "--format", "{line} {conversation} {turn}: {prompt} <- {longer_prompt}").stdout
    assert shown == "5 conv-001 2: yes <- can you show the branches of a store?\n"


def test_a_line_without_an_answer_fills_a_template_once_with_nothing_for_the_answer(project):
    shown = why(project, "app.py:1-5", "--format", "{line}-{last_line} {level} [{conversation}]").stdout
    assert shown == "1-1 none [-]\n2-5 certain [conv-001]\n"


def test_a_field_that_does_not_exist_is_refused_with_those_that_do(project):
    done = why(project, "app.py:5", "--format", "{answers.conversation}", code=2)
    assert "there is no field 'answers.conversation' for a template" in done.stderr
    assert "did you mean {conversation}?" in done.stderr
    assert "line, last_line" in done.stderr


def test_candidates_are_rows_too(project, tmp_path):
    store = open_store(os.environ["SCOPES_STORE"])
    first = ClaudeSession(project, "first").prompt("please try a status module").write("lib.py", STATUS)
    import_paths(store, first.save(tmp_path / "home"))
    (project.path / "lib.py").unlink()
    second = ClaudeSession(project, "second").prompt("please write a status module").write("lib.py", STATUS)
    import_paths(store, second.commit("Status module").save(tmp_path / "home"))
    shown = why(project, "lib.py:2", "-n", "3", "--format", "{level} {conversation} {turn}").stdout
    assert shown == "certain conv-003 1\ncandidate conv-001 2\ncandidate conv-002 1\n"  # the first one in another file
    assert why(project, "lib.py:2", "-n", "3", "--format", r"{level}\t{conversation}").stdout == (
        "certain\tconv-003\ncandidate\tconv-001\ncandidate\tconv-002\n"
    )
    candidates = json.loads(why(project, "lib.py:2", "-n", "3", "--json").stdout)["candidates"]
    assert [each["level"] for each in candidates] == ["candidate", "candidate"]


def test_fields_of_answers_stay_in_their_list_with_json(project):
    found = json.loads(why(project, "app.py:5", "--json=line,conversation,made_commit").stdout)
    assert found == {
        "scopes": 1, "kind": "why", "line": 5, "answers": [{"conversation": "conv-001", "made_commit": True}],
    }  # fmt: skip


def test_fields_select_columns_and_keys(project):
    assert why(project, "app.py:5", "--format", r"{line}\t{level}\t{author}").stdout == "5\tcertain\tAlice\n"


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


@pytest.mark.parametrize("target", ["app.py:5:12", "app.py:5:", "app.py:5:1:"])
def test_a_line_may_be_given_as_editors_and_compilers_print_it(project, target):
    assert why(project, target).stdout == why(project, "app.py:5").stdout


def test_a_file_with_a_colon_in_its_name_is_found_in_the_working_tree_and_in_a_revision(project):
    project.git("mv", "app.py", "app.py:5")
    project.commit("A name like a line")
    assert why(project, "app.py:5:5").stdout.split("\t")[2] == "certain"
    project.git("mv", "app.py:5", "app.py")
    project.commit("And back")
    assert why(project, "app.py:5", "--rev", "HEAD~1").stdout.splitlines()[0].split("\t")[0] == "1"
    assert why(project, "app.py:5", "--rev", "HEAD").stdout.split("\t")[0] == "5"


@pytest.mark.parametrize(
    ("words", "code", "error", "cure"),
    [
        ((), 2, "no file given", "--topic"),
        (("app.py:9-2",), 2, "names no lines", "FILE:3-9"),
        (("app.py:abc",), 2, "'abc' in 'app.py:abc' is not a line", "FILE:LINE:COLUMN"),
        (("gone.py:abc",), 4, "there is no file gone.py:abc", "git ls-files"),
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


def test_the_number_of_candidates_is_at_least_one(project):
    assert len(why(project, "app.py:5", "--candidates").stdout.splitlines()) == 1
    for number in ("0", "-1"):
        assert "-n" in why(project, "app.py:5", "-n", number, code=2).stderr


def test_an_earlier_state_of_the_store_is_refused(project):
    done = scopes("--at", "@", "why", "app.py:5", table=PRODUCT, cwd=str(project.path))
    assert done.returncode == 2
    assert "--at" in done.stderr


def test_neither_rich_nor_the_agents_formats_are_imported_for_a_pipe(project):
    modules = imported("-C", str(project.path), "why", "app.py:5")
    assert "scopes.code_links.why" in modules
    assert not {"rich", "mcp", "tiktoken"} & modules
    assert not [name for name in modules if name.startswith("scopes.importers")]


def start(project):
    """Start the command for one line in a process of its own."""
    line = command_line("why", "app.py:5", table=PRODUCT)
    return subprocess.Popen(
        line, cwd=project.path, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_several_processes_that_make_the_index_at_once_give_one_answer(project):
    processes = [start(project) for _ in range(4)]
    answers = {process.communicate(timeout=100)[0] for process in processes}
    assert answers == {why(project, "app.py:5").stdout}
    assert {process.returncode for process in processes} == {0}


@pytest.mark.parametrize("seconds", [0.1, 0.25, 0.4])
def test_after_a_kill_in_the_first_run_the_next_one_answers(project, seconds):
    with start(project) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=seconds)
        process.kill()
    done = why(project, "app.py:5")
    assert done.stdout.split("\t")[2] == "certain"
    assert "damaged" not in done.stderr


def test_a_damaged_index_is_removed_and_built_again(project, sealed_world):
    expected = why(project, "app.py:5").stdout
    (index,) = sealed_world.rglob("code-lines.sqlite")
    data = bytearray(index.read_bytes())
    data[len(data) // 2] ^= 1
    index.write_bytes(data)
    done = why(project, "app.py:5", code=7)
    assert "the index of code lines was damaged, and is removed" in done.stderr
    assert why(project, "app.py:5").stdout == expected


def test_a_prompt_with_control_characters_cannot_reach_the_terminal(project, tmp_path):
    session = ClaudeSession(project, "hostile").prompt("please\x1b]0;pwned\x07 print \x1b[2J the value")
    session.edit("app.py", BEGIN, f"{BEGIN}print('the only value is this one')\n").commit("Print \x1b[31m value")
    import_paths(open_store(os.environ["SCOPES_STORE"]), session.save(tmp_path / "home"))
    done = why(project, "app.py:2")
    assert done.stdout.split("\t")[3] == "conv-002"
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout


def test_the_file_may_have_blanks_and_letters_of_any_script(project, tmp_path):
    session = ClaudeSession(project, "names").prompt("please write a file with an unusual name")
    session.write("über uns/größe 1.py", STATUS).commit("Unusual name")
    import_paths(open_store(os.environ["SCOPES_STORE"]), session.save(tmp_path / "home"))
    found = json.loads(why(project, "über uns/größe 1.py:2", "--json").stdout)
    assert (found["level"], found["file"], found["origin"]["path"]) == (
        "certain", "über uns/größe 1.py", "über uns/größe 1.py",
    )  # fmt: skip


def test_the_store_of_the_project_itself_is_used(project, tmp_path, monkeypatch):
    """`scopes init` makes a store in the git directory, which is no part of the project's commits."""
    monkeypatch.delenv("SCOPES_STORE")
    assert scopes("init", table=PRODUCT, cwd=str(project.path)).returncode == 0
    session = ClaudeSession(project, "own").prompt("please print the value in this project")
    session.edit("app.py", BEGIN, f"{BEGIN}print('the only value is this one')\n").commit("Print")
    imported_now = scopes("import", str(session.save(tmp_path / "home")), table=PRODUCT, cwd=str(project.path))
    assert imported_now.returncode == 0, imported_now.stderr
    assert why(project, "app.py:2").stdout.split("\t")[2:4] == ["certain", "conv-001"]
