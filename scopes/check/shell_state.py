"""What a shell remembers between the commands of a line: directory, variables, functions."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_MADE = 100  # files and links that a line makes; of more, any path may be one
MANY = "*"
MAX_PLACES = 8  # directories where a shell may be
MAX_PATH = 1000  # characters of the directory of a shell; a longer one counts as unknown
MAX_TEXT = 20_000  # characters of the value of a variable; longer ones count as unknown


class Word(NamedTuple):
    """A word after expansion.

    value: None if the shell computes it
    text: the value, or what is known of it, with the unknown pieces as written
    programs: the programs whose output is in it
    splits: it is computed and not in quotes, so that it may become several words, or none
    """

    value: str | None
    text: str
    programs: tuple[str, ...] = ()
    splits: bool = False


class Input(NamedTuple):
    """What a command reads on its standard input.

    argv: of the command in front of the pipe
    programs: all programs in front of the pipe
    script: the text, if it is known
    item: what each line stands for, such as a path below the start of `find`
    """

    argv: tuple[str | None, ...] | None = None
    programs: tuple[str, ...] = ()
    script: Word | None = None
    item: Word | None = None


class Function(NamedTuple):
    """The body of a function, and the source that its node refers to."""

    body: Node
    source: bytes


class State:
    """Directory, variables, functions and arguments at one point of a command line."""

    __slots__ = (
        "aliases", "arguments", "directory", "exported", "failed", "functions", "input", "links", "others", "previous",
        "stack", "start", "stops_at_errors", "variables", "written",
    )  # fmt: skip

    def __init__(self, directory: str | None) -> None:
        self.directory = self.start = directory  # where the shell is, and where the line began
        self.others: tuple[str, ...] = ()  # where the shell may be as well, because a `cd` may have failed
        self.failed: tuple[str, ...] = ()  # where it is if the last command failed
        self.stops_at_errors = False  # `set -e`
        self.links: frozenset[str] = frozenset()  # symbolic links that the line makes
        self.written: frozenset[str] = frozenset()  # files that the line writes
        self.previous: str | None = None
        self.stack: tuple[str | None, ...] = ()
        self.variables: dict[str, Word | list[Word]] = {}
        self.exported: dict[str, str | None] = {}
        self.functions: dict[str, Function] = {}
        self.aliases: frozenset[str] = frozenset()
        self.arguments: tuple[Word, ...] | None = None
        self.input: Input | None = None  # what `exec <` made the standard input

    def copy(self) -> State:
        """Return a copy, as a subshell has it."""
        other = State(self.directory)
        other.previous, other.stack = self.previous, self.stack
        other.variables, other.exported = dict(self.variables), dict(self.exported)
        other.functions, other.aliases = dict(self.functions), self.aliases
        other.arguments, other.input = self.arguments, self.input
        other.others, other.failed, other.stops_at_errors = self.others, self.failed, self.stops_at_errors
        other.start, other.links, other.written = self.start, self.links, self.written
        return other

    def become(self, other: State) -> None:
        """Take over the state of another shell."""
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def join(self, others: Iterable[State]) -> None:
        """Forget what differs between this state and others: one of them holds, and nobody knows which."""
        for other in others:
            self.others = _unique((*self.others, *other.others))
            if other.directory != self.directory:
                self.others = _unique((*self.places, *other.places))
                self.directory = None
            for name in self.variables.keys() | other.variables.keys():
                if self.variables.get(name) != other.variables.get(name):
                    self.variables[name] = Word(None, f"${name}")
            self.functions |= other.functions
            self.aliases |= other.aliases
            self.links = add_paths(self.links, other.links)
            self.written = add_paths(self.written, other.written)

    @property
    def places(self) -> tuple[str, ...]:
        """The directories where the shell may be."""
        return self.others if self.directory is None else (self.directory, *self.others)

    def may_have_failed(self, places: tuple[str, ...]) -> None:
        """Add where the shell is if the last command failed."""
        self.failed = () if self.stops_at_errors else _unique((*self.failed, *places))

    def keep_failed_places(self) -> None:
        """Go on whether the last command failed or not."""
        if self.failed:
            others = _unique((*self.others, *self.failed))
            self.others, self.failed = tuple(each for each in others if each != self.directory), ()

    def assign(self, name: str, value: Word | list[Word]) -> None:
        """Set a variable; a long value counts as unknown."""
        if isinstance(value, Word) and len(value.text) > MAX_TEXT:
            value = Word(None, f"${name}", value.programs)
        self.variables[name] = value
        if name == "OLDPWD":
            self.previous = resolve(self.directory, value.text) if isinstance(value, Word) else None
        if name in self.exported:
            self.exported[name] = value.value if isinstance(value, Word) else None

    def change_directory(self, target: str | None) -> None:
        """Follow `cd`; None is a target that is not known."""
        before = self.places
        path = None if target is None or self._is_searched(target) else resolve(self.directory, target)
        if path is not None and (len(path) > MAX_PATH or passes_link(path, self.links, is_entered=True)):
            path = None
        others = (resolve(each, target) for each in self.others if len(each) <= MAX_PATH)
        self.previous, self.directory = self.directory, path
        self.others = _unique(tuple(each for each in others if each is not None))
        self.may_have_failed(before)

    def _is_searched(self, target: str) -> bool:
        """Return True if `cd` searches a directory in CDPATH."""
        return "CDPATH" in self.variables and not re.match(r"/|~|\.\.?(?:/|$)", target)


def passes_link(path: str, links: frozenset[str], *, is_entered: bool = False) -> bool:
    """Return True if a path goes through a symbolic link, or enters one at its end."""
    return MANY in links or any(path.startswith(f"{link}/") or (is_entered and path == link) for link in links)


def add_paths(known: frozenset[str], more: Iterable[str]) -> frozenset[str]:
    """Return a set with more paths; MANY is in it if there are too many."""
    if MANY in known:
        return known
    paths = known.union(more)
    return paths if len(paths) <= MAX_MADE else frozenset((MANY,))


def _unique(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))[:MAX_PLACES]


def resolve(directory: str | None, target: str | None) -> str | None:
    """Return a path against a directory, without `.` and `..`; it may begin with `~`. None if it is not known.

    A target may have pieces that the shell computes: `$HOME` is `~`, and `$PWD` is the directory.
    """
    if target is None:
        return None
    for name, value in (("HOME", "~"), ("PWD", directory)) if target.startswith("$") else ():
        for spelling in (f"${name}", f"${{{name}}}"):
            if value is not None and (target == spelling or target.startswith(spelling + "/")):
                target = value + target[len(spelling) :]
    if target.startswith(("/", "~")):
        path = target
    elif directory is None or target.startswith(("$", "`")):
        return None
    else:
        path = f"{directory}/{target}"
    return posixpath.normpath(path if not path.startswith("//") else f"/{path.lstrip('/')}")
