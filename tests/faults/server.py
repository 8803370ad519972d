"""A fork server with all modules imported: it runs each command in a forked child in a few milliseconds.

Each line of standard input is a JSON request, each line of standard output the child's status. A child is a process
like any other: a session of its own, its own streams, a fresh libgit2. Only clock and random bytes are ours, so that the same
command makes the same ids again.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import json
import os
import pkgutil
import signal
import sys
from collections import Counter

import scopes
from scopes import clock
from scopes.store import locks
from tests.faults.reading import describe_findings, describe_store

START_NANOSECONDS = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z
LIMIT_SECONDS = 60
READERS = {"describe": describe_store, "verify": describe_findings}


def serve() -> None:
    """Answer requests until standard input ends."""
    import_everything()
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in requests:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(request)
        replies.write(f"{_wait(child)}\n")
        replies.flush()


def import_everything() -> None:
    """Import all modules of scopes, so that forked children need not."""
    for module in pkgutil.walk_packages(scopes.__path__, "scopes."):
        if not module.name.endswith("__main__"):
            __import__(module.name)
    gc.freeze()  # a child's collections then touch, and so copy, little of what it shares with us


def _wait(child: int) -> int:
    """Wait for a child and return its exit code, or minus the signal that killed it."""
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(LIMIT_SECONDS)
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    return os.waitstatus_to_exitcode(status)


def _become(request: dict) -> None:
    """Turn this child into a command's process and run it; never returns."""
    os.setsid()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    redirect(0, request["stdin"] or os.devnull, os.O_RDONLY)
    redirect(1, request["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    redirect(2, request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    seed_clock_and_random(request["seed"])
    locks._ORPHAN_AFTER_SECONDS = request["orphan_after"]
    if request["kind"] in READERS:
        json.dump(READERS[request["kind"]](request["arguments"][0]), sys.stdout)
        sys.stdout.flush()
        os._exit(0)
    run_command(request["arguments"])


def redirect(descriptor: int, path: str, flags: int) -> None:
    """Open a file as one of the standard streams."""
    opened = os.open(path, flags, 0o600)
    os.dup2(opened, descriptor)
    os.close(opened)


def seed_clock_and_random(seed: int) -> None:
    """Make clock and random bytes depend only on the seed."""
    moments = itertools.count(START_NANOSECONDS + seed * 1000 * 1_000_000_000, 1_000_000_000)
    numbers: Counter[int] = Counter()  # by size: names of temporary files must not shift the ids

    def random_bytes(size: int) -> bytes:
        numbers[size] += 1
        return hashlib.sha512(f"{seed}/{size}/{numbers[size]}".encode()).digest()[:size]

    clock.read_clock = lambda: next(moments)
    clock.random_bytes = random_bytes


def run_command(arguments: list[str]) -> None:
    """Run the command line as `scopes` does and end the process; never returns."""
    from scopes.cli.main import main

    sys.argv = ["scopes", *arguments]
    sys.exit(main())


if __name__ == "__main__":
    serve()
