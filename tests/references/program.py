"""Run the program in a child of this process, in a home of its own, with a clock that stands still."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pygit2
from pygit2.enums import ConfigLevel

import scopes
from scopes import clock
from scopes.cli.main import main

NOW_NANOSECONDS = 1_790_000_000_000_000_000  # 2026-09-21, after every transcript
LIMIT_SECONDS = 900


def load_everything() -> None:
    """Import the whole program, so that its children start quickly, without the git settings of whoever runs this."""
    for level in (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.settings.search_path[level] = ""
    for module in pkgutil.walk_packages(scopes.__path__, "scopes."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


class World:
    """A home with one store; use it as a context manager."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="references-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.store = self.home / "store.git"
        self.seconds = 0  # since the program began

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    def run(self, *words: str, cwd: Path | None = None) -> tuple[int, str]:
        """Run `scopes WORDS` and return its exit code and what it printed."""
        out = self.home / "out"
        child = os.fork()
        if child == 0:
            self._become(words, out, cwd or self.home)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), out.read_text(errors="surrogateescape")

    def must(self, *words: str) -> None:
        """Run `scopes WORDS`, which has to succeed, a second after the last one."""
        self.seconds += 1
        code, text = self.run(*words)
        if code:
            raise AssertionError(f"exit code {code}: {' '.join(words)}\n{text}")

    def json(self, *words: str, cwd: Path | None = None) -> Any:
        """Return what `scopes WORDS --json` prints: one document, or the list of its lines; else exit code and text."""
        code, text = self.run(*words, "--json", cwd=cwd)
        try:
            documents = [json.loads(line) for line in text.split("\n") if line]
        except ValueError:
            return {"exit": code, "text": text}
        return documents[0] if len(documents) == 1 else documents or {"exit": code}

    def _become(self, words: tuple[str, ...], out: Path, cwd: Path) -> None:
        """Be the program; this does not return."""
        code = 99
        try:
            for number, path, flags in (
                (0, os.devnull, os.O_RDONLY),
                (1, out, os.O_WRONLY),
                (2, os.devnull, os.O_WRONLY),
            ):
                os.dup2(os.open(path, flags | os.O_CREAT | os.O_TRUNC, 0o600), number)
            os.chdir(cwd)
            kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
            os.environ.clear()
            os.environ.update(
                kept, HOME=str(self.home), TZ="UTC", COLUMNS="80", TERM="dumb", LC_ALL="C.UTF-8",
                SCOPES_STORE=str(self.store), GIT_CONFIG_NOSYSTEM="1",
                PYTHONPATH=str(Path(scopes.__file__).parent.parent),
            )  # fmt: skip
            clock.read_clock = lambda: NOW_NANOSECONDS + self.seconds * 1_000_000_000
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, m) for n, m in ((0, "r"), (1, "w"), (2, "w")))
            code = main(["-c", "scopes.durability=fast", *words])
            sys.stdout.flush()
        finally:
            os._exit(code)


def list_heads(store: Path) -> dict[str, str]:
    """Return the branches of a store, and the first 16 characters of the commit at each tip."""
    words = ["git", f"--git-dir={store}", "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads"]
    lines = subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()
    return {name: oid[:16] for name, oid in (line.split(" ") for line in lines)}
