"""Create and change conversations through the command line only, as a script does."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys

from scopes.cli.main import main
from scopes.cli.table import TABLE
from tests.cli.running import PRODUCT, scopes


class Conversation:
    """One conversation in a store of its own, with the branches main and fix, which fork at the same message."""

    def __init__(self, path):
        self.store = str(path / "store.git")
        self.id = self.run("conv", "new", "--json")["id"]

    def run_process(self, *words, **keywords):
        """Run scopes on the store in a new process and return the finished process."""
        return scopes("--store", self.store, *words, table=PRODUCT, **keywords)

    def run_main(self, *words, given=""):
        """Run scopes on the store in this process, which is faster, and return the result as a finished process."""
        streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (given.encode(), b"", b"")]
        before, interrupt = (sys.stdin, sys.stdout, sys.stderr), signal.getsignal(signal.SIGINT)
        sys.stdin, sys.stdout, sys.stderr = streams
        try:
            code = main(["--store", self.store, "-c", "scopes.durability=fast", *words], TABLE)
        finally:
            sys.stdin, sys.stdout, sys.stderr = before
            signal.signal(signal.SIGINT, interrupt)
        for stream in streams[1:]:
            stream.flush()
        output, errors = (stream.buffer.getvalue().decode() for stream in streams[1:])
        return subprocess.CompletedProcess(words, code, output, errors)

    def run(self, *words, code=0, given=""):
        """Run scopes, assert its exit code, and return its output: with --json a document, or a list of documents."""
        done = self.run_main(*words, given=given)
        assert done.returncode == code, done.stderr
        as_json = any(word == "--json" or (word.startswith("--json=") and word != "--json=") for word in words)
        lines = [json.loads(line) for line in done.stdout.splitlines()] if as_json else done.stdout
        return lines[0] if len(lines) == 1 and isinstance(lines, list) else lines

    def run_refused(self, *words, code):
        """Run scopes, assert the exit code of its error, and return the error object."""
        done = self.run_main(*words, "--json")
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        return json.loads(done.stderr)["error"]

    def append(self, branch, *words, author="carol"):
        """Append a message and return its id."""
        return self.run("conv", "append", self.id, "--branch", branch, "--as", author, *words, "--json")["id"]

    def fork(self, text="How shall we do it?"):
        """Append to main and create the branch fix there; return the message's id."""
        first = self.append("main", text)
        self.run("conv", "branch", self.id, "fix", "--json")
        return first

    def append_typed(self, branch, kind, document, author):
        """Append a typed message to a branch and return its id."""
        return self.append(branch, "--kind", kind, "--data", json.dumps(document), f"my {kind}", author=author)

    def append_on_both(self, kind, ours, theirs):
        """Append a typed message by alice to main, and one by bob to fix."""
        self.append_typed("main", kind, ours, "alice")
        self.append_typed("fix", kind, theirs, "bob")

    def merge(self, *words, code=0):
        """Merge fix into main."""
        return self.run("conv", "merge", self.id, "--source", "fix", "--target", "main", *words, "--json", code=code)

    def list_conflicts(self, *words):
        """Return the listed conflicts."""
        return self.run("conflicts", "list", self.id, *words, "--json")["conflicts"]

    def resolve(self, conflict, *words, code=0):
        """Resolve a conflict."""
        return self.run("conflicts", "resolve", self.id, conflict["id"], *words, "--json", code=code)

    def continue_merge(self, code=0):
        """Continue the merge."""
        return self.run("conv", "merge", self.id, "--continue", "--json", code=code)

    def branches(self):
        """Return the branches by name."""
        return {each["name"]: each for each in self.run("conv", "branch", self.id, "--json")["branches"]}

    def texts(self, branch="main"):
        """Return the texts of a branch, oldest first."""
        lines = self.run("conv", "log", f"{self.id}/{branch}", "--json")
        return [line["text"] for line in reversed(lines if isinstance(lines, list) else [lines])]
