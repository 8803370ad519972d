"""Imports with several workers: the same store and the same result as with one, or nothing."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from functools import cache

import pytest

from scopes.conversation.verify import verify
from scopes.errors import CannotImport, Inaccessible, Invalid
from scopes.importers import import_groups
from scopes.importers import import_source as import_module
from scopes.importers.formats.base import Source
from scopes.secret_scan import prefilter
from scopes.secrets import count
from scopes.store.config import Setting
from scopes.store.objects import read_commit
from scopes.store.packs import PackWriter
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.store import FAST, git, make_store

LONG = "The same long answer of an agent. " * 40


@pytest.fixture(autouse=True)
def small_imports_have_workers(monkeypatch):
    monkeypatch.setattr(import_groups, "BYTES_PER_WORKER", 1)


def store_of(tmp_path, workers, name=None):
    setting = Setting("scopes.importWorkers", str(workers), "flag")
    return make_store(tmp_path / f"{name or workers}.git", {**FAST, "scopes.importworkers": setting})


def write_sources(folder):
    """Write sessions that continue others, join them, have sub files, damaged records and copies; in mixed order."""
    folder.mkdir()

    def write(name, records):
        return write_transcript(folder / f"{name}.jsonl", *records)

    sources = [write(f"s{n}", session_records(f"s{n}", " ".join(f"w{n}x{m}" for m in range(n + 2)))) for n in range(12)]
    sources += [write(f"fork{n}", session_records(f"fork{n}", f"w{n}x0 w{n}x1 own{n}", base=f"s{n}")) for n in (3, 7)]
    sources += [write(f"part{n}", session_records(f"s{n}", "do this", part="agent-1")) for n in (2, 5)]
    sources.append(write("orphan", session_records("orphan", "a b", base="missing")))
    answer = [
        {"id": "q", "parent": None, "by": "user", "say": "q"},
        {"id": "r", "parent": "q", "by": "bot", "say": LONG},
    ]
    for n in range(3):
        more = [{"id": "t", "parent": "r", "by": "user", "say": f"then {n}"}]
        sources.append(
            write(f"twin{n}", [{"session": f"twin{n}", "created": f"2026-02-0{n + 1}T00:00:00Z"}, *answer, *more])
        )
    damaged = folder / "damaged.jsonl"
    damaged.write_text("".join(json.dumps(record) + "\n" for record in session_records("damaged", "a b")) + "{broken\n")
    sources.append(Source(str(damaged), damaged.stat().st_size))
    copy = folder / "copy.jsonl"
    copy.write_bytes((folder / "s9.jsonl").read_bytes()[:-40].rpartition(b"\n")[0] + b"\n")
    sources.append(Source(str(copy), copy.stat().st_size, named=True))
    return sources


def refs_of(repository):
    """Return all refs but the operation log; of the metadata the trees, because their commits have the time of day."""
    refs = {name: value for name, value in repository.list_refs().items() if name != "refs/scopes/operations"}
    meta = [name for name in refs if name.startswith("refs/scopes/meta/")]
    return refs | {name: read_commit(repository, refs[name]).tree for name in meta}


def temporary_files(repository):
    return [name for _, _, names in os.walk(repository.path) for name in names if name.startswith("tmp_")]


def packs(repository):
    return sorted(os.listdir(os.path.join(repository.path, "objects", "pack")))


def check_store(repository):
    assert temporary_files(repository) == []
    assert verify(repository).findings == ()
    assert git(repository, "fsck", "--strict", "--no-dangling", "--no-progress") == ""


def test_any_number_of_workers_gives_the_same_refs_and_the_same_result(tmp_path):
    sources = write_sources(tmp_path / "sources")
    stores = {workers: store_of(tmp_path, workers) for workers in (1, 2, 4)}
    progress = {workers: [] for workers in stores}
    results = {
        workers: import_demo(stores[workers], *sources, on_progress=progress[workers].append) for workers in stores
    }
    assert len(results[1].joined) == 2
    assert [note.text for note in results[1].notes if "could not be read" in note.text]
    for workers, repository in stores.items():
        assert refs_of(repository) == refs_of(stores[1])
        assert replace(results[workers], operation=None) == replace(results[1], operation=None)
        assert sorted(progress[workers]) == sorted(progress[1])
        check_store(repository)


@pytest.mark.parametrize("workers", [1, 2])
def test_messages_that_a_worker_has_not_searched_for_secrets_are_in_a_note(tmp_path, monkeypatch, workers):
    """Without RE2 only the beginning of an import is searched; with workers nobody was told that."""
    monkeypatch.setattr(prefilter, "_by_re2", cache(lambda: None))
    monkeypatch.setattr(count, "_SLOW_BYTES", 1000)
    sources = [
        write_transcript(tmp_path / f"s{n}.jsonl", *session_records(f"s{n}", f"{'word' * 100 * n} w{n}"))
        for n in range(4)
    ]
    done = import_demo(store_of(tmp_path, workers), *sources)
    assert [note for note in done.notes if note == count.NOT_SCANNED] == [count.NOT_SCANNED]
    short = import_demo(store_of(tmp_path, workers, "short"), sources[0])
    assert count.NOT_SCANNED not in short.notes


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.slow
def test_sources_that_have_grown_are_imported_alike(tmp_path, workers):
    folder = tmp_path / "sources"
    sources = write_sources(folder)
    repository, other = store_of(tmp_path, workers), store_of(tmp_path, 1, "other")
    import_demo(repository, *sources)
    import_demo(other, *sources)
    grown = [
        write_transcript(folder / f"s{n}.jsonl", *session_records(f"s{n}", " ".join(f"w{n}x{m}" for m in range(n + 4))))
        for n in range(6)
    ]
    sources = [*grown, *sources[6:]]
    result, expected = import_demo(repository, *sources), import_demo(other, *sources)
    assert replace(result, operation=None) == replace(expected, operation=None)
    assert refs_of(repository) == refs_of(other)
    again = import_demo(repository, *sources)
    assert again.operation is None
    check_store(repository)


@pytest.mark.slow
def test_a_dry_run_with_workers_writes_nothing_and_tells_the_same(tmp_path):
    sources = write_sources(tmp_path / "sources")
    single, several = store_of(tmp_path, 1), store_of(tmp_path, 3)
    assert import_demo(several, *sources, dry_run=True) == import_demo(single, *sources, dry_run=True)
    assert (several.list_refs(), packs(several)) == ({}, [])


@pytest.mark.slow
def test_a_source_that_cannot_be_read_costs_that_source_alone(tmp_path, monkeypatch):
    sources = write_sources(tmp_path / "sources")
    original = import_module.write_source_record

    def write(objects, previous, record, *arguments, **named):
        if record.native_id == "s4":
            raise CannotImport(f"{record.path} was changed while it was read")
        return original(objects, previous, record, *arguments, **named)

    monkeypatch.setattr(import_module, "write_source_record", write)
    results = [import_demo(store_of(tmp_path, workers), *sources) for workers in (1, 3)]
    assert [found.reason for found in results[1].skipped if found.path.endswith("s4.jsonl")] == [
        "was changed while it was read"
    ]
    assert results[0].conversations == results[1].conversations
    assert [found.path for found in results[0].skipped] == [found.path for found in results[1].skipped]
    assert results[0].notes == results[1].notes


@pytest.mark.parametrize("options", [{"strict": True}, {"title": "One title"}])
def test_a_refused_import_with_workers_leaves_nothing(tmp_path, options):
    repository = store_of(tmp_path, 3)
    with pytest.raises((CannotImport, Invalid)):
        import_demo(repository, *write_sources(tmp_path / "sources")[:-1], **options)
    assert (repository.list_refs(), packs(repository)) == ({}, [])


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_worker_leaves_nothing_and_the_next_import_is_complete(tmp_path, monkeypatch, deadly):
    sources = write_sources(tmp_path / "sources")
    repository, other = store_of(tmp_path, 3), store_of(tmp_path, 1)
    original = import_module.write_source_record

    def write(objects, previous, record, *arguments, **named):
        if record.native_id == "s8":
            os.kill(os.getpid(), deadly)
        return original(objects, previous, record, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(import_module, "write_source_record", write)
        with pytest.raises(Inaccessible, match="worker process of the import was killed; nothing was imported"):
            import_demo(repository, *sources)
    assert (repository.list_refs(), packs(repository)) == ({}, [])
    import_demo(repository, *sources)
    import_demo(other, *sources)
    assert refs_of(repository) == refs_of(other)
    check_store(repository)


@pytest.mark.parametrize("at", ["write", "finish"])
def test_a_full_disk_in_a_worker_is_reported_and_moves_no_ref(tmp_path, monkeypatch, at):
    repository = store_of(tmp_path, 3)
    parent, original = os.getpid(), getattr(PackWriter, at)

    def fail(writer, *arguments):
        if os.getpid() != parent:
            raise Inaccessible("cannot write new objects: No space left on device", hint="free some space")
        return original(writer, *arguments)

    monkeypatch.setattr(PackWriter, at, fail)
    with pytest.raises(Inaccessible, match="No space left"):
        import_demo(repository, *write_sources(tmp_path / "sources"))
    assert (repository.list_refs(), temporary_files(repository)) == ({}, [])


def test_few_bytes_are_imported_without_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(import_groups, "BYTES_PER_WORKER", 4 << 20)
    monkeypatch.setattr(import_groups, "WorkerPool", None)
    assert import_demo(store_of(tmp_path, 4), *write_sources(tmp_path / "sources")).operation is not None
