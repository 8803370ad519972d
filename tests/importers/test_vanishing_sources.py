"""A transcript that vanishes, changes or turns into something else during an import costs that transcript alone."""

from __future__ import annotations

import os
import socket

import pytest

from scopes.conversation.verify import verify
from scopes.errors import CannotImport, Inaccessible
from scopes.importers import import_source as import_module
from scopes.importers.discovery import find_sources
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import ImportOptions, import_sources
from tests.support.store import git

RECORD = (
    '{"messages": [{"role": "user", "content": "How much is tea %d?"}, {"role": "assistant", "content": "Four."}]}\n'
)


def remove(path):
    os.unlink(path)


def make_directory(path):
    os.unlink(path)
    os.mkdir(path)


def make_pipe(path):
    os.unlink(path)
    os.mkfifo(path)


def make_device(path):
    os.unlink(path)
    os.symlink("/dev/zero", path)


def make_loop(path):
    os.unlink(path)
    os.symlink(path, path)


def make_socket(path):
    os.unlink(path)
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.basename(path))
    os.chdir(here)


def shorten(path):
    os.truncate(path, 30)


def empty(path):
    os.truncate(path, 0)


def rewrite(path):
    size = os.path.getsize(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write("x" * size)


ACCIDENTS = (remove, make_directory, make_pipe, make_device, make_loop, make_socket, shorten, empty, rewrite)


@pytest.fixture
def folder(tmp_path):
    """Make a folder of six transcripts; return its path."""
    made = tmp_path / "transcripts"
    made.mkdir()
    for number in range(6):
        (made / f"{number}.jsonl").write_text(RECORD % number)
    return made


def strike(monkeypatch, path, accident, at):
    """Let an accident happen to a file before it is opened for the `at`-th time; return the list that counts."""
    original, opened = Source.open, []

    def open_source(source):
        if source.path == str(path):
            opened.append(1)
            if len(opened) == at:
                accident(source.path)
        return original(source)

    monkeypatch.setattr(Source, "open", open_source)
    return opened


def run(repository, sources, **options):
    return import_sources(repository, sources, FORMATS, ImportOptions(**options))


@pytest.mark.parametrize("at", range(1, 8))
@pytest.mark.parametrize("accident", ACCIDENTS)
def test_the_other_transcripts_are_imported(repository, folder, monkeypatch, accident, at):
    """R4: exit 70 and 0 of 6 before. The file is opened to choose its format, read its session, hash it, parse it, ..."""
    struck = folder / "2.jsonl"
    opened = strike(monkeypatch, struck, accident, at)
    done = run(repository, find_sources(str(folder)))
    if len(opened) < at:
        assert len(done.conversations) == 6
        return
    assert len(done.conversations) == 5
    assert [found.path for found in done.skipped] == [str(struck)]
    assert [note for note in done.notes if str(struck) in note.text]
    assert (done.exit_code, verify(repository).findings) == (0, ())
    assert git(repository, "fsck", "--strict", "--no-dangling", "--no-progress") == ""


def test_a_named_transcript_that_vanishes_gives_exit_code_1(repository, folder, monkeypatch):
    sources = [source for number in range(3) for source in find_sources(str(folder / f"{number}.jsonl"))]
    strike(monkeypatch, folder / "1.jsonl", remove, 4)
    done = run(repository, sources)
    assert (len(done.conversations), done.exit_code) == (2, 1)


def test_several_accidents_in_one_import(repository, folder, monkeypatch):
    original = import_module.write_source_record

    def write(*arguments, **named):
        for number, accident in enumerate((remove, make_directory, make_pipe)):
            path = str(folder / f"{number}.jsonl")
            if os.path.isfile(path):
                accident(path)
        return original(*arguments, **named)

    monkeypatch.setattr(import_module, "write_source_record", write)
    done = run(repository, find_sources(str(folder)))
    assert (len(done.conversations) >= 3, len(done.skipped) + len(done.conversations)) == (True, 6)
    assert verify(repository).findings == ()


@pytest.mark.parametrize("accident", [remove, make_pipe, shorten])
def test_a_strict_import_with_an_accident_imports_nothing(repository, folder, monkeypatch, accident):
    strike(monkeypatch, folder / "2.jsonl", accident, 4)
    with pytest.raises((CannotImport, Inaccessible)):
        run(repository, find_sources(str(folder)), strict=True)
    assert repository.list_refs() == {}


def test_a_transcript_that_grows_meanwhile_is_imported_as_it_was(repository, folder, monkeypatch):
    """A writer may append while it is read."""

    def grow(path):
        with open(path, "a", encoding="utf-8") as file:
            file.write(RECORD % 77)

    strike(monkeypatch, folder / "2.jsonl", grow, 4)
    done = run(repository, find_sources(str(folder)))
    assert (len(done.conversations), done.skipped) == (6, ())
    assert sum(row.new_messages for row in run(repository, find_sources(str(folder))).conversations) > 0


def test_a_dry_run_survives_an_accident_too(repository, folder, monkeypatch):
    strike(monkeypatch, folder / "2.jsonl", remove, 4)
    done = run(repository, find_sources(str(folder)), dry_run=True)
    assert (len(done.conversations), len(done.skipped)) == (5, 1)
    assert repository.list_refs() == {}
