"""Classification of Markdown lines as text or code, as in CommonMark."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.exporters.markdown_blocks import MOST_CONTAINERS, CodeLineScanner
from tests.exporters.sections import PARSER
from tests.support.examples import examples

STRUCTURE = [
    "a",
    "\n",
    "\n\n",
    " ",
    "  ",
    "    ",
    "\t",
    "> ",
    "- ",
    "1. ",
    "2) ",
    "-",
    "```",
    "~~~",
    "````",
    "``` x",
    "#",
    "---",
    "===",
]


def kinds(*lines):
    """Return the kinds of the lines of a text, by their first letters."""
    reader = CodeLineScanner()
    return "".join(reader.read(line)[0] for line in lines)


def closing(*lines):
    """Return the line that closes the open fence of a text."""
    reader = CodeLineScanner()
    for line in lines:
        reader.read(line)
    return reader.closing


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a", "```py", "x", "```", "b"], "tocct"),
        (["~~~", "```", "~~~"], "occ"),
        (["````", "```", "`````", "a"], "occt"),
        (["``` `a`", "x"], "tt"),
        (["~~~ `a`", "x", "~~~~"], "occ"),
        (["    x", "", "    y"], "ctc"),
        (["a", "    x"], "tt"),
        (["# a", "    x"], "tc"),
        (["a", "---", "    x"], "ttc"),
        (["***", "    x"], "tc"),
        (["\tx"], "c"),
    ],
)  # fmt: skip
def test_fences_and_indented_code(lines, expected):
    assert kinds(*lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["- ```", "  x", "  ```", "a"], "occt"),
        (["- ```", "a"], "ot"),
        (["1. a", "", "   ```", "   x", "", "   ```"], "ttoccc"),
        (["- a", "", "  - b", "", "    ```", "    x", "    ```"], "ttttocc"),
        (["- a", "  b", "", "      x"], "tttc"),
        (["-     x"], "c"),
        (["10. a", "", "    ```", "    ```"], "ttoc"),
        (["> ```", "> x", "> ```", "a"], "occt"),
        (["> ```", "a"], "ot"),
        (["> a", "```", "x"], "toc"),
        (["> - ```", ">   x", "a"], "oct"),
    ],
)  # fmt: skip
def test_code_in_items_and_quotes_ends_with_its_container(lines, expected):
    assert kinds(*lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["> a", "    x"], "tt"),
        (["- a", "x", "    y"], "ttt"),
        (["a", "2. ```"], "tt"),
        (["a", "1. ```"], "to"),
        (["a", "-", "    x"], "ttc"),
        (["a", "*", "    x"], "ttt"),
        (["-", "  ```"], "to"),
        (["-", "", "  ```", "a"], "ttoc"),
        (["- a", "2) ```", "   x"], "toc"),
    ],
)  # fmt: skip
def test_a_paragraph_continues_until_a_block_interrupts_it(lines, expected):
    assert kinds(*lines) == expected


def test_an_indented_quote_counts_as_text():
    """Some implementations still parse a quote there."""
    assert kinds("", "    > x", "    y") == "ttc"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["```py", "x"], "```"),
        (["  ~~~~", "x"], "  ~~~~"),
        (["- a", "", "   ```", "   x"], "   ```"),
        (["- ```", "  x"], None),
        (["> ```", "> x"], None),
        (["```", "```"], None),
        (["- ```", "a"], None),
        ([], None),
    ],
)  # fmt: skip
def test_the_closing_line_of_an_open_fence(lines, expected):
    assert closing(*lines) == expected


def test_the_nesting_of_containers_is_limited():
    reader = CodeLineScanner()
    assert reader.read("> " * MOST_CONTAINERS + "a") == "text"
    assert not reader.too_deep
    assert reader.read("- " * 1000 + "a") == "text"
    assert reader.too_deep


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.sampled_from(STRUCTURE), max_size=20).map("".join))
def test_code_lines_are_code_for_a_markdown_parser(text):
    """The reverse may fail on the safe side: an indented quote, a list item that some implementations end earlier."""
    seen = set()
    for token in PARSER.parse(text):
        if token.type in {"fence", "code_block"}:
            seen |= set(range(*token.map))
    reader = CodeLineScanner()
    lines = text.split("\n")
    code = {number for number, line in enumerate(lines) if reader.read(line) != "text"}
    assert {number for number in code - seen if lines[number].strip(" \t>")} == set()
