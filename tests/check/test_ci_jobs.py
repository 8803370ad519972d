"""The jobs of the README and of the manual page are executed, as far as that is possible without the services.

Each shell line runs as the service runs it, in a git repository, with an agent that is a script.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scopes.cli.command_help import read_manual
from tests.check.headless_runs import CWD, codex_rollout, codex_stream
from tests.cli.running import ROOT, environment
from tests.support import fork_server

MANUAL = read_manual(("check",))
README = (Path(ROOT) / "README.md").read_text(encoding="utf-8")
GREEN = (("patch",), ("run", "pytest -q", 0), ("text", "Done."))
RED = (("run", "pytest -q", 1), ("patch",), ("text", "All tests pass."))
BASH, SH, JENKINS = ("bash", "--noprofile", "--norc", "-eo", "pipefail"), ("sh", "-e"), ("sh", "-xe")


def block_of(text, beginning):
    """Return the block of a page that begins with these words, without its indentation."""
    start = text.index(beginning)
    return re.split(r"\n\n\S|\n```", text[start:])[0]


def list_steps(block, key):
    """Return the shell lines behind a key such as `run`, or those of a list; what installs the program is left out."""
    found = re.findall(rf"(?m)^ *- {key}: (.+)$" if key else r"(?m)^ +- ([a-z]+ .+)$", block)
    return [line for line in found if not line.startswith("pipx ")]


def list_jenkins():
    """Return the shell lines of the pipeline of Jenkins; the one that installs the program is left out."""
    install, *others = re.findall(r"(?m)^  sh '(.+)'$", MANUAL)
    assert install == 'pipx install "$SCOPES"'
    return others


STEPS = {
    "GitHub, README": (BASH, list_steps(block_of(README, "on: pull_request"), "run"), "s.sarif"),
    "GitHub, manual": (BASH, list_steps(block_of(MANUAL, "  on: pull_request"), "run"), "s.sarif"),
    "composite action": (BASH, list_steps(block_of(MANUAL, "  name: scopes check"), "run"), "scopes.sarif"),
    "GitLab": (SH, list_steps(block_of(MANUAL, "  agent:\n    variables:"), ""), "q.json"),
    "Jenkins": (JENKINS, list_jenkins(), "j.xml"),
}


@pytest.fixture
def job(tmp_path):
    """Return a function that makes a job whose agent does these steps: its directory and its environment."""
    repository, programs, home = tmp_path / "work", tmp_path / "bin", tmp_path / "home"
    for folder in (repository, programs, home / ".codex" / "sessions"):
        folder.mkdir(parents=True)
    git = ["git", "-C", repository, "-c", "user.name=c", "-c", "user.email=c@x"]
    for words in (["init", "-q"], ["commit", "-qm", "base", "--allow-empty"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run([*git, "update-ref", "refs/remotes/origin/main", "HEAD"], check=True)
    client = f"{sys.executable} -I -S {ROOT}/tests/support/fork_client.py {tmp_path}/forks"

    def make(*steps):
        day = time.strftime("%Y-%m-%dT%H", time.gmtime())
        rollout = codex_rollout(*steps).replace("2026-04-11T10", day).replace(CWD, str(repository))
        (tmp_path / "rollout").write_text(rollout)
        (tmp_path / "stream").write_text(codex_stream(*steps).replace(CWD, str(repository)))
        sessions = home / ".codex" / "sessions"
        scripts = {
            "scopes": f'exec {client} "$@"',
            "codex": f'cat "{tmp_path}/stream"; cp "{tmp_path}/rollout" "{sessions}/rollout-1.jsonl"; exit 1',
        }
        for name, line in scripts.items():
            (programs / name).write_text(f"#!/bin/sh\n{line}\n")
            (programs / name).chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        return repository, environment(HOME=str(home), PATH=path, RUNNER_TEMP=str(repository))

    with fork_server.listen(tmp_path / "forks", "from scopes.cli.main import main; main()"):
        yield make


def run_lines(shell, lines, directory, env):
    """Run each line in a shell of its own until one fails; return the last exit code and all output."""
    output = ""
    for line in lines:
        command = [*shell, "-c", line]
        done = subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, timeout=60, check=False)
        output += done.stdout + done.stderr
        if done.returncode:
            return done.returncode, output
    return 0, output


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(("steps", "code"), [(GREEN, 0), (RED, 1)], ids=["green", "red"])
def test_a_job_is_green_or_red_and_leaves_its_report(job, name, steps, code):
    shell, lines, report = STEPS[name]
    directory, env = job(*steps)
    if name in {"composite action", "Jenkins"}:  # the agent ran in a step before
        assert run_lines(BASH, ["codex > agent.jsonl || true"], directory, env)[0] == 0
    if "GitHub" in name or name == "composite action":
        env |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(directory / "summary.md")}
        env |= {"PATHS": f"agent.jsonl {env['HOME']}/.codex/sessions"}
    assert lines
    found, output = run_lines(shell, lines, directory, env)
    assert found == code, output
    assert (directory / report).stat().st_size
    assert ("order/tests-passed" in output) is bool(code)
    if "GITHUB_ACTIONS" in env:
        assert ("::error " in output) is bool(code)
        assert (directory / "summary.md").read_text().startswith(f"## scopes check {'failed' if code else 'passed'}\n")


@pytest.mark.parametrize(("steps", "code"), [(GREEN, 0), (RED, 1), ((), 1)], ids=["green", "red", "no run"])
def test_the_hook_of_pre_commit_checks_the_runs_of_this_project(job, steps, code):
    """With pre-commit itself where it is installed, else its entry."""
    directory, env = job(*steps)
    if steps:
        run_lines(BASH, ["codex > agent.jsonl || true"], directory, env)
    block = block_of(MANUAL, "  repos:")
    if shutil.which("pre-commit"):
        text = "\n".join(line[2:] for line in block.splitlines())
        (directory / ".pre-commit-config.yaml").write_text(text + "\n")
        subprocess.run(["git", "-C", directory, "add", ".pre-commit-config.yaml"], check=True)
        found, output = run_lines(BASH, ["pre-commit run --all-files"], directory, env)
    else:
        found, output = run_lines(SH, [re.search(r"entry: (.+)", block)[1]], directory, env)
    assert found == code, output


def test_the_report_of_gitlab_and_that_of_junit_are_of_one_check(job):
    directory, env = job(*RED)
    run_lines(*STEPS["GitLab"][:2], directory, env)
    names = [each["check_name"] for each in json.loads((directory / "q.json").read_text())]
    assert "order/tests-passed" in names
    assert 'name="order/tests-passed"' in (directory / "j.xml").read_text()


def test_the_hook_of_pre_commit_does_not_read_a_policy_that_the_agent_wrote(job):
    directory, env = job(*RED)
    run_lines(BASH, ["codex > agent.jsonl || true", "echo \"fail_on = 'none'\" > scopes-check.toml"], directory, env)
    entry = re.search(r"entry: (.+)", block_of(MANUAL, "  repos:"))[1]
    assert run_lines(SH, [entry], directory, env)[0] == 1
    assert run_lines(SH, [entry.replace(" --rules origin/main:", "")], directory, env)[0] == 0


@pytest.mark.parametrize("page", [README, MANUAL], ids=["README", "manual"])
def test_every_variable_of_a_job_is_set_in_it_and_scopes_is_installed_before_the_agent_runs(page):
    """That of Jenkins is set by a block that the page names; the input of the action is one of its own."""
    jobs = [block_of(page, start) for start in ("on: pull_request", "  agent:\n    variables:") if start in page]
    assert jobs
    for job_text in jobs:
        assert re.search(r"SCOPES: \"?git\+https://", job_text)
        assert job_text.index('pipx install "$SCOPES"') < job_text.index("codex exec") < job_text.index("scopes check")


def test_a_job_without_its_base_uploads_no_report_and_shows_the_reason(job):
    """Its upload step runs always: it needs the file, or the job fails twice."""
    directory, env = job(*GREEN)
    env |= {"GITHUB_ACTIONS": "true", "GITHUB_BASE_REF": "gone", "GITHUB_STEP_SUMMARY": str(directory / "summary.md")}
    shell, lines, report = STEPS["GitHub, README"]
    found, output = run_lines(shell, lines, directory, env)
    assert (found, (directory / report).exists()) == (2, False)
    assert "::error title=scopes check::origin/gone" in output
    for page in (README, MANUAL):
        for condition, name in re.findall(r"if: (.+?)(?:  #.*)?\n +with: \{sarif_file: (.+)\}", page):
            assert condition == f"always() && hashFiles('{name}') != ''"


def test_the_red_run_of_the_readme_is_what_the_program_prints(job):
    late = (("run", "python3 -m unittest -q test_app.py", 1), ("patch",), ("text", "All tests pass."))
    directory, env = job(*late)
    run_lines(BASH, ["codex > agent.jsonl || true"], directory, env)
    block = block_of(README, "$ scopes check agent.jsonl ~/.codex/sessions")
    command, _, shown = block.partition("\n")
    kept = Path(shown.partition("\n")[0].replace("/home/runner", env["HOME"]))
    kept.parent.mkdir(parents=True)
    (Path(env["HOME"]) / ".codex" / "sessions" / "rollout-1.jsonl").rename(kept)
    found, output = run_lines(BASH, [command.removeprefix("$ ")], directory, env)
    assert found == 1
    assert output.replace(env["HOME"], "/home/runner").rstrip("\n") == shown


@pytest.mark.parametrize(
    ("agent", "event"), [("claude-code", "PreToolUse"), ("codex", "PreToolUse"), ("gemini", "BeforeTool")]
)
@pytest.mark.parametrize("installed", [True, False])
def test_the_hook_of_the_manual_blocks_a_call_also_if_scopes_is_not_installed(job, agent, event, installed):
    """Agents let a call run if the command of a hook is not found; only the exit code 2 blocks it."""
    (command,) = re.findall(rf'"command": "(scopes check --hook {agent}.*?)"', MANUAL)
    folder, environ = job(GREEN)
    tool = "run_shell_command" if agent == "gemini" else "Bash"
    call = {"cwd": str(folder), "hook_event_name": event, "tool_name": tool, "tool_input": {"command": "sudo make"}}
    path = environ["PATH"] if installed else "/nonexistent"
    shell = [shutil.which("sh"), "-c", command]
    done = subprocess.run(
        shell,
        cwd=folder,
        env=environ | {"PATH": path},
        input=json.dumps(call),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "deny" in done.stdout) == ((0, True) if installed else (2, False))
