"""Read the redirections of a command: files, heredocs and here-strings, and the words that follow them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from scopes.check.shell_command import Redirection, RedirectionKind
from scopes.check.shell_state import Input, Word
from scopes.check.shell_words import WordReader, text_of
from scopes.lazy_patterns import compile_lazily

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS: dict[str, RedirectionKind] = {
    "<": "read", "<>": "read", ">": "write", ">|": "write", "&>": "write", ">&": "write",
    ">>": "append", "&>>": "append",
}  # fmt: skip
_IN_HOME = compile_lazily(r"\$(?:HOME|\{HOME\})(/.*)", re.DOTALL)
_COMPUTED = compile_lazily(r"[$`]")
_ESCAPED = compile_lazily(r"\\([\\$`])|\\\n")
_WORDS = {"word", "string", "raw_string", "concatenation", "simple_expansion", "expansion", "number"}
_TABS = compile_lazily(r"^\t+", re.MULTILINE)


class Redirections(NamedTuple):
    """What the redirections of a command are.

    files: in the order of the text
    input: a heredoc, a here-string or a file on the standard input
    words: words of the command that the grammar puts behind a redirection
    following: what comes behind a heredoc on its first line: a pipeline, or another command
    """

    files: tuple[Redirection, ...] = ()
    input: Input | None = None
    words: tuple[Node, ...] = ()
    following: tuple[Node, ...] = ()


def read_redirections(nodes: Iterable[Node], reader: WordReader, source: bytes) -> Redirections:
    """Read redirections in the order of the text."""
    result = Redirections()
    for node in nodes:
        if node.type == "herestring_redirect":
            word = reader.read(node.named_children[-1]) if node.named_children else Word("", "")
            result = result._replace(input=Input(script=word, programs=word.programs))
        elif node.type == "heredoc_redirect":
            result = _add_heredoc(node, reader, source, result)
        else:
            result = _add_file(node, reader, result)
    return result


def _add_file(node: Node, reader: WordReader, result: Redirections) -> Redirections:
    operator = next((child.type for child in node.children if child.type in _KINDS), None)
    targets = node.children_by_field_name("destination")
    if not targets:
        return result
    result = result._replace(words=result.words + tuple(targets[1:]))
    target = reader.read(targets[0])
    if target.value != "-" and any(child.type == "<&" for child in node.children):
        return result._replace(input=Input(programs=target.programs))
    if operator is None or (operator == ">&" and targets[0].type == "number") or target.value == "-":
        return result
    if operator in {"<", "<>"}:
        result = result._replace(input=Input(programs=target.programs))
    if target.programs and target.value is None and operator in {"<", "<>"}:
        return result
    in_home = _IN_HOME.fullmatch(target.text) if target.value is None else None
    text = target.text if in_home is None else f"~{in_home[1]}"
    path = text if in_home is not None and not _COMPUTED.search(text) else target.value
    return result._replace(files=(*result.files, Redirection(_KINDS[operator], path, text if path is None else "")))


def _add_heredoc(node: Node, reader: WordReader, source: bytes, result: Redirections) -> Redirections:
    start, following = "", []
    for child in node.named_children:
        if child.type == "heredoc_start":
            start = text_of(child, source)
        elif child.type.endswith("_redirect"):
            result = _add_file(child, reader, result) if child.type == "file_redirect" else result
        elif child.type in _WORDS:
            is_body = text_of(child, source).startswith("\n")
            result = result if is_body else result._replace(words=(*result.words, child))
        elif child.type not in {"heredoc_body", "heredoc_end", "ERROR", "comment"}:
            following.append(child)
    text = _body_of(node, start, reader, source)
    if any(child.type == "<<-" for child in node.children):
        text = text._replace(
            text=_TABS.sub("", text.text), value=None if text.value is None else _TABS.sub("", text.value)
        )
    return result._replace(
        input=Input(script=text, programs=text.programs), following=result.following + tuple(following)
    )


def _body_of(node: Node, start: str, reader: WordReader, source: bytes) -> Word:
    """Return the text of a heredoc; the beginning of one that begins with a backslash is a word to the grammar."""
    early = next((child for child in node.named_children if text_of(child, source).startswith("\n")), None)
    if early is not None:
        end = next((child.start_byte for child in node.children if child.type == "heredoc_end"), node.end_byte)
        raw = source[early.start_byte + 1 : end].decode("utf-8", "replace")
        return Word(None, _ESCAPED.sub(lambda match: match[1] or "", raw))
    body = next((child for child in node.named_children if child.type == "heredoc_body"), None)
    if body is None:
        return Word("", "")
    raw = text_of(body, source)
    return Word(raw, raw) if re.search(r"""['"\\]""", start) else reader.read_heredoc(body)
