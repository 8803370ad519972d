"""The commands that write, each with a second one of its kind, and the stores that they run on."""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass

from tests.faults.sandbox import Sandbox

LINES = "".join(f'{{"author": "carol", "text": "line {number}"}}\n' for number in (1, 2, 3))
LARGE = random.Random(1).randbytes(40_000).hex()  # its object is not written by libgit2
DECISION = '{"topic": "db", "decision": "SQLite"}'
DECISION_WITH_FILE = f'{{"decision": {DECISION}, "files": [{{"op": "edit", "path": "src/a.py"}}]}}'
LINES_FILE, MANY_LINES_FILE = (
    os.path.join(os.path.dirname(os.path.abspath(__file__)), name) for name in ("lines.jsonl", "many_lines.jsonl")
)
FULL, UNDONE, LOOSE, PACKED, NO_STORE = "full", "undone", "loose", "packed", "none"
TAKEN_BACK, IMPORTED = "taken back", "imported"
DIVERGED, WAITING, RESOLVED, MERGED = "diverged", "waiting", "resolved", "merged"
BOTH = ("conv-001", "conv-002")
CONFLICTED = 3
TRANSCRIPT, HISTORY, CONTINUED = (
    os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    for name in ("transcript.jsonl", "history.jsonl", "continued.jsonl")
)
EXPIRE = ("gc", "--expire", "2026-06-01", "--yes")


@dataclass(frozen=True)
class Verb:
    """A command; `again` is one of the same kind that must work afterwards, whether or not the first one happened.

    `steps` are the inputs that give each intermediate state, for a command that records several things in turn;
    `through` is a command that leads to a state on the way in which nothing is recorded yet. Of an `idempotent` one
    nobody needs to know whether it happened. `code` is what it ends with when all went well.
    """

    name: str
    arguments: tuple[str, ...]
    again: tuple[str, ...]
    template: str = FULL
    steps: tuple[str, ...] = ()
    through: tuple[str, ...] = ()
    starts_git: bool = False
    idempotent: bool = False
    code: int = 0

    @property
    def stdin(self) -> str:
        """Return the standard input of the whole command."""
        return self.steps[-1] if self.steps else ""


def _conversation(name: str, words: str, again: str, template: str = FULL, code: int = 0) -> Verb:
    return Verb(name, ("conv", *words.split()), ("conv", *again.split()), template, code=code)


def _on_both(name: str, words: str, template: str, code: int = 0) -> Verb:
    """Make a verb whose second command does the same to the other conversation."""
    return _conversation(name, words.format("conv-001"), words.format("conv-002"), template, code)


