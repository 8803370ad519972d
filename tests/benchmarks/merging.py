"""Merging branches that are 10, 1,000 and 10,000 messages apart, compared with git on the same commits.

`git merge-tree` also writes only trees, in a new process each time. Ours opens the
store anew each time and reads what it needs.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import partial

from scopes.conversation.merge import merge
from scopes.conversation.merge_outcomes import MergeConflicted
from scopes.history.messages import plain_message
from scopes.ids import Oid
from scopes.merge.attribution import describe
from scopes.merge.detection import find_disagreements
from scopes.merge.divergence import find_divergence
from scopes.merge.plan import merged_state
from scopes.merge.recorded_work import NO_TESTS, RecordedWork
from scopes.model.message import FileTouch, Message
from scopes.store.graph import list_merge_bases
from scopes.store.maintenance import pack
from scopes.store.packs.bulk import bulk_objects
from scopes.store.transactions import exclusive_write
from tests.benchmarks.stores import Determined, write_message, write_refs
from tests.benchmarks.timing import Row, by_turns, wall
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_FILES = 2000


def measure(work: Workspace) -> Iterator[Row]:
    """Yield merge base, state merge, recorded work and the whole merge for each distance."""
    for apart in (10, 1000, 10_000):
        yield from _measure_apart(work, Fork(work, work.amount(apart)))


def _measure_apart(work: Workspace, fork: Fork) -> Iterator[Row]:
    rows = (
        ("merge base of", fork.find_base, ["merge-base", "--all"], 1.0),
        ("state merge of", fork.merge_states, ["merge-tree", "--write-tree"], 1.0),
        ("recorded work of", fork.read_work, ["merge-tree", "--write-tree"], None),
        ("merge of", fork.merge, ["merge-tree", "--write-tree"], None),
    )
    for operation, ours, words, budget in rows:
        measured = by_turns(work.repetitions(5), lambda act=ours: act(), partial(fork.run_git, words))
        yield Row(
            operation=f"{operation} branches {fork.apart:,} messages apart",
            ours=measured[0],
            reference=measured[1],
            against=f"git {' '.join(words)}",
            budget=budget,
        )


class Fork:
    """A packed conversation with two branches of that many messages each, which edit different files."""

    def __init__(self, work: Workspace, apart: int) -> None:
        self.apart = apart
        self._work = work
        self._store = work.copy(work.store_of(1, 1000))
        repository = open_store(self._store)
        with Determined(f"fork {apart}"), exclusive_write(repository):
            base = Oid(repository.find_ref("refs/heads/conv-001/main") or "")
            with bulk_objects(repository) as objects:
                self._tips = []
                for side in ("main", "idea"):
                    tip = base
                    for number in range(apart):
                        tip = write_message(objects, tip, _edit(side, number))
                    self._tips.append(tip)
            refs = {ref: value for ref, value in repository.list_refs().items() if not ref.startswith("refs/heads/")}
            heads = zip(("main", "idea"), self._tips, strict=True)
            write_refs(self._store, refs | {f"refs/heads/conv-001/{side}": tip for side, tip in heads})
            pack(repository)

    def find_base(self) -> float:
        """Open the store and find the merge bases."""
        return wall(lambda: list_merge_bases(open_store(self._store, FULL), *self._tips))

    def merge_states(self) -> float:
        """Compute the changes of both sides, the conflicts and the merged state, without writing."""
        repository = open_store(self._store, FULL)

        def act() -> None:
            with bulk_objects(repository, keep=False) as objects:
                divergence = find_divergence(repository, objects, *self._tips, directory=None)
                conflicts = find_disagreements(objects, divergence)
                merged_state(objects, divergence, conflicts, describe(objects, divergence, conflicts))

        return wall(act)

    def read_work(self) -> float:
        """Read the tool calls of both sides: tests, plans and answers; the messages of this fork have none."""
        repository = open_store(self._store, FULL)

        def act() -> None:
            with bulk_objects(repository, keep=False) as objects:
                divergence = find_divergence(repository, objects, *self._tips, directory=None)
                work = RecordedWork(repository, objects, divergence, ["conv-001"])
                assert work.list_tests() == NO_TESTS

        return wall(act)

    def merge(self) -> float:
        """Run the whole merge in a copy."""
        repository = open_store(self._work.copy(self._store), FULL)
        self._work.sync()
        done = []
        seconds = wall(lambda: done.append(merge(repository, "conv-001", "idea", target="main")))
        assert not isinstance(done[0], MergeConflicted)
        return seconds

    def run_git(self, words: list[str]) -> float:
        """Run `git merge-tree` on the same tips; it may report conflicts, since it also merges the messages."""
        command = self._work.git(self._store, *words, *self._tips)
        return wall(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False))


def _edit(side: str, number: int) -> Message:
    message = plain_message(f"agent-{side}", f"{side} edits once more, for the {number}th time")
    path = f"src/{side}/{number % 40}/{number % _FILES}.py"
    touch = FileTouch(path, "edit", f"sha256:{number:064x}")
    return Message(id=message.id, author=message.author, parts=message.parts, time=message.time, files=(touch,))
