"""Conversations from the command line alone, as a script would have them."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys

from scopes.cli.main import main
from scopes.cli.table import TABLE
from tests.cli.running import PRODUCT, scopes


class Talk:
    """One conversation in a store of its own: main and fix, which begin at the same message."""

    def __init__(self, path):
        self.store = str(path / "store.git")
        self.id = self.run("conv", "new", "--json")["id"]

    def process(self, *words, **keywords):
        """Run scopes on the store in a process of its own and return that."""
        return scopes("--store", self.store, *words, table=PRODUCT, **keywords)

    def within(self, *words, given=""):
        """Run scopes on the store in this process, which starts in no time, and return what a process would."""
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
        """Run scopes, expect an exit code, and return what it printed: with --json a document, or a list of them."""
        done = self.within(*words, given=given)
        assert done.returncode == code, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()] if "--json" in words else done.stdout
        return lines[0] if len(lines) == 1 and isinstance(lines, list) else lines

    def refused(self, *words, code):
        """Run scopes, expect a refusal, and return its error object."""
        done = self.within(*words, "--json")
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        return json.loads(done.stderr)["error"]

    def say(self, branch, *words, author="carol"):
        """Append a message and return its id."""
        return self.run("conv", "append", self.id, "--branch", branch, "--as", author, *words, "--json")["id"]

    def part(self, text="How shall we do it?"):
        """Say something on main and begin the branch fix there; return the message's id."""
        first = self.say("main", text)
        self.run("conv", "branch", self.id, "fix", "--no-switch", "--json")
        return first

    def state(self, branch, kind, document, author):
        """Say a typed message on a branch."""
        return self.say(branch, "--kind", kind, "--data", json.dumps(document), f"my {kind}", author=author)

    def both_say(self, kind, ours, theirs):
        """Let alice state a document on main and bob another one on fix."""
        self.state("main", kind, ours, "alice")
        self.state("fix", kind, theirs, "bob")

    def merge(self, *words, code=0):
        """Merge fix into main."""
        return self.run("conv", "merge", self.id, "--source", "fix", "--target", "main", *words, "--json", code=code)

    def listed(self, *words):
        """Return the conflicts that are listed."""
        return self.run("conflicts", "list", self.id, *words, "--json")["conflicts"]

    def resolve(self, conflict, *words, code=0):
        """Resolve a conflict."""
        return self.run("conflicts", "resolve", self.id, conflict["id"], *words, "--json", code=code)

    def finish(self, code=0):
        """Continue the merge."""
        return self.run("conv", "merge", self.id, "--continue", "--json", code=code)

    def branches(self):
        """Return the branches by name."""
        return {each["name"]: each for each in self.run("conv", "branch", self.id, "--json")["branches"]}

    def texts(self, branch="main"):
        """Return what was said on a branch, oldest first."""
        lines = self.run("conv", "log", f"{self.id}/{branch}", "--json")
        return [line["text"] for line in reversed(lines if isinstance(lines, list) else [lines])]
