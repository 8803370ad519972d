"""Merging branches that are 10, 1,000 and 10,000 messages apart, compared with git on the same commits.

Everything is in processor time, with that of the git program, so that other work on the machine counts little. Each
stage of a merge is measured in the state that the stages before it leave. A merge is measured as a command runs it:
without an index, and after a dry run. `git merge-tree` also writes only trees.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from scopes.conversation.merge import MergeConflicted, merge
from scopes.conversation.rebase import cherry_pick, rebase
from scopes.history.messages import plain_message
from scopes.history.metadata import branch_change, write_metadata
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, Oid
from scopes.merge.compare import Divergence, compare_sides, find_disagreements, state_of
from scopes.merge.files import compare_files
from scopes.merge.plan import merge_text, plan_of, write_merge_commit, write_state
from scopes.merge.resolve import Policy
from scopes.model.conversation import BranchEntry
from scopes.model.message import Author, FileTouch, Message, Part
from scopes.store.graph import list_merge_bases, split_histories
from scopes.store.maintenance import pack
from scopes.store.packs import bulk_objects
from scopes.store.refs import meta_ref
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from tests.benchmarks.stores import Determined, write_message, write_refs
from tests.benchmarks.timing import Row, Samples, cpu
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_FILES = 2000
_CONVERSATION = ConversationId("conv-001")
_MAIN = BranchName("main")
_MERGE_TREE = ("merge-tree", "--write-tree")
_MERGE_BASE = ("merge-base", "--all")
_CALLS: tuple[tuple[str, dict[str, str], str], ...] = (
    ("Read", {"file_path": "{path}"}, "def function(value):\n    return value\n"),
    ("Edit", {"file_path": "{path}", "old_string": "value + 1", "new_string": "value + 2"}, "The file was edited."),
    ("Bash", {"command": "python -m pytest -q {path}"}, "tests passed\n"),
    ("Bash", {"command": "ls -l {path}"}, "-rw-r--r-- 1 user user 120 file.py\n"),
    ("Grep", {"pattern": "function", "path": "src"}, "{path}:1: def function(value):\n"),
    ("Bash", {"command": "rm -f build/{path}"}, ""),
)


class Stage(NamedTuple):
    """A part of a merge, the git command on the same tips that it is compared with, and the bound of the ratio."""

    name: str
    against: tuple[str, ...] = _MERGE_TREE
    budget: float | None = None


STAGES = (
    Stage("open and find the merge base of", _MERGE_BASE, 1.5),
    Stage("read the commits of", ("log", "--format=raw")),
    Stage("compare the states of"),
    Stage("compare the claims of"),
    Stage("compare the files of"),
    Stage("write the merge of"),
    Stage("move the refs after a merge of"),
    Stage("merge", _MERGE_TREE, 4.0),
    Stage("merge after a dry run", _MERGE_TREE, 4.0),
    Stage("rebase one onto the other of", ("log", "--format=raw")),
    Stage("cherry-pick the messages of one of", ("log", "--format=raw")),
)


def measure(work: Workspace) -> Iterator[Row]:
    """Yield a row for each stage, distance and kind of messages: with claims about files, and with tool calls."""
    for apart in (10, 1000, 10_000):
        for kind, make in (("edits", _edit), ("tool calls", _call)):
            yield from _measure_apart(work, Fork(work, work.amount(apart), make), kind)


def _measure_apart(work: Workspace, fork: Fork, kind: str) -> Iterator[Row]:
    stages = [stage for stage in STAGES if fork.apart <= 1000 or stage.name.startswith(("rebase", "cherry")) is False]
    commands = list(dict.fromkeys(stage.against for stage in stages))
    ours: dict[str, list[float]] = {stage.name: [] for stage in stages}
    references: dict[tuple[str, ...], list[float]] = {command: [] for command in commands}
    for turn in range(work.repetitions(5) + 1):
        measured = {**fork.run_stages(), **fork.run_all(replays=fork.apart <= 1000)}
        answered = {command: fork.run_git(command) for command in commands}
        if turn:  # the first one only warms the caches
            for name, seconds in measured.items():
                ours[name].append(seconds)
            for command, seconds in answered.items():
                references[command].append(seconds)
    for stage in stages:
        yield Row(
            operation=f"{stage.name} {2 * fork.apart:,} {kind}",
            ours=Samples(tuple(ours[stage.name])),
            reference=Samples(tuple(references[stage.against])),
            against=f"git {' '.join(stage.against)}",
            budget=stage.budget,
        )


class Fork:
    """A packed conversation with two branches of that many messages each, made by `make` from side and number."""

    def __init__(self, work: Workspace, apart: int, make: Callable[[str, int], Message]) -> None:
        self.apart = apart
        self._work = work
        self._store = work.copy(work.store_of(1, 1000))
        self._index = f"{self._store}-index"
        os.mkdir(self._index)
        repository = open_store(self._store)
        repository.caller = repository.caller._replace(index_directory=self._index)
        with Determined(f"fork {apart}"), exclusive_write(repository):
            base = Oid(repository.find_ref("refs/heads/conv-001/main") or "")
            with bulk_objects(repository) as objects:
                self._tips = []
                for side in ("main", "idea"):
                    tip = base
                    for number in range(apart):
                        tip = write_message(objects, tip, make(side, number))
                    self._tips.append(tip)
                meta, fork = meta_ref(_CONVERSATION), BranchEntry(fork=base, parent=_MAIN)
                described = Oid(repository.find_ref(meta) or "")
                described = write_metadata(objects, described, branch_change(BranchName("idea"), fork), "create idea")
            refs = {ref: value for ref, value in repository.list_refs().items() if not ref.startswith("refs/heads/")}
            refs[meta] = described
            heads = zip(("main", "idea"), self._tips, strict=True)
            write_refs(self._store, refs | {f"refs/heads/conv-001/{side}": tip for side, tip in heads})
            pack(repository)
        _, *sides = split_histories(repository, *self._tips)
        self._bodies = "".join(f"{commit.oid}:message.json\n" for side in sides for commit in side).encode()
        self._sources = [commit.trailers["Scopes-Message"] for commit in sides[1]]
        self._base = base

    def run_stages(self) -> dict[str, float]:
        """Run the stages of a merge one after the other in a copy; return what each one takes."""
        store = self._work.copy(self._store)
        target, source = self._tips
        stages = iter(STAGES)
        taken: dict[str, float] = {}

        def time(action: Callable[[], object]) -> object:
            done: list[object] = []
            taken[next(stages).name] = cpu(lambda: done.append(action()))
            return done[0]

        time(lambda: list_merge_bases(self._open_store(store), target, source))
        repository = self._open_store(store)
        with exclusive_write(repository):
            time(lambda: split_histories(repository, target, source))
            bases, own, other = split_histories(repository, target, source)
            base_state = state_of(repository, bases[0])
            time(lambda: compare_sides(repository, (target, source), (own, other), bases, base_state))
            divergence = compare_sides(repository, (target, source), (own, other), bases, base_state)
            time(lambda: find_disagreements(repository, divergence))
            self._run_later_stages(repository, divergence, time)
        return taken

    def _run_later_stages(
        self, repository: Repository, divergence: Divergence, time: Callable[[Callable[[], object]], object]
    ) -> None:
        found = find_disagreements(repository, divergence)
        time(lambda: compare_files(repository, divergence, [each.key for each in found], None))
        tips: list[Oid] = []

        def write() -> None:
            state = write_state(repository, plan_of(repository, divergence, Policy()))
            messages = [commit.trailers["Scopes-Message"] for commit in divergence.source.commits]
            tips.append(
                write_merge_commit(repository, self._tips, state, messages, (), merge_text(self.apart), bytes)[1]
            )

        def move() -> None:
            tx = Transaction(repository, _CONVERSATION)
            tx.move_branch(_MAIN, self._tips[0], tips[0])
            tx.commit("merge", "merge idea into conv-001/main")

        time(write)
        time(move)

    def run_all(self, *, replays: bool) -> dict[str, float]:
        """Run a merge, and with `replays` also a rebase and a cherry-pick, each in a copy."""
        actions: dict[str, Callable[[Repository], object]] = {
            "merge": _merge,
            "merge after a dry run": _merge,
            STAGES[-2].name: lambda store: rebase(store, _CONVERSATION, branch="idea", onto="main"),
            STAGES[-1].name: lambda store: cherry_pick(store, _CONVERSATION, self._sources, branch="main"),
        }
        return {name: self._run(name, action) for name, action in actions.items() if action is _merge or replays}

    def _run(self, name: str, action: Callable[[Repository], object]) -> float:
        """Run an action in a copy, with the index that it is to have: none unless it is said otherwise."""
        kept, copy = self._work.new_path("index"), self._work.copy(self._store)
        if name == "merge after a dry run":
            merge(self._open(copy, kept), _CONVERSATION, "idea", target="main", dry_run=True)
        repository = self._open(copy, kept)
        done: list[object] = []
        seconds = cpu(lambda: done.append(action(repository)))
        assert not isinstance(done[0], MergeConflicted)
        return seconds

    def _open_store(self, store: str) -> Repository:
        """Open a copy as a command does, which knows that the commit graph is one that gc wrote."""
        repository = open_store(store, FULL)
        repository.caller = repository.caller._replace(index_directory=self._index)
        return repository

    def _open(self, store: str, kept: str) -> Repository:
        """Open a copy with an index in a directory."""
        repository = self._open_store(store)
        repository.caller = repository.caller._replace(index_directory=kept)
        return repository

    def run_git(self, words: tuple[str, ...]) -> float:
        """Run a git command on the same tips; `git merge-tree` may report conflicts, since it also merges messages."""
        if words[0] == "cat-file":
            command, given = self._work.git(self._store, *words), self._bodies
        else:
            hidden = [f"^{self._base}"] if words[0] == "log" else []
            command, given = self._work.git(self._store, *words, *self._tips, *hidden), b""
        run = partial(subprocess.run, command, input=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return cpu(lambda: run(check=False))


def _merge(store: Repository) -> object:
    return merge(store, _CONVERSATION, "idea", target="main")


def _edit(side: str, number: int) -> Message:
    """Return a message with a claim about a file; the sides edit different ones."""
    message = plain_message(f"agent-{side}", f"{side} edits once more, for the {number}th time")
    path = f"src/{side}/{number % 40}/{number % _FILES}.py"
    touch = FileTouch(path, "edit", f"sha256:{number:064x}")
    return Message(id=message.id, author=message.author, parts=message.parts, time=message.time, files=(touch,))


def _call(side: str, number: int) -> Message:
    """Return a tool call or its result, by turns, with what agents do: edit, run tests, list and remove files."""
    call_id = f"call-{side}-{number // 2}"
    message = plain_message(f"agent-{side}", f"{side} works")
    name, given, output = _CALLS[number // 2 % len(_CALLS)]
    path = f"src/{side}/{number % 40}.py"
    given = {key: value.format(path=path) for key, value in given.items()}
    if number % 2 == 0:
        part = Part("tool_call", {"call_id": call_id, "name": name, "input": given})
        return replace(message, kind="answer", parts=(*message.parts, part))
    result = Part("tool_result", {"call_id": call_id, "output": output * 40})
    touches = (FileTouch(path, "edit"),) if name == "Edit" else ()
    return replace(message, kind="tool-results", author=Author("tool", "tool"), parts=(result,), files=touches)
