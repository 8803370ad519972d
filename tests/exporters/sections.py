"""Parse a transcript with a Markdown parser: its sections, and any HTML or links that come from message text."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

PARSER = MarkdownIt("commonmark", {"maxNesting": 1000}).enable(["table", "strikethrough"])
OURS = re.compile(
    r'<details>\n<summary>[^<>]*</summary>|</details>|<sub(?: id="(?:m-[a-z0-9-]+|b-[0-9]+)")?>|</sub>'
)  # fmt: skip
_ANCHOR = re.compile(r'<sub id="m-([a-z0-9-]+)">')


def html_of(text):
    """Return every piece of HTML that the parser finds, in order."""
    found = []
    for token in PARSER.parse(text):
        if token.type == "html_block":
            found.append(token.content.rstrip("\n"))
        found += [child.content for child in token.children or () if child.type == "html_inline"]
    return found


def foreign_html(text):
    """Return the HTML that was not written by the exporter."""
    return [html for html in html_of(text) if not OURS.fullmatch(html)]


def is_balanced(text):
    """Return True if <details> elements open and close alternately."""
    marks = [html for html in html_of(text) if "details" in html]
    return (
        all(html.startswith("<details>") != bool(place % 2) for place, html in enumerate(marks)) and not len(marks) % 2
    )


def sections(text):
    """Return the short ids of the messages whose headings the parser finds at the top level, in order."""
    top = [token for token in PARSER.parse(text) if token.level <= 1]
    found = []
    for rule, opening, inline in zip(top, top[1:], top[2:], strict=False):
        anchor = _ANCHOR.search(inline.content) if inline.type == "inline" else None
        if anchor is not None and (rule.type, opening.type) == ("hr", "paragraph_open"):
            found.append(anchor[1])
    return found


def definitions(text):
    """Return the link definitions of a text, which are invisible."""
    environment = {}
    PARSER.parse(text, environment)
    return environment.get("references", {})
