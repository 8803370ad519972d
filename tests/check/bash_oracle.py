"""Ask bash which commands a line runs: programs named a to f report their words and their directory."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from scopes.check.shell import parse_commands

PROGRAMS = ("a", "b", "c", "d", "e", "f")
_SCRIPT = r"""
mapfile -d '' -t lines < "$LINES"
for line in "${lines[@]}"; do
  (cd "$WORKSPACE" && eval "$line") < /dev/null > /dev/null 2>&1
  printf 'end\n\0' >> "$LOG"
done
"""
_STUB = """#!/bin/sh
printf '%s\\0' "$PWD" "${0##*/}" "$@" 'command\n' >> "$LOG"
"""


class Bash:
    """What each line of a table runs, as bash did it; all lines run in one process."""

    def __init__(self, directory, lines) -> None:
        program = shutil.which("bash")
        if program is None:
            pytest.skip("there is no bash")
        self.workspace = directory / "work"
        for name in ("work/x/y", "work/z", "bin"):
            (directory / name).mkdir(parents=True)
        for name in PROGRAMS:
            (directory / "bin" / name).write_text(_STUB)
            (directory / "bin" / name).chmod(0o755)
        (directory / "lines").write_bytes(b"".join(line.encode() + b"\0" for line in lines))
        environment = {
            "PATH": f"{directory}/bin:{os.environ['PATH']}", "HOME": "/home/dev", "LC_ALL": "C.UTF-8",
            "LOG": f"{directory}/log", "LINES": f"{directory}/lines", "WORKSPACE": str(self.workspace),
        }  # fmt: skip
        subprocess.run([program, "-c", _SCRIPT], env=environment, check=True, timeout=60)
        self._runs = dict(zip(lines, self._read(directory / "log"), strict=True))

    def commands(self, line):
        """Return directory and words of each program that bash ran, with the workspace as `.`."""
        return self._runs[line]

    def parsed(self, line):
        """Return the same from the reader; None is a word, or a directory, that it does not know."""
        return [
            (self._relative(each.directory), *each.argv)
            for each in parse_commands(line, str(self.workspace))
            if each.program in PROGRAMS
        ]

    def _relative(self, directory):
        return directory and directory.replace(str(self.workspace), ".")

    def _read(self, log):
        runs, commands, words = [], [], []
        for word in log.read_bytes().decode().split("\0")[:-1]:
            if word == "end\n":
                runs.append(commands)
                commands = []
            elif word == "command\n":
                commands.append((self._relative(words[0]), *words[1:]))
                words = []
            else:
                words.append(word)
        return runs
