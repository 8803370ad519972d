"""What a shell remembers between the commands of a line: directory, variables, functions."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_TEXT = 20_000  # characters of the value of a variable; longer ones count as unknown


class Word(NamedTuple):
    """A word after expansion.

    value: None if the shell computes it
    text: the value, or what is known of it, with the unknown pieces as written
    programs: the programs whose output is in it
    """

    value: str | None
    text: str
    programs: tuple[str, ...] = ()


class Function(NamedTuple):
    """The body of a function, and the source that its node refers to."""

    body: Node
    source: bytes


class State:
    """Directory, variables, functions and arguments at one point of a command line."""

    __slots__ = ("aliases", "arguments", "directory", "exported", "functions", "previous", "stack", "variables")

    def __init__(self, directory: str | None) -> None:
        self.directory = directory
        self.previous: str | None = None
        self.stack: tuple[str | None, ...] = ()
        self.variables: dict[str, Word | list[Word]] = {}
        self.exported: dict[str, str | None] = {}
        self.functions: dict[str, Function] = {}
        self.aliases: frozenset[str] = frozenset()
        self.arguments: tuple[Word, ...] | None = None

    def copy(self) -> State:
        """Return a copy, as a subshell has it."""
        other = State(self.directory)
        other.previous, other.stack = self.previous, self.stack
        other.variables, other.exported = dict(self.variables), dict(self.exported)
        other.functions, other.aliases = dict(self.functions), self.aliases
        other.arguments = self.arguments
        return other

    def become(self, other: State) -> None:
        """Take over the state of another shell."""
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def join(self, others: Iterable[State]) -> None:
        """Forget what differs between this state and others: one of them holds, and nobody knows which."""
        for other in others:
            if other.directory != self.directory:
                self.directory = None
            for name in self.variables.keys() | other.variables.keys():
                if self.variables.get(name) != other.variables.get(name):
                    self.variables[name] = Word(None, f"${name}")
            self.functions |= other.functions
            self.aliases |= other.aliases

    def assign(self, name: str, value: Word | list[Word]) -> None:
        """Set a variable; a long value counts as unknown."""
        if isinstance(value, Word) and len(value.text) > MAX_TEXT:
            value = Word(None, f"${name}", value.programs)
        self.variables[name] = value
        if name in self.exported:
            self.exported[name] = value.value if isinstance(value, Word) else None

    def change_directory(self, target: str | None) -> None:
        """Follow `cd`; None is a target that is not known."""
        self.previous, self.directory = self.directory, resolve(self.directory, target)


def resolve(directory: str | None, target: str | None) -> str | None:
    """Return a path against a directory, without `.` and `..`; it may begin with `~`. None if it is not known.

    A target may have pieces that the shell computes: `$HOME` is `~`, and `$PWD` is the directory.
    """
    if target is None:
        return None
    for name, value in (("HOME", "~"), ("PWD", directory)):
        for spelling in (f"${name}", f"${{{name}}}"):
            if value is not None and (target == spelling or target.startswith(spelling + "/")):
                target = value + target[len(spelling) :]
    if target.startswith(("/", "~")):
        path = target
    elif directory is None or target.startswith(("$", "`")):
        return None
    else:
        path = f"{directory}/{target}"
    return posixpath.normpath(path) if not path.startswith("//") else posixpath.normpath(path[1:])
