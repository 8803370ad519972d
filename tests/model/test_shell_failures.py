"""Whether a command that failed may have written files before; a real shell is asked."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.model.message import Part
from scopes.model.shell_failures import may_write_when_failing
from scopes.model.shell_writers import MAX_COMMAND

WRITES = [  # these fail, and have changed a file before
    "sed -i s/one/two/ a && false",
    "sed -i s/one/two/ a; false",
    "rm a missing",
    "rm -r d missing",
    "mv a missing d",
    "cp a missing/x || touch n; false",
    "echo x > n; exit 1",
    "echo x > n | false",
    "false > n",
    "grep missing a > n",
    "(touch n; exit 3)",
    "if touch n; then false; fi",
    "for i in n m; do touch $i; done; false",
    "touch n missing/x",
    "mkdir d",  # fails, and nothing is written; another program may be one that writes
    "python3 -c \"open('n', 'w'); raise SystemExit(2)\"",
    "tee n < missing",
    "sh -c 'touch n; exit 1'",
    "cd d && touch n && false",
    "! touch n",
    "git rm a missing",
    "rm *.txt missing",
    "tee missing/x n < a",
    "F=$(touch n; false)",
    "F=`touch n; false`",
    "((n = $(touch n; echo 0)))",
    "rm missing <<E\n$(touch n)\nE",
    "rm missing <<< $(touch n)",
]
PIECES = [*"aF=1 $'\"`;&|<>(){}[]#*!\n\\", "cd ", "rm ", "git ", "sed ", "((", "))", "$(", "<<E\n", "\nE\n", "[[ "]
WRITES_NOTHING = [
    "rm missing",
    "rm -f d",
    "unlink missing",
    "rmdir d",
    "mv missing n",
    "mv a missing/x",
    "cp missing n",
    "cp a missing/x",
    "sed -i s/one/two/ missing",
    "sed -i 's/one/two' a",
    "cd d && rm missing",
    "git rm missing",
    "git mv missing n",
    "((n=0))",
    "cd d && ((n=0))",
    "SHELLOPTS=x",
    "cd d && A=1 SHELLOPTS=x",
    "SHELLOPTS=x <<< y",
    "SHELLOPTS=$(rm missing)",
    "A=1; SHELLOPTS=x",
    "rm missing <<E\none\nE",
]


def call(command, name="Bash"):
    return Part("tool_call", {"name": name, "call_id": "c1", "input": {"command": command}})


def snapshot(directory):
    found = {}
    for folder, _, files in os.walk(directory):
        if ".git" in folder:
            continue
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = file.read()
    return found


@pytest.fixture
def run(tmp_path):
    """Run a command in a directory with a file, a directory and a repository; return its exit code and the changes."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    workspace = tmp_path / "work"
    (workspace / "d").mkdir(parents=True)
    for name in ("a", "b", "d/x", "one.txt"):
        (workspace / name).write_text("one\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=workspace, env=environment, check=True)
    before = snapshot(workspace)

    def run_command(command):
        done = subprocess.run(
            ["bash", "-c", command], cwd=workspace, env=environment, check=False, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=20,
        )  # fmt: skip
        return done.returncode, snapshot(workspace) != before

    return run_command


@pytest.mark.parametrize("command", WRITES)
def test_a_command_that_writes_before_it_fails_may_have_written(run, command):
    code, changed = run(command)
    assert (code != 0, may_write_when_failing(call(command))) == (True, True)
    assert changed or command in {"mkdir d", "tee n < missing", "git rm a missing"}


@pytest.mark.parametrize("command", WRITES_NOTHING)
def test_a_command_that_fails_at_once_has_written_nothing(run, command):
    code, changed = run(command)
    assert (code != 0, changed) == (True, False)
    assert not may_write_when_failing(call(command))


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_command_line_has_an_answer(command):
    assert may_write_when_failing(call(command)) in {True, False}


@pytest.mark.parametrize("command", ["F=f.py", "FOO=1", "cd src && A=1", "A=1 B=2", "((x=1))", "(A=1)", "<<< x", "# x"])
def test_an_assignment_has_no_program_and_writes_nothing(command):
    assert not may_write_when_failing(call(command))


@pytest.mark.parametrize("command", ["echo 'x", "echo $(x", "((", "x=(a"])
def test_a_command_that_cannot_be_read_may_have_written(command):
    assert may_write_when_failing(call(command))


def test_a_command_that_is_too_long_may_have_written():
    assert may_write_when_failing(call("rm missing " + "x" * MAX_COMMAND))


def test_a_call_of_another_tool_and_no_call_have_written_nothing():
    assert not may_write_when_failing(None)
    assert not may_write_when_failing(Part("tool_call", {"name": "Edit", "input": {"file_path": "a"}}))
