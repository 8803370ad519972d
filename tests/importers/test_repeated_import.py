"""An import that would find nothing new is answered from the cache, unless anything it depends on has changed."""

from __future__ import annotations

import os

import pytest

from scopes.cli.import_runner import collect_sources, import_or_repeat
from scopes.cli.invocation import Invocation
from scopes.history.messages import read_message, walk_headers_oldest_first
from scopes.importers import import_sources, repeated_import
from scopes.importers.import_sources import ImportOptions
from tests.cli.running import PRODUCT, scopes
from tests.support.store import open_store

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
    trust_from(monkeypatch, -(10**12), -(10**12))
    made = tmp_path / "transcripts"
    made.mkdir()
    for number in range(4):
        (made / f"{number}.jsonl").write_text(RECORD % number)
    (made / "notes.jsonl").write_text("no transcript\n")
    return made


def trust_from(monkeypatch, nanoseconds=2_000_000_000, with_fractions=100_000_000):
    """Let files be trusted that are so old: those with times in whole seconds, and others."""
    monkeypatch.setattr(repeated_import, "_RACY_NANOSECONDS", nanoseconds)
    monkeypatch.setattr(repeated_import, "_RACY_FRACTION_NANOSECONDS", with_fractions)


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


def run(folder, *, store="store.git", reread=False, json=False, **options):
    """Import as a new process would; return the result."""
    home = folder.parent
    environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "SCOPES_DURABILITY": "fast"}
    invocation = Invocation(["import"], environment)
    invocation.configure("scopes import", {**NOTHING, "store": str(home / store), "json": json})
    collected = collect_sources(invocation, [str(folder)])
    return import_or_repeat(invocation, collected, ImportOptions(again=reread, **options))


def entries(folder):
    return list((folder.parent / "cache").rglob("imports/*.z"))


@pytest.mark.parametrize("json", [False, True])
def test_the_second_import_reads_no_source_and_has_the_result_of_one_that_does(folder, reads, json):
    first = run(folder, json=json)
    assert first.operation is not None
    assert len(reads) == 1
    second = run(folder, json=json)
    assert len(reads) == 1
    assert (second.operation, len(second.sources), len(second.conversations)) == (None, 4, 4)
    assert second.skipped
    assert run(folder, json=json, reread=True) == second == run(folder, json=json)
    assert len(reads) == 2


def test_after_new_files_the_next_import_reads_no_source(folder, reads):
    run(folder)
    add(folder)
    assert run(folder).operation is not None
    before = len(reads)
    second = run(folder)
    assert len(reads) == before
    assert run(folder, reread=True) == second


def test_after_a_file_has_grown_the_next_import_reads_once_more(folder, reads):
    """How many messages and branches its conversation has then is left to that one."""
    run(folder)
    grow(folder)
    assert run(folder).operation is not None
    before = len(reads)
    second = run(folder)
    assert run(folder) == second
    assert len(reads) == before + 1


def test_reread_reads_all_sources(folder, reads):
    for _ in range(3):
        run(folder)
    before = len(reads)
    run(folder, reread=True)
    assert len(reads) == before + 1


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


def change_store(folder, *words, store="store.git"):
    """Run a command on the store as another program would."""
    store = str(folder.parent / store)
    changed = scopes("--store", store, *words, table=PRODUCT, env={"HOME": str(folder.parent)})
    assert changed.returncode == 0, changed.stderr


OTHER_WRITES = [
    ("new",),
    ("append", "conv-001", "hello"),
    ("switch", "-c", "conv-001", "try"),
    ("rename", "conv-001", "--title", "Tea"),
    ("rewind", "conv-001"),
    ("tag", "conv-003", "good"),
    ("gc",),
]


@pytest.mark.parametrize("words", OTHER_WRITES, ids=lambda words: words[0])
def test_after_another_write_the_sources_are_not_read_and_the_result_is_as_if_they_were(folder, reads, words):
    for _ in range(2):
        run(folder)
    before = len(reads)
    change_store(folder, *words)
    now = run(folder)
    assert len(reads) == before
    assert run(folder, reread=True) == now == run(folder)


