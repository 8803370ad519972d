"""The ids of what an import writes depend on the transcripts alone: not on workers, nor on the libraries it uses."""

from __future__ import annotations

import itertools
import json
import os
import zlib

import pytest

from scopes import fast_json
from scopes.importers import import_sources as pipeline
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.store import packs
from scopes.store.config import Setting
from tests.benchmarks.transcripts import drawn_session
from tests.importers.test_robustness import claude_records, codex_records
from tests.importers.test_workers import refs_of
from tests.support.store import FAST, git, make_store

WORKERS = (1, 2, 4)
MSGSPEC, JSON = True, False
ISAL, ZLIB = True, False
INEXACT = b'"input":{"cost":1.0,"limit":1e5,"share":0.10,"twice":1,"twice":2,"half":0.5},'


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Write sessions of two agents: some with numbers that Python writes differently, one that is cut off."""
    folder = tmp_path_factory.mktemp("sessions")
    drawn = {f"drawn{number}": drawn_session(number).data for number in range(4)}
    drawn["drawn1"] = drawn["drawn1"].replace(b'"input":{', INEXACT + b'"input":{', 40)
    files = {"claude": as_lines(claude_records()), "codex": as_lines(codex_records()), **drawn}
    files["drawn3"] = files["drawn3"][:-100]
    for name, data in files.items():
        (folder / f"{name}.jsonl").write_bytes(data)
    return [source for source in find_sources(str(folder)) if source.size]


def as_lines(records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.fixture
def import_with(tmp_path, sources, monkeypatch):
    """Return a function that imports the transcripts in one of the ways; it returns the store."""
    monkeypatch.setattr(pipeline, "BYTES_PER_WORKER", 1)
    before = fast_json.library

    def run(workers, library, deflater, chosen=sources):
        name = f"{workers}-{library}-{deflater}.git"
        store = make_store(
            tmp_path / name, {**FAST, "scopes.importworkers": Setting("scopes.importWorkers", str(workers), "flag")}
        )
        with monkeypatch.context() as patched:
            fast_json.enable()
            if library is JSON:
                fast_json.library = None
                patched.setattr(fast_json, "enable", lambda: None)
            if deflater is ZLIB:
                patched.setattr(packs, "_deflater", lambda: zlib.compress)
            import_sources(store, chosen, FORMATS)
        return store

    yield run
    fast_json.library = before


def objects_of(store):
    listing = git(store, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype) %(objectsize)")
    kept = git(
        store, "rev-list", "--objects", "--branches", "--glob=refs/scopes/sources", "--glob=refs/scopes/tracking"
    )
    names = {line.split()[0] for line in kept.splitlines()}
    return {line for line in listing.splitlines() if line.split()[0] in names}


def test_every_way_of_importing_gives_the_same_refs_and_objects(import_with):
    """Two JSON libraries, two deflaters, and one, two and four processes."""
    ways = list(itertools.product(WORKERS, (MSGSPEC, JSON), (ISAL, ZLIB)))
    chosen = ways if os.environ.get("TEST_EXAMPLES") == "all" else [ways[0], ways[3], ways[9]]
    first, *others = [import_with(*way) for way in chosen]
    expected = refs_of(first), objects_of(first)
    assert len(expected[1]) > 1000
    for store in others:
        assert (refs_of(store), objects_of(store)) == expected


def test_the_ways_differ_in_the_code_that_runs(import_with, sources, monkeypatch):
    """Otherwise the comparison would be of one way with itself."""
    used = set()
    deflate, format_entry = zlib.compress, packs.format_entry
    monkeypatch.setattr(zlib, "compress", lambda data: used.add("zlib") or deflate(data))
    monkeypatch.setattr(
        packs, "format_entry", lambda *entry: used.add(fast_json.library is None) or format_entry(*entry)
    )
    import_with(1, JSON, ZLIB, sources[:2])
    assert used == {"zlib", True}
    used.clear()
    import_with(1, MSGSPEC, ISAL, sources[:2])
    assert used == {False}
