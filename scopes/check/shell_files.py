"""What the commands of a run did to files that later commands use: texts, links, and settings of git.

Files outlive the shell that writes them: all shells of a command line, and all calls of a run, share one `Files`.
"""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

MAX_PATHS: Final = 5000  # files of a run; of more, any path may be one
MAX_LENGTH: Final = 4096  # characters of a path; a longer one is not compared with others
MAX_LINKS: Final = 100
_MAX_TEXTS: Final = 4  # that a file may have, one after the other
_MAX_PAST: Final = 30  # that a file had once, and that git may restore
_MAX_LENGTH: Final = 20_000  # characters of a text
_MAX_TOTAL: Final = 1 << 22
_MAX_FOLLOWED: Final = 8  # links in one path
_MAX_SAME: Final = 1000  # files with one name
TEMPORARY: Final = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/dev/shm/")  # noqa: S108
SITE_MODULES: Final = frozenset({"sitecustomize", "usercustomize"})  # python imports them at its start


class Written(NamedTuple):
    """What a file may contain.

    texts: every text that was written to it; which of them is in it when it is used is not decided
    is_unread: something else was written to it
    is_appended: the texts follow what the file had before
    is_made: a tool wrote the whole file
    line: the number of the command line that wrote it last
    """

    texts: tuple[str, ...] = ()
    is_unread: bool = False
    is_appended: bool = False
    line: int = 0
    is_made: bool = False

    @property
    def is_known(self) -> bool:
        """True if the texts are all that may be in it."""
        return not self.is_unread and not self.is_appended


