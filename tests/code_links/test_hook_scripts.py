"""The scripts of the hooks run in every POSIX shell, wherever scopes and its store are."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from scopes.code_links.agent_environment import VARIABLES
from scopes.code_links.git_hook_scripts import KEPT_SUFFIX, RECORDING_HOOKS, TRAILER, make_script, parse_script

NAMES = (*RECORDING_HOOKS, TRAILER)
SHELLS = [shell for shell in ("sh", "dash", "bash", "busybox", "ksh", "zsh") if shutil.which(shell)]
ODD = ["/usr/bin/python3", "/opt/my 'own' scopes/$(x)/main.py"]


def run(shell, *words, stdin=None):
    start = [shell, "sh"] if shell == "busybox" else [shell]
    return subprocess.run([*start, *words], input=stdin, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_read_by_a_shell(shell, name):
    done = run(shell, "-n", stdin=make_script(name, ODD, "/a store/x's.git"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_recognized_until_somebody_changes_it(name):
    text = make_script(name, ODD, None)
    assert parse_script(text.encode()).is_changed is False
    assert parse_script(text.replace("exit", "exec").encode()).is_changed is True
    assert parse_script((text + "\n").encode()).is_changed is True


@pytest.mark.parametrize(
    "data", [b"", b"#!/bin/sh\n", b"#!/bin/sh\necho x\n", b"\xff\xfe", b"#!/bin/bash\n# scopes hooks"]
)
def test_another_hook_is_not_ours(data):
    assert parse_script(data) is None


@pytest.mark.parametrize("name", NAMES)
def test_outside_of_a_repository_a_script_runs_the_kept_hook_and_does_nothing_else(tmp_path, name, monkeypatch):
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    path = tmp_path / name
    path.write_text(make_script(name, ["/nowhere/scopes"], None))
    kept = tmp_path / f"{name}{KEPT_SUFFIX}"
    kept.write_text('#!/bin/sh\necho "kept $1"\nexit 7\n')
    kept.chmod(0o755)
    done = subprocess.run(["sh", path, "one"], cwd=tmp_path, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, "kept one\n", "")


def test_a_kept_hook_that_is_not_executable_does_not_run(tmp_path):
    """Git does not run such a hook either."""
    (tmp_path / "post-commit").write_text(make_script("post-commit", ["/nowhere/scopes"], None))
    (tmp_path / f"post-commit{KEPT_SUFFIX}").write_text("#!/bin/sh\nexit 7\n")
    assert run("sh", str(tmp_path / "post-commit")).returncode == 0


def test_the_store_is_named_only_if_it_was_given():
    assert "--store '/a store/s.git'" in make_script("post-commit", ["scopes"], "/a store/s.git")
    assert "--store" not in make_script("post-commit", ["scopes"], None)
