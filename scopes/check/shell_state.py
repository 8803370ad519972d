"""What a shell remembers between the commands of a line: directory, variables, functions."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from scopes.check.shell_files import Files

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DIGITS = 10
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


Variables: TypeAlias = "dict[str, Word | list[Word]]"
Functions: TypeAlias = "dict[str, tuple[Function | None, ...]]"  # the bodies that may be meant; None: not a function


class State:
    """Directory, variables, functions and arguments at one point of a command line."""

    __slots__ = (
        "aliases", "arguments", "directory", "exported", "failed", "files", "functions", "input", "others", "past",
        "pipes_here", "previous", "stack", "start", "stops_at_errors", "traps", "variables",
    )  # fmt: skip

    def __init__(self, directory: str | None, files: Files | None = None) -> None:
        self.directory = self.start = directory  # where the shell is, and where the line began
        self.others: tuple[str, ...] = ()  # where the shell may be as well, because a `cd` may have failed
        self.failed: tuple[str, ...] = ()  # where it is if the last command failed
        self.stops_at_errors = False  # `set -e`
        self.pipes_here = False  # `shopt -s lastpipe`: the end of a pipeline runs in this shell
        self.traps: tuple[Word, ...] = ()  # that run at the end
        self.files = Files() if files is None else files  # one for all shells
        self.previous: str | None = None
        self.past: tuple[str, ...] = ()  # where it was, the newest first
        self.stack: tuple[str | None, ...] = ()
        self.variables: Variables = {}
        self.exported: dict[str, str | None] = {}
        self.functions: Functions = {}
        self.aliases: frozenset[str] = frozenset()
        self.arguments: tuple[Word, ...] | None = None
        self.input: Input | None = None  # what `exec <` made the standard input

    def copy(self) -> State:
        """Return a copy, as a subshell has it."""
        other = State(self.directory, self.files)
        other.previous, other.past, other.stack = self.previous, self.past, self.stack
        other.variables, other.exported = dict(self.variables), dict(self.exported)
        other.functions, other.aliases = dict(self.functions), self.aliases
        other.arguments, other.input = self.arguments, self.input
        other.others, other.failed, other.stops_at_errors = self.others, self.failed, self.stops_at_errors
        other.start, other.pipes_here, other.traps = self.start, self.pipes_here, self.traps
        return other

    def become(self, other: State) -> None:
        """Take over the state of another shell."""
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def join(self, others: Sequence[State]) -> None:
        """Forget what differs between this state and others: one of them holds, and nobody knows which."""
        for other in others:
            self.others = _unique((*self.others, *other.others))
            if other.directory != self.directory:
                self.others = _unique((*self.places, *other.places))
                self.directory = None
            if other.previous != self.previous:
                self.previous = None
            if other.stack != self.stack:
                self.stack = (None,) * max(len(self.stack), len(other.stack))
        self.join_values(others)

    def join_values(self, others: Iterable[State]) -> None:
        """Forget what differs between this state and others, but for directories."""
        for other in others:
            for slot, join in _JOINS.items():
                mine, theirs = getattr(self, slot), getattr(other, slot)
                if mine != theirs:
                    setattr(self, slot, join(mine, theirs))

    def hands_on_less_than(self, other: State) -> bool:
        """Return True if another state has other functions, exported variables, arguments, aliases or input."""
        return any(getattr(self, slot) != getattr(other, slot) for slot in _HANDED_ON)

    @property
    def places(self) -> tuple[str, ...]:
        """The directories where the shell may be."""
        return self.others if self.directory is None else (self.directory, *self.others)

    @property
    def top_of_repository(self) -> Word | None:
        """The workspace if the shell is in it and in no worktree below it; None if the top is not known."""
        top, directory = self.files.top, self.directory
        if top is None or directory is None or "/worktrees/" in directory[len(top) :]:
            return None
        return Word(top, top) if f"{directory}/".startswith(f"{top}/") else None

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

    def lend(self, values: Variables) -> dict[str, Word | list[Word] | None]:
        """Set variables for one command, as in `NAME=value COMMAND`; return what they were before."""
        before = {name: self.variables.get(name) for name in values}
        self.variables.update(values)
        return before

    def take_back(self, before: dict[str, Word | list[Word] | None]) -> None:
        """Set variables to what they were before a command."""
        for name, value in before.items():
            if value is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = value

    def change_directory(self, target: str | None) -> None:
        """Follow `cd`; None is a target that is not known."""
        before = self.places
        path = None if target is None or self._is_searched(target) else resolve(self.directory, target)
        if path is not None and (len(path) > MAX_PATH or self.files.passes_link(path, is_entered=True)):
            path = None
        others = (resolve(each, target) for each in self.others if len(each) <= MAX_PATH)
        self.past = _unique((*self.places, *self.past))
        self.previous, self.directory = self.directory, path
        self.others = _unique(tuple(each for each in others if each is not None))
        self.may_have_failed(before)

    def go_back(self) -> None:
        """Follow `cd -`; if a `cd` before it may have failed, it leads to where the shell was earlier."""
        if self.others:
            self.others = _unique((*self.others, *self.past))
        self.previous, self.directory = self.directory, self.previous

    def _is_searched(self, target: str) -> bool:
        """Return True if `cd` searches a directory in CDPATH."""
        return "CDPATH" in self.variables and not re.match(r"/|~|\.\.?(?:/|$)", target)


def read_number(digits: str) -> int:
    """Return the number of an argument; of more digits than Python reads it is greater than that of any argument."""
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) < _MAX_DIGITS else sys.maxsize


def _unique(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))[:MAX_PLACES]


def _join_variables(mine: Variables, theirs: Variables) -> Variables:
    different = (name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
    return mine | {name: unknown_value(name, mine.get(name), theirs.get(name)) for name in different}


def unknown_value(name: str, *values: Word | list[Word] | None) -> Word:
    """Return the value of a variable that is one of some, or made of them.

    If one of them has `..`, the text is `${NAME:-..}`: the value may lead out of a directory.
    """
    texts = (each.text for value in values for each in (value if isinstance(value, list) else [value]) if each)
    return Word(None, f"${{{name}:-..}}" if any(".." in text for text in texts) else f"${name}")


def _join_exported(mine: dict[str, str | None], theirs: dict[str, str | None]) -> dict[str, str | None]:
    return {
        name: mine.get(name) if mine.get(name) == theirs.get(name) else None for name in mine.keys() | theirs.keys()
    }


def _join_functions(mine: Functions, theirs: Functions) -> Functions:
    """Return every body that a function may have; None among them stands for the program of that name."""
    bodies = {name: (*mine.get(name, (None,)), *theirs.get(name, (None,))) for name in mine.keys() | theirs.keys()}
    return {name: tuple(dict.fromkeys(each)) for name, each in bodies.items()}


def either_input(redirected: Input | None, given: Input | None) -> Input | None:
    """Return what a command reads behind `exec <`; with a pipe as well, nobody knows here which is newer."""
    return join_inputs(redirected, given) if redirected and given else redirected or given


def join_inputs(mine: Input | None, theirs: Input | None) -> Input:
    """Return the input of a command that reads one of two, nobody knows which."""
    programs = (*(mine.programs if mine else ()), *(theirs.programs if theirs else ()))
    return Input((), programs[:16])


def _unknown(mine: object, theirs: object) -> None:
    del mine, theirs


_HANDED_ON = ("aliases", "arguments", "exported", "functions", "input")  # to the commands that follow
# How each slot is joined if two states differ in it; those of directories are joined in `join`, `start` never differs.
_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "aliases": frozenset.union,
    "arguments": _unknown,
    "exported": _join_exported,
    "failed": lambda mine, theirs: _unique((*mine, *theirs)),
    "functions": _join_functions,
    "input": join_inputs,
    "past": lambda mine, theirs: _unique((*mine, *theirs)),
    "pipes_here": lambda mine, theirs: mine or theirs,
    "stops_at_errors": lambda mine, theirs: mine and theirs,
    "traps": lambda mine, theirs: tuple(dict.fromkeys((*mine, *theirs))),
    "variables": _join_variables,
}


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
