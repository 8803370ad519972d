"""What the exit code of a command line says about one of its commands: nothing for `pytest | tail`, `pytest; echo`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scopes.lazy_patterns import compile_lazily

if TYPE_CHECKING:
    from tree_sitter import Node

_SEQUENCES = {"program", "compound_statement", "subshell", "do_group"}
_BODIES = {"redirected_statement", "for_statement", "command_substitution", "variable_assignment"}
# Programs that exit with 1 if they find nothing or a difference.
_FINDERS = compile_lazily(r"\s*(?:\S*/)?(?:[ef]?grep|rg|ag|ack|diff|cmp|test|\[)(?:\s|$)")
# Programs that fail only if a program before them in a pipeline does and `pipefail` is set where it cannot be seen.
_PASSING_ON = compile_lazily(r"\s*(?:\S*/)?(?:cat|column|cut|head|less|more|nl|sed|sort|tail|tee|tr|uniq|wc)(?:\s|$)")
_FAILING = compile_lazily(
    r"(?:exit|return)\s+[1-9]\d*$|false$|\{[^{}]*;\s*(?:exit|return)\s+[1-9]\d*;?\s*\}$", re.DOTALL
)
_ERREXIT = compile_lazily(r"set\s+(?:-[a-z]*e[a-z]*\b|-o\s+errexit\b)")
_NO_ERREXIT = compile_lazily(r"set\s+\+")
_KEPT = compile_lazily(r"(\w+)=\$\?$")
_MAX_DEPTH = 40


class Status(NamedTuple):
    """What exit codes say: `passed` if 0 means that the command passed, `failed` if another one means that it failed.

    Of `a && b` and `a; b` another exit code than 0 means that the command line with the command failed, unless b is a
    program such as grep.
    """

    passed: bool
    failed: bool


_KNOWN, _UNKNOWN = Status(passed=True, failed=True), Status(passed=False, failed=False)


def read_status(line: str, texts: Sequence[str], *, pipefail: bool = False) -> Status:
    """Return what the exit code of a command line says about the last of its commands with one of the texts.

    pipefail: a pipeline fails if any of its programs fails
    """
    source = line.encode("utf-8", "replace")
    from scopes.check.shell_grammar import Grammar

    source, tree = Grammar().parse(source)
    if tree is None or tree.has_error:
        return Status(passed=line.rstrip().endswith(tuple(texts)), failed=True)
    wanted = [text.encode("utf-8", "replace") for text in texts if text]
    return _Line(
        source, lambda node: any(text in source[node.start_byte : node.end_byte] for text in wanted), pipefail=pipefail
    ).read(tree, 0)


def runs_only_after(line: str, first: str, last: str, *, pipefail: bool = False) -> bool:
    """Return True if the command with the text `last` runs only after the one with the text `first` passed.

    So it is in `first && last`, `first || exit 1; last`, `set -e; first; last` and `if first; then last; fi`. It is
    False if that is not certain, also if the line has one of the texts more than once.
    """
    source = line.encode("utf-8", "replace")
    from scopes.check.shell_grammar import Grammar

    source, tree = Grammar().parse(source)
    before, after = first.encode("utf-8", "replace"), last.encode("utf-8", "replace")
    if tree is None or tree.has_error or not before or source.count(after) != 1 or source.count(before) != 1:
        return False
    held = _Line(source, lambda node: before in source[node.start_byte : node.end_byte], pipefail=pipefail)
    return held.guards(tree, lambda node: after in source[node.start_byte : node.end_byte])


class _Line:
    """A command line, and which of its nodes hold the command."""

    def __init__(self, source: bytes, holds: Callable[[Node], bool], *, pipefail: bool) -> None:
        self._source = source
        self._holds = holds
        self._pipefail = pipefail

    def read(self, node: Node, depth: int) -> Status:
        """Return what the exit code of a node that holds the command says."""
        children = [each for each in node.named_children if each.type != "comment"]
        if node.type == "command":
            return self._command(children)
        if depth <= _MAX_DEPTH and node.type in _SEQUENCES:
            return self._sequence(children, depth)
        if depth <= _MAX_DEPTH and node.type in {"list", "pipeline"}:
            return self._list(node, children, depth) if node.type == "list" else self._pipeline(children, depth)
        held = [each for each in children if self._holds(each)] if node.type in _BODIES else []
        is_read = held and depth <= _MAX_DEPTH and held[-1].type != "heredoc_redirect"
        return self.read(held[-1], depth + 1) if is_read else _UNKNOWN

    def guards(self, node: Node, runs: Callable[[Node], bool]) -> bool:
        """Return True if the node of another command, below this one, is reached only after the command passed."""
        for _ in range(_MAX_DEPTH):
            children = [each for each in node.named_children if each.type != "comment"]
            both = next((each for each in children if self._holds(each) and runs(each)), None)
            if both is None:
                return self._guards_in(node, children, runs)
            node = both
        return False

    def _guards_in(self, node: Node, children: list[Node], runs: Callable[[Node], bool]) -> bool:
        """Return what `guards` does of the smallest node that holds both commands."""
        first = next((n for n, each in enumerate(children) if self._holds(each)), None)
        last = next((n for n, each in enumerate(children) if runs(each)), -1)
        if first is None or first >= last:
            return False
        held = children[first]
        passes = self.read(held, 0).passed
        if node.type == "list":
            return passes and any(each.type == "&&" for each in node.children)
        if node.type == "if_statement":
            is_then = children[last].type not in {"elif_clause", "else_clause"}
            return passes and is_then and held in node.children_by_field_name("condition")
        is_background = held.next_sibling is not None and held.next_sibling.type == "&"
        if node.type not in _SEQUENCES or is_background:
            return False
        is_list = held.type == "list" and any(each.type == "||" for each in held.children)
        return passes and (is_list or (self._is_errexit(children[:first]) and held.type != "list"))

    def _is_errexit(self, before: list[Node]) -> bool:
        texts = [self._text(each) for each in before]
        return any(map(_ERREXIT.match, texts)) and not any(map(_NO_ERREXIT.match, texts))

    def _sequence(self, children: list[Node], depth: int) -> Status:
        position = max((n for n, each in enumerate(children) if self._holds(each)), default=-1)
        if position < 0:  # a function that runs it elsewhere, or a text that the shell puts together
            return Status(passed=False, failed=True)
        held, after = children[position], children[position + 1 :]
        following = held.next_sibling
        if following is not None and following.type == "&":
            return _UNKNOWN
        status = self.read(held, depth + 1)
        if not after or self._is_kept(after):
            return status
        is_passed = status.passed and self._is_errexit(children[:position]) and held.type != "list"
        return Status(is_passed, failed=_FINDERS.match(self._text(after[-1])) is None)

    def _is_kept(self, after: list[Node]) -> bool:
        """Return True for `exit $?` behind the command, and for `code=$?` with `exit $code` at the end."""
        first, last = self._text(after[0]), self._text(after[-1])
        kept = _KEPT.match(first)
        if kept is None:
            return len(after) == 1 and first in {"exit $?", "exit", "return $?"}
        return last in {f"exit ${kept[1]}", f'exit "${kept[1]}"', f"exit ${{{kept[1]}}}", f"return ${kept[1]}"}

    def _list(self, node: Node, children: list[Node], depth: int) -> Status:
        if len(children) != 2:
            return _UNKNOWN
        left, right = children
        is_and = any(each.type == "&&" for each in node.children)
        if self._holds(right):
            status = self.read(right, depth + 1)
            return Status(status.passed and is_and, status.failed)
        status = self.read(left, depth + 1)
        if is_and:
            return status
        return Status(status.passed and _FAILING.match(self._text(right)) is not None, status.failed)

    def _pipeline(self, children: list[Node], depth: int) -> Status:
        first, *_, last = children
        first = first.named_children[0] if first.type == "redirected_statement" else first
        if first.type == "list" and not self._holds(last):  # the grammar takes `a && b | c` for `(a && b) | c`
            left, right = first.named_children[0], first.named_children[-1]
            if self._holds(left) and not self._holds(right) and any(each.type == "&&" for each in first.children):
                return self.read(left, depth + 1)
        if self._holds(last):
            return self.read(last, depth + 1)
        if self._pipefail:
            return _KNOWN
        return Status(passed=False, failed=_PASSING_ON.match(self._text(last)) is not None)

    def _command(self, children: list[Node]) -> Status:
        """Return the status of a command: its own, unless the shell computes a word of it with the command."""
        inner = [each for each in children if each.type in {"command_substitution", "process_substitution", "string"}]
        nested = any(self._substitutes(each) for each in inner if self._holds(each))
        return _UNKNOWN if nested else _KNOWN

    def _substitutes(self, node: Node) -> bool:
        if node.type != "string":
            return True
        return any(each.type == "command_substitution" and self._holds(each) for each in node.named_children)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()
