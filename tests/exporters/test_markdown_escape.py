"""Foreign text keeps its markup and cannot affect the rest of the document."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scopes.exporters.markdown_escape import DEEPEST, code_block, code_span, escape_block, escape_html, escape_inline
from tests.exporters.sections import PARSER, definitions, foreign_html, html_of, sections
from tests.support.examples import examples

HEAD = '---\n\n**next** <sub id="m-next">.</sub>\n'
PIECES = [
    "a", " ", "  ", "   ", "    ", "\t", "\n", "\n\n", "\r", "\r\n", "`", "``", "```", "````", "~~~", "<b>", "</details>", "<details>",
    "<!--", "-->", "<script>", "<?", "<![CDATA[", "<http://a>", "http://a", "www.a", "\\", "\\<", "[x]: y", "]:", "[x]", "|", "|-|", "---",
    "===", "> ", "- ", "1. ", "#", "**", "&lt;", "&", '"', "'", "$$", "\x0c", "\xa0",
]  # fmt: skip
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=24).map("".join), st.text(max_size=60))


def after(text):
    """Return a document in which a message section follows the text."""
    return f"{escape_block(text)}\n\n{HEAD}"


@settings(max_examples=examples(250), deadline=None)
@given(TEXTS)
@example("```")
@example("- ```\n  x")
@example("<!-- ")
@example("``` |\n|-|\n<b>")
@example("- \n   \n  ~~~\n> \n---\n</details>")
@example("[a`]: x `<b>`")
@example("|`|\n|-|\n|a ` <b> ` |")
@example("`x\n` <b> `")
@example("\\`<b>`")
@example("a\r\r\n\t\n<b>")
def test_no_text_affects_or_imitates_the_next_section(text):
    assert sections(after(text)) == ["next"]
    assert foreign_html(after(text)) == []
    assert definitions(after(text)) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "two\nlines\n",
        "# A heading\n\n- a list\n  - inside a list\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        "```python\nif a < b and x[1]: print('<b>')\n```",
        "1. first\n\n   ```html\n   <b>\n   ```\n2. second",
        "~~~\n```\n<b>\n~~~",
        "use `Vec<T>`, ``a`<b>`` and `x[1]: y`",
        "1 < 2, 3 <4, a<-b, <3 and <https://example.org/?a=b>",
        "    <indented>",
        "> ```\n> <b>",
        "a `<b>` for https://example.org",
    ],
)
def test_harmless_text_is_not_changed(text):
    assert escape_block(text) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Vec<T>", "Vec&lt;T>"),
        ("</details>", "&lt;/details>"),
        ("<!-- x -->", "&lt;!-- x -->"),
        (r"\<b>", "&lt;b>"),
        (r"\\<b>", r"\\&lt;b>"),
        ("[a]: b", r"[a]\: b"),
        ("[^1]: note", r"[^1]\: note"),
        ("`<a>` <b>", "`<a>` &lt;b>"),
        (r"\`<b>`", r"\`&lt;b>`"),
        ("``<a>` <b>", "``&lt;a>` &lt;b>"),
        ("`a\n<b>`", "`a\n&lt;b>`"),
        ("http://a`<b>`", "http://a`&lt;b>`"),
        ("http://a `<b>`", "http://a `<b>`"),
        ("|`<a>`|\n|-|", "|`&lt;a>`|\n|-|"),
        ("[`<a>`]: b", r"[`&lt;a>`]\: b"),
        ("text\n    <b>", "text\n    &lt;b>"),
    ],
)
def test_active_markup_outside_of_code_is_escaped(text, written):
    assert escape_block(text) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("```py\nx", "```py\nx\n```"),
        ("```py\nx\n", "```py\nx\n```"),
        ("~~~~\n~~~", "~~~~\n~~~\n~~~~"),
        ("  ```\nx", "  ```\nx\n  ```"),
        ("```", "```\n```"),
        ("```\n\x0c\n```", "```\n\x0c\n```"),
        ("- ```\n  x", "- ```\n  x"),
    ],
)
def test_an_open_fence_is_closed(text, written):
    assert escape_block(text) == written


def test_ambiguous_markdown_is_normalized():
    assert escape_block("``` |\n|-|\n```") == "``` &#124;\n|-|\n```"
    assert escape_block("- \n   \n  ```\n  ```") == "- \n\n  ```\n  ```"
    assert escape_block("a\r\nb\r<c>\n\n") == "a\nb\n&lt;c>\n\n"


def test_deeply_nested_text_is_shown_as_code():
    assert escape_block(">" * (DEEPEST + 2) + "    <b>") == "```\n" + ">" * (DEEPEST + 2) + "    <b>\n```"


@pytest.mark.parametrize("unit", [">", "- ", "`a", "://`", "www.`a` ", "<a:"])
def test_escaping_takes_linear_time(unit):
    """Reliability: quadratic behavior would take minutes of processor time."""
    began = time.process_time()
    escape_block(unit * (200_000 // len(unit)) + "<b>")
    assert time.process_time() - began < 5


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS)
def test_a_name_is_one_line_without_markup(text):
    tokens = PARSER.parse(f"**x{escape_inline(text)}** <sub>{escape_inline(text)}</sub>")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    kinds = {child.type for child in tokens[1].children}
    assert kinds <= {"text", "text_special", "strong_open", "strong_close", "html_inline"}
    assert html_of(f"x{escape_inline(text)}") == []


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS)
def test_no_line_of_a_code_block_closes_it(text):
    fence, *_ = tokens = PARSER.parse(code_block(text, "json"))
    assert (len(tokens), fence.type, fence.info) == (1, "fence", "json")
    body = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    assert fence.content.rstrip("\n") == body.rstrip("\n")


@settings(max_examples=examples(200), deadline=None)
@given(TEXTS)
def test_a_code_span_contains_the_whole_line(text):
    inline = PARSER.parse(f"x {code_span(text)} y")[1]
    assert [child.type for child in inline.children] == ["text", "code_inline", "text"]
    assert inline.children[1].content.strip() == " ".join(text.split()).replace("\0", "\ufffd")


@settings(max_examples=examples(100), deadline=None)
@given(TEXTS)
def test_a_summary_is_one_element(text):
    block = f"<details>\n<summary>{escape_html(text)}</summary>\n\nx\n\n</details>"
    assert foreign_html(block) == []
    assert "\n" not in escape_html(text)