def test_each_of_several_writes_changes_its_row(folder, reads):
    for _ in range(2):
        first = run(folder)
    before = len(reads)
    change_store(folder, "append", "conv-001", "hello")
    change_store(folder, "rename", "conv-002", "--title", "Tea")
    rows = {row.id: row for row in run(folder).conversations}
    assert len(reads) == before
    counts = {row.id: row.messages for row in first.conversations}
    assert {name: row.messages - counts[name] for name, row in rows.items() if row.messages != counts[name]} == {
        "conv-001": 1
    }
    assert (rows["conv-002"].title, rows["conv-002"].first_prompt) == ("Tea", None)
    change_store(folder, "undo")
    assert run(folder).conversations[1] == first.conversations[1]
    assert len(reads) == before


@pytest.mark.parametrize(
    "words",
    [("delete", "conv-002", "--yes"), ("rename", "conv-002", "tea")],
    ids=lambda words: words[0],
)
def test_a_conversation_that_is_gone_makes_the_import_read_again(folder, reads, words):
    for _ in range(3):
        run(folder)
    before = len(reads)
    change_store(folder, *words)
    run(folder)
    assert len(reads) > before


def test_a_conversation_that_comes_back_is_noticed(folder, reads):
    for _ in range(2):
        run(folder)
    change_store(folder, "delete", "conv-002", "--yes")
    for _ in range(2):
        gone = run(folder)
    before = len(reads)
    assert (gone.stay_deleted, len(gone.conversations)) == (1, 3)
    assert run(folder) == gone
    assert len(reads) == before
    change_store(folder, "undo")
    assert len(run(folder).conversations) == 4
    assert len(reads) == before + 1


def test_another_conversation_under_the_same_id_is_not_taken_for_it(folder, reads):
    for _ in range(2):
        run(folder)
    before = len(reads)
    change_store(folder, "delete", "conv-004", "--yes")
    change_store(folder, "new", "--id", "conv-004")
    found = run(folder)
    assert len(reads) > before
    assert [row.id for row in found.conversations] == ["conv-001", "conv-002", "conv-003"]


def test_a_source_that_another_import_has_changed_makes_the_import_read_again(folder, reads):
    for _ in range(2):
        run(folder)
    original = (folder / "1.jsonl").read_text()
    status = (folder / "1.jsonl").stat()
    other = folder.parent / "elsewhere"
    other.mkdir()
    (other / "9.jsonl").write_text(RECORD % 9)
    change_store(folder, "import", str(other))
    before = len(reads)
    assert run(folder).operation is None
    assert len(reads) == before + 1
    assert ((folder / "1.jsonl").read_text(), (folder / "1.jsonl").stat().st_mtime_ns) == (original, status.st_mtime_ns)


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
    done = scopes("--store", str(folder.parent / "store.git"), "--at", "@", "import", str(folder), table=PRODUCT)
    assert done.returncode != 0


def test_a_file_that_was_written_a_moment_ago_is_not_trusted(folder, monkeypatch):
    trust_from(monkeypatch, 10**12, 10**12)
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


# Times that cannot be trusted


def newest_time(folder):
    return max(time for path in folder.iterdir() for time in (path.stat().st_mtime_ns, path.stat().st_ctime_ns))


@pytest.mark.parametrize("later", [1, 0, -(10**18), 10**18], ids=["long enough", "exactly", "set back", "much later"])
@pytest.mark.parametrize(
    ("times", "enough"),
    [([0, 0], 2_000_000_000), ([0, 250_000_000], 2_000_000_000), ([20_000_000, 1], 100_000_000)],
    ids=["whole seconds", "one in whole seconds", "fractions"],
)
def test_a_time_is_trusted_when_no_later_write_can_have_it(times, enough, later):
    """FAT stores even seconds; a file from the future may be written again at the same time."""
    written = [1_800_000_000_000_000_000 + time for time in times]
    racy = [repeated_import._is_racy(time, written[0] + enough + later) for time in written]
    assert any(racy) is (later <= 0)