VERBS = (
    _conversation("new", "new Login --participant planner", "new Second"),
    _conversation("append", "append conv-001 --as carol first", "append conv-001 --as carol second"),
    _conversation("append-large", f"append conv-001 --as carol {LARGE}", "append conv-001 --as carol second"),
    Verb(
        "append-decision",
        (
            "conv",
            "append",
            "conv-001/main",
            "--as",
            "lead",
            "--kind",
            "decision",
            "--data",
            DECISION_WITH_FILE,
        ),
        ("conv", "append", "conv-001/main", "--as", "lead", "--kind", "decision", "--data", DECISION, "because"),
    ),
    Verb(
        "append-jsonl",
        ("conv", "append", "conv-001", "--jsonl", "-"),
        ("conv", "append", "conv-001", "afterwards"),
        steps=tuple("".join(LINES.splitlines(keepends=True)[:count]) for count in (1, 2, 3)),
    ),
    Verb(
        "append-atomic",
        ("conv", "append", "conv-001", "--jsonl", LINES_FILE),
        ("conv", "append", "conv-001", "afterwards"),
    ),
    Verb(
        "append-atomic-packed",
        ("conv", "append", "conv-001", "--jsonl", MANY_LINES_FILE),
        ("conv", "append", "conv-001", "afterwards"),
    ),
    _conversation("branch", "branch conv-001 try --from main~1 --agent planner", "branch conv-001 other --from main~2"),
    _conversation("switch", "switch conv-001 main", "switch conv-002 main"),
    _conversation("rename-title", "rename conv-001 --title Other", "rename conv-001 --title Third"),
    _conversation(
        "rename-branch", "rename conv-001 --branch idea idea/deep", "rename conv-002 --branch idea idea/deep"
    ),
    _conversation("rename-conversation", "rename conv-001 login-bug", "rename conv-002 logout-bug"),
    _conversation("tag", "tag conv-001 good main~1", "tag conv-001 better main"),
    _conversation("tag-delete", "tag conv-001 v1 --delete", "tag conv-002 v1 --delete"),
    _conversation("abandon", "abandon conv-001 spare", "abandon conv-002 spare"),
    _conversation("delete-branch", "delete-branch conv-001 spare", "delete-branch conv-002 spare"),
    _conversation("delete", "delete conv-001", "delete conv-002"),
    _conversation("rewind", "rewind conv-001/main -n 2", "rewind conv-001/main -n 1"),
    _conversation("amend", "amend conv-001 main~1 better --branch main", "amend conv-001 main~2 best --branch main"),
    _conversation("retract", "retract conv-001 main~2 --branch main", "retract conv-001 main~4 --branch main"),
    _conversation("undo", "undo", "undo"),
    _conversation("redo", "redo", "redo", UNDONE),
    _conversation("undo-append", "undo", "undo", LOOSE),
    _conversation("undo-append-packed", "undo conv-001", "undo", PACKED),
    _conversation("redo-append", "redo", "redo", TAKEN_BACK),
    _conversation("import", "import --sample", "import --sample"),
    _on_both("merge", "merge {} --source talk --target main", DIVERGED),
    _on_both("merge-forward", "merge {} --source main --target behind", DIVERGED),
    _on_both("merge-conflict", "merge {} --source fix --target main", DIVERGED, CONFLICTED),
    _on_both("rebase", "rebase {} --branch talk --onto main", DIVERGED),
    _on_both("rebase-conflict", "rebase {} --branch fix --onto main", DIVERGED, CONFLICTED),
    _on_both("cherry-pick", "cherry-pick {} talk~1 talk --branch main", DIVERGED),
    _on_both("resolve", "conflicts resolve {} 1 --take source", WAITING),
    _on_both("merge-abort", "merge {} --abort", WAITING),
    _on_both("merge-continue", "merge {} --continue", RESOLVED),
    _conversation("undo-merge", "undo", "undo", MERGED),
    Verb("import-transcript", ("conv", "import", TRANSCRIPT), ("conv", "import", TRANSCRIPT)),
    Verb("import-joined", ("conv", "import", CONTINUED), ("conv", "import", CONTINUED), IMPORTED),
    Verb("config-set", ("config", "scopes.author", "carol"), ("config", "scopes.author", "dave")),
    Verb("first-gc", ("gc",), ("gc",), LOOSE, starts_git=True),
    Verb("gc", ("gc",), ("gc",), PACKED, starts_git=True),
    Verb("gc-expire", EXPIRE, EXPIRE, PACKED, starts_git=True),
    Verb("init", ("init",), ("init",), NO_STORE, idempotent=True),
    Verb("first-new", ("conv", "new", "First"), ("conv", "new"), NO_STORE, through=("init",)),
    Verb("first-import", ("conv", "import", "--sample"), ("conv", "import", "--sample"), NO_STORE, through=("init",)),
)


def build_templates(sandbox: Sandbox, directory: str) -> dict[str, str | None]:
    """Create the stores that the commands run on, with the command line; return their paths by name."""
    builder = _Builder(sandbox, directory)
    builder.build_small()
    builder.build_full()
    builder.build_merging()
    builder.build_imported()
    return {**builder.templates, NO_STORE: None}


