"""Read the commands that a shell command line runs, with tree-sitter-bash: unwrapped, each with its directory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

RedirectionKind: TypeAlias = Literal["read", "write", "append"]


class Redirection(NamedTuple):
    """A redirection from or to a file, as written; None if the target is computed."""

    kind: RedirectionKind
    target: str | None


class Command(NamedTuple):
    """One command that a command line runs.

    argv: its words after unwrapping, without quotes; None for a word that the shell computes
    text: the source text of the command
    directory: the working directory at this point; None if it is unknown
    wrappers: what it was unwrapped from, outermost first, such as `sudo`, `bash -c`, `find -exec`
    opaque: why it cannot be read completely, such as `sh reads a pipe`; None if it can
    piped_from: argv of the command whose output it reads
    redirections: its files
    """

    argv: tuple[str | None, ...]
    text: str
    directory: str | None = None
    wrappers: tuple[str, ...] = ()
    opaque: str | None = None
    piped_from: tuple[str | None, ...] | None = None
    redirections: tuple[Redirection, ...] = ()

    @property
    def program(self) -> str | None:
        """The name of the program without its directory; None if the shell computes it."""
        name = self.argv[0] if self.argv else None
        return None if name is None else name.rsplit("/", 1)[-1]


def parse_commands(line: str, directory: str | None = None) -> tuple[Command, ...]:
    """Return the commands that a command line runs, in the order of the text.

    Text in quotes, heredocs and comments does not run; command substitutions do.
    """
    tree = _parser().parse(line.encode("utf-8", "surrogatepass"))
    return tuple(_walk_commands(tree.root_node, directory))


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _walk_commands(node: Node, directory: str | None) -> Iterator[Command]:
    if node.type == "command":
        yield Command(tuple(_argv(node)), _text_of(node), directory)
    for child in node.children:
        yield from _walk_commands(child, directory)


def _argv(command: Node) -> Iterator[str | None]:
    for child in command.named_children:
        if child.type in {"command_name", "word", "string", "raw_string", "number", "concatenation"}:
            yield _word(child)


def _word(node: Node) -> str | None:
    if node.type in {"word", "number", "string_content"}:
        return _text_of(node)
    if node.type == "raw_string":
        return _text_of(node)[1:-1]
    if node.type in {"command_name", "string", "concatenation"}:
        words = [_word(child) for child in node.named_children]
        return None if None in words else "".join(filter(None, words))
    return None


def _text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
