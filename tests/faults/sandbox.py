"""The sandbox that a command runs and is broken in: store, environment, fork server and shim."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import NamedTuple

from tests.faults.injection import Injector
from tests.support.large_pages import LARGE_PAGES

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CRASH = "the reader crashed:"
ORPHAN_AFTER_SECONDS = (
    0.02  # nobody else is in the store, so the sweeps need not wait the second that the product waits
)
REAL_PROCESS = (
    "import json, sys; from tests.faults import server; request = json.loads(sys.argv[1]); "
    "server.seed_clock_and_random(request['seed']); server.run_command(request['arguments'])"
)


class Outcome(NamedTuple):
    """How a process ended: exit code (or minus a signal) and what it printed."""

    code: int
    stdout: str
    stderr: str


class Sandbox:
    """A directory with `data/` (all that a command may change) and the streams of the server."""

    def __init__(self, directory: str, library: str | None = None) -> None:
        self.directory = directory
        self.data = os.path.join(directory, "data")
        self.store = os.path.join(self.data, "store.git")
        os.makedirs(self.data)
        os.makedirs(os.path.join(directory, "home"))
        self.injector = None if library is None else Injector(library, directory)
        self.environment = {
            "HOME": os.path.join(directory, "home"),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": ROOT,
            "SCOPES_STORE": self.store,
            "SCOPES_LOCKTIMEOUT": "5",
            "GIT_CONFIG_NOSYSTEM": "1",
            "TZ": "UTC",
        }
        shimmed = {} if self.injector is None else self.injector.environment
        command, pipe = [sys.executable, "-B", "-m", "tests.faults.server"], subprocess.PIPE
        self._server = subprocess.Popen(
            command, env={**self.environment, **LARGE_PAGES, **shimmed}, cwd=ROOT, stdin=pipe, stdout=pipe, text=True
        )

    def close(self) -> None:
        """End the server and remove everything."""
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, arguments: list[str], *, seed: int, stdin: str = "", injected: bool = False) -> Outcome:
        """Run a command in a child of the server; with `injected`, the shim is active in it."""
        return self._ask("command", arguments, seed=seed, stdin=stdin, injected=injected)

    def run_for_real(self, arguments: list[str], *, seed: int, stdin: str = "") -> Outcome:
        """Run the same command in a new interpreter, with the shim loaded."""
        request = json.dumps({"arguments": arguments, "seed": seed})
        environment = {**self.environment, **self.injector.environment}
        with open(self._write_input(stdin) or os.devnull, "rb") as source:
            done = subprocess.run(
                [sys.executable, "-B", "-c", REAL_PROCESS, request],
                env=environment, cwd=self.directory, stdin=source, capture_output=True, text=True, start_new_session=True,
                timeout=60, check=False,
            )  # fmt: skip
        return Outcome(done.returncode, done.stdout, done.stderr)

    def describe(self, store: str | None = None) -> dict:
        """Return what a new process reads from a store, by default ours."""
        outcome = self._ask("describe", [store or self.store], seed=0, stdin="", injected=False)
        if outcome.code != 0:
            return {"refused": f"{CRASH} {outcome.code} {outcome.stderr.strip()[-300:]}", "refs": {}}
        return json.loads(outcome.stdout)

    def find_defects(self) -> list[str] | None:
        """Return the findings of `verify` in our store; None if it failed."""
        outcome = self._ask("verify", [self.store], seed=0, stdin="", injected=False)
        return None if outcome.code else json.loads(outcome.stdout)

    def _ask(self, kind: str, arguments: list[str], *, seed: int, stdin: str, injected: bool) -> Outcome:
        stdout, stderr = (os.path.join(self.directory, name) for name in ("stdout", "stderr"))
        environment = {**self.environment, **(self.injector.environment if injected else {})}
        request = {
            "kind": kind, "arguments": arguments, "seed": seed, "environment": environment, "cwd": self.directory,
            "stdin": self._write_input(stdin), "stdout": stdout, "stderr": stderr, "orphan_after": ORPHAN_AFTER_SECONDS,
        }  # fmt: skip
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        with open(stdout, encoding="utf-8") as out, open(stderr, encoding="utf-8") as err:
            return Outcome(code, out.read(), err.read())

    def _write_input(self, text: str) -> str:
        if not text:
            return ""
        path = os.path.join(self.directory, "stdin")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def restore(self, template: str | None) -> None:
        """Replace the store by a copy of a template; with None remove it, and what tells that there was one."""
        for name in os.listdir(self.data):
            shutil.rmtree(os.path.join(self.data, name))
        if template is None:
            shutil.rmtree(self.environment["HOME"])
            os.makedirs(self.environment["HOME"])
        if template is not None:
            copy_store(template, self.store)

    def save(self, template: str) -> None:
        """Keep the store as a template."""
        shutil.copytree(self.store, template, symlinks=True)

    def fsck(self, store: str | None = None) -> list[str]:
        """Return the errors of `git fsck`; none if there is no store."""
        if not os.path.isdir(store or self.store):
            return []
        done = self.git("fsck", "--strict", "--no-dangling", "--no-progress", store=store)
        lines = (done.stdout + done.stderr).splitlines()
        errors = [
            line
            for line in lines
            if not line.startswith(("notice: HEAD points to an unborn", "notice: No default ref"))
        ]
        return errors or ([f"exit {done.returncode}"] if done.returncode else [])

    def has_ref(self, name: str) -> bool:
        """Return True if a ref exists on disk."""
        return os.path.isdir(self.store) and self.git("show-ref", "--verify", "--quiet", name).returncode == 0

    def git(self, *arguments: str, store: str | None = None) -> subprocess.CompletedProcess:
        """Run git on a store, without the shim."""
        command = ["git", f"--git-dir={store or self.store}", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)

    def leftovers(self) -> list[str]:
        """List temporary and lock files anywhere below the data directory."""
        found = []
        for top, directories, files in os.walk(self.data):
            for name in (*directories, *files):
                path = os.path.relpath(os.path.join(top, name), self.data)
                lock = name.endswith(".lock") and name != "scopes.lock" and "logs" not in path.split(os.sep)
                if lock or name.startswith(("tmp_", "tmp-", ".tmp")) or ".new-" in name:
                    found.append(path)
        return sorted(found)


def copy_store(source: str, target: str, *, share: bool = True) -> None:
    """Copy a store; with `share`, objects become hard links, as they are never changed in place."""
    objects = os.path.join(source, "objects")
    for top, _, files in os.walk(source):
        here = target + top[len(source) :]
        os.mkdir(here, 0o700)
        copy = os.link if share and top.startswith(objects) else shutil.copy2
        for name in files:
            copy(os.path.join(top, name), os.path.join(here, name))
