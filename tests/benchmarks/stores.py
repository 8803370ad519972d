"""Reproducible stores to measure on: words drawn with a fixed seed, counted ids, times a minute apart."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Iterator
from hashlib import sha256

from scopes import clock
from scopes.history.messages import plain_message, write_message_blob, write_message_commit, write_root_commit
from scopes.history.metadata import branch_change, write_metadata
from scopes.ids import BranchName, Oid
from scopes.model.conversation import BranchEntry, Root
from scopes.model.message import Message
from scopes.store import refs as names
from scopes.store.maintenance import pack
from scopes.store.objects import Objects
from scopes.store.packs import bulk_objects
from scopes.store.repository import Repository, create_store
from scopes.store.transactions import exclusive_write
from tests.support.store import FULL, open_store

START_SECONDS = 1_767_225_600  # 2026-01-01T00:00:00Z
AGENTS = ("planner", "coder", "reviewer", "tester", "researcher", "writer", "lead", "carol")
_MAIN = BranchName("main")
_SYLLABLES = (
    "an",
    "ba",
    "co",
    "de",
    "er",
    "fi",
    "go",
    "hu",
    "in",
    "jo",
    "ka",
    "li",
    "mo",
    "ne",
    "or",
    "pa",
    "re",
    "si",
    "tu",
    "ve",
)


class Speech:
    """Generates messages like those of agents: many short ones, a few very long, words with uneven frequencies."""

    def __init__(self, seed: str, mean_text_bytes: int) -> None:
        self._random = random.Random(seed)
        self._words = ["".join(self._random.choices(_SYLLABLES, k=self._random.randint(1, 4))) for _ in range(4000)]
        self._weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self._words))))
        self._mean = mean_text_bytes

    def text(self) -> str:
        length = min(max(40, self._mean * self._random.lognormvariate(-0.6, 1.1)), 52_000)
        words = self._random.choices(self._words, cum_weights=self._weights, k=max(6, int(length / 5.2)))
        return " ".join(words).capitalize() + "."

    def people(self) -> list[str]:
        return self._random.sample(AGENTS, self._random.randint(1, 3))

    def message(self, author: str) -> Message:
        return plain_message(author, self.text())


class Determined:
    """While active, each reading of the clock is a minute later and random bytes are hashes of a counter."""

    def __init__(self, seed: str) -> None:
        self._seed = seed

    def __enter__(self) -> None:
        minutes, numbers = itertools.count(), itertools.count()
        self._before = clock.read_clock, clock.random_bytes
        clock.read_clock = lambda: (START_SECONDS + 60 * next(minutes)) * 1_000_000_000
        clock.random_bytes = lambda size: sha256(f"{self._seed} {next(numbers)}".encode()).digest()[:size]

    def __exit__(self, *_: object) -> None:
        clock.read_clock, clock.random_bytes = self._before


def make_conversations(path: str, count: int, messages: int, mean_text_bytes: int) -> str:
    """Make a store of conversations, packed as maintenance leaves it; every tenth has a second branch."""
    seed = f"{count} {messages}"
    create_store(path)
    repository = open_store(path)
    speech = Speech(seed, mean_text_bytes)
    with Determined(seed), exclusive_write(repository):
        with bulk_objects(repository) as objects:
            refs = dict(
                pair
                for number in range(1, count + 1)
                for pair in _conversation(objects, speech, f"conv-{number:03d}", messages, forked=number % 10 == 0)
            )
        write_refs(path, refs)
        pack(repository)
    return path


def _conversation(
    objects: Objects, speech: Speech, name: str, messages: int, *, forked: bool
) -> Iterator[tuple[str, str]]:
    people = speech.people()
    root = Root(uuid=clock.new_uuid(), created=clock.now())
    begin = tip = write_root_commit(objects, root, dict.fromkeys(people, "agent"))
    for author, _ in zip(itertools.cycle(people), range(messages), strict=False):
        tip, before = write_message(objects, tip, speech.message(author)), tip
    entries = {_MAIN: BranchEntry(fork=begin, created=root.created)}
    if forked:
        entries[BranchName("idea")] = BranchEntry(fork=before, created=root.created, parent=_MAIN)
        yield f"refs/heads/{name}/idea", write_message(objects, before, speech.message(people[0]))
    changes = {path: data for branch, entry in entries.items() for path, data in branch_change(branch, entry).items()}
    changes["title"] = speech.text()[:40].encode()
    yield f"refs/heads/{name}/main", tip
    yield f"refs/scopes/meta/{name}", write_metadata(objects, None, changes, f"create {name}")
    yield f"refs/scopes/active/{name}", f"{names.SYMBOLIC}refs/heads/{name}/main"


def write_message(objects: Objects, tip: Oid, message: Message) -> Oid:
    """Write one message on top of a commit and return its own."""
    return write_message_commit(objects, tip, message, write_message_blob(objects, message))


def write_refs(path: str, refs: dict[str, str]) -> None:
    """Write refs as `git pack-refs` does: one file, and one more for each symbolic ref."""
    symbolic = {ref: value for ref, value in refs.items() if value.startswith(names.SYMBOLIC)}
    lines = [f"{oid} {ref}\n" for ref, oid in sorted(refs.items()) if ref not in symbolic]
    _write(os.path.join(path, "packed-refs"), ["# pack-refs with: peeled fully-peeled sorted \n", *lines])
    for ref, value in symbolic.items():
        target = os.path.join(path, ref)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _write(target, [value + "\n"])


def size_bytes(path: str) -> int:
    """Return the bytes of all files below a directory."""
    return sum(os.path.getsize(os.path.join(top, name)) for top, _, found in os.walk(path) for name in found)


def _write(path: str, lines: Iterable[str]) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.writelines(lines)


def open_as_command(store: str) -> Repository:
    """Open a store as a command does, with its index in `<store>-index`."""
    repository = open_store(store, FULL)
    repository.caller = repository.caller._replace(index_directory=f"{store}-index")
    return repository