@pytest.mark.parametrize(("later", "kept"), [(100_000_001, True), (100_000_000, False)])
def test_a_session_that_ended_a_moment_ago_is_trusted_soon(folder, monkeypatch, later, kept):
    """Its times are not in whole seconds, so the next write has others."""
    trust_from(monkeypatch)
    for path in folder.iterdir():
        os.utime(path, ns=(newest_time(folder), 1_700_000_000_123_456_789))
    assert newest_time(folder) % 10**9
    monkeypatch.setattr(repeated_import, "wall_nanoseconds", lambda: newest_time(folder) + later)
    for _ in range(2):
        run(folder)
    assert bool(entries(folder)) is kept


def test_one_new_file_makes_all_untrusted(folder, monkeypatch, reads):
    trust_from(monkeypatch)
    clock = [newest_time(folder) + 10**10]
    monkeypatch.setattr(repeated_import, "wall_nanoseconds", lambda: clock[0])
    for _ in range(3):
        run(folder)
    [entry] = entries(folder)
    before = entry.read_bytes(), len(reads)
    future = clock[0] + 10**9
    os.utime(folder / "3.jsonl", ns=(future, future))
    for _ in range(2):
        run(folder)
    assert (entry.read_bytes(), len(reads)) == (before[0], before[1] + 2)
    clock[0] = future + 10**10
    for _ in range(2):
        run(folder)
    assert len(reads) == before[1] + 3


def texts_of(folder):
    """Return the texts of all messages of the store."""
    repository = open_store(folder.parent / "store.git")
    heads = walk_headers_oldest_first(repository, repository.list_refs("refs/heads/").values())
    return [read_message(repository, head.oid).text for head in heads]


def test_other_content_that_the_file_system_hides_is_found_with_reread(folder, reads, monkeypatch):
    """As on a file system whose times and inodes stay: only the bytes differ."""
    for _ in range(3):
        run(folder)
    original, frozen = os.stat, {}
    for path in folder.iterdir():
        frozen[str(path)] = original(path)
    (folder / "1.jsonl").write_text(RECORD % 8)

    def stat(path, *arguments, **named):
        return frozen.get(path) or original(path, *arguments, **named)

    monkeypatch.setattr(repeated_import.os, "stat", stat)
    before = len(reads)
    assert run(folder).operation is None
    assert len(reads) == before
    assert run(folder, reread=True).operation is not None
    assert "How much is tea 8?" in texts_of(folder)


def test_a_new_file_in_the_place_and_with_the_inode_of_a_deleted_one_is_read(folder, reads):
    """Many file systems use the number of a deleted file for the next one."""
    path = folder / "1.jsonl"
    for _ in range(3):
        run(folder)
    status = path.stat()
    path.unlink()
    path.write_text(RECORD % 7)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    before = len(reads)
    assert run(folder).operation is not None
    assert len(reads) == before + 1
    assert "How much is tea 7?" in texts_of(folder)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_file_that_is_replaced_while_an_import_reads_is_read_by_the_next_one(folder, monkeypatch, when):
    """Its status was taken before the first byte was read, so the entry is not that of the new file."""
    for _ in range(2):
        run(folder)
    for entry in entries(folder):
        entry.unlink()
    original = import_sources.open_sources

    def open_sources(*arguments, **named):
        if when == "before":
            rewrite(folder)
        opened = original(*arguments, **named)
        if when == "after":
            rewrite(folder)
        return opened

    with monkeypatch.context() as patched:
        patched.setattr(import_sources, "open_sources", open_sources)
        run(folder)
    for _ in range(2):
        run(folder)
    assert "How much is tea 8?" in texts_of(folder)


