"""Writing very many objects, compared with `git fast-import` writing the same ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from scopes.history.messages import MESSAGE_FILE
from scopes.ids import Oid
from scopes.model.message import encode
from scopes.store.objects import BLOB, COMMIT, TREE, Identity, TreeEntry, format_commit, format_tree
from scopes.store.packs import bulk_objects
from scopes.store.repository import create_store
from tests.benchmarks.stores import AGENTS, START_SECONDS, Speech
from tests.benchmarks.timing import Row, by_turns, run, wall
from tests.benchmarks.workspace import Workspace
from tests.support.store import FULL, open_store

_AUTHOR = Identity("planner", "planner@agents.scopes")


def measure(work: Workspace) -> Iterator[Row]:
    """Yield the time to write and sync three objects per message."""
    race = Race(work)
    ours, reference = by_turns(work.repetitions(3), race.run_ours, race.run_reference)
    yield Row(
        operation=f"bulk write of {3 * len(race.bodies):,} objects",
        ours=ours,
        reference=reference,
        against="git fast-import",
        budget=0.5,
    )


class Race:
    """Write the same chain of messages into a new store each time; `bodies` are the encoded messages."""

    def __init__(self, work: Workspace) -> None:
        self._work = work
        speech = Speech("bulk", 2000)
        people = itertools.cycle(AGENTS)
        self.bodies = [encode(speech.message(next(people))) for _ in range(work.amount(13_334))]
        self._tip = ""
        self._stream = work.path("fast-import")
        with open(self._stream, "wb") as file:
            file.writelines(self._commands())

    def run_ours(self) -> float:
        path = self._work.new_path("bulk")
        self._work.sync()
        create_store(path)
        repository = open_store(path, FULL)

        def write() -> None:
            tip: tuple[Oid, ...] = ()
            with bulk_objects(repository) as objects:
                for number, body in enumerate(self.bodies):
                    blob = objects.write(BLOB, body)
                    tree = objects.write(TREE, format_tree([TreeEntry(MESSAGE_FILE, blob, is_tree=False)]))
                    time = START_SECONDS + number
                    data = format_commit(
                        tree=tree,
                        parents=tip,
                        author=_AUTHOR,
                        time=time,
                        subject="A message",
                        trailers=_trailers(number),
                    )
                    tip = (objects.write(COMMIT, data),)
            self._tip = tip[0]

        return wall(write)

    def run_reference(self) -> float:
        path = self._work.new_path("bulk")
        self._work.sync()
        run(["git", "init", "--quiet", "--bare", path], self._work.environment)
        seconds = wall(
            lambda: run(self._work.git(path, "fast-import", "--quiet"), self._work.environment, self._stream)
        )
        tip = run(self._work.git(path, "rev-parse", "refs/heads/main"), self._work.environment).decode().strip()
        if tip != self._tip:
            raise RuntimeError(f"fast-import made other objects: {tip}, not {self._tip}")
        return seconds

    def _commands(self) -> Iterator[bytes]:
        who = f"{_AUTHOR.name} <{_AUTHOR.email}>".encode()
        for number, body in enumerate(self.bodies):
            text = "A message\n\n" + "".join(f"{key}: {value}\n" for key, value in _trailers(number))
            when = START_SECONDS + number
            yield b"commit refs/heads/main\nauthor %s %d +0000\ncommitter %s %d +0000\n" % (who, when, who, when)
            yield b"data %d\n%s\nM 100644 inline message.json\ndata %d\n%s\n" % (
                len(text),
                text.encode(),
                len(body),
                body,
            )


def _trailers(number: int) -> list[tuple[str, str]]:
    return [("Scopes-Message", f"{number:026d}"), ("Scopes-Kind", "plain")]
