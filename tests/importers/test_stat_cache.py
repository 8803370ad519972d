"""Files that are as the last import left them are not read, unless anything that it depends on has changed."""

from __future__ import annotations

import os

import pytest

from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.importers import source_queue as opening
from scopes.importers import stat_cache
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import ImportOptions, import_sources
from tests.cli.running import PRODUCT, scopes
from tests.support.store import make_store, open_store

RECORD = (
    '{"messages": [{"role": "user", "content": "How much is tea %d?"}, {"role": "assistant", "content": "Four."}]}\n'
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder of four transcripts and a file of another kind; files that were just written are trusted."""
    monkeypatch.setattr(stat_cache, "_MIN_BYTES", 0)
    monkeypatch.setattr(stat_cache, "_RACY_NANOSECONDS", -(10**12))
    made = tmp_path / "transcripts"
    made.mkdir()
    for number in range(4):
        (made / f"{number}.jsonl").write_text(RECORD % number)
    (made / "notes.jsonl").write_text("no transcript\n")
    return made


@pytest.fixture
def reads(monkeypatch):
    """Return the names of the files that imports have opened."""
    names = []
    original = opening.open_each

    def open_each(sources, *arguments, **named):
        names.extend(os.path.basename(source.path) for source in sources)
        return original(sources, *arguments, **named)

    monkeypatch.setattr(opening, "open_each", open_each)
    return names


def run(folder, *, store="store.git", reread=False, **options):
    """Import as a new process would; return the result."""
    path, skipped = folder.parent / store, []
    repository = open_store(path) if path.exists() else make_store(path)
    return import_sources(
        repository, find_sources(str(folder), skipped), FORMATS, ImportOptions(again=reread, reread=reread, **options),
        skipped=skipped, index_directory=str(folder.parent / "cache" / store),
    )  # fmt: skip


def read_by(reads, folder, **options):
    """Return the result of an import, and which files it has read."""
    reads.clear()
    return run(folder, **options), sorted(reads)


def entries(folder):
    return list((folder.parent / "cache").rglob("imported.z"))


def test_the_second_import_reads_no_transcript_and_has_the_result_of_one_that_does(folder, reads):
    first = run(folder)
    assert first.operation is not None
    second, read = read_by(reads, folder)
    assert read == ["notes.jsonl"]
    assert (second.operation, len(second.sources), len(second.conversations)) == (None, 4, 4)
    assert second.skipped
    assert run(folder, reread=True) == second == run(folder)


def test_again_is_an_option_of_the_command(folder):
    store = ("--store", str(folder.parent / "s.git"))
    done = scopes(*store, "import", "--again", str(folder), table=PRODUCT)
    assert done.returncode == 0, done.stderr
    assert scopes(*store, "import", "--again", "--sample", table=PRODUCT).returncode == 2
    assert scopes(*store, "import", "--again", table=PRODUCT).stdout.count("\t0\t1\n") == 4


def grow(folder):
    with (folder / "1.jsonl").open("a") as file:
        file.write(RECORD % 9)


def rewrite(folder):
    """Write other bytes of the same length; the modification time is set back."""
    path = folder / "1.jsonl"
    status = path.stat()
    path.write_text(RECORD % 8)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace(folder):
    copy = folder / "copy"
    copy.write_text(RECORD % 1)
    status = (folder / "1.jsonl").stat()
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    copy.replace(folder / "1.jsonl")


def add(folder):
    (folder / "5.jsonl").write_text(RECORD % 5)


CHANGES = [(grow, ["1.jsonl"]), (rewrite, ["1.jsonl"]), (replace, ["1.jsonl"]), (add, ["5.jsonl"])]


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_only_a_changed_file_is_read_again(folder, reads, change, expected):
    run(folder)
    change(folder)
    assert read_by(reads, folder)[1] == [*expected, "notes.jsonl"]
    assert read_by(reads, folder)[1] == ["notes.jsonl"]


def change_store(folder, *words, store="store.git"):
    """Run a command on the store as another program would."""
    store = str(folder.parent / store)
    changed = scopes("--store", store, *words, table=PRODUCT, env={"HOME": str(folder.parent)})
    assert changed.returncode == 0, changed.stderr


OTHER_WRITES = [
    ("append", "conv-002", "hello"),
    ("rename", "conv-002", "--title", "Tea"),
    ("rewind", "conv-002"),
    ("delete", "conv-002", "--yes"),
]


@pytest.mark.parametrize("words", OTHER_WRITES, ids=lambda words: words[0])
def test_a_conversation_that_was_changed_is_read_again_and_no_other(folder, reads, words):
    run(folder)
    change_store(folder, *words)
    found, read = read_by(reads, folder)
    assert (len(read), read[-1]) == (2, "notes.jsonl")
    assert run(folder, dry_run=True, reread=True).operation is found.operation is None
    assert len(found.conversations) + found.stay_deleted == 4


@pytest.mark.parametrize("words", [("new",), ("gc",), ("tag", "conv-003", "good")], ids=lambda words: words[0])
def test_other_writes_change_no_entry_of_another_conversation(folder, reads, words):
    run(folder)
    change_store(folder, *words)
    assert len(read_by(reads, folder)[1]) <= 2


def test_another_conversation_under_the_same_id_is_not_taken_for_it(folder, reads):
    run(folder)
    change_store(folder, "delete", "conv-004", "--yes")
    change_store(folder, "new", "--id", "conv-004")
    found, read = read_by(reads, folder)
    assert len(read) == 2
    assert [row.id for row in found.conversations] == ["conv-001", "conv-002", "conv-003"]


@pytest.mark.parametrize(
    "options", [{"dry_run": True}, {"reread": True}, {"join": False}, {"since": 0}, {"projects": ()}], ids=str
)
def test_an_import_with_other_options_reads_all(folder, reads, options):
    run(folder)
    assert len(read_by(reads, folder, **options)[1]) == 5


def test_a_file_that_was_written_a_moment_ago_is_not_trusted(folder, reads, monkeypatch):
    monkeypatch.setattr(stat_cache, "_RACY_NANOSECONDS", 2 * 10**9)
    future = 2 * 10**18 + 10**18
    os.utime(folder / "3.jsonl", ns=(future, future))
    monkeypatch.setattr(stat_cache, "wall_nanoseconds", lambda: future - 10**18)
    run(folder)
    assert read_by(reads, folder)[1] == ["3.jsonl", "notes.jsonl"]


def test_a_damaged_cache_is_ignored_and_written_again(folder, reads):
    run(folder)
    (entry,) = entries(folder)
    good = entry.read_bytes()
    assert entry.stat().st_mode & 0o777 == 0o600
    for damaged in (b"", good[:-1], good[:40] + b"x" + good[41:], b"x" * 50):
        entry.write_bytes(damaged)
        assert len(read_by(reads, folder)[1]) == 5
        assert read_by(reads, folder)[1] == ["notes.jsonl"]


def test_another_store_has_its_own_cache(folder, reads):
    run(folder)
    run(folder, store="other.git")
    assert len(entries(folder)) == 2
    assert read_by(reads, folder, store="other.git")[1] == ["notes.jsonl"]


def test_an_import_of_few_bytes_has_no_cache(folder, monkeypatch):
    monkeypatch.setattr(stat_cache, "_MIN_BYTES", 1 << 20)
    run(folder)
    assert entries(folder) == []


def texts_of(folder):
    """Return the texts of all messages of the store."""
    repository = open_store(folder.parent / "store.git")
    heads = walk_headers_oldest_first(repository, repository.list_refs("refs/heads/").values())
    return [read_message(repository, head.oid).text for head in heads]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_file_that_is_replaced_while_an_import_reads_is_read_by_the_next_one(folder, monkeypatch, when):
    """Its status was taken before the first byte was read, so the entry is not that of the new file."""
    original = opening._open

    def open_one(source, *arguments):
        if when == "before":
            rewrite(folder)
        opened = original(source, *arguments)
        if when == "after":
            rewrite(folder)
        return opened

    with monkeypatch.context() as patched:
        patched.setattr(opening, "_open", open_one)
        run(folder)
    run(folder)
    assert "How much is tea 8?" in texts_of(folder)


@pytest.mark.parametrize(("name", "value"), [("_VERSION", 99), ("PARSER_VERSION", "another")])
def test_another_version_reads_again(folder, reads, monkeypatch, name, value):
    run(folder)
    monkeypatch.setattr(stat_cache, name, value)
    assert len(read_by(reads, folder)[1]) == 5


def test_a_file_that_could_not_be_read_is_tried_again(folder, reads, monkeypatch):
    original = opening.open_each

    def open_each(sources, *arguments, **named):
        os.rename(folder / "2.jsonl", folder / "away")
        try:
            return original(sources, *arguments, **named)
        finally:
            os.rename(folder / "away", folder / "2.jsonl")

    with monkeypatch.context() as patched:
        patched.setattr(opening, "open_each", open_each)
        assert [found.path for found in run(folder).skipped if found.error]
    assert "2.jsonl" in read_by(reads, folder)[1]


def test_a_cache_that_cannot_be_written_costs_only_time(folder, reads):
    cache = folder.parent / "cache"
    cache.write_text("a file in the place of the directory")
    results = [run(folder) for _ in range(3)]
    assert results[1] == results[2]
    assert cache.read_text() == "a file in the place of the directory"
