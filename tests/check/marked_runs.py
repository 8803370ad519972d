"""Ask real programs what they run: a program `mark` on the path leaves a file."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from scopes.check.shell import parse_commands

_MARK = '#!/bin/sh\n: > "$MARKED"\n'


def bash(line, home):
    """Run a line in the directory `work` of a home directory."""
    environment = {
        "PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb",
        "MARKED": f"{home}/marked", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "FILTER_BRANCH_SQUELCH_WARNING": "1",
    }  # fmt: skip
    return subprocess.run(
        ["bash", "-c", line], cwd=home / "work", env=environment, check=False, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=30,
    )  # fmt: skip


def prepare(home, setup):
    """Create a home directory with the program `mark` and a directory `work`, in which a line is run."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    (home / "work").mkdir()
    (home / "bin").mkdir()
    (home / "bin" / "mark").write_text(_MARK)
    (home / "bin" / "mark").chmod(0o755)
    (home / ".gitconfig").write_text("[user]\n\tname = a\n\temail = a@b\n[init]\n\tdefaultBranch = main\n")
    made = bash(setup, home)
    assert made.returncode == 0, made.stderr
    return home


def runs_mark(prepared, line, tmp_path):
    """Run a line in a copy of a prepared home directory; return True if `mark` was run."""
    home = tmp_path / "home"
    shutil.copytree(prepared, home, symlinks=True)
    bash(line, home)
    return (home / "marked").exists()


def reads_of(line):
    """Return the programs that the reader finds in a line, and what it cannot read."""
    commands = parse_commands(line, "/w")
    return {each.program for each in commands}, [each.opaque for each in commands if each.opaque]
