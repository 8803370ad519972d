"""Appends in one process: many at once, and one after the other, compared with git and with the same calls in C.

Those that wait for no disk are measured in processor time as well: other work on the machine doubles the wall time.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from scopes.cli.append_input import LineReader
from scopes.conversation.append import append
from scopes.history.handles import StoreHandle
from scopes.history.messages import STATE_DIRECTORY, read_message_bytes
from scopes.ids import Oid
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import find_entry, read_commit
from tests.benchmarks.stores import Speech
from tests.benchmarks.timing import Row, Samples, by_turns, run, wall
from tests.benchmarks.workspace import Workspace
from tests.support.store import FAST, FULL, open_store

_REF = "refs/heads/conv-001/main"
_CONVERSATION = "conv-001"
_AGAINST = "the same four calls in C"


def measure(work: Workspace) -> Iterator[Row]:
    """Yield many messages at once, then the pair that syncs every append, and the pair that does not."""
    yield _measure_many(work)
    compiler = shutil.which("gcc")
    if compiler is None:
        work.notes.append("append against C: skipped, there is no gcc")
        return
    for synced, what, budget in ((True, "synced", 1.3), (False, "scopes.durability=fast", 1.5)):
        race = Race(work, compiler, synced=synced)
        ours, reference = by_turns(race.turns - 1, race.run_ours, race.run_reference)
        operation = f"{race.batch} appends in one process, {what}"
        yield Row(operation=operation, ours=ours, reference=reference, against=_AGAINST, budget=budget)
        ours, reference = (Samples(tuple(seconds[1:])) for seconds in (race.cpu_ours, race.cpu_reference))
        yield Row(operation="  in processor time", ours=ours, reference=reference, against=_AGAINST)


def _measure_many(work: Workspace) -> Row:
    """Measure `append --jsonl --atomic`, synced, compared with `git fast-import` of the commits that it wrote."""
    base, count = work.store_of(1, 1000), work.amount(1000)
    speech = Speech("lines", 2000)
    documents = [{"author": "carol", "text": speech.text()} for _ in range(count)]
    done = work.copy(base)
    _append_documents(done, documents)
    stream = run(
        work.git(done, "fast-export", "--reference-excluded-parents", f"{_REF}~{count}..{_REF}"), work.environment
    )
    importing = ("-c", "fastimport.unpackLimit=0", "fast-import", "--quiet")

    def run_ours() -> float:
        store = work.copy(base)
        return wall(lambda: _append_documents(store, documents))

    def run_reference() -> float:
        command = work.git(work.copy(base), *importing)
        environment = work.environment
        return wall(lambda: subprocess.run(command, env=environment, input=stream, check=True))

    ours, reference = by_turns(work.repetitions(5), run_ours, run_reference)
    operation = f"append --jsonl --atomic of {count:,} lines, synced"
    return Row(operation=operation, ours=ours, reference=reference, against="git fast-import of these", budget=1.0)


def _append_documents(store: str, documents: Iterable[dict[str, str]]) -> None:
    branch = StoreHandle(open_store(store, FULL)).branch(_CONVERSATION, None)
    assert list(LineReader(branch).append_all(enumerate(documents, 1)))


class Race:
    """Both sides append the same messages to a copy of one store, a batch per turn.

    `cpu_ours` and `cpu_reference` are the processor seconds of the turns so far.
    """

    def __init__(self, work: Workspace, compiler: str, *, synced: bool) -> None:
        self._environment = work.environment
        self._synced = synced
        self.cpu_ours: list[float] = []
        self.cpu_reference: list[float] = []
        self.turns = 1 + work.repetitions(12)
        self.batch = work.amount(50)
        self._program = work.new_path("appending")
        source = str(Path(__file__).with_name("appending.c"))
        run([compiler, "-O2", "-Wall", "-Werror", "-o", self._program, source, "-ldl"], work.environment)
        base = work.store_of(1, 1000)
        author = _last_author(base)  # a participant already, so that no side has a new state to write
        speech = Speech("appending", 2000)
        self._messages = [[speech.message(author) for _ in range(self.batch)] for _ in range(self.turns)]
        self._payloads = [work.new_path("payloads") for _ in range(self.turns)]
        self._tips = list(self._write_payloads(work.copy(base)))
        self._ours, self._reference = work.copy(base), work.copy(base)
        self._ours_turns, self._reference_turns = iter(range(self.turns)), iter(range(self.turns))

    def run_ours(self) -> float:
        turn = next(self._ours_turns)
        repository = open_store(self._ours, FULL if self._synced else FAST)

        def append_all() -> None:
            begin = time.process_time()
            for message in self._messages[turn]:
                append(repository, _CONVERSATION, message)
            self.cpu_ours.append(time.process_time() - begin)

        seconds = wall(append_all)
        self._check(turn, repository.find_ref(_REF))
        return seconds

    def run_reference(self) -> float:
        turn = next(self._reference_turns)
        sync = "1" if self._synced else "0"
        command = [self._program, _loaded_libgit2(), self._reference, _REF, self._payloads[turn], sync]
        seconds, cpu_seconds, tip = run(command, self._environment).decode().split()
        self._check(turn, tip)
        self.cpu_reference.append(float(cpu_seconds))
        return float(seconds)

    def _check(self, turn: int, tip: str | None) -> None:
        """Assert that both sides wrote the same bytes, by comparing the tips."""
        if tip != self._tips[turn]:
            raise RuntimeError(f"an append wrote something else: {tip}, not {self._tips[turn]}")

    def _write_payloads(self, store: str) -> Iterator[Oid]:
        """Append all messages once and save the payloads for the other side; yield the tip of each turn."""
        repository = open_store(store)
        tip = Oid(repository.find_ref(_REF) or "")
        for messages, path in zip(self._messages, self._payloads, strict=True):
            before, tip = tip, [append(repository, _CONVERSATION, message) for message in messages][-1].oid
            state = find_entry(repository, read_commit(repository, tip).tree, STATE_DIRECTORY)
            with open(path, "wb") as file:
                file.write(b"%s\n" % (b"" if state is None else state.oid.encode()))
                for commit in walk_oldest_first(repository, [tip], hidden={before}):
                    blob, text = read_message_bytes(repository, commit.oid), repository.read(commit.oid)[1]
                    file.write(b"%d %d\n" % (len(blob), len(text)) + blob + text)
            yield tip


def _last_author(store: str) -> str:
    repository = open_store(store, FULL)
    return read_commit(repository, Oid(repository.find_ref(_REF) or "")).author.name


def _loaded_libgit2() -> str:
    """Return the path of the libgit2 in this process; pygit2's wheel contains its own."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return next(line.split(maxsplit=5)[5] for line in lines if "/libgit2" in line)
