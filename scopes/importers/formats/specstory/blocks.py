"""Divide a Markdown file of SpecStory into its blocks, one under each heading, and a block into parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from scopes.clock import parse_time
from scopes.importers.formats.text_lines import Block, Line

HEADER, USER, AGENT = "header", "user", "agent"
_HEADING = re.compile(rb"_\*\*(User|Agent|Assistant)( - sidechain)?(?: \(([^()\n]{1,300})\))?\*\*_[ \t]*\r?\n?")
_TIME = re.compile(r"(?:^| )(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d)?)Z?$")
_TOOL_BEGIN, _TOOL_END = "<tool-use ", "</tool-use>"
_THINK_BEGIN, _THINK_END = "<think>", "</think>"
_FENCE, _OUTPUT_FENCE = "```", "```text"
_NAME = re.compile(r'data-tool-name="([^"\n]{1,200})"')
_TYPE = re.compile(r'data-tool-type="([^"\n]{1,200})"')
_SUMMARY = re.compile(r"\A\s*(?:<details>)?\s*<summary>[^\n]*</summary>[ \t]*\n?")


class Heading(NamedTuple):
    """The line above a block: who speaks, on the line of a sub-agent or not, with which model, and when."""

    role: str
    sidechain: bool = False
    model: str | None = None
    time: str | None = None


class ToolUse(NamedTuple):
    """A tool use as it is shown: the output is None where there is none; `at` is the place of it in the text."""

    name: str
    type: str
    input: str
    output: str | None
    at: int


class Piece(NamedTuple):
    """A piece of an answer: text, reasoning, or a tool use."""

    type: str
    text: str = ""
    tool: ToolUse | None = None


class BlockReader:
    """Collects lines to blocks. What looks like a heading inside of a tool use is part of its output."""

    def __init__(self) -> None:
        self._block: Block | None = None
        self._heading = Heading(HEADER)
        self._in_tool = False

    def read(self, line: Line) -> tuple[Heading, Block] | None:
        """Read the next line; return the block before it if that is complete."""
        heading = read_heading(line.data) if line.starts and not self._in_tool else None
        if line.starts:
            begins = line.data.startswith(_TOOL_BEGIN.encode())
            self._in_tool = (self._in_tool or begins) and not line.data.rstrip().endswith(_TOOL_END.encode())
        block = self._block
        if heading is None and block is not None and not block.is_full:
            block.add(line)
            return None
        done = self.finish()
        self._heading = heading or self._heading
        self._block = Block(self._heading.role, line)
        return done

    def finish(self) -> tuple[Heading, Block] | None:
        """Return the last block."""
        block, self._block = self._block, None
        return None if block is None else (self._heading, block)


def read_heading(line: bytes) -> Heading | None:
    """Return the heading that a line is; None if it is none."""
    found = _HEADING.fullmatch(line) if line.startswith(b"_**") else None
    if found is None:
        return None
    role = USER if found[1] == b"User" else AGENT
    detail = (found[3] or b"").decode("utf-8", "replace")
    at = _TIME.search(detail)
    time = None if at is None else f"{at[1]}T{at[2] if at[2].count(':') == 2 else at[2] + ':00'}Z"
    model = (detail if at is None else detail[: at.start()]).strip() or None
    known = time if time is not None and parse_time(time) is not None else None
    return Heading(role, found[2] is not None, model if role == AGENT else None, known)


def text_of(block: Block) -> str:
    """Return the text of a block, without its heading and the line that separates it from the next one."""
    text = block.text
    if read_heading(text.partition("\n")[0].encode()) is not None:
        text = text.partition("\n")[2]
    text = text.strip()
    return text[:-3].rstrip() if text == "---" or text.endswith("\n---") else text


def split_answer(text: str) -> Iterator[Piece]:
    """Yield the pieces of an answer in order."""
    place = 0
    begins = {_TOOL_BEGIN: 0, _THINK_BEGIN: 0}  # where the next line with each mark is, found once
    while place < len(text):
        for mark, known in begins.items():
            begins[mark] = known if known >= place > 0 else _find_line(text, mark, place)
        begin = min(begins.values())
        is_tool = begin < len(text) and text.startswith(_TOOL_BEGIN, begin)
        mark = _TOOL_END if is_tool else _THINK_END
        end = text.find(mark, begin)
        before = text[place:] if end < 0 else text[place:begin]
        if before.strip():
            yield Piece("text", before.strip())
        if end < 0:
            return
        place = end + len(mark)
        yield (
            _read_tool(text, begin, end)
            if is_tool
            else Piece("reasoning", _inside(text[begin + len(_THINK_BEGIN) : end]))
        )


def _find_line(text: str, mark: str, start: int) -> int:
    """Return where the next line that begins with a mark is; the end of the text if there is none."""
    if text.startswith(mark, start) and (start == 0 or text[start - 1] == "\n"):
        return start
    found = text.find(f"\n{mark}", start)
    return found + 1 if found >= 0 else len(text)


def _inside(text: str) -> str:
    """Return what is shown when details are opened."""
    return _SUMMARY.sub("", text, count=1).strip().removesuffix("</details>").strip()


def _read_tool(text: str, begin: int, end: int) -> Piece:
    head, _, body = text[begin:end].partition(">")
    name, kind = _NAME.search(head), _TYPE.search(head)
    shown = _inside(body)
    fence = f"\n{shown}".find(f"\n{_OUTPUT_FENCE}\n")
    output = None
    if fence >= 0:
        output = shown[fence + len(_OUTPUT_FENCE) :].strip("\n").removesuffix(_FENCE).removesuffix("\n")
    at = text.find(f"\n{_OUTPUT_FENCE}\n", begin, end) + 1 if fence >= 0 else 0
    tool = ToolUse(
        name=name[1] if name is not None else "tool",
        type=kind[1] if kind is not None else "unknown",
        input=(shown if fence < 0 else shown[:fence]).strip(),
        output=output,
        at=at or end,
    )
    return Piece("tool_call", tool=tool)
