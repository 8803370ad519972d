"""The workspace of a benchmark run: a temporary directory, an environment without the user's settings, and the stores."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.benchmarks.stores import make_conversations

ROOT = Path(__file__).parent.parent.parent


class Workspace:
    """The workspace of one run; `quick` keeps the amounts small, to check that everything works."""

    def __init__(self, directory: str, *, quick: bool, megabytes: int | None = None, messages: int = 0) -> None:
        self.directory = directory
        self.quick = quick
        self.megabytes = megabytes or (10 if quick else 400)
        self.messages = messages
        self.notes: list[str] = []
        self._count = 0
        home = self.path("home")
        os.mkdir(home)
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": home, "LC_ALL": "C.UTF-8", "TERM": "dumb",
            "PYTHONPATH": str(ROOT), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip
        self.store_of = cache(self._store_of)

    def path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def new_path(self, name: str) -> str:
        """Return an unused path."""
        self._count += 1
        return self.path(f"{name}-{self._count}")

    def copy(self, store: str) -> str:
        """Copy a store for a repetition that writes into it."""
        target = self.new_path("copy")
        subprocess.run(["cp", "-r", store, target], check=True)
        self.sync()
        return target

    def sync(self) -> None:
        """Write everything to disk, so that no later fsync has to."""
        if not self.quick:
            os.sync()

    def amount(self, number: int) -> int:
        """Scale an amount to the run."""
        return max(2, number // 50) if self.quick else number

    def repetitions(self, number: int) -> int:
        return 1 if self.quick else number

    def _store_of(self, conversations: int, messages: int, mean_text_bytes: int = 2000) -> str:
        """Return a packed store with that many conversations of that many messages; cached."""
        name = f"store-{conversations}-{messages}-{mean_text_bytes}.git"
        if conversations == 1:
            messages = self.amount(messages)
        else:
            conversations = self.amount(conversations)
        store = make_conversations(self.path(name), conversations, messages, mean_text_bytes)
        self.sync()
        return store

    def using(self, store: str) -> dict[str, str]:
        return {**self.environment, "SCOPES_STORE": store}

    def git(self, store: str, *words: str) -> list[str]:
        return ["git", "-c", "core.fsync=all", f"--git-dir={store}", *words]


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]
