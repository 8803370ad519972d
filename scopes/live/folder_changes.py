"""Which files below some folders have changed: reported by the system (watchfiles) or found by polling.

Both run on a thread of their own and put the paths of changed files into a queue. The folders may appear, vanish and be
replaced at any time: they are looked up again every few seconds, and the files of a new one count as changed.

Looking costs a call for each folder and for each file that was written in the last hour, at each turn; all other files
are looked at every half a minute, which is when the next part of an old session is noticed. Names are only read in
folders that have changed.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import NamedTuple, TypeAlias

from scopes.importers.expand import find_folder_of

FindFolders: TypeAlias = Callable[[], Sequence[str]]
Changed: TypeAlias = "SimpleQueue[str | None]"  # None wakes the reader
POLL_SECONDS = 2.0  # between two looks, if the system does not report changes
LOOKUP_SECONDS = 10.0  # between two looks, if it does: some file systems report nothing
RECENT_SECONDS = 3600.0
EVERYTHING_SECONDS = 30.0
_RACY_NANOSECONDS = 2_000_000_000  # a folder may change again without another time
WRITE_AHEAD_LOG = "-wal"
_DATABASES = (".db", ".vscdb")
_STEP_MILLISECONDS = 100
_WAKE_MILLISECONDS = 1000  # until it is seen that the folders are other ones


class Seen(NamedTuple):
    """A file as it was when it was last looked at."""

    size: int
    modified: int
    inode: int


_UNSEEN = Seen(-1, 0, 0)


def source_of(path: str) -> str:
    """Return what is imported when a file has changed: its database, or the folder that it is a record of."""
    return find_folder_of(path.removesuffix(WRITE_AHEAD_LOG))


class FolderPoll:
    """The files below folders, as far as they have one of the suffixes, and their changes.

    Links are not followed, as in an import.
    """

    def __init__(self, suffixes: tuple[str, ...]) -> None:
        self._suffixes = suffixes
        self._folders: dict[str, int] = {}  # and the time of each, 0 to read it again
        self._files: dict[str, Seen] = {}
        self._everything_at = 0.0

    def look(self, tops: Sequence[str], now: float) -> list[str]:
        """Return the files that are new or have changed since the last look; at the first one all of them."""
        for top in tops:
            if os.path.isdir(top):
                self._folders.setdefault(top, 0)
            elif os.path.isfile(top):
                self._files.setdefault(top, _UNSEEN)
        found = [path for folder in list(self._folders) for path in self._read_if_changed(folder)]
        everything = now >= self._everything_at
        if everything:
            self._everything_at = now + EVERYTHING_SECONDS
        recent = (now - RECENT_SECONDS) * 1e9
        for path, seen in list(self._files.items()):
            if everything or seen.modified >= recent or seen is _UNSEEN:
                found += self._compare(path, seen)
        return found

    def _read_if_changed(self, folder: str) -> Iterator[str]:
        """Yield the new files of a folder and of new folders in it, if it has changed."""
        try:
            modified = os.stat(folder, follow_symlinks=False).st_mtime_ns
        except OSError:
            del self._folders[folder]
            return
        if modified == self._folders[folder]:
            return
        is_old = modified < time.time_ns() - _RACY_NANOSECONDS
        self._folders[folder] = modified if is_old else 0
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.path not in self._folders:
                    self._folders[entry.path] = 0
                    yield from self._read_if_changed(entry.path)
            elif entry.path not in self._files and entry.name.endswith(self._suffixes):
                yield from self._compare(entry.path, None)

    def _compare(self, path: str, before: Seen | None) -> Iterator[str]:
        """Yield the path of a file if it is not as before; forget one that is gone or no file any more."""
        try:
            status = os.stat(path, follow_symlinks=False)
        except OSError:
            self._files.pop(path, None)
            return
        if not stat.S_ISREG(status.st_mode):
            self._files.pop(path, None)
            return
        now = Seen(status.st_size, status.st_mtime_ns, status.st_ino)
        if path.endswith(_DATABASES):
            with suppress(OSError):
                log = os.stat(path + WRITE_AHEAD_LOG, follow_symlinks=False)
                now = Seen(now.size + log.st_size, max(now.modified, log.st_mtime_ns), now.inode)
        self._files[path] = now
        if now != before:
            yield path


class ChangeThread:
    """Puts the paths of changed files into `changed` from its start until it is stopped.

    What has changed since it was made counts, so that it need not run during the first import.

    interval: seconds between two looks; None if the system reports changes
    note: is called with a text if the system stops to report changes, and polling begins
    """

    def __init__(
        self,
        find_folders: FindFolders,
        suffixes: tuple[str, ...],
        changed: Changed,
        *,
        interval: float | None,
        note: Callable[[str], None],
    ) -> None:
        self._find_folders, self._suffixes, self._changed, self._note = find_folders, suffixes, changed, note
        self._interval = interval
        self._stopped = threading.Event()
        self._poll = FolderPoll(suffixes)
        self._thread = threading.Thread(target=self._run, name="changes", daemon=True)
        self._poll.look(find_folders(), time.time())  # what is there is the business of the first import

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, if it was started."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(2 * LOOKUP_SECONDS)

    def _run(self) -> None:
        if self._interval is None:
            try:
                self._listen()
            except (OSError, RuntimeError) as error:  # no more watches for this user, or none for this file system
                seconds = f"{POLL_SECONDS:.0f} seconds"
                self._note(
                    f"the system does not report which files change ({error}); they are looked at every {seconds}"
                )
                self._interval = POLL_SECONDS
        while not self._stopped.wait(self._interval):
            self._look()

    def _look(self) -> None:
        for path in self._poll.look(self._find_folders(), time.time()):
            self._changed.put(source_of(path))

    def _listen(self) -> None:
        """Pass on what the system reports; begin again whenever the list of folders changes.

        Raises:
            OSError, RuntimeError: the system does not report changes.
        """
        while not self._stopped.is_set():
            folders = _identify(self._find_folders())
            if not folders:
                self._stopped.wait(POLL_SECONDS)
                continue
            try:
                self._listen_to(folders)
            except FileNotFoundError:  # a folder was deleted meanwhile
                self._stopped.wait(POLL_SECONDS)

    def _listen_to(self, folders: tuple[tuple[str, int, int], ...]) -> None:
        from watchfiles import watch

        events = watch(
            *(path for path, _, _ in folders),
            watch_filter=None,
            debounce=2 * _STEP_MILLISECONDS,
            step=_STEP_MILLISECONDS,
            stop_event=self._stopped,
            rust_timeout=_WAKE_MILLISECONDS,
            yield_on_timeout=True,
            raise_interrupt=False,
        )
        look_at = 0.0
        for changes in events:
            for _, path in changes:
                if path.removesuffix(WRITE_AHEAD_LOG).endswith(self._suffixes):
                    self._changed.put(source_of(path))
            if time.monotonic() >= look_at:  # also at the first time: what has changed before the system was asked
                look_at = time.monotonic() + LOOKUP_SECONDS
                self._look()
            if _identify(self._find_folders()) != folders:
                return


def _identify(paths: Sequence[str]) -> tuple[tuple[str, int, int], ...]:
    """Return the paths that exist, with what distinguishes a folder from another one of the same name."""
    found = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        found.append((path, status.st_dev, status.st_ino))
    return tuple(found)
