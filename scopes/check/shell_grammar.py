"""Parse command lines with tree-sitter-bash, in bounded time, and mend what its grammar cannot read."""

from __future__ import annotations

import re
from functools import cache
from time import process_time

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Point

MAX_SECONDS = 1.0  # of the processor for one command line; an ordinary one takes a tenth of a millisecond
MAX_HEREDOCS = 50  # of a text that is mended
_BLOCK = 1 << 16
_ARGUMENTS = re.compile(rb"""(<<-?[ ]?(['"]?)\w{1,80}\2)(?=[ ]+[^\s|&;<])((?:>&|&>|[^\n;|&<]){1,2000})""")
_STATEMENTS = re.compile(
    rb"""(<<-?[ ]?(['"]?)(\w{1,80})\2[^\n;]{0,2000});([^\n]{0,2000})\n((?:[^\n]{0,2000}\n){0,2000}?[\t]*)\3(?=\n|$)"""
)


class Grammar:
    """Parses the texts of one command line, nested ones included, within one limit of time."""

    def __init__(self) -> None:
        self._deadline = process_time() + MAX_SECONDS

    def parse(self, source: bytes) -> tuple[bytes, Node | None]:
        """Return the tree of a text, and the text that its positions refer to; None if it takes too long.

        Arguments and `; command` behind a heredoc on its first line are an error to the grammar. Such a text is parsed
        again with the arguments in front of the heredoc and the command behind its end.
        """
        tree = self._parse(source)
        if tree is not None and tree.has_error and 0 < source.count(b"<<") <= MAX_HEREDOCS:
            mended = _STATEMENTS.sub(rb"\1\n\5\3\n\4", _ARGUMENTS.sub(rb"\3 \1", source))
            better = self._parse(mended) if mended != source else None
            if better is not None and not better.has_error:
                return mended, better
        return source, tree

    def _parse(self, source: bytes) -> Node | None:
        def read(offset: int, _: Point) -> bytes:
            return source[offset : offset + _BLOCK]

        try:
            tree = _parser().parse(read, progress_callback=lambda _, __: process_time() > self._deadline)
        except ValueError:  # stopped by the callback
            _parser().reset()
            return None
        return tree.root_node


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))
