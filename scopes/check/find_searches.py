"""Which files a `find` finds: whether a path passes its tests, and gets to the action that changes files.

A path is tried as if it were a file. A test that its name does not decide, such as `-mtime`, may be true or false.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from scopes.check.calls import Call
from scopes.check.shell_command import Change, Command
from scopes.check.shell_state import Word, resolve
from scopes.check.shell_unwrap import roots_of_find
from scopes.lazy_patterns import compile_lazily

_FINDS: Final = frozenset({"find", "gfind"})
_EXEC: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_PRINTING: Final = frozenset({"-print", "-print0", "-printf", "-ls"})
_ACTIONS: Final = frozenset({"-delete", "-prune", *_EXEC, *_PRINTING})
_ALWAYS: Final = frozenset({"-true", "-xdev", "-mount", "-depth", "-d", "-follow", "-noleaf", "-daystart"})
_NEVER: Final = frozenset({"-false", "-empty"})  # a file with nothing in it is no loss
_FLAGS: Final = frozenset({"-empty", "-executable", "-readable", "-writable", "-nouser", "-nogroup"})
_PATHS: Final = frozenset({"-path", "-wholename", "-ipath", "-iwholename"})
_NAMED: Final = frozenset({"-name", "-iname", *_PATHS})
_OPTIONS: Final = frozenset({"-H", "-L", "-P"})
_MAX_WORDS: Final = 120
_WILD: Final = compile_lazily(r"\[[!^]?\]?([^\]])[^\]]*\]|[*?]")
_BASIC: Final = compile_lazily(r"\\([|()+?])")
_LITERAL: Final = compile_lazily(r"[\w./*\[\]^$|()+?\\-]*")

Truth = bool | None  # None: it may be true or false


class Search(NamedTuple):
    """A `find`, and what is done to the files that it finds.

    words: of the find
    directory: in which it runs
    program: what changes the files; `find` for -delete
    change: what it does to each of them
    is_piped: the files are printed, and the program reads their names
    """

    words: tuple[str, ...]
    directory: str | None
    program: str
    change: Change
    is_piped: bool

    @property
    def roots(self) -> list[str]:
        """The resolved paths where it starts, as far as they are known."""
        found = (resolve(self.directory, root) for root in self.starts)
        return [root for root in found if root is not None and "$" not in root]

    @property
    def starts(self) -> list[str]:
        """Where it starts, as written."""
        return [root.text for root in roots_of_find([Word(word, word) for word in self.words])]

    @property
    def names(self) -> list[str]:
        """A name for each pattern of names in it."""
        tests = zip(self.words, self.words[1:], strict=False)
        return [_example_of(value.rpartition("/")[2]) for name, value in tests if name in _NAMED]

    def may_change(self, path: str) -> bool:
        """Return True if it may change a file with an absolute path, or a directory around it as a whole."""
        for start in self.starts:
            root = resolve(self.directory, start)
            prefix = "" if root is None else f"{root.rstrip('/')}/"
            if root is None or not (path == root or path.startswith(prefix)):
                continue
            inside = path[len(prefix) :].split("/") if path != root else []
            if self._may_reach(start, inside):
                return True
        return False

    def _may_reach(self, start: str, inside: Sequence[str]) -> bool:
        for depth in range(len(inside) + 1):
            place = "/".join((start.rstrip("/") or "/", *inside[:depth])).replace("//", "/")
            is_last = depth == len(inside)
            found = _Expression(self, place, depth, is_directory=not is_last)
            found.evaluate()
            if found.is_reached and (is_last or self.change.is_tree):
                return True
            if found.is_pruned:
                return False
        return False


def find_search(call: Call, position: int, change: Change) -> Search | None:
    """Return the search whose files a change of the command at a position of a call means; None if there is none."""
    command = call.commands[position]
    program = command.program or ""
    if program in _FINDS:
        return Search(command.words, command.directory, "find", change, is_piped=False)
    is_executed = any(each.startswith("find -") for each in command.wrappers)
    if not is_executed and "xargs" not in command.wrappers:
        return None
    before = reversed(call.commands[:position])
    finds = (each for each in before if each.program in _FINDS and each.directory == command.directory)
    found = next((each for each in finds if is_executed or _feeds(each, command, call.commands[:position])), None)
    if found is None or not _is_found(change, found):
        return None
    return Search(found.words, found.directory, program, change, is_piped=not is_executed)


def _feeds(find: Command, command: Command, commands: Sequence[Command]) -> bool:
    """Return True if a command reads the output of a `find`, perhaps through others such as grep."""
    for _ in commands:
        if command.piped_from is None:
            return False
        if command.piped_from == find.argv:
            return True
        source = next((each for each in reversed(commands) if each.argv == command.piped_from), None)
        if source is None:
            return False
        command = source
    return False


def _is_found(change: Change, find: Command) -> bool:
    roots = roots_of_find([Word(word, word) for word in find.words])
    return any(resolve(find.directory, root.text) == change.path.removesuffix("/{}") for root in roots)


class _Expression:
    """The tests and actions of a `find`, evaluated for one path."""

    def __init__(self, search: Search, path: str, depth: int, *, is_directory: bool) -> None:
        words = search.words[1:_MAX_WORDS]
        starts = (n for n, word in enumerate(words) if word.startswith(("-", "(", "!")) and word not in _OPTIONS)
        self._words = words[next(starts, len(words)) :]
        self._search = search
        self._path = path
        self._depth = depth
        self._is_directory = is_directory
        self._place = 0
        self.is_reached = self.is_pruned = False

    def evaluate(self) -> None:
        """Find out whether the path may reach the action, and whether what is in it is left out."""
        if not self._is_in_depth():
            return
        value = self._any(True)
        is_printed = self._search.is_piped and _PRINTING.isdisjoint(self._words)
        if is_printed and value is not False:
            self.is_reached = True
        if "-delete" in self._words or "-depth" in self._words:  # then nothing is pruned
            self.is_pruned = False

    def _is_in_depth(self) -> bool:
        limits = dict(zip(self._words, self._words[1:], strict=False))
        least, most = limits.get("-mindepth", "0"), limits.get("-maxdepth", "999999")
        return not (least.isdecimal() and self._depth < int(least)) and not (
            most.isdecimal() and self._depth > int(most)
        )

    def _any(self, reached: Truth) -> Truth:
        value = self._all(reached)
        while self._next() in {"-o", "-or", ","}:
            is_list = self._take() == ","
            other = self._all(reached if is_list else _both(reached, _not(value)))
            value = other if is_list else _not(_both(_not(value), _not(other)))
        return value

    def _all(self, reached: Truth) -> Truth:
        value: Truth = True
        while (word := self._next()) and word not in {"-o", "-or", ",", ")"}:
            if word in {"-a", "-and"}:
                self._take()
                continue
            value = _both(value, self._one(_both(reached, value)))
        return value

    def _one(self, reached: Truth) -> Truth:
        word = self._take()
        if word in {"!", "-not"}:
            return _not(self._one(reached))
        if word == "(":
            value = self._any(reached)
            self._take()
            return value
        return self._act(word, reached) if word in _ACTIONS else self._test(word)

    def _act(self, word: str, reached: Truth) -> Truth:
        if word in _EXEC:
            return self._execute(reached)
        if word == "-prune":
            self.is_pruned = self.is_pruned or reached is True
            return True
        self._reach(reached, self._search.is_piped if word in _PRINTING else self._search.program == "find")
        if word == "-printf":
            self._take()
        return True

    def _reach(self, reached: Truth, is_action: bool) -> None:  # noqa: FBT001
        self.is_reached = self.is_reached or (is_action and reached is not False)

    def _execute(self, reached: Truth) -> Truth:
        words: list[str] = []
        while (word := self._take()) and word != ";" and not (word == "+" and words[-1:] == ["{}"]):
            words.append(word)
        is_own = any(each.rpartition("/")[2] == self._search.program for each in words)
        self._reach(reached, not self._search.is_piped and is_own)
        return True if word == "+" else None

    def _test(self, word: str) -> Truth:
        if word in _ALWAYS or word in _NEVER:
            return word in _ALWAYS
        if word in _FLAGS or not word.startswith("-"):
            return None
        value = self._take()
        name = self._path.rpartition("/")[2]
        if word in _NAMED:
            text = self._path if word in _PATHS else name
            is_folded = word.startswith("-i")
            return fnmatchcase(text.lower(), value.lower()) if is_folded else fnmatchcase(text, value)
        if word in {"-regex", "-iregex"}:
            return self._matches(value, re.IGNORECASE if word == "-iregex" else re.NOFLAG)
        if word == "-type":
            return ("d" if self._is_directory else "f") in value.split(",")
        return word in {"-maxdepth", "-mindepth", "-regextype"} or None

    def _matches(self, value: str, flags: re.RegexFlag) -> Truth:
        """Return what -regex says; only short and simple expressions are tried."""
        is_extended = "-regextype" in self._words or "-E" in self._words
        if len(value) > 100 or value.count("*") + value.count("+") > 4 or not _LITERAL.fullmatch(value):
            return None
        try:
            return re.fullmatch(value if is_extended else _BASIC.sub(r"\1", value), self._path[:300], flags) is not None
        except re.error:
            return None

    def _next(self) -> str:
        return self._words[self._place] if self._place < len(self._words) else ""

    def _take(self) -> str:
        word = self._next()
        self._place += 1
        return word


def _not(value: Truth) -> Truth:
    return None if value is None else not value


def _both(first: Truth, second: Truth) -> Truth:
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _example_of(glob: str) -> str:
    return _WILD.sub(lambda match: match[1] or "x", glob)


def list_candidates(pattern: str, search: Search, workspace: str, usual: Iterable[str]) -> Iterator[str]:
    """Yield files of a workspace that a pattern matches and that a search may mean, relative to the workspace.

    usual: names of files that are usually there
    """
    parts = pattern.split("/")
    count = next((n for n, part in enumerate(parts) if re.search(r"[*?\[]", part)), len(parts))
    if count == 0:
        return
    place, last = "/".join(parts[:count]), parts[-1]
    if count == len(parts):
        yield pattern
        return
    names = dict.fromkeys((*usual, *search.names, _example_of(last) or "x"))
    middle = "/".join(_WILD.sub("x", part) for part in parts[count:-1] if part != "**")
    prefix = f"{place}/{middle}".rstrip("/")
    places = [prefix]
    top = f"{workspace.rstrip('/')}/"
    places += [root.removeprefix(top) for root in search.roots if root.startswith(f"{top}{place}/")]
    for each in places:
        yield from (f"{each}/{name}" for name in names if name)
