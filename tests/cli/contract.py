"""A store with something for every command that scripts read, and the words of these commands.

The command line makes the store once; every test gets a copy.
"""

from __future__ import annotations

import io
import re
import sys

from scopes.cli.main import main
from scopes.cli.table import TABLE
from tests.cli.conversation import Conversation
from tests.support.snapshot import take_snapshot

CONV = "conv-001"
_RANDOM = re.compile(r"(?<![a-z0-9-])(?:[0-9a-f]{40}|[a-z2-7]{26})(?![a-z0-9-])|\b[0-9a-f]{12}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")

# For each command its words, its exit code, and the key of the rows in its JSON: None if the document is the row, and
# "" if each line is a document.
COMMANDS = {
    "mr list": (("mr", "list", CONV, "--state", "all"), 0, "merge_requests"),
    "mr show": (("mr", "show", CONV, "2"), 0, None),
    "decisions": (("decisions", CONV), 0, "decisions"),
    "decisions --candidates": (("decisions", CONV, "--candidates"), 0, "candidates"),
    "range-diff": (("diff", "--range", CONV, "draft", "final"), 1, "pairs"),
    "conflicts list": (("conflicts", "list", CONV), 0, "conflicts"),
    "conflicts list --all": (("conflicts", "list", CONV, "--all"), 0, "conflicts"),
    "conflicts show": (("conflicts", "show", CONV, "decisions/cache"), 0, None),
    "log with lanes": (("log", f"{CONV}/main"), 0, ""),
    "bisect run": (("bisect", f"{CONV}/main", "--", "sh", "-c", "! grep -q SQLite"), 0, None),
}  # fmt: skip
# The commands that write, each with a golden form too; their words need the store of `make_world`.
WRITES = {
    "mr open": ("mr", "open", CONV, "draft", "-m", "The draft"),
    "mr close": ("mr", "close", CONV, "2", "--reason", "done already"),
    "decisions accept": ("decisions", CONV, "--accept", "CANDIDATE.1", "--topic", "indentation"),
    "decisions dismiss": ("decisions", CONV, "--dismiss", "CANDIDATE.2", "--reason", "a quotation"),
    "decisions withdraw": ("decisions", f"{CONV}/main", "--withdraw", "db", "--reason", "too slow"),
    "conflicts resolve": ("conflicts", "resolve", CONV, "decisions/cache", "--take", "source"),
}
PATHS = {
    "decisions --candidates": ("decisions",),
    "range-diff": ("diff",),
    "bisect run": ("bisect",),
    "decisions accept": ("decisions",),
    "decisions dismiss": ("decisions",),
    "decisions withdraw": ("decisions",),
    "log with lanes": ("log",),
    "conflicts list --all": ("conflicts", "list"),
}


def path_of(name):
    """Return the path of a command in the table."""
    return PATHS.get(name, (*name.split(),))


def make_world(directory, dress=str):
    """Make the store: merge requests in every state, open and ended conflicts, candidates, a compaction and lanes.

    `dress` changes every text that people and agents are free to write.
    """
    world = Conversation(directory)
    world.first = world.fork(dress("How shall we do it?"))
    candidates = dress("We decided to use tabs. We agreed on pytest.")
    world.candidate = world.append("main", candidates, author="alice")
    world.run("summarize", CONV, "--compact", "--json")
    ours, theirs = ({"topic": "db", "decision": dress(word)} for word in ("SQLite", "files"))
    world.append_on_both("decision", ours, theirs)
    _request(world, "fix", dress("Files, not a database"), "-m", dress("It is small."))
    world.merge(code=3)
    world.resolve(world.list_conflicts()[0], "--take", "source", "--reason", dress("measured"))
    world.continue_merge()
    for branch, texts in {
        "draft": ("the same words in both", "one two three four", "only in the draft"),
        "final": ("the same words in both", "one two three five", "only at the end"),
    }.items():
        world.run("conv", "branch", CONV, branch, "--from", world.first, "--json")
        for text in texts:
            world.append(branch, dress(text))
    _request(world, "final", dress("Try this"))
    _request(world, "draft", dress("Not this"), "--target", "final")
    world.run("mr", "close", CONV, "3", "--reason", dress("no"), "--json")
    for branch, decision in (("draft", "redis"), ("final", "none")):
        world.append_typed(branch, "decision", {"topic": "cache", "decision": dress(decision)}, "bob")
    world.run("merge", CONV, "--source", "draft", "--target", "final", "--json", code=3)
    return world


def _request(world, source, title, *words):
    world.run("mr", "open", CONV, "--source", source, "--title", title, *words, "--json")


def copy_world(world, directory):
    """Return a copy of a world whose store is elsewhere; the store of the world is read once."""
    if "snapshot" not in world.__dict__:
        world.snapshot = take_snapshot(world.store)
    copied = object.__new__(Conversation)
    copied.__dict__ |= world.__dict__ | {"store": str(directory / "store.git")}
    world.snapshot.write(copied.store)
    return copied


def words_of(world, words):
    """Return the words of a command with the id of the message that has candidates."""
    return tuple(word.replace("CANDIDATE", world.candidate) for word in words)


def masked(text):
    """Return a text with ids named in the order of their appearance, and times without their value."""
    names = {}
    text = _RANDOM.sub(lambda found: names.setdefault(found[0], f"ID{len(names) + 1}"), text)
    return _TIME.sub("TIME", text)


class Terminal(io.TextIOWrapper):
    """A stream that is a terminal and keeps what is written to it."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", newline="")

    def isatty(self):
        return True

    @property
    def text(self):
        self.flush()
        return self.buffer.getvalue().decode()


def run_on_terminal(world, *words):
    """Run scopes in this process with both outputs on a terminal; return the exit code and the two texts."""
    before, streams = (sys.stdin, sys.stdout, sys.stderr), (Terminal(), Terminal())
    sys.stdin, (sys.stdout, sys.stderr) = io.StringIO(), streams
    try:
        code = main(["--store", world.store, "-c", "scopes.durability=fast", "--no-pager", *words], TABLE)
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    return code, streams[0].text, streams[1].text
