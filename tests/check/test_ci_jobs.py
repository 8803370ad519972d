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

from scopes.cli.man_pages import read_manual
from tests.check.headless_runs import CWD, codex_rollout, codex_stream
from tests.cli.running import ROOT, environment

MANUAL = read_manual(("conversations", "check"))
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


STEPS = {
    "GitHub, README": (BASH, list_steps(block_of(README, "on: pull_request"), "run"), "s.sarif"),
    "GitHub, manual": (BASH, list_steps(block_of(MANUAL, "  on: pull_request"), "run"), "s.sarif"),
    "composite action": (BASH, list_steps(block_of(MANUAL, "  name: scopes check"), "run"), "scopes.sarif"),
    "GitLab": (SH, list_steps(block_of(MANUAL, "  agent:\n    variables:"), ""), "q.json"),
    "Jenkins": (JENKINS, re.findall(r"(?m)^  sh '(.+)'$", MANUAL), "j.xml"),
}


@pytest.fixture
def job(tmp_path):
    """Return a function that makes a job whose agent does these steps: its directory and its environment."""
    repository, programs, home = tmp_path / "work", tmp_path / "bin", tmp_path / "home"
    for folder in (repository, programs, home / ".codex" / "sessions"):
        folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", repository], check=True)

    def make(*steps):
        day = time.strftime("%Y-%m-%dT%H", time.gmtime())
        rollout = codex_rollout(*steps).replace("2026-04-11T10", day).replace(CWD, str(repository))
        (tmp_path / "rollout").write_text(rollout)
        (tmp_path / "stream").write_text(codex_stream(*steps).replace(CWD, str(repository)))
        sessions = home / ".codex" / "sessions"
        scripts = {
            "scopes": f'exec "{sys.executable}" -m scopes "$@"',
            "codex": f'cat "{tmp_path}/stream"; cp "{tmp_path}/rollout" "{sessions}/rollout-1.jsonl"; exit 1',
        }
        for name, line in scripts.items():
            (programs / name).write_text(f"#!/bin/sh\n{line}\n")
            (programs / name).chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        return repository, environment(HOME=str(home), PATH=path, RUNNER_TEMP=str(repository))

    return make


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
