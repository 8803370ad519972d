"""Appends in one process, against the same four calls in C on the very libgit2 that is loaded here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from scopes.conversation.append import append
from scopes.conversation.heads import STATE_DIRECTORY, read_message_bytes
from scopes.ids import Oid
from scopes.model.message import Message
from scopes.store.graph import walk_oldest_first
from scopes.store.repository import read_commit
from scopes.store.trees import find_entry
from tests.benchmarks.measuring import Row, by_turns, run, wall
from tests.benchmarks.stores import Speech, open_store
from tests.benchmarks.workplace import Workplace

_REF = "refs/heads/conv-001/main"
_CONVERSATION = "conv-001"


def measure(work: Workplace) -> Iterator[Row]:
    """Yield the pair that syncs every append, and the pair that does not."""
    compiler = shutil.which("gcc")
    if compiler is None:
        work.notes.append("append against C: skipped, there is no gcc")
        return
    race = Race(work, compiler)
    for durability in ("full", "fast"):
        ours, reference = by_turns(
            work.repetitions(7), lambda d=durability: race.run_ours(d), lambda d=durability: race.run_reference(d)
        )
        what = "synced" if durability == "full" else "scopes.durability=fast"
        yield Row(
            operation=f"{len(race.messages)} appends in one process, {what}",
            ours=ours,
            reference=reference,
            against="the same four calls in C",
            budget=1.3,
        )


class Race:
    """The same messages appended by both sides, each time to a new copy of the same store."""

    def __init__(self, work: Workplace, compiler: str) -> None:
        self._work = work
        self._base = work.store_of(1, 1000)
        speech = Speech("appending", 2000)
        author = _last_author(self._base)  # a participant already, so that no side has a new state to write
        self.messages: list[Message] = [speech.message(author) for _ in range(work.amount(200))]
        self._program = work.path("appending")
        source = str(Path(__file__).with_name("appending.c"))
        run([compiler, "-O2", "-Wall", "-Werror", "-o", self._program, source, "-ldl"], work.environment)
        self._payloads, self._tip = self._write_payloads()

    def run_ours(self, durability: str) -> float:
        repository = open_store(self._work.copy(self._base), durability)
        seconds = wall(lambda: [append(repository, _CONVERSATION, message) for message in self.messages])
        self._check(repository.find_ref(_REF))
        return seconds

    def run_reference(self, durability: str) -> float:
        sync = "1" if durability == "full" else "0"
        command = [self._program, _loaded_libgit2(), self._work.copy(self._base), _REF, self._payloads, sync]
        seconds, tip = run(command, self._work.environment).decode().split()
        self._check(tip)
        return float(seconds)

    def _check(self, tip: str | None) -> None:
        """Both sides must have written the very same bytes: the tip's id says so."""
        if tip != self._tip:
            raise RuntimeError(f"an append wrote something else: {tip}, not {self._tip}")

    def _write_payloads(self) -> tuple[str, str]:
        """Append once and write down what that wrote, for the other side."""
        repository = open_store(self._work.copy(self._base), "fast")
        before = Oid(repository.find_ref(_REF) or "")
        tip = [append(repository, _CONVERSATION, message) for message in self.messages][-1].oid
        state = find_entry(repository, read_commit(repository, tip).tree, STATE_DIRECTORY)
        path = self._work.path("payloads")
        with open(path, "wb") as file:
            file.write(b"%s\n" % (b"" if state is None else state.oid.encode()))
            for commit in walk_oldest_first(repository, [tip], hidden={before}):
                blob, text = read_message_bytes(repository, commit.oid), repository.read(commit.oid)[1]
                file.write(b"%d %d\n" % (len(blob), len(text)) + blob + text)
        return path, tip


def _last_author(store: str) -> str:
    repository = open_store(store)
    return read_commit(repository, Oid(repository.find_ref(_REF) or "")).author.name


def _loaded_libgit2() -> str:
    """Return the file of the libgit2 in this process: pygit2's wheel brings its own."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return next(line.split(maxsplit=5)[5] for line in lines if "/libgit2" in line)
