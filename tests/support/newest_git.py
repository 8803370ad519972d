"""Find the newest git on this machine: new versions read more of a repository and run more programs.

`SCOPES_TEST_GIT` names the program of another git, or a directory that contains one; it is compared with the git on PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import NamedTuple


class Git(NamedTuple):
    """A git program; `directory` comes first on PATH to select it."""

    version: tuple[int, ...]
    directory: str


def _version_of(program: str) -> tuple[int, ...]:
    """Return the version that a program reports; empty if it is no git."""
    try:
        text = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=20).stdout
    except OSError:
        return ()
    found = re.match(r"git version (\d+(?:\.\d+)*)", text)
    return tuple(map(int, found[1].split("."))) if found else ()


def _find_newest_git() -> Git:
    named = os.environ.get("SCOPES_TEST_GIT", "")
    programs = [os.path.join(named, "git") if os.path.isdir(named) else named, shutil.which("git") or ""]
    return max(Git(_version_of(program), os.path.dirname(program)) for program in programs if program)


NEWEST_GIT = _find_newest_git()  # before the tests clear the environment
