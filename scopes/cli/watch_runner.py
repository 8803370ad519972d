"""`import --watch`: the folders, the import of a file, signals, and what is printed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from types import FrameType

from scopes.cli.import_runner import (
    CollectedSources,
    collect_sources,
    import_all,
    projects_to_import,
    take_spooled,
)
from scopes.cli.invocation import Invocation
from scopes.errors import Busy, CannotImport, Inaccessible, NotFound, ScopesError
from scopes.history.sessions import WATCH
from scopes.importers.conversation_roots import list_conversation_roots
from scopes.importers.discovery import FILE_SUFFIXES, find_sources, find_standard_folders
from scopes.importers.formats.base import SNIFF_BYTES, UNKNOWN_FORMAT
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import ImportOptions, import_sources
from scopes.importers.report import is_about_last_line
from scopes.importers.results import Imported
from scopes.importers.workers import run_apart
from scopes.live.folder_changes import POLL_SECONDS, ChangeThread
from scopes.live.live_import import sign_files
from scopes.live.source_lock import source_lock
from scopes.live.watch import (
    RETRY_SECONDS,
    FileNotes,
    SourceRecorded,
    Watcher,
    new_notes,
    of_import,
    recorded_rows,
    watch_lock,
)
from scopes.regular_file import read_regular
from scopes.result import Note

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST_PAUSE_SECONDS = 600.0


class WatchRun:
    """One run of `scopes import --watch`.

    paths: files and folders; none for the standard folders of all agents
    projects: as for `import`
    """

    def __init__(self, invocation: Invocation, paths: Sequence[str], *, projects: Sequence[str] | None = None) -> None:
        self._invocation = invocation
        self._paths = [_require_path(path) for path in paths]
        self._options = ImportOptions(projects=projects_to_import(invocation, projects or ()))
        self._output = invocation.output()
        self._changed: SimpleQueue[str | None] = SimpleQueue()
        self._stopped = False
        self._importing_process: int | None = None  # the one that waits for the first import
        self._file_notes = FileNotes()

    def run(self) -> Iterator[SourceRecorded]:
        """Import what is there, then what changes, until a signal comes.

        Raises:
            Busy: another process watches for this store.
        """
        self._invocation.actor = WATCH
        for number in _SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._stop)
        with watch_lock(self._invocation.state_directory, self._invocation.store_path):
            thread = ChangeThread(
                self._find_folders, FILE_SUFFIXES, self._changed, interval=self._choose_interval(), note=self._say
            )
            try:
                self._importing_process = os.getpid()
                yield from self._import_first()
                self._importing_process = None
                thread.start()  # not before: the import forks, and a lock that another thread holds would stay locked
                if not self._stopped:
                    found = ", ".join(self._find_folders())
                    self._output.say(f"watching {found or 'for the first session of an agent'}")
                watcher = Watcher(
                    self._changed, self._import_file, stopped=lambda: self._stopped, note=self._output.note
                )
                yield from watcher.run()
            finally:
                thread.stop()

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        """End after the import that is under way; a second signal ends at once."""
        self._stopped = True
        self._changed.put(None)
        if os.getpid() == self._importing_process:  # not in the process that imports, which gets the signal too
            again = "press Ctrl-C again" if number == signal.SIGINT else "repeat the signal"
            self._output.say(f"finishing this import; {again} to stop at once")
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    def _choose_interval(self) -> float | None:
        if find_spec("watchfiles") is not None:
            return None
        hint = "to have the system report changes: pip install 'scopes-ai[watch]'"
        self._output.note(Note(f"files are looked at every {POLL_SECONDS:.0f} seconds", hint))
        return POLL_SECONDS

    def _say(self, text: str) -> None:
        self._output.note(Note(text))

    def _find_folders(self) -> list[str]:
        if self._paths:
            return self._paths
        found = find_standard_folders(FORMATS, self._invocation.environ, self._invocation.home)
        return [folder for folders in found.values() for folder in folders]

    def _import_first(self) -> Iterator[SourceRecorded]:
        """Import what is there, again after a pause while the store cannot be written.

        If it fails for another reason, what changes later is still imported.
        """
        pause = RETRY_SECONDS
        while not self._stopped:
            try:
                imported = run_apart(self._import_and_prepare)
            except (Busy, Inaccessible) as error:
                self._output.note(Note(f"{error.message}; it is tried again in {pause:.0f} seconds", error.hint))
                with suppress(Empty):
                    self._changed.get(timeout=pause)  # only a signal puts something into it now
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            except ScopesError as error:
                is_expected = isinstance(error, NotFound | CannotImport) and not any(map(_has_text, self._paths))
                if not is_expected:  # an empty file or folder waits for the first session
                    self._output.note(Note(error.message, error.hint))
                return
            else:
                yield from self._report(imported)
                return

    def _import_and_prepare(self) -> Imported | None:
        """Import what is there, and read in the same process by what later sessions find their conversations."""
        imported = self._import_present()
        repository = self._invocation.find_repository(create=True)
        if repository is not None:
            with suppress(ScopesError):  # the import of a session will report it
                list_conversation_roots(repository, self._invocation.index_directory)
        return imported

    def _report(self, imported: Imported | None) -> Iterator[SourceRecorded]:
        """Print the notes of the import of what is there, and yield what it has recorded."""
        if imported is None:
            return
        shown: Sequence[Note] = _without_last_lines(imported.notes)
        if not imported.exit_code:  # what was named and not imported is shown each time
            shown = new_notes(self._invocation.state_directory, self._invocation.store_path, shown)
        for note in map(of_import, shown):
            self._output.note(note)
        yield from recorded_rows(imported)

    def _import_present(self) -> Imported | None:
        """Import what is there; return None if that is nothing, and no path was named.

        Raises:
            ScopesError: it cannot be imported, or a path that was named has no transcripts.
        """
        take_spooled(self._invocation)
        folders = self._find_folders()
        try:
            collected = collect_sources(self._invocation, folders) if folders else CollectedSources([], (), ())
            sources = [replace(source, named=source.path in self._paths) for source in collected.sources]
            if not sources:
                return None
            present = replace(collected, sources=sources)
            imported = import_all(self._invocation, present, self._options)
        except (NotFound, CannotImport):
            if self._paths:
                raise
            return None  # no agent has a transcript yet
        changed = tuple(row for row in imported.conversations if row.new_messages)
        return replace(imported, sources=(), conversations=changed)  # what is needed of it

    def _import_file(self, path: str) -> Imported:
        """Import one file; a file of another project is left out unless it was named itself.

        Raises:
            NotFound, CannotImport, Inaccessible, Busy: as `import_sources`.
        """
        locks = os.path.join(self._invocation.state_directory, "hooks")
        sources = [replace(source, named=path in self._paths) for source in find_sources(path)]
        try:
            with source_lock(locks, self._invocation.store_path, path) as is_ours:
                if not is_ours:
                    return Imported(sources=(), conversations=())
                repository = self._invocation.open_again(create=True)
                directory = self._invocation.index_directory
                imported = import_sources(repository, sources, FORMATS, self._options, index_directory=directory)
        except CannotImport as error:
            if UNKNOWN_FORMAT in error.message and _has_line(path):
                self._note_of_file(path, [Note(f"skipped {path}: {UNKNOWN_FORMAT}", error.hint)])
            raise
        except OSError as error:
            raise Inaccessible(f"cannot lock {path}: {error.strerror}", hint="check the state directory") from error
        self._note_of_file(path, _without_last_lines(imported.notes))
        return imported

    def _note_of_file(self, path: str, notes: Sequence[Note]) -> None:
        for note in map(of_import, self._file_notes.take_new(path, notes)):
            self._output.note(note)


def _without_last_lines(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    """Leave out notes about a last line that an agent may be writing; an import has them if it stays so."""
    return tuple(note for note in notes if not is_about_last_line(note))


def _has_text(path: str) -> bool:
    return os.path.isfile(path) and sign_files([path])[0][0] > 0


def _has_line(path: str) -> bool:
    """Return True if a file has a whole line: an agent may be about to write its first one."""
    with suppress(OSError):
        return b"\n" in read_regular(path, SNIFF_BYTES)
    return False


def _require_path(path: str) -> str:
    """Return the resolved path of a file or folder.

    Raises:
        NotFound: there is none.
    """
    found = os.path.realpath(path)
    if not os.path.exists(found):
        raise NotFound(f"file {path!a} not found", hint="name a folder of transcripts, or none for all agents")
    return found
