"""Find the code lines of a Markdown text, and the code fence that is still open at its end.

The scanner follows CommonMark's block structure line by line: containers (quotes and list items), paragraphs with lazy
continuation, fenced and indented code. It ignores HTML blocks, because the escaped text contains no HTML.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

LineKind: TypeAlias = Literal["text", "opening", "code"]

MOST_CONTAINERS = 50
_QUOTE = 0  # a quote; a list item is represented by the indentation of its content, in columns
_OPENING = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_HEADING = re.compile(r"#{1,6}(?: |$)")
_UNDERLINE = re.compile(r"(?:=+|-+) *$")
_ITEM = re.compile(r"(?P<mark>[-+*]|(?P<number>[0-9]{1,9})[.)])(?P<space> +|$)")


@dataclass(frozen=True, slots=True)
class _Fence:
    mark: str
    closing: str | None

    def is_closed_by(self, line: str) -> bool:
        content = line.strip(" ")
        return content.startswith(self.mark) and not content.strip(self.mark[0]) and _indent(line) < 4


@dataclass(slots=True)
class CodeLineScanner:
    """Classifies the lines of a text one after the other.

    `too_deep` is set when containers are nested deeper than MOST_CONTAINERS; later lines are then not classified.
    """

    _containers: list[int] = field(default_factory=list)
    _fence: _Fence | None = None
    _in_paragraph: bool = False  # of the innermost container
    _item_is_empty: bool = False  # the innermost container is a list item without content so far
    too_deep: bool = False

    @property
    def closing(self) -> str | None:
        """The line that closes the open fence; None if no fence is open, or if the end of its container closes it."""
        return None if self._fence is None else self._fence.closing

    def read(self, line: str) -> LineKind:
        """Classify the next line, given without its line end; the closing line of a fence counts as code."""
        columns = line.expandtabs(4)
        rest, depth = self._strip_containers(columns)
        if self._fence is not None and depth == len(self._containers):
            if self._fence.is_closed_by(rest):
                self._fence = None
            return "code"
        self._fence = None
        if not rest.strip(" "):
            self._close_to(depth)
            return "text"
        return self._open_blocks(columns, rest, depth)

    def _strip_containers(self, rest: str) -> tuple[str, int]:
        """Return the line without the marks of the open containers, and how many of them it continues."""
        for number, width in enumerate(self._containers):
            content = rest.lstrip(" ")
            if width == _QUOTE:
                if not content.startswith(">") or _indent(rest) > 3:
                    return rest, number
                rest = content[1:].removeprefix(" ")
            elif content:
                if _indent(rest) < width:
                    return rest, number
                rest = rest[width:]
            elif self._item_is_empty and number == len(self._containers) - 1:
                return rest, number
        return rest, len(self._containers)

    def _open_blocks(self, line: str, rest: str, depth: int) -> LineKind:
        """Open the blocks that begin in a non-blank line, and return the kind of the innermost one.

        An indented line that begins with a quote mark counts as text, because not every reader treats it as code.
        """
        while (content := rest.lstrip(" ")) and not self.too_deep:
            indent = _indent(rest)
            if indent > 3:
                return "text" if self._continues_paragraph(depth) or content.startswith(">") else "code"
            if content.startswith(">"):
                self._open(depth, _QUOTE)
                rest = content[1:].removeprefix(" ")
            elif opening := _OPENING.match(content):
                self._close_to(depth)
                before = line[: len(line) - len(content)]
                mark = opening[1] or opening[2]
                self._fence = _Fence(mark, None if before.strip(" ") else before + mark)
                return "opening"
            elif self._is_rule_or_heading(content, depth):
                self._close_to(depth)
                return "text"
            elif item := self._match_item(content, depth):
                width, rest = item
                self._open(depth, indent + width)
                self._item_is_empty = not rest.strip(" ")
            else:
                if not self._continues_paragraph(depth):
                    self._close_to(depth)
                    self._in_paragraph = True
                return "text"
            depth += 1
        return "text"

    def _continues_paragraph(self, depth: int) -> bool:
        """Return True if a line that opens no block continues the paragraph; otherwise close inner containers."""
        if not self._in_paragraph:
            self._close_to(depth)
        return self._in_paragraph

    def _is_rule_or_heading(self, content: str, depth: int) -> bool:
        if self._in_paragraph and depth == len(self._containers) and _UNDERLINE.match(content):
            return True
        marks = content.replace(" ", "")
        is_rule = marks[0] in "*-_" and len(marks) > 2 and not marks.strip(marks[0])
        return is_rule or _HEADING.match(content) is not None

    def _match_item(self, content: str, depth: int) -> tuple[int, str] | None:
        """Return the width of a list item's mark and the text after it; None if no item begins here."""
        found = _ITEM.match(content)
        if found is None:
            return None
        space = len(found["space"])
        empty = found.end() == len(content)
        interrupts = self._in_paragraph and depth == len(self._containers)
        if interrupts and (empty or (found["number"] is not None and int(found["number"]) != 1)):
            return None
        width = len(found["mark"]) + (1 if empty or space > 4 else space)
        return width, content[width:]

    def _open(self, depth: int, container: int) -> None:
        self._close_to(depth)
        self._containers.append(container)
        self.too_deep = self.too_deep or depth >= MOST_CONTAINERS

    def _close_to(self, depth: int) -> None:
        """Close the paragraph and every container deeper than `depth`."""
        del self._containers[depth:]
        self._in_paragraph = self._item_is_empty = False


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
