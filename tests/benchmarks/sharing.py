"""Push, fetch and clone, compared with plain git on the same objects; a list of ten thousand conversations; the first log."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from scopes.history.names import conversation_ids
from scopes.secret_scan.clearance import Gate
from scopes.store.packs import bulk_objects
from scopes.store.repository import Repository
from scopes.sync.outgoing import plan_push
from tests.benchmarks.stores import write_refs
from tests.benchmarks.timing import Action, Row, Samples, by_turns, process_cpu, process_wall, run, wall
from tests.benchmarks.workspace import Workspace
from tests.support.git_servers import serve_http
from tests.support.history import say
from tests.support.store import FAST, open_store

_SPEC = "refs/scopes/*:refs/scopes/*"
_LIST_LIMIT, _LOG_LIMIT = 1.5, 0.5  # seconds
_BUDGET = 1.3


def measure(work: Workspace) -> Iterator[Row]:
    """Yield what is shared in bulk, one new message, the list of a large remote, and one conversation of it."""
    shared = _Shared(work)
    yield from shared.race("push", "git push", shared.push, shared.push_by_git)
    yield from shared.race("clone", "git clone --mirror", shared.clone, shared.clone_by_git)
    yield from shared.race("fetch one new message", "git fetch", shared.fetch, shared.fetch_by_git)
    yield from _measure_manifests(work)


class _Shared:
    """A store, a remote with everything of it, and a mirror of that remote; both sides check what they receive."""

    def __init__(self, work: Workspace) -> None:
        self._work = work
        self._last = 0.0  # seconds of the last process
        self._store = work.store_of(250, 32)
        self._remote = make_remote(work, self._store)
        self._mirror = work.new_path("mirror")
        run(["git", "clone", "--quiet", "--mirror", self._remote, self._mirror], work.environment)
        # Not by links to the files of the remote: its commit graph and bitmap come over no connection, and a clone by
        # scopes has neither.
        self._fetched = work.new_path("mirror")
        run(["git", "clone", "--quiet", "--mirror", "--no-local", self._remote, self._fetched], work.environment)
        self._clone = work.new_path("clone")
        self._scopes(self._clone, "clone", self._remote, self._clone)
        self._newer = ""
        self._elapsed: list[float] = []

    def race(self, what: str, against: str, ours: Action, by_git: Callable[[str], float]) -> Iterator[Row]:
        """Measure all sides by turns: processor time, also against git without a check, and the time that passes."""
        self._elapsed.clear()
        sides = [self._timed(each) for each in (ours, lambda: by_git("true"), lambda: by_git("false"))]
        samples = by_turns(self._work.repetitions(5), *sides)
        passed = [Samples(tuple(self._elapsed[start + len(sides) :: len(sides)])) for start in range(len(sides))]
        number = self._work.amount(250)
        operation, checked = f"{what} ({number} conversations, {32 * number:,} messages)", "with transfer.fsckObjects"
        yield _compare(operation, samples[:2], f"{against} {checked}", _BUDGET)
        yield _compare(f"{what}, against git that checks nothing", samples[::2], against)
        yield _compare(f"{what}, elapsed time", passed[:2], f"{against} {checked}")

    def _timed(self, side: Action) -> Action:
        """Return a side that also keeps the elapsed time of its last process, which is the one that is measured."""

        def act() -> float:
            used = side()
            self._elapsed.append(self._last)
            return used

        return act

    def push(self) -> float:
        store, target = self._work.copy(self._store), _make_bare(self._work)
        self._scopes(store, "remote", "add", "origin", target, "--no-probe")
        return self._scopes(store, "push", "--all")

    def push_by_git(self, check: str) -> float:
        target = _make_bare(self._work, check)
        return self._run(["git", f"--git-dir={self._mirror}", "push", "--quiet", target, _SPEC], self._work.environment)

    def clone(self) -> float:
        target = self._work.new_path("clone")
        return self._scopes(target, "clone", self._remote, target)

    def clone_by_git(self, check: str) -> float:
        options = ["--quiet", "--mirror", "--no-local", "-c", f"transfer.fsckObjects={check}"]
        words = ["git", "clone", *options, self._remote, self._work.new_path("mirror")]
        return self._run(words, self._work.environment)

    def fetch(self) -> float:
        self._say()
        return self._scopes(self._work.copy(self._clone), "fetch")

    def fetch_by_git(self, check: str) -> float:
        copy = self._work.copy(self._fetched)
        words = ["git", f"--git-dir={copy}", "-c", f"transfer.fsckObjects={check}", "fetch", "--quiet", "origin"]
        return self._run(words, self._work.environment)

    def _say(self) -> None:
        """Push one message, once."""
        if not self._newer:
            self._newer = self._work.copy(self._clone)
            say(open_store(self._newer, FAST), "conv-001/main", "news")
            self._scopes(self._newer, "push", "conv-001")

    def _scopes(self, store: str, *words: str) -> float:
        return self._run([sys.executable, "-m", "scopes", *words], self._work.using(store))

    def _run(self, words: Sequence[str], environment: Mapping[str, str]) -> float:
        """Run a process and return its processor time; the time that passes is kept."""
        used: list[float] = []
        self._last = wall(lambda: used.append(process_cpu(words, environment)))
        return used[0]


def _compare(operation: str, samples: Sequence[Samples], against: str, budget: float | None = None) -> Row:
    return Row(operation=operation, ours=samples[0], reference=samples[1], against=against, budget=budget)


def _make_bare(work: Workspace, check: str = "true") -> str:
    path = work.new_path("remote")
    run(["git", "init", "--quiet", "--bare", path], work.environment)
    run(["git", f"--git-dir={path}", "config", "transfer.fsckObjects", check], work.environment)
    return path


def make_remote(work: Workspace, store: str, path: str | None = None) -> str:
    """Make a remote that has all conversations of a store, as pushing them one after the other leaves it."""
    copy, bare = work.copy(store), path or work.new_path("remote")
    refs = dict(_write_manifests(open_store(copy, FAST)))
    run(["git", "init", "--quiet", "--bare", bare], work.environment)
    subprocess.run(["cp", "-r", os.path.join(copy, "objects"), bare], check=True)
    write_refs(bare, refs)
    run(["git", f"--git-dir={bare}", "-c", "gc.pruneExpire=never", "repack", "-adq"], work.environment)
    return bare


def _write_manifests(repository: Repository) -> Iterator[tuple[str, str]]:
    gate = Gate("allow", lambda _rule, _value: "")
    with bulk_objects(repository) as objects:
        for conversation in conversation_ids(repository):
            outgoing = plan_push(repository, "origin", conversation, objects)
            cleared = gate.clear_inspected(outgoing.encoded)
            yield outgoing.name.ref, outgoing.write(objects, cleared)


def _measure_manifests(work: Workspace) -> Iterator[Row]:
    store = work.store_of(10_000, 3, 400)
    served = work.new_path("served")
    os.mkdir(served)
    make_remote(work, store, os.path.join(served, "talks.git"))
    with serve_http(served) as server:
        address, places = f"{server.address}/talks.git", []

        def clone() -> float:
            places.append(work.new_path("manifests"))
            words = [sys.executable, "-m", "scopes", "clone", "--manifests", address, places[-1]]
            return process_wall(words, work.environment)

        (seconds,) = by_turns(work.repetitions(3), clone)
        yield _against_limit(f"list of {work.amount(10_000):,} conversations, over http", seconds, _LIST_LIMIT)
        environment = work.using(places[-1])
        scopes = [sys.executable, "-m", "scopes"]
        lines = run([*scopes, "list", "--remote", "origin"], environment).decode().splitlines()
        roots = itertools.cycle(line.partition("\t")[0] for line in lines)
        (seconds,) = by_turns(work.repetitions(5), lambda: process_wall([*scopes, "log", next(roots)], environment))
        yield _against_limit("first log of one of them, over http", seconds, _LOG_LIMIT)


def _against_limit(operation: str, seconds: Samples, limit: float) -> Row:
    return Row(operation=operation, ours=seconds, reference=Samples((limit,)), against="the limit", budget=1.0)
