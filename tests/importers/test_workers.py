"""Imports with several workers: the same store and the same result as with one, or nothing."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
import sys
import time
from contextlib import closing
from dataclasses import replace
from functools import cache

import pytest

from scopes.conversation.verify import verify
from scopes.errors import CannotImport, Inaccessible, Invalid
from scopes.history.messages import read_message
from scopes.ids import Oid
from scopes.importers import import_source as import_module
from scopes.importers import import_sources as pipeline
from scopes.importers.formats.base import Source
from scopes.importers.workers import count_workers, walk_results
from scopes.secret_scan import prefilter
from scopes.secrets import count as secret_count
from scopes.store.config import Setting
from scopes.store.objects import read_commit
from scopes.store.packs import PackWriter
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.fork_server import DEVNULL, StartedProgram
from tests.support.store import FAST, ROOT, assert_sound, git, make_store, open_store

LONG = "The same long answer of an agent. " * 40


@pytest.fixture(autouse=True)
def small_imports_have_workers(monkeypatch):
    monkeypatch.setattr(pipeline, "BYTES_PER_WORKER", 1)
    monkeypatch.setattr(pipeline, "BYTES_PER_TASK", 1)


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
    monkeypatch.setattr(secret_count, "_SLOW_BYTES", 1000)
    sources = [
        write_transcript(tmp_path / f"s{n}.jsonl", *session_records(f"s{n}", f"{'word' * 100 * n} w{n}"))
        for n in range(4)
    ]
    done = import_demo(store_of(tmp_path, workers), *sources)
    assert [note for note in done.notes if note == secret_count.NOT_SCANNED] == [secret_count.NOT_SCANNED]
    short = import_demo(store_of(tmp_path, workers, "short"), sources[0])
    assert secret_count.NOT_SCANNED not in short.notes


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
def test_a_refused_import_with_workers_moves_no_ref(tmp_path, options):
    repository = store_of(tmp_path, 3)
    with pytest.raises((CannotImport, Invalid)):
        import_demo(repository, *write_sources(tmp_path / "sources")[:-1], **options)
    assert (repository.list_refs(), temporary_files(repository)) == ({}, [])


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_worker_moves_no_ref_and_the_next_import_is_complete(tmp_path, monkeypatch, deadly):
    sources = write_sources(tmp_path / "sources")
    repository, other = store_of(tmp_path, 3), store_of(tmp_path, 1)
    original = import_module.write_source_record

    def write(objects, previous, record, *arguments, **named):
        if record.native_id == "s8":
            os.kill(os.getpid(), deadly)
        return original(objects, previous, record, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(import_module, "write_source_record", write)
        with pytest.raises(Inaccessible, match="a worker process was killed; nothing was stored"):
            import_demo(repository, *sources)
    assert repository.list_refs() == {}
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
    monkeypatch.setattr(pipeline, "BYTES_PER_WORKER", 4 << 20)
    monkeypatch.setattr(pipeline, "walk_results", None)
    assert import_demo(store_of(tmp_path, 4), *write_sources(tmp_path / "sources")).operation is not None


def test_an_import_that_is_stopped_keeps_the_sessions_that_are_whole(tmp_path):
    """The next one goes on; with one process, and with several."""
    sources = write_sources(tmp_path / "sources")
    expected = store_of(tmp_path, 1, "whole")
    import_demo(expected, *sources)
    signals = [signal.SIGINT, signal.SIGINT]

    def interrupt(_):
        if len(signals) > left:
            os.kill(os.getpid(), signals.pop())

    for workers in (1, 2):
        repository, left = store_of(tmp_path, workers), len(signals) - 1
        done = import_demo(repository, *sources, on_progress=interrupt)
        assert (done.exit_code, done.stopped + len(done.sources)) == (130, len(sources) - 1)
        assert 0 < len(done.conversations) <= len(done.sources) < len(sources) - 1
        assert done.sentence[-1].startswith(f"stopped after {len(done.sources)} of")
        check_store(repository)
        import_demo(repository, *sources)
        texts = [
            {read_message(store, Oid(oid)).id for oid in store.list_refs("refs/heads/").values()}
            for store in (repository, expected)
        ]
        assert texts[0] == texts[1]


# The processes


def test_results_come_as_they_are_done_and_errors_are_raised_here():
    assert sorted(walk_results(lambda number: number * 2, 5, 3)) == [0, 2, 4, 6, 8]
    assert list(walk_results(lambda number: number, 0, 2)) == []
    for error in (MemoryError(), SystemExit(3), CannotImport("x", hint="y")):
        with pytest.raises(type(error)):
            list(walk_results(lambda number, error=error: throw(error), 3, 2))
    with pytest.raises(Inaccessible, match="was killed"):
        list(walk_results(os._exit, 3, 2))
    assert multiprocessing.active_children() == []


def throw(error):
    raise error


def test_a_run_that_is_left_early_ends_its_workers():
    began = time.monotonic()
    with closing(walk_results(lambda number: time.sleep(60 * (number > 0)), 10, 3)) as results:
        next(results)
    assert time.monotonic() - began < 10
    assert multiprocessing.active_children() == []


def test_a_worker_that_cannot_be_started_is_a_plain_error(monkeypatch):
    """As with `ulimit -u`."""
    monkeypatch.setattr(os, "fork", lambda: throw(OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))))
    with pytest.raises(Inaccessible, match="cannot start a worker") as raised:
        list(walk_results(lambda number: number, 3, 2))
    assert raised.value.hint == "set scopes.importWorkers to 1"


@pytest.mark.parametrize(("asked", "count"), [("1", 1), ("3", 3), ("64", 64), ("1000", 64)])
def test_the_number_of_workers_is_the_setting_within_limits(tmp_path, asked, count):
    setting = Setting("scopes.importWorkers", asked, "flag")
    assert count_workers(make_store(tmp_path / "s.git", {**FAST, "scopes.importworkers": setting})) == count


def test_without_a_setting_there_are_no_more_workers_than_processors(tmp_path, monkeypatch):
    repository = make_store(tmp_path / "s.git")
    for processors, count in ((1, 1), (2, 2), (64, 4)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=processors: set(range(n)), raising=False)
        monkeypatch.setattr(sys, "platform", "linux")
        assert count_workers(repository) == count
    monkeypatch.setattr(sys, "platform", "darwin")
    assert count_workers(repository) == 1


IMPORT = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` ignores it, and children inherit that
from scopes.importers import import_sources as pipeline, import_source
from scopes.store.config import Setting
from tests.importers.demo_format import DemoFormat
from scopes.importers.formats.base import Source
from scopes.importers.import_sources import ImportOptions, import_sources
from tests.support.store import FAST, open_store
import os
pipeline.BYTES_PER_WORKER = pipeline.BYTES_PER_TASK = 1
def wait(*arguments, **named):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(60)
import_source.write_source_record = wait
setting = Setting("scopes.importWorkers", "2", "flag")
repository = open_store(sys.argv[1], {**FAST, "scopes.importworkers": setting})
sources = [Source(path, os.path.getsize(path)) for path in sys.argv[2:]]
import_sources(repository, sources, (DemoFormat(),), ImportOptions(), on_progress=lambda _: None)
"""


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("to_all", [True, False], ids=["as Ctrl-C", "to the parent alone"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_an_interrupted_import_leaves_no_process_and_a_store_that_can_be_used(tmp_path, number, to_all):
    """A terminal sends Ctrl-C to all processes; a supervisor signals the parent only."""
    sources = [write_transcript(tmp_path / f"s{n}.jsonl", *session_records(f"s{n}", "a b c")) for n in range(6)]
    store = make_store(tmp_path / "store.git").path
    words = [store, *(source.path for source in sources)]
    with StartedProgram(IMPORT, words, os.environ, stderr=DEVNULL, new_session=True, cwd=ROOT) as parent:
        pids = [int(parent.stdout.readline()) for _ in range(2)]
        (os.killpg if to_all else os.kill)(parent.pid, number)
        assert parent.wait(20) != 0
    deadline = time.monotonic() + 20
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_running, pids))
    repository = open_store(store)
    assert repository.list_refs() == {}
    assert len(import_demo(repository, *sources).conversations) == 6
    assert_sound(repository)
