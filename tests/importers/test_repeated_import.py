"""An import that would find nothing new is answered from the cache, unless anything it depends on has changed."""

from __future__ import annotations

import os

import pytest

from scopes.cli.import_runner import collect_sources, import_or_repeat
from scopes.cli.invocation import Invocation
from scopes.importers import import_sources, repeated_import
from scopes.importers.import_sources import ImportOptions
from tests.cli.running import PRODUCT, scopes

RECORD = (
    '{"messages": [{"role": "user", "content": "How much is tea %d?"}, {"role": "assistant", "content": "Four."}]}\n'
)
OLD = 1_700_000_000_000_000_000
NOTHING = dict.fromkeys(("json", "quiet", "verbose", "no_pager", "no_hints", "no_input", "yes"), False)
NOTHING |= {"directories": (), "settings": (), "color": None}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder of four transcripts and a file of another kind; files that were just written are trusted."""
    monkeypatch.setattr(repeated_import, "_MIN_BYTES", 0)
    monkeypatch.setattr(repeated_import, "_RACY_NANOSECONDS", -(10**12))
    made = tmp_path / "transcripts"
    made.mkdir()
    for number in range(4):
        (made / f"{number}.jsonl").write_text(RECORD % number)
    (made / "notes.jsonl").write_text("no transcript\n")
    return made


@pytest.fixture
def reads(monkeypatch):
    """Return a list that has an entry for each import that read the sources."""
    calls = []
    original = import_sources.open_sources

    def open_sources(*arguments, **named):
        calls.append(1)
        return original(*arguments, **named)

    monkeypatch.setattr(import_sources, "open_sources", open_sources)
    return calls


def run(folder, *, store="store.git", rehash=False, json=False, **options):
    """Import as a new process would; return the result."""
    home = folder.parent
    environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "SCOPES_DURABILITY": "fast"}
    invocation = Invocation(["import"], environment)
    invocation.configure("scopes import", {**NOTHING, "store": str(home / store), "json": json})
    collected = collect_sources(invocation, [str(folder)])
    return import_or_repeat(invocation, collected, ImportOptions(**options), rehash=rehash)


def entries(folder):
    return list((folder.parent / "cache").rglob("imports/*.z"))


@pytest.mark.parametrize("json", [False, True])
def test_the_third_import_reads_no_source_and_has_the_same_result(folder, reads, json):
    run(folder, json=json)
    second = run(folder, json=json)
    assert second.operation is None
    assert len(second.sources) == len(second.conversations) == 4
    assert second.skipped
    before = len(reads)
    assert run(folder, json=json) == second
    assert len(reads) == before


def test_rehash_reads_all_sources(folder, reads):
    for _ in range(3):
        run(folder)
    before = len(reads)
    run(folder, rehash=True)
    assert len(reads) == before + 1


def test_rehash_is_an_option_of_the_command(folder):
    done = scopes("--store", str(folder.parent / "s.git"), "import", "--rehash", str(folder), table=PRODUCT)
    assert done.returncode == 0, done.stderr
    refused = scopes("--store", str(folder.parent / "s.git"), "import", "--rehash", "--sample", table=PRODUCT)
    assert refused.returncode == 2


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


def touch(folder):
    os.utime(folder / "2.jsonl", ns=(OLD, OLD))


def add(folder):
    (folder / "5.jsonl").write_text(RECORD % 5)


def remove(folder):
    (folder / "notes.jsonl").unlink()


@pytest.mark.parametrize("change", [grow, rewrite, replace, touch, add, remove])
def test_a_changed_file_is_read_again(folder, reads, change):
    for _ in range(3):
        run(folder)
    before = len(reads)
    change(folder)
    run(folder)
    assert len(reads) > before


@pytest.mark.parametrize(
    "words", [("new",), ("append", "conv-001", "hello"), ("rename", "conv-001", "--title", "Tea"), ("delete", "conv-002", "--yes")],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_changed_store_is_read_again(folder, reads, words):
    for _ in range(3):
        run(folder)
    before = len(reads)
    changed = scopes(
        "--store", str(folder.parent / "store.git"), *words, table=PRODUCT, env={"HOME": str(folder.parent)}
    )
    assert changed.returncode == 0, changed.stderr
    run(folder)
    assert len(reads) > before


@pytest.mark.parametrize(
    "options",
    [
        {"dry_run": True},
        {"again": True},
        {"join": False},
        {"since": 0},
        {"strict": False, "title": None, "projects": ()},
    ],
    ids=str,
)
def test_an_import_with_other_options_is_not_answered_from_the_cache(folder, reads, options):
    for _ in range(3):
        run(folder)
    before = len(reads)
    run(folder, **options)
    assert len(reads) > before


def test_a_store_that_shows_an_earlier_state_refuses_an_import_as_before(folder, monkeypatch):
    for _ in range(3):
        run(folder)
    done = scopes(
        "--store", str(folder.parent / "store.git"), "--at-operation", "@", "import", str(folder), table=PRODUCT
    )
    assert done.returncode != 0


def test_a_file_that_was_written_a_moment_ago_is_not_trusted(folder, monkeypatch):
    monkeypatch.setattr(repeated_import, "_RACY_NANOSECONDS", 2_000_000_000)
    for _ in range(3):
        run(folder)
    assert entries(folder) == []


def test_a_damaged_entry_is_ignored_and_written_again(folder, reads):
    for _ in range(2):
        run(folder)
    (entry,) = entries(folder)
    good = entry.read_bytes()
    for damaged in (b"", good[:-1], good[:40] + b"x" + good[41:], b"x" * 50):
        entry.write_bytes(damaged)
        before = len(reads)
        run(folder)
        assert len(reads) == before + 1
        assert entry.read_bytes() == good


def test_another_store_has_its_own_entries(folder, reads):
    for store in ("store.git", "other.git"):
        for _ in range(2):
            run(folder, store=store)
    assert len(entries(folder)) == 2


def test_the_number_of_entries_is_limited(folder):
    for number in range(repeated_import._MAX_ENTRIES + 3):
        (folder / f"x{number}.jsonl").write_text(RECORD % (20 + number))
        run(folder)
        run(folder)
    assert len(entries(folder)) == repeated_import._MAX_ENTRIES


def test_an_entry_is_readable_by_its_owner_alone(folder):
    for _ in range(2):
        run(folder)
    (entry,) = entries(folder)
    assert entry.stat().st_mode & 0o777 == 0o600


def test_a_named_file_that_cannot_be_read_is_reported_every_time(folder, reads):
    (folder / "4.jsonl").write_bytes(b"")
    for _ in range(4):
        assert run(folder).skipped
    assert entries(folder)


def test_an_import_of_few_bytes_has_no_entry(folder, monkeypatch):
    monkeypatch.setattr(repeated_import, "_MIN_BYTES", 1 << 20)
    for _ in range(3):
        run(folder)
    assert entries(folder) == []