class _Builder:
    """Runs the commands that create the templates, each with its own seed."""

    def __init__(self, sandbox: Sandbox, directory: str) -> None:
        self._sandbox = sandbox
        self._directory = directory
        self._seeds = iter(range(1, 1000))
        self.templates: dict[str, str | None] = {}

    def build_small(self) -> None:
        """Make two stores for gc: one never packed, one packed with more loose objects."""
        self._sandbox.restore(None)
        self._begin_with_trash()
        self._run("conv", "new", "Kept")
        self._run("conv", "append", "conv-001", "kept")
        self._save(LOOSE)
        self._run("conv", "append", "conv-001", "one")
        for _ in range(2):
            self._run("undo")
        self._save(TAKEN_BACK)
        for _ in range(2):
            self._run("redo")
        self._run("undo")
        self._run("gc")
        self._run("conv", "switch", "-c", "conv-001", "idea")
        self._run("conv", "append", "conv-001", "loose on top")
        self._save(PACKED)

    def build_full(self) -> None:
        """Make a half packed store with two equal conversations, and the same after two undos."""
        self._sandbox.restore(None)
        self._begin_with_trash()
        for conversation in BOTH:
            self._begin(conversation)
        self._run("gc")
        for conversation in BOTH:
            self._run("conv", "switch", "-c", conversation, "idea", "main~3")
            self._run(
                "conv",
                "append",
                conversation,
                "--as",
                "coder",
                "an idea",
                "--data",
                '{"files": [{"op": "edit", "path": "src/a.py"}]}',
            )
            self._run("conv", "append", f"{conversation}/main", "--as", "planner", "loose on top")
        for conversation in BOTH:
            self._run("conv", "switch", "-c", conversation, "fresh", "main~1")
            self._run("conv", "switch", conversation, "idea")
        self._save(FULL)
        self._run("undo")
        self._run("undo")
        self._save(UNDONE)

    def build_merging(self) -> None:
        """Make a store with two diverged conversations, and stores at each stage of a merge in both."""
        self._sandbox.restore(None)
        for conversation in BOTH:
            self._diverge(conversation)
        self._save(DIVERGED)
        for conversation in BOTH:
            self._run("conv", "merge", conversation, "--source", "fix", "--target", "main", code=CONFLICTED)
        self._save(WAITING)
        for conversation in BOTH:
            self._run("conv", "conflicts", "resolve", conversation, "1", "--take", "source")
        self._save(RESOLVED)
        for conversation in BOTH:
            self._run("conv", "merge", conversation, "--continue")
        self._save(MERGED)

    def build_imported(self) -> None:
        """Make a store with an imported conversation, which a copy of its session joins."""
        self._sandbox.restore(None)
        self._run("conv", "import", HISTORY)
        self._save(IMPORTED)

    def _diverge(self, conversation: str) -> None:
        self._run("conv", "new", "Login")
        self._run("conv", "append", conversation, "--as", "planner", "where it began")
        for name in ("fix", "talk", "behind"):
            self._run("conv", "branch", conversation, "--name", name)
        for branch, decision in (("main", "SQLite"), ("fix", "Postgres")):
            data = json.dumps({"topic": "db", "decision": decision})
            where = f"{conversation}/{branch}"
            self._run("conv", "append", where, "--as", "lead", "--kind", "decision", "--data", data, "because")
        for words in ("one thing", "another"):
            self._run(
                "conv",
                "append",
                f"{conversation}/talk",
                "--as",
                "coder",
                words,
                "--data",
                '{"files": [{"op": "edit", "path": "src/a.py"}]}',
            )

    def _begin(self, conversation: str) -> None:
        self._run("conv", "new", "Login", "--participant", "planner")
        for number in range(6):
            self._run("conv", "append", conversation, "--as", "planner", f"message {number} of {conversation}")
        self._run("conv", "branch", conversation, "spare", "--from", "main~1")
        self._run("conv", "tag", conversation, "v1", "main~2")

    def _begin_with_trash(self) -> None:
        self._run("conv", "new", "Old", "--id", "old-001")
        self._run("conv", "append", "old-001", "thrown away later")
        self._run("conv", "delete", "old-001")

    def _run(self, *arguments: str, code: int = 0) -> None:
        outcome = self._sandbox.run(list(arguments), seed=next(self._seeds))
        assert outcome.code == code, (arguments, outcome)

    def _save(self, name: str) -> None:
        self.templates[name] = os.path.join(self._directory, name)
        self._sandbox.save(self.templates[name])
        _give_machine_id(self.templates[name])


def _give_machine_id(store: str) -> None:
    """Give a template the id of its machine, if it has none: a command that makes it leaves it behind when it fails."""
    with open(os.path.join(store, "config"), "r+", encoding="utf-8") as file:
        if "machineid" not in file.read().lower():
            file.write("[scopes]\n\tmachineId = 0123456789ab\n")
