"""Parse command lines with tree-sitter-bash, in bounded time, and mend what its grammar cannot read."""

from __future__ import annotations

import itertools
import re
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from time import process_time
from typing import Any

from tree_sitter import Language, Node, Parser, Point

from scopes.check.shell_misread import find_places, has_misread_heredoc
from scopes.lazy_patterns import compile_lazily

MAX_SECONDS = 1.0  # of the processor for one command line; an ordinary one takes a tenth of a millisecond
MAX_HEREDOCS = 50  # of a text that is mended
MAX_ROUNDS = 3  # of finding ends of lines that the grammar misses
_LEAVES = {b"exit", b"return", b"continue", b"break", b"false", b"die"}
_BLOCK = 1 << 16
_PACKAGE = "tree_sitter_bash"
_ARGUMENTS = compile_lazily(rb"""((?<!<)<<-?[ ]?(['"]?)\w{1,80}\2)(?=[ ]+[^\s|&;<#])((?:>&|&>|[^\n;|&<]){1,2000})""")
_STATEMENTS = compile_lazily(
    rb"""((?<!<)<<-?[ ]?(['"]?)(\w{1,80}+)\2[^\n;]{0,2000});"""
    rb"""([^\n]{0,2000})\n((?:[^\n]{0,2000}\n){0,2000}?[\t]*)\3(?=\n|$)"""
)
_ANSI_C = compile_lazily(rb"(?<!\\)\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_PAIR = compile_lazily(rb"\\(.)", re.DOTALL)


class Grammar:
    """Parses the texts of one command line, nested ones included, within one limit of time."""

    def __init__(self) -> None:
        self._deadline: float | None = None  # set when the parser first asks: an ordinary line ends before that

    def parse(self, source: bytes) -> tuple[bytes, Node | None]:
        r"""Return the tree of a text, and the text that its positions refer to; None if it takes too long.

        Arguments and `; command` behind a heredoc on its first line are an error to the grammar. Such a text is parsed
        again with the arguments in front of the heredoc and the command behind its end. Between pipelines with `2>&1`
        the grammar takes an end of line for a blank: then it is parsed again with `;` at that place. In `$'...\\'` it
        takes the quote for an escaped one, so that a backslash is written as `\x5c`. Other texts that it misreads are
        mended as `shell_misread` says.
        """
        if b"$'" in source and b"\\\\" in source:
            source = self._mend_ansi_c(source)
        tree = self._parse(source)
        for _ in range(MAX_ROUNDS):
            places = {} if tree is None else find_places(tree, source)
            if not places:
                break
            source = _put_in(places, source)
            tree = self._parse(source)
        if tree is not None and 0 < source.count(b"<<") <= MAX_HEREDOCS:
            if not tree.has_error and not has_misread_heredoc(tree, source):
                return source, tree
            mended = _STATEMENTS.sub(rb"\1\n\5\3\n\4", _ARGUMENTS.sub(rb"\3 \1", source))
            better = self._parse(mended) if mended != source else None
            if better is not None and not better.has_error:
                return mended, better
        return source, tree

    def _mend_ansi_c(self, source: bytes) -> bytes:
        """Return a text with the backslashes in `$'...'` as hexadecimal numbers; in other quotes `$'` is plain text."""
        match = _ANSI_C.search(source)
        while match is not None:
            position = match.start() + 2
            if b"\\\\" in match[0]:
                text = _PAIR.sub(_escape_backslash, match[0])
                mended = source[: match.start()] + text + source[match.end() :]
                tree = self._parse(mended)
                if tree is None:
                    return source
                node = tree.descendant_for_byte_range(match.start(), position)
                if node is not None and node.type == "ansi_c_string":
                    source, position = mended, match.start() + len(text)
            match = _ANSI_C.search(source, position)
        return source

    def _parse(self, source: bytes) -> Node | None:
        def read(offset: int, _: Point) -> bytes:
            return source[offset : offset + _BLOCK]

        try:
            tree = _parser().parse(read, progress_callback=lambda _, __: self._is_late())
        except ValueError:  # stopped by the callback
            _parser().reset()
            return None
        return tree.root_node

    def _is_late(self) -> bool:
        now = process_time()
        if self._deadline is None:
            self._deadline = now + MAX_SECONDS
        return now > self._deadline


def _escape_backslash(pair: re.Match[bytes]) -> bytes:
    return rb"\x5c" if pair[1] == b"\\" else pair[0]


def _put_in(places: dict[int, bytes], source: bytes) -> bytes:
    """Return a text with other texts put into it, by position."""
    ends = sorted(places)
    pieces = [source[start:end] + places.get(end, b"") for start, end in itertools.pairwise((0, *ends, len(source)))]
    return b"".join(pieces)


@cache
def _parser() -> Parser:
    return Parser(Language(_load_binding().language()))


def _load_binding() -> Any:
    """Return the compiled module of tree-sitter-bash.

    Importing its package takes a tenth of the processor time of a hook, for `importlib.resources` and its query files.
    """
    folders = getattr(PathFinder.find_spec(_PACKAGE), "submodule_search_locations", None)
    spec = None if folders is None else PathFinder.find_spec(f"{_PACKAGE}._binding", folders)
    if not isinstance(spec, ModuleSpec) or spec.loader is None:  # another way of packaging
        return import_module(f"{_PACKAGE}._binding")
    module: Any = spec.loader.create_module(spec)
    spec.loader.exec_module(module)
    return module


def stages_of(pipeline: Node) -> list[Node]:
    """Return the commands of a pipeline."""
    return [child for child in pipeline.named_children if child.type != "comment"]


def leaves(node: Node, source: bytes) -> bool:
    """Return True if a statement ends the function, loop or shell that it is in."""
    while node.type in {"compound_statement", "subshell"} and node.named_children:
        node = node.named_children[-1]
    words = source[node.start_byte : node.end_byte].split(maxsplit=1)
    return node.type == "command" and bool(words) and words[0] in _LEAVES
