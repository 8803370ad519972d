"""What an import keeps in the index for later commands is made while its refs move, by another process or by its own."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from glob import glob

import pytest

from scopes.errors import Corrupt
from scopes.importers import import_sources, kept_for_later, shared_prefix
from scopes.index import caches as session_cache
from scopes.store.locks import LOCK_FILE, TURNSTILE_FILE
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.support.store import make_store

LONG = " ".join(f"w{number}" for number in range(30))


@pytest.fixture(autouse=True)
def _everything_is_worth_it(monkeypatch):
    monkeypatch.setattr(kept_for_later, "MANY_CONVERSATIONS", 2)


@contextmanager
def no_process(_):
    yield lambda: None


def import_into(directory, transcripts):
    """Import into a new store, and return the store and the directory of its index."""
    repository, index = make_store(directory), str(directory / "index")
    import_demo(repository, *transcripts, index_directory=index)
    return repository, index


def rows(directory, layout, table):
    with closing(sqlite3.connect(os.path.join(directory, layout.file))) as connection:
        return sorted(connection.execute(f"SELECT key, data FROM {table}"))


def kept_in(index):
    return [rows(index, session_cache.SESSIONS, table) for table in ("source", "conversation")]


@pytest.fixture
def transcripts(tmp_path):
    """A long session with branches, one that continues another one, and short ones."""
    drawn = {"long": f"{LONG} fork<w5 more end<w20 last", "short": "a b c", "copy": "a b d"}
    return [
        write_transcript(tmp_path / f"{name}.jsonl", *session_records(name, words)) for name, words in drawn.items()
    ]


def test_another_process_keeps_the_same_as_the_import_itself_would(transcripts, tmp_path, monkeypatch):
    _, index = import_into(tmp_path / "one", transcripts)
    monkeypatch.setattr(kept_for_later, "begin_apart", no_process)
    _, other = import_into(tmp_path / "two", transcripts)
    assert kept_in(index) == kept_in(other)
    assert [len(each) for each in kept_in(index)] == [3, 3]


def test_what_another_process_has_kept_is_not_made_again(transcripts, tmp_path, monkeypatch):
    """The functions below are those of this process: they note what it reads; the other one has a copy."""
    made = []
    original = shared_prefix._first_message_ids

    def note(*arguments):
        made.append("_first_message_ids")
        return original(*arguments)

    monkeypatch.setattr(shared_prefix, "_first_message_ids", note)
    import_into(tmp_path / "one", transcripts)
    assert made == []
    monkeypatch.setattr(kept_for_later, "begin_apart", no_process)
    import_into(tmp_path / "two", transcripts)
    assert {*made} == {"_first_message_ids"}


def test_the_other_process_does_not_hold_the_lock_of_the_store(transcripts, tmp_path, monkeypatch):
    """Otherwise the store would stay locked until it ends, also for other commands."""
    report = tmp_path / "report"

    def note_open_files(*_):
        found = glob(f"/proc/{os.getpid()}/fd/*")
        open_files = [os.path.basename(os.path.realpath(path)) for path in found]
        report.write_text("\n".join([str(os.getpid()), *open_files]))

    monkeypatch.setattr(kept_for_later, "keep_comparisons_of", note_open_files)
    import_into(tmp_path / "one", transcripts)
    process, *open_files = report.read_text().splitlines()
    assert int(process) != os.getpid()
    assert not {LOCK_FILE, TURNSTILE_FILE} & {*open_files}


def test_an_import_succeeds_if_the_other_process_dies(transcripts, tmp_path, monkeypatch):
    monkeypatch.setattr(kept_for_later, "keep_comparisons_of", lambda *_: os._exit(9))
    _, index = import_into(tmp_path / "one", transcripts)
    monkeypatch.undo()
    monkeypatch.setattr(kept_for_later, "MANY_CONVERSATIONS", 2)
    assert [len(each) for each in kept_in(index)] == [3, 3]


def test_an_import_that_fails_while_its_refs_move_waits_for_nothing(transcripts, tmp_path, monkeypatch):
    def fail(*_):
        raise Corrupt("a ref is damaged")

    monkeypatch.setattr(import_sources, "_update_refs", fail)
    monkeypatch.setattr(kept_for_later, "keep_comparisons_of", lambda *_: os.read(os.pipe()[0], 1))  # never ends
    with pytest.raises(Corrupt):
        import_into(tmp_path / "one", transcripts)


def test_sources_of_an_import_that_failed_are_forgotten_by_the_next_one(transcripts, tmp_path, monkeypatch):
    """Their rows were kept already, under the names of commits that no ref has."""
    repository, index = import_into(tmp_path / "one", transcripts[:2])
    update = import_sources._update_refs

    def fail(*_):
        raise Corrupt("a ref is damaged")

    lost = [write_transcript(tmp_path / f"{n}.jsonl", *session_records(f"lost{n}", f"p{n} q")) for n in range(2)]
    monkeypatch.setattr(import_sources, "_update_refs", fail)
    monkeypatch.setattr(kept_for_later, "begin_apart", at_once)
    with pytest.raises(Corrupt):
        import_demo(repository, *lost, index_directory=index)
    assert len(rows(index, session_cache.SESSIONS, "source")) == 4
    monkeypatch.setattr(import_sources, "_update_refs", update)
    import_demo(repository, transcripts[2], index_directory=index)
    import_demo(
        repository, write_transcript(tmp_path / "n.jsonl", *session_records("new", "n m")), index_directory=index
    )
    assert len(rows(index, session_cache.SESSIONS, "source")) == 3


@contextmanager
def at_once(work):
    """Do the work in this process, before the refs move."""
    work()
    yield lambda: None


def test_a_short_import_starts_no_process(transcripts, tmp_path, monkeypatch):
    def refuse(_):
        raise AssertionError

    monkeypatch.setattr(kept_for_later, "MANY_CONVERSATIONS", 100)
    monkeypatch.setattr(kept_for_later, "begin_apart", refuse)
    repository, _ = import_into(tmp_path / "one", transcripts)
    assert repository.list_refs("refs/heads/")
