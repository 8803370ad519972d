"""Blocks of a Markdown file of SpecStory, and the pieces of an answer."""

from __future__ import annotations

from io import BytesIO

import pytest

from scopes.importers.formats import text_lines
from scopes.importers.formats.specstory.blocks import BlockReader, Heading, read_heading, split_answer, text_of
from scopes.importers.formats.text_lines import Block, Line, walk_lines

READ = (
    '<tool-use data-tool-type="read" data-tool-name="Read"><details>\n<summary>Tool use: **Read**</summary>\n'
    " `/shop/a.py`\n\n```text\nport = 80\n```\n</details></tool-use>\n"
)


def blocks_of(text):
    data = text.encode()
    reader = BlockReader()
    found = [reader.read(line) for line in walk_lines(BytesIO(data), len(data))]
    done = [each for each in [*found, reader.finish()] if each is not None]
    assert b"".join(block.data for _, block in done) == data
    return done


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("_**User (2026-02-12 22:37:48Z)**_\n", Heading("user", time="2026-02-12T22:37:48Z")),
        ("_**Agent (claude-opus-4-6 2026-02-12 22:40:27Z)**_", Heading("agent", model="claude-opus-4-6", time="2026-02-12T22:40:27Z")),
        ("_**Agent - sidechain (m 2026-06-30 15:30Z)**_\r\n", Heading("agent", True, "m", "2026-06-30T15:30:00Z")),
        ("_**Assistant (m)**_\n", Heading("agent", model="m")),
        ("_**User**_\n", Heading("user")),
        ("_**Agent (m 2026-13-45 22:40:27Z)**_\n", Heading("agent", model="m")),
        ("_**User (x)**_ said\n", None),
        (" _**User**_\n", None),
        ("**User**\n", None),
        ("_**Robot**_\n", None),
    ],
)  # fmt: skip
def test_a_heading_names_who_speaks_with_which_model_and_when(line, heading):
    assert read_heading(line.encode()) == heading


def test_a_block_is_what_is_under_a_heading():
    found = blocks_of("<!-- x -->\n\n_**User**_\n\nHi\n\n---\n\n_**Agent (m)**_\n\nHello\n")
    assert [heading.role for heading, _ in found] == ["header", "user", "agent"]
    assert [text_of(block) for _, block in found] == ["<!-- x -->", "Hi", "Hello"]


def test_a_heading_in_the_output_of_a_tool_begins_no_block():
    found = blocks_of(f"_**Agent**_\n\n{READ.replace('port = 80', '_**User**_')}\n_**User**_\n\nHi\n")
    assert [heading.role for heading, _ in found] == ["agent", "user"]


def test_a_tool_use_on_one_line_is_closed():
    found = blocks_of('_**Agent**_\n<tool-use data-tool-name="x"></tool-use>\n_**User**_\nHi\n')
    assert [heading.role for heading, _ in found] == ["agent", "user"]


def test_a_very_large_block_goes_on_in_another_one(monkeypatch):
    monkeypatch.setattr(text_lines, "MAX_BLOCK_BYTES", 100)
    found = blocks_of("_**User**_\n" + "x\n" * 200)
    assert len(found) == 5
    assert {heading.role for heading, _ in found} == {"user"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("_**User**_\n\n---\n", ""),
        ("_**User**_\na\n---\nb\n", "a\n---\nb"),
        ("a\n\n---\n\n", "a"),
        ("_**User**_\na---\n", "a---"),
    ],
)
def test_only_the_line_between_two_turns_is_left_out(text, shown):
    assert text_of(Block("user", Line(0, text.encode()))) == shown


def test_the_pieces_of_an_answer_are_in_order():
    thought = "<think><details><summary>Thought Process</summary>\nWhy?\n</details></think>\n"
    found = list(split_answer(f"{thought}\nFirst.\n\n{READ}\nLast.\n"))
    assert [(piece.type, piece.text) for piece in found] == [
        ("reasoning", "Why?"), ("text", "First."), ("tool_call", ""), ("text", "Last."),
    ]  # fmt: skip
    tool = found[2].tool
    assert (tool.name, tool.type, tool.input, tool.output) == ("Read", "read", "`/shop/a.py`", "port = 80")


def test_an_output_may_have_fences_inside():
    (piece,) = split_answer(READ.replace("port = 80", "```py\nx\n```\ny"))
    assert piece.tool.output == "```py\nx\n```\ny"


def test_a_tool_use_without_an_output_has_only_its_input():
    (piece,) = split_answer(READ.replace("```text", "```md"))
    assert (piece.tool.output, piece.tool.input) == (None, "`/shop/a.py`\n\n```md\nport = 80\n```")


@pytest.mark.parametrize(
    "text", ["<think>never closed", "<tool-use never closed", "see <think>here</think>", "a </tool-use> b"]
)
def test_marks_that_do_not_pair_are_text(text):
    assert [(piece.type, piece.text) for piece in split_answer(text)] == [("text", text)]


def test_a_tool_use_without_attributes_is_a_tool():
    (piece,) = split_answer("<tool-use ></tool-use>")
    assert piece.tool[:4] == ("tool", "unknown", "", None)


@pytest.mark.parametrize("text", ["<think>\n" * 50_000, "<tool-use \n" * 50_000, "<think></think>\n" * 10_000])
def test_many_marks_are_read_in_linear_time(text):
    assert list(split_answer(text))
