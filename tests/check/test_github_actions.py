"""`scopes check` in a job of GitHub Actions: the runner reads both standard streams and executes what looks like a command."""

from __future__ import annotations

import json

import pytest

from scopes.check.findings import Finding
from scopes.render.reports import write_github
from scopes.sanitize import escape_runner_commands, is_read_by_runner
from tests.check.made_runs import checked
from tests.cli.conversation import Conversation

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

HOSTILE = "pytest # ##[add-mask]mask\n::set-output name=x::y\n\u2003::stop-commands::z\n```" + "`" * 200


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with a run whose tests fail and whose command holds commands to the runner; the test is in Actions."""
    store = Conversation(tmp_path)
    call = {"type": "tool_call", "call_id": "c1", "name": "Bash", "input": {"command": HOSTILE}}
    result = {"type": "tool_result", "call_id": "c1", "output": "x", "exit_code": 1, "is_error": True}
    lines = [
        {"author": "coder", "kind": "answer", "parts": [call]},
        {"author": "tool", "kind": "tool-results", "parts": [result]},
    ]
    store.run("append", store.id, "--jsonl", "-", given="".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.chdir(tmp_path)
    return store


def list_commands(text):
    """Return the lines in which the runner finds a command, as its source reads them, outside stop-commands."""
    found, token = [], None
    for line in text.splitlines():
        if token is not None:
            token = None if line.strip() == f"::{token}::" else token
        elif line.strip().startswith("::stop-commands::"):
            token = line.strip().rpartition("::")[2]
        elif line.strip().startswith("::") or "##[" in line:
            found.append(line)
    assert token is None
    return found


def test_the_text_runs_no_command_and_annotations_and_summary_follow(store, tmp_path):
    done = store.run_main("check", store.id)
    assert done.returncode == 1
    commands = list_commands(done.stdout)
    assert [line.partition(" ")[0] for line in commands] == ["::error", "::notice"]
    assert "title=order/tests-passed::the command line with the last test run failed" in commands[0]
    assert done.stdout.startswith("::stop-commands::")
    assert (tmp_path / "summary.md").read_text().startswith("## scopes check failed\n")


@pytest.mark.parametrize("form", ["json", "sarif", "gitlab", "junit", "markdown"])
def test_a_report_on_standard_output_stays_whole_and_runs_no_command(store, tmp_path, form):
    done = store.run_main("check", store.id, "--report", form)
    assert list_commands(done.stdout) == []
    assert (tmp_path / "summary.md").exists()
    if form in {"json", "sarif", "gitlab"}:
        assert "pytest" in json.dumps(json.loads(done.stdout)) or form == "gitlab"


@pytest.mark.parametrize("words", [("--json",), ("--format", "{findings}"), ("--json=findings",)])
def test_data_for_a_program_stays_whole_and_runs_no_command(store, words):
    done = store.run_main("check", store.id, *words)
    assert list_commands(done.stdout) == []
    assert done.returncode == 1
    if words[0].startswith("--json"):
        assert "##[add-mask]" in json.dumps(json.loads(done.stdout))


def test_a_report_on_standard_output_as_annotations_is_written_once(store):
    commands = list_commands(store.run_main("check", store.id, "--report", "github").stdout)
    assert len(commands) == 2


def test_annotations_are_written_too_if_a_file_has_them(store, tmp_path):
    done = store.run_main("check", store.id, "--report", f"github={tmp_path}/g.txt")
    assert list_commands(done.stdout) == list_commands((tmp_path / "g.txt").read_text()) != []


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_errors_and_notes_run_no_command_either(store, words):
    """Names of files are written by agents too."""
    done = store.run_main("check", store.id, "--rules", "##[add-mask]x\n::set-output::.toml", *words)
    assert done.returncode == 2
    assert list_commands(done.stderr) == []
    assert not words or "##[add-mask]x" in json.loads(done.stderr)["error"]["message"]


def test_a_report_that_cannot_be_written_is_exit_code_8_after_all_others_are_written(store, tmp_path):
    reports = ["sarif=no/such/s.sarif", "junit=j.xml", "gitlab=no/q.json", "markdown=m.md", "text=t.txt", "json=c.json"]
    words = [word for report in reports for word in ("--report", report)]
    done = store.run_main("check", store.id, *words)
    assert done.returncode == 8
    assert "2 reports were not written: " in done.stderr
    assert all((tmp_path / name).stat().st_size for name in ("j.xml", "m.md", "t.txt", "c.json", "summary.md"))
    assert "the last test run failed" in done.stdout


def test_a_summary_that_cannot_be_written_is_exit_code_8_too(store, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "summary.md"))
    done = store.run_main("check", store.id, "--report", "junit=j.xml")
    assert (done.returncode, (tmp_path / "j.xml").exists()) == (8, True)
    assert "cannot write the step summary" in done.stderr


def test_the_text_in_a_file_is_text_also_with_json_and_has_no_notes(store, tmp_path):
    (tmp_path / "scopes-check.toml").write_text(
        '[[rule]]\nid = "ours/x"\nexpect = "run(nothing) needs edit(x) before"\n'
    )
    done = store.run_main("check", store.id, "--json", "--report", "text=t.txt")
    assert (tmp_path / "t.txt").read_text().startswith(f"{store.id}\n  error    order/tests-passed")
    assert json.loads(done.stdout)["result"] == "fail"
    noted = store.run_main("check", store.id, "--report", "text=t.txt", "--report", "sarif")
    assert noted.stderr.count("rule ours/x matched no event") == 1


@pytest.mark.parametrize("form", ["json", "sarif", "gitlab", "junit", "markdown", "text"])
@pytest.mark.parametrize("environment", ["GITHUB_ACTIONS", "nowhere"])
@pytest.mark.cases(16)
def test_a_job_may_print_the_file_of_a_report_into_its_log(store, tmp_path, monkeypatch, form, environment):
    monkeypatch.delenv("GITHUB_ACTIONS")
    monkeypatch.setenv(environment, "true")
    store.run_main("check", store.id, "--report", f"{form}=report")
    assert list_commands((tmp_path / "report").read_text()) == []


def test_the_summary_of_a_step_holds_no_command(store, tmp_path):
    store.run_main("check", store.id)
    assert list_commands((tmp_path / "summary.md").read_text()) == []


def test_outside_actions_nothing_is_escaped_and_no_summary_is_written(store, tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS")
    done = store.run_main("check", store.id)
    assert "##[add-mask]" in done.stdout
    assert "::error" not in done.stdout
    assert not (tmp_path / "summary.md").exists()


def test_a_command_begins_a_line_or_is_in_brackets():
    assert escape_runner_commands("a::b\n\t::c::\n##[x]") == "a::b\n\t\\::c::\n##\\[x]"
    assert json.loads(escape_runner_commands('"##[x]"', as_json=True)) == "##[x]"


@pytest.mark.parametrize("mark", ["##[add-mask]", "##vso[task.setvariable variable=a]b", "##TeamCity[buildProblem]"])
def test_the_commands_of_every_ci_system_are_escaped_anywhere_in_a_line(mark):
    text = f"a {mark}\n"
    assert escape_runner_commands(text) == text.replace("##", "##\\")
    escaped = escape_runner_commands(json.dumps(text), as_json=True)
    assert (mark in escaped, json.loads(escaped)) == (False, text)


@pytest.mark.parametrize("name", ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"])
def test_output_is_escaped_in_the_jobs_of_every_ci_system(name):
    assert is_read_by_runner({name: "true"})
    assert not is_read_by_runner({name: ""})


@pytest.mark.parametrize(("variable", "mark"), [("GITLAB_CI", ""), ("GITHUB_ACTIONS", "\\")])
def test_recorded_text_is_unchanged_in_a_job_of_gitlab_which_has_no_commands(tmp_path, monkeypatch, variable, mark):
    """Its sections begin with an escape character, which is never printed."""
    monkeypatch.setenv(variable, "true")
    store = Conversation(tmp_path)
    store.append("main", "::set-output name=a::b\n##[group]x\n\x1b[0Ksection_start:1:x")
    printed = store.run("cat", "@")
    assert f"{mark}::set-output name=a::b" in printed
    assert f"##{mark}[group]x" in printed
    assert "^[[0Ksection_start:1:x" in printed


def test_an_annotation_has_no_file_if_there_is_no_policy():
    finding = Finding("ours/x", "error", "m ##vso[x]")
    assert write_github(checked(finding)) == "::error title=ours/x::m ##\\vso[x] (run)\n"
    assert write_github(checked(finding, policy="p.toml")).startswith("::error file=p.toml,line=1,title=ours/x::")
