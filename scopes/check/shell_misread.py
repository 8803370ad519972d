"""Find what the grammar of tree-sitter-bash reads in another way than bash, without an error in the tree.

It takes other control characters than a tab for blanks, a `$` and the name on the next line for a variable, `#` behind
an escaped blank for a comment, and sometimes another line for the end of a heredoc: commands can hide there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from scopes.lazy_patterns import compile_lazily

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_CONTROLS: Final = 1000  # characters of a text that are looked at; the first one in a gap decides
_QUOTED: Final = {"raw_string", "string", "string_content", "ansi_c_string", "heredoc_body", "heredoc_content"}
_SIMPLE: Final = {"command", "file_redirect", "redirected_statement"}
_WITH_VALUE: Final = {"variable_assignment", "herestring_redirect"}
_OPENING: Final = frozenset({b"then", b"do", b"else", b"{", b"("})  # no `;` can follow them
# A `$` or a backslash in front of a blank, and `$b` in `$a/$b/c`.
_DOUBTFUL: Final = compile_lazily(rb"\$\s|\\\s+#|\\[ \t]+\n|[\w}/.:,@%+=-]\$\w+[^\s;&|\w\"']")
_NAME: Final = compile_lazily(rb"\w+")
_ESCAPED_BLANK: Final = compile_lazily(rb"(?:^|[^\\])(?:\\\\)*\\(?:[ \t]|\n)\Z")
_CONTINUED: Final = compile_lazily(rb"(?:^|[\s;|&()<>`])(?:\\\n)+\Z")
_CONTROL: Final = compile_lazily(rb"\A\xef\xbb\xbf|[\x0b\x0c]|\\\r|\r(?!\n|\Z)")
_DELIMITER: Final = compile_lazily(rb"(?:\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|[^\s;|&<>()'\"\\`$])+", re.DOTALL)
_QUOTING: Final = compile_lazily(rb"\\(.)|['\"]", re.DOTALL)
_BEHIND_DELIMITER: Final = b" \t\n;|&<>()"
_NEAR: Final = 200  # bytes in front of a `#` that are looked at


def find_places(tree: Node, source: bytes) -> dict[int, bytes]:
    r"""Return what must be put into a text so that the grammar reads it as bash does, by position.

    That is `;` at an end of line inside of a command, a backslash in front of a `$` that is no expansion and of a `#`
    that begins no comment, and braces around a name that seems to be the next word.
    """
    is_doubtful = _DOUBTFUL.search(source) is not None
    if not is_doubtful and not (b"|" in source and b">&" in source and b"\n" in source):
        return {}
    places: dict[int, bytes] = {}
    for node in _walk(tree):
        if node.type in _SIMPLE or (is_doubtful and node.type in _WITH_VALUE):
            places.update(dict.fromkeys(_missed_ends(node, source), b";"))
        elif is_doubtful and node.type == "$" and (name := _lost_name(node, source)) is not None:
            places.update({name.start(): b"{", name.end(): b"}"})
        elif is_doubtful and _is_plain(node, source):
            places[node.start_byte] = b"\\"
    return places


def find_misread(tree: Node, source: bytes) -> str | None:
    """Return why a tree may not be what bash reads in a text; None if it is."""
    if any(_is_in_gap(match.end() - 1, tree) for match in itertools.islice(_CONTROL.finditer(source), MAX_CONTROLS)):
        return "it has a control character that a shell takes for a letter"
    if has_misread_heredoc(tree, source):
        return "the end of a heredoc is not certain"
    return "the end of a word is not certain" if find_places(tree, source) else None


def has_misread_heredoc(tree: Node, source: bytes) -> bool:
    """Return True if a heredoc does not end at the first line that is its delimiter."""
    if b"<<" not in source:
        return False
    return any(node.type == "heredoc_redirect" and _is_misread(node, source) for node in _walk(tree))


def _is_in_gap(position: int, tree: Node) -> bool:
    """Return True if a character is not in quotes or in a heredoc, so that it seems to separate words."""
    node = tree.descendant_for_byte_range(position, position + 1)
    return node is None or node.type not in _QUOTED


def _walk(tree: Node) -> Iterator[Node]:
    pending = [tree]
    while pending:
        node = pending.pop()
        pending += node.children
        yield node


def _missed_ends(node: Node, source: bytes) -> Iterator[int]:
    """Yield the positions of ends of lines inside of a simple command."""
    if node.start_point[0] == node.end_point[0]:
        return
    for before, after in itertools.pairwise(node.children):
        gap = source[before.end_byte : after.start_byte].replace(b"\\\n", b"__")
        is_keyword = source[before.start_byte : before.end_byte] in _OPENING
        if b"\n" in gap and not is_keyword and not before.type.startswith("heredoc"):
            yield before.end_byte + gap.index(b"\n")


def _lost_name(node: Node, source: bytes) -> re.Match[bytes] | None:
    """Return the name behind a `$` that is alone in the tree: the grammar takes it for the next word."""
    is_alone = node.parent is not None and node.parent.type == "concatenation"
    return _NAME.match(source, node.end_byte) if is_alone else None


def _is_plain(node: Node, source: bytes) -> bool:
    """Return True for a `$` in front of a blank, and for a `#` behind a blank that is a letter or a continued line."""
    if node.type == "simple_expansion":
        return source[node.start_byte + 1 : node.start_byte + 2].isspace()
    if node.type != "comment":
        return False
    before = source[max(0, node.start_byte - _NEAR) : node.start_byte]
    return _ESCAPED_BLANK.search(before) is not None and _CONTINUED.search(before) is None


def _is_misread(node: Node, source: bytes) -> bool:
    start = next((child for child in node.children if child.type == "heredoc_start"), None)
    if start is None:
        return True
    word = source[start.start_byte : start.end_byte]
    following = source[start.end_byte : start.end_byte + 1]
    if _DELIMITER.fullmatch(word) is None or (following and following not in _BEHIND_DELIMITER):
        return True
    delimiter = _QUOTING.sub(lambda match: match[1] or b"", word)
    tabs = b"\t" if any(child.type == "<<-" for child in node.children) else b""
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    end = next((child for child in node.children if child.type == "heredoc_end"), None)
    first = None if body is None else body.start_byte
    if end is not None:
        if source[end.start_byte : end.end_byte].rstrip(b"\n").lstrip(tabs) != delimiter:
            return True
        if source[: end.start_byte].rstrip(tabs)[-1:] != b"\n":
            return True
    last = node.end_byte if end is None else end.start_byte
    lines = () if first is None else source[first:last].split(b"\n")
    return any(line.lstrip(tabs) == delimiter for line in lines)
