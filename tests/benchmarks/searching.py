"""Searching: building and updating the index, and queries, each in a new process as on the command line."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

from scopes.conversation.append import append
from scopes.history.messages import plain_message
from scopes.ids import Oid
from scopes.index.full_text import LAYOUT, open_index
from scopes.search.text import Documents
from scopes.store.graph import walk_oldest_first
from scopes.store.projects import index_directory
from scopes.store.repository import Repository
from tests.benchmarks.agentsview import Agentsview, agentsview, find_program
from tests.benchmarks.startup import entries
from tests.benchmarks.timing import Row, Samples, by_turns, process_wall, run, wall
from tests.benchmarks.transcripts import make_material, write_sessions
from tests.benchmarks.workspace import Workspace, python
from tests.support.store import FULL, open_store

_MEGABYTE = 1_000_000
_MANY = 500_000  # messages: so many that one repetition takes minutes


def measure(work: Workspace) -> Iterator[Row]:
    """Yield index and queries over imported transcripts and, if requested, generated messages."""
    material = make_material(work.path("searched"), work.megabytes * _MEGABYTE)
    store = work.new_path("searched-store")
    run([sys.executable, "-m", "scopes", f"--store={store}", "conv", "import", material.folder], work.environment)
    yield from _index(work, store)
    with agentsview(work, material.folder) as peer:
        for kind, word in _words(work, store):
            yield from _answer(work, store, kind, word, peer)
    if work.messages:
        drawn = work.store_of(max(1, work.messages // 1000), min(work.messages, 1000), 300)
        yield from _index(work, drawn)
        folder = work.new_path("drawn")
        if find_program() is not None:
            write_sessions(open_store(drawn, FULL), folder)
        with agentsview(work, folder) as peer:
            for kind, word in _words(work, drawn):
                yield from _answer(work, drawn, kind, word, peer)


def _words(work: Workspace, store: str) -> list[tuple[str, str]]:
    """Choose a rare word and the most frequent one."""
    repository = open_store(store, FULL)
    with open_index(_directory(work, store), repository, Documents(repository)) as index:
        index.rows("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, full_text, col)")
        terms = "SELECT term FROM terms WHERE col = 'text' AND length(term) > 2 AND term GLOB '[a-z]*' AND term NOT GLOB '*[^a-z]*' "
        rare = index.rows(terms + "ORDER BY doc, length(term) DESC, term LIMIT 1")
        common = index.rows(terms + "ORDER BY doc DESC, term LIMIT 1")
    return [("rare", rare[0][0]), ("common", common[0][0])]


def _directory(work: Workspace, store: str) -> str:
    return index_directory(os.path.join(work.environment["HOME"], ".cache", "scopes"), store)


def _index(work: Workspace, store: str) -> Iterator[Row]:
    """Yield the time to build an index, its size, and the time to add one message."""
    repository = open_store(store)
    directory = _directory(work, store)
    messages, text, reading = _read_all(repository)

    def build() -> None:
        shutil.rmtree(directory, ignore_errors=True)
        _open(repository, directory)

    built = Samples(tuple(wall(build) for _ in range(work.repetitions(1 if messages > _MANY else 2))))
    alone = Samples((reading,))
    yield Row(operation=f"index of {messages:,} messages", ours=built, reference=alone, against="reading them alone")
    yield Row(
        operation="  messages a second",
        ours=Samples((messages / built.best,)),
        reference=Samples((messages / reading,)),
        against="reading them alone",
        unit="",
        more_is_better=True,
    )
    size = os.path.getsize(os.path.join(directory, LAYOUT.file)) / _MEGABYTE
    text_size = Samples((text / _MEGABYTE,))
    yield Row(
        operation="  its size", ours=Samples((size,)), reference=text_size, against="the text that it finds", unit="MB"
    )
    one_more = Samples(tuple(_add_one(repository, directory) for _ in range(work.repetitions(5))))
    yield Row(operation="  one message more", ours=one_more, reference=built, against="building it")


def _read_all(repository: Repository) -> tuple[int, int, float]:
    """Return the number of messages, the bytes of their text, and the seconds to read them."""
    tips = [Oid(tip) for tip in repository.list_refs("refs/heads/").values()]
    commits = list(walk_oldest_first(repository, tips))
    describe = Documents(repository)
    sizes: dict[str, int] = {}

    def read() -> None:
        for commit in commits:
            entry = describe(commit)
            if entry is not None:
                sizes[entry.id] = sum(len(text.encode("utf-8", "replace")) for text in entry.texts)

    seconds = wall(read)
    return len(sizes), sum(sizes.values()), seconds


def _open(repository: Repository, directory: str) -> None:
    with open_index(directory, repository, Documents(repository)):
        pass


def _add_one(repository: Repository, directory: str) -> float:
    conversation = next(iter(repository.list_refs("refs/heads/"))).removeprefix("refs/heads/").partition("/")[0]
    append(repository, conversation, plain_message("carol", "One message more."))
    return wall(lambda: _open(repository, directory))


def _answer(work: Workspace, store: str, kind: str, word: str, peer: Agentsview | None) -> Iterator[Row]:
    """Yield a search compared with agentsview and with the bare interpreter."""
    *_, (_, begin) = entries(work)
    ours = [*begin, "conv", "search", word, "--json"]
    theirs, environment, against = python("pass"), work.environment, "python -c pass"
    if peer is not None:
        theirs = [peer.program, "session", "search", "--fts", "--json", "--limit", "20", word]
        environment, against = peer.environment, "agentsview session search --fts, its daemon running"
    mine, other = by_turns(
        work.repetitions(5),
        lambda: process_wall(ours, work.using(store)),
        lambda: process_wall(theirs, environment),
    )
    yield Row(operation=f"search for a {kind} word", ours=mine, reference=other, against=against)
