"""Find the name of one file in paths, texts and shell commands, however it is written.

A path is compared after `.`, `..`, `~`, `$HOME` and `$PWD` in it are resolved, and relative to the directory in which
it was written. The home directory is the one that this directory, or the name of the file, is in. Links are not known.
"""

from __future__ import annotations

import posixpath
import re
from typing import Final

_END: Final = r"(?![\w~/-])(?!\.\w)"  # no longer name, backup, or file below a directory of that name
_SEPARATORS: Final = frozenset(" \t\r\n\f\v\0\"'`;|&<>()[]{}=,:@#!?*")
_QUOTES: Final = {ord(letter): None for letter in "\"'\\"}
_VARIABLE: Final = re.compile(
    r"\$(?:\{(?:PWD|HOME)\}|(?:PWD|HOME)\b|\(pwd\))|`pwd`|(?<![\w./~-])~(?=/)"
)  # of a shell: the current and the home directory
_HOME: Final = re.compile(r"/(?:(?:var/)?home|Users)/[^/]+|/root(?=/|\Z)")
_OPTION: Final = re.compile(r"-[A-Za-z](?=.)")  # with its value in the same word: -f/srv/.env
_CHANGE: Final = re.compile(r"(?:^|[\s;&|(])cd\s+(?:--\s+)?([^\s;&|()<>]+)")
_OPERATOR: Final = re.compile(r"[;&|\n(`]")
_PATH_FIELD: Final = re.compile(r"file|path", re.IGNORECASE)
_INNER: Final = re.compile(r"[\w.-]")  # before a name: it is only the end of another one
_BEGINNINGS: Final = frozenset("/.~")  # of a word that is a path
_LONGEST: Final = 4096  # of a path


class FileName:
    """The path of a file, or the end of one.

    A last name without a dot, such as `main` or `Makefile`, is often only a word. In a text it counts if it begins
    like a path; in a shell command as a word, but of `git` only after `--`; as a value if the field is one of paths.
    """

    def __init__(self, name: str) -> None:
        self._name = normalize(name)
        self._last = posixpath.basename(self._name)
        self._occurrence = re.compile(re.escape(self._last) + _END)
        self._is_word = "." not in self._last

    def may_be_in(self, text: str) -> bool:
        """Return False if a text cannot have the name in it; a fast test."""
        return self._last in text

    def may_be_in_bytes(self, data: bytes) -> bool:
        """Return False if a JSON document cannot have the name in it; a fast test."""
        return not self._last.isascii() or '"' in self._last or "\\" in self._last or self._last.encode() in data

    def is_path(self, path: str, directory: str | None) -> bool:
        """Return True if a path is that of the file."""
        return path.endswith(self._last) and self._is_same(self._replace_variables(path, directory), directory)

    def is_value(self, field: str, text: str, directory: str | None) -> bool:
        """Return True if the value of a field is the path of the file."""
        return (not self._is_word or _PATH_FIELD.search(field) is not None) and self.is_path(text, directory)

    def is_in(self, text: str, directory: str | None, *, is_command: bool = False) -> bool:
        """Return True if a text names the file, also within quotes; `directory` is where a command begins."""
        if self._last not in text:
            return False
        plain = self._replace_variables(text, directory)
        forms = dict.fromkeys((plain, plain.translate(_QUOTES)))
        return any(
            self._is_at(form, match.end(), directory, is_command=is_command)
            for form in forms
            for match in self._occurrence.finditer(form)
        )

    def resolve(self, path: str, directory: str | None) -> str:
        """Return a path that is relative to a directory, or to the home directory, without `.` and `..`."""
        return normalize(posixpath.join(directory or "", self._replace_variables(path, directory)))

    def _is_at(self, text: str, end: int, directory: str | None, *, is_command: bool) -> bool:
        """Return True if the word of a text that ends at a place is the path of the file."""
        start = end - len(self._last)
        while start > max(0, end - _LONGEST) and text[start - 1] not in _SEPARATORS:
            start -= 1
        word = _OPTION.sub("", text[start:end], count=1) if text[start] == "-" else text[start:end]
        if self._is_word and word[0] not in _BEGINNINGS and not (is_command and not _is_of_git(text[:start])):
            return False
        if self._is_given_at(text, end):
            return True
        places = {directory, self._directory_at(text, start, directory)} if is_command else {directory}
        return any(self._is_same(word, place) for place in places)

    def _is_given_at(self, text: str, end: int) -> bool:
        """Return True if the name is there as it was given, which may have characters that separate words."""
        start = end - len(self._name)
        return text.startswith(self._name, max(start, 0)) and _INNER.match(text[start - 1 : start]) is None

    def _directory_at(self, text: str, end: int, directory: str | None) -> str | None:
        """Return the directory in which a command is at a place of a command line, after each `cd` before it."""
        for match in _CHANGE.finditer(text, 0, end):
            directory = normalize(posixpath.join(directory or "", match[1]))
        return directory

    def _is_same(self, path: str, directory: str | None) -> bool:
        resolved = normalize(posixpath.join(directory or "", path))
        return resolved == self._name if self._name.startswith("/") else f"/{resolved}".endswith(f"/{self._name}")

    def _replace_variables(self, text: str, directory: str | None) -> str:
        """Return a text with `.` for the current directory, and the path of the home directory if it is known."""
        if not ("$" in text or "~" in text or "`" in text):
            return text
        home = next((found[0] for each in (directory, self._name) if each and (found := _HOME.match(each))), None)

        def replace(match: re.Match[str]) -> str:
            return "." if "pwd" in match[0].lower() else home or match[0]

        return _VARIABLE.sub(replace, text)


def normalize(path: str) -> str:
    """Return a path without `.`, `..` after a name, and empty names."""
    return re.sub(r"\A//+", "/", posixpath.normpath(path))


def _is_of_git(before: str) -> bool:
    """Return True if the text before a word of a command line is a `git` command, without `--`: it may be a branch."""
    words = _OPERATOR.split(before)[-1].split()
    return "git" in words and "--" not in words
