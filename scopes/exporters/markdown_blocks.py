"""Which lines of a Markdown text are code, and which fence is still open at its end.

This follows CommonMark's block structure line by line: containers (quotes and list items), paragraphs with their lazy
continuation, fences and indented code. HTML blocks are unknown here, since no HTML is left in what is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

LineKind: TypeAlias = Literal["text", "opening", "code"]

MOST_CONTAINERS = 50
_QUOTE = 0  # a list item is kept as the number of columns that its content is indented by
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
    """Reads a text line by line."""

    _containers: list[int] = field(default_factory=list)
    _fence: _Fence | None = None
    _paragraph: bool = False  # one is open, in the innermost container
    _bare: bool = False  # the innermost container is a list item that holds nothing yet
    too_deep: bool = False  # more containers were begun than anybody reads

    @property
    def closing(self) -> str | None:
        """The line that ends the open fence; None where there is none, or where its quote or item ends it."""
        return None if self._fence is None else self._fence.closing

    def read(self, line: str) -> LineKind:
        """Take the next line, without its end, and tell whether it is text, begins a fence, or is code or ends one."""
        columns = line.expandtabs(4)
        rest, depth = self._continued(columns)
        goes_on = depth == len(self._containers)
        if self._fence is not None and goes_on:
            if self._fence.is_closed_by(rest):
                self._fence = None
            return "code"
        self._fence = None
        if not rest.strip(" "):
            self._leave(depth)
            return "text"
        return self._begin(columns, rest, depth)

    def _continued(self, rest: str) -> tuple[str, int]:
        """Return what a line holds behind the marks of the open containers, and how many of them go on in it."""
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
            elif self._bare and number == len(self._containers) - 1:
                return rest, number
        return rest, len(self._containers)

    def _begin(self, line: str, rest: str, depth: int) -> LineKind:
        """Open the blocks that begin in a line which is not blank, and tell what the innermost one is.

        An indented line with a quote's mark counts as text, since not every reader takes it for code.
        """
        while (content := rest.lstrip(" ")) and not self.too_deep:
            indent = _indent(rest)
            if indent > 3:
                return "text" if self._goes_on_lazily(depth) or content.startswith(">") else "code"
            if content.startswith(">"):
                self._enter(depth, _QUOTE)
                rest = content[1:].removeprefix(" ")
            elif opening := _OPENING.match(content):
                self._leave(depth)
                before = line[: len(line) - len(content)]
                mark = opening[1] or opening[2]
                self._fence = _Fence(mark, None if before.strip(" ") else before + mark)
                return "opening"
            elif self._is_rule_or_heading(content, depth):
                self._leave(depth)
                return "text"
            elif item := self._item(content, depth):
                width, rest = item
                self._enter(depth, indent + width)
                self._bare = not rest.strip(" ")
            else:
                if not self._goes_on_lazily(depth):
                    self._leave(depth)
                    self._paragraph = True
                return "text"
            depth += 1
        return "text"

    def _goes_on_lazily(self, depth: int) -> bool:
        """Tell whether a line that begins nothing continues the open paragraph; otherwise containers end before it."""
        if not self._paragraph:
            self._leave(depth)
        return self._paragraph

    def _is_rule_or_heading(self, content: str, depth: int) -> bool:
        if self._paragraph and depth == len(self._containers) and _UNDERLINE.match(content):
            return True
        marks = content.replace(" ", "")
        is_rule = marks[0] in "*-_" and len(marks) > 2 and not marks.strip(marks[0])
        return is_rule or _HEADING.match(content) is not None

    def _item(self, content: str, depth: int) -> tuple[int, str] | None:
        """Return the width of a list item's mark and what stands behind it; None where no item begins."""
        found = _ITEM.match(content)
        if found is None:
            return None
        space = len(found["space"])
        empty = found.end() == len(content)
        interrupts = self._paragraph and depth == len(self._containers)
        if interrupts and (empty or (found["number"] is not None and int(found["number"]) != 1)):
            return None
        width = len(found["mark"]) + (1 if empty or space > 4 else space)
        return width, content[width:]

    def _enter(self, depth: int, container: int) -> None:
        self._leave(depth)
        self._containers.append(container)
        self.too_deep = self.too_deep or depth >= MOST_CONTAINERS

    def _leave(self, depth: int) -> None:
        """End what does not go on: containers below a depth, and the paragraph."""
        del self._containers[depth:]
        self._paragraph = self._bare = False


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