def test_what_changes_in_the_store_while_an_import_reads_is_in_the_next_result(folder, reads, monkeypatch):
    for _ in range(2):
        run(folder)
    for entry in entries(folder):
        entry.unlink()
    original = import_sources.open_sources

    def open_sources(*arguments, **named):
        opened = original(*arguments, **named)
        change_store(folder, "append", "conv-001", "meanwhile")
        return opened

    with monkeypatch.context() as patched:
        patched.setattr(import_sources, "open_sources", open_sources)
        run(folder)
    before = len(reads)
    found = run(folder)
    assert len(reads) == before
    assert run(folder, reread=True) == found


def test_a_directory_that_a_link_now_leads_to_is_read(folder, reads):
    """The paths are the same, the files are others."""
    other = folder.parent / "others"
    other.mkdir()
    for path in folder.iterdir():
        (other / path.name).write_text(path.read_text().replace("Four", "Five"))
        os.utime(other / path.name, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    link = folder.parent / "link"
    link.symlink_to(folder)
    for _ in range(3):
        run(link)
    before = len(reads)
    link.unlink()
    link.symlink_to(other)
    assert run(link).operation is not None
    assert len(reads) == before + 1


# What else an entry depends on


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (repeated_import, "_VERSION", 99),
        (repeated_import, "PARSER_VERSION", "another"),
        (repeated_import.scopes, "__version__", "99.0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_version_reads_again(folder, reads, monkeypatch, module, name, value):
    for _ in range(3):
        run(folder)
    before = len(reads)
    monkeypatch.setattr(module, name, value)
    run(folder)
    assert len(reads) == before + 1


def test_the_entry_of_another_import_under_the_same_name_is_not_used(folder, reads):
    """Names are short hashes. In the other store, the same sources have other conversations."""
    change_store(folder, "new", store="other.git")
    for store in ("store.git", "other.git"):
        for _ in range(2):
            run(folder, store=store)
    one, two = entries(folder)
    first, second = (run(folder, store=store) for store in ("store.git", "other.git"))
    two_bytes = two.read_bytes()
    two.write_bytes(one.read_bytes())
    one.write_bytes(two_bytes)
    before = len(reads)
    assert [run(folder, store=store) for store in ("store.git", "other.git")] == [first, second]
    assert len(reads) == before + 2
    assert first.conversations[0].id != second.conversations[0].id


def test_a_file_that_vanishes_before_its_status_is_taken_is_as_without_a_cache(folder, monkeypatch):
    for _ in range(2):
        run(folder)
    original = repeated_import.prepare_repeated

    def prepare(repository, directory, sources, *arguments, **named):
        (folder / "2.jsonl").unlink(missing_ok=True)
        return original(repository, directory, sources, *arguments, **named)

    monkeypatch.setattr("scopes.cli.import_runner.prepare_repeated", prepare)
    result = run(folder)
    assert [os.path.basename(found.path) for found in result.skipped if found.error] == ["2.jsonl"]


def test_an_import_that_could_not_read_a_file_is_not_kept(folder, reads, monkeypatch):
    """The reason may be gone the next time, although nothing about the file has changed."""
    original = import_sources.open_sources

    def open_sources(sources, *arguments, **named):
        os.rename(folder / "2.jsonl", folder / "away")
        try:
            return original(sources, *arguments, **named)
        finally:
            os.rename(folder / "away", folder / "2.jsonl")

    with monkeypatch.context() as patched:
        patched.setattr(import_sources, "open_sources", open_sources)
        for _ in range(3):
            assert [found.path for found in run(folder).skipped if found.error]
    assert entries(folder) == []


def test_a_cache_that_cannot_be_written_costs_only_time(folder, reads):
    cache = folder.parent / "cache"
    cache.write_text("a file in the place of the directory")
    results = [run(folder) for _ in range(3)]
    assert len(reads) == 3
    assert results[1] == results[2]
    assert cache.read_text() == "a file in the place of the directory"