class Files:
    """Files, symbolic links, and settings of git that commands made; paths are resolved."""

    __slots__ = (
        "_length",
        "_past",
        "_same",
        "_shaky",
        "background",
        "has_options",
        "has_unread_settings",
        "is_full",
        "line",
        "links",
        "modules",
        "names",
        "settings",
        "top",
        "written",
    )

    def __init__(self) -> None:
        self.written: dict[str, Written] = {}
        self.names: dict[str, dict[str, None]] = {}  # paths, by the last component
        self.modules: dict[str, set[str]] = {}  # of python that hide those of its library, by directory
        self.links: dict[str, str | None] = {}  # what they refer to; None if that is not known
        self.settings: dict[tuple[str, str | None], None] = {}  # of git: key and value
        self.has_options = False  # a file has a name that a pattern of a shell turns into an option
        self.has_unread_settings = False  # of git: there are too many, or their sections were renamed
        self.is_full = False  # there are too many files: any path may be one
        self.top: str | None = None  # the workspace, which counts as the top of the repository in it
        self.line = 0
        self.background = 0  # commands that run beside those that are read now
        self._past: dict[str, dict[str, None]] = {}  # every text that a file had
        self._same: dict[str, set[str]] = {}  # the other names of a file
        self._shaky: set[str] = set()  # files that a command in the background may still write
        self._length = 0

    def write(self, path: str, text: str | None, *, is_appended: bool = False) -> None:
        """Remember that a file was written; None is a text that is not known."""
        path = self.follow(path) or path
        if self.background:
            self._shaky.add(path)
        before = self.written.get(path)
        old = before or Written()
        if text is not None and (len(text) > _MAX_LENGTH or self._length > _MAX_TOTAL):
            text = None
        if text is None:
            self.put(path, old._replace(is_unread=True))
            return
        if is_appended and before is not None:
            texts = tuple(each + text for each in old.texts)
        else:
            texts = tuple(dict.fromkeys((*old.texts, text)))
        is_behind = old.is_appended or (is_appended and before is None)
        self.put(path, old._replace(texts=texts, is_appended=is_behind))

    def put(self, path: str, written: Written) -> None:
        """Set what a file may contain, instead of what was known."""
        if len(self.written) >= MAX_PATHS and path not in self.written:
            self.is_full = True
            return
        before = self.written.get(path)
        if before is not None and path in self._shaky:
            written = _either(written, before)
        if len(written.texts) > _MAX_TEXTS or any(len(text) > _MAX_LENGTH for text in written.texts):
            written = written._replace(texts=(), is_unread=True)
        self._length += sum(len(text) for text in written.texts[-1:])
        self._past.setdefault(path, {}).update(dict.fromkeys(written.texts))
        self.written[path] = written._replace(line=self.line)
        real = self.follow(path) if self.links else path
        if real is not None and real != path:
            self.written[real] = _either(self.written.get(real, Written()), written)._replace(line=self.line)
            self.names.setdefault(posixpath.basename(real), {})[real] = None
        for other in self._same.get(path, ()):
            self.written[other] = _either(self.written.get(other, Written()), written)._replace(line=self.line)
        place, _, name = path.rpartition("/")
        same = self.names.setdefault(name, {})
        same[path] = None
        self.is_full = self.is_full or len(same) > _MAX_SAME
        self.has_options = self.has_options or name.startswith("-")
        if name.endswith(".pth") and place.endswith("-packages"):  # python runs its lines
            self.modules.setdefault(place, set()).add("sitecustomize")
        if name.endswith(".py"):
            place, stem = (
                (posixpath.dirname(place), posixpath.basename(place)) if name == "__init__.py" else (place, name[:-3])
            )
            if stem in SITE_MODULES or stem in sys.stdlib_module_names:
                self.modules.setdefault(place, set()).add(stem)

    def forget(self, is_changed: Callable[[str], bool]) -> None:
        """Remember that the files which a function accepts may have another text."""
        for path, written in self.written.items():
            if not written.is_unread and is_changed(path):
                self.written[path] = written._replace(is_unread=True)

    def copy(self, source: str | None, target: str) -> None:
        """Remember that a file became a copy of another one."""
        found = None if source is None else self.find(source)
        if found is None or not found.is_known:
            self.write(target, None)
            return
        for text in found.texts:
            self.write(target, text)

    def tie(self, one: str | None, other: str) -> None:
        """Remember a hard link: what is written to one name is in the file of the other."""
        if one is not None:
            names = self._same.get(one, {one}) | self._same.get(other, {other})
            self._same.update(dict.fromkeys(names, names))

    def restore(self, directory: str | None) -> None:
        """Remember that a file may have a text again that it had before, or one that git has, as after a checkout.

        What is below a directory for temporary files is in no repository, unless the shell is in one.
        """
        is_temporary = (directory or "").startswith(TEMPORARY)
        for path, written in self.written.items():
            if path.startswith(TEMPORARY) == is_temporary:
                past = self._past.get(path, {})
                texts = tuple(dict.fromkeys((*written.texts, *past))) if len(past) <= _MAX_PAST else ()
                is_unread = written.is_unread or len(past) > _MAX_PAST
                self.written[path] = written._replace(texts=texts, is_unread=is_unread, is_made=False)

    def overwrite_below(self, directory: str) -> None:
        """Remember that something was copied or unpacked over the files below a directory."""
        for path in [each for each in self.written if each.startswith(f"{directory.rstrip('/')}/")]:
            self.write(path, None)

    def copy_below(self, source: str, target: str) -> None:
        """Remember that a directory was copied, or moved: the files in it are at another place."""
        for path in [each for each in self.written if each.startswith(f"{source}/")]:
            self.copy(path, target + path[len(source) :])

    def fork(self) -> Files:
        """Return a copy, for commands that were refused."""
        other = Files()
        other.written, other.links, other.settings = dict(self.written), dict(self.links), dict(self.settings)
        other.names = {name: dict(paths) for name, paths in self.names.items()}
        other.modules = {place: set(stems) for place, stems in self.modules.items()}
        other.is_full, other.line, other._length = self.is_full, self.line, self._length
        other.has_unread_settings, other.has_options = self.has_unread_settings, self.has_options
        other._past = {path: dict(texts) for path, texts in self._past.items()}
        other._same, other._shaky = dict(self._same), set(self._shaky)
        return other

    def link(self, path: str, target: str | None, *, is_forced: bool = True) -> None:
        """Remember a symbolic link; if it is not forced, it may have failed because there was one."""
        if not is_forced and self.links.get(path, target) != target:
            target = None
        if path in self.links or len(self.links) < MAX_LINKS:
            self.links[path] = target
        else:
            self.is_full = True

    def find(self, path: str | None) -> Written | None:
        """Return what may be in a file that was written; None for other files."""
        if path is None:
            return None
        if len(path) > MAX_LENGTH:
            return Written(is_unread=True) if self.written else None
        if any(each in path for each in "*?["):
            return self._find_matching(path)
        found = self._find_linked(path) if self.links else self.written.get(path)
        is_unknown = found is None and (self.is_full or (bool(self.written) and self._is_in_written(path)))
        return Written(is_unread=True) if is_unknown else found

    def _find_matching(self, pattern: str) -> Written | None:
        """Return what may be in the files that a pattern of a shell means."""
        count, found = pattern.count("/"), None
        for path, written in self.written.items():
            if path.count("/") == count and fnmatchcase(path, pattern):
                found = written if found is None else _either(found, written)
        return found

    def _find_linked(self, path: str) -> Written | None:
        """Return what may be in a file whose path may go through a link: the command that made it may have failed."""
        direct, real = self.written.get(path), self.follow(path)
        if real == path:
            return direct
        found = None if real is None else self.written.get(real)
        if found is None and (direct is not None or (real is None and path in self.links)):
            return (direct or Written())._replace(is_unread=True)
        return found if direct is None or found is None else _either(direct, found)

    def _is_in_written(self, path: str) -> bool:
        """Return True if the same line copied a directory around a file, or unpacked into one (`DIRECTORY/{}`)."""
        place = path.rpartition("/")[0]
        while place:
            for each in (place, f"{place}/{{}}"):
                written = self.written.get(each)
                if written is not None and written.is_unread and written.line == self.line:
                    return True
            place = place.rpartition("/")[0]
        return False

    def is_own(self, path: str | None) -> bool:
        """Return True if a file certainly has only texts of the run.

        What a shell wrote counts below directories for temporary files: elsewhere the command may not have run, as in
        `test -f .env || echo A=1 > .env`.
        """
        name = "" if path is None else path.rpartition("/")[2]
        found = self.find(path) if name in self.names or self.links else None
        is_certain = found is not None and (found.is_made or (path or "").startswith(TEMPORARY))
        return found is not None and found.is_known and bool(found.texts) and is_certain

    def find_name(self, name: str) -> tuple[str, ...]:
        """Return the files with a name."""
        return tuple(self.names.get(name, ()))

    def passes_link(self, path: str, *, is_entered: bool = False) -> bool:
        """Return True if a path goes through a symbolic link, or enters one at its end."""
        if not self.links:
            return self.is_full
        return any(path.startswith(f"{link}/") or (is_entered and path == link) for link in self.links)

    def follow(self, path: str) -> str | None:
        """Return where a path leads that goes through links; None if one of them refers to an unknown file."""
        for _ in range(_MAX_FOLLOWED if self.links else 0):
            link = next((each for each in self.links if path == each or path.startswith(f"{each}/")), None)
            if link is None:
                return path
            target = self.links[link]
            if target is None:
                return None
            path = posixpath.normpath(target + path[len(link) :])
        return None if self.links and self.passes_link(path, is_entered=True) else path

    def keep_setting(self, key: str, value: str | None) -> None:
        """Remember a setting of git."""
        if len(self.settings) < MAX_LINKS:
            self.settings[key, value] = None
        else:
            self.has_unread_settings = True


def _either(one: Written, other: Written) -> Written:
    """Return what a file may contain that is one of two."""
    texts = tuple(dict.fromkeys((*one.texts, *other.texts)))
    return one._replace(
        texts=texts,
        is_unread=one.is_unread or other.is_unread,
        is_appended=one.is_appended or other.is_appended,
        is_made=one.is_made and other.is_made,
    )
