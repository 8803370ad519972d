from __future__ import annotations

import pytest

from scopes.render.markdown import render_markdown
from tests.render.hostile import ANY_COLORS, PAYLOADS, forbidden


def shown(text, *, width=60, color=False):
    return "\n".join(render_markdown(text, width=width, color=color))


def test_markup_is_rendered():
    assert shown("**strong** and `code`") == "strong and code"
    assert shown("**strong**", color=True) == "\x1b[1mstrong\x1b[0m"


def test_a_link_is_written_out():
    assert shown("[click](http://evil.example)") == "click (http://evil.example)"
    assert "\x1b]8" not in shown("[click](http://evil.example) <http://x.example>", color=True)


@pytest.mark.parametrize(
    "text",
    [
        "a <b>seen</b>",
        "<!-- seen -->",
        "<div>\nseen\n</div>",
        "[//]: # (seen)",
        "[x]: http://seen",
        "<think>seen</think>",
    ],
)
def test_hidden_markdown_is_shown(text):
    assert "seen" in shown(text)


@pytest.mark.parametrize("mark", ["> ", "- ", "1. ", " - > "])
@pytest.mark.parametrize("depth", [1, 5, 20, 1000])
@pytest.mark.parametrize("width", [20, 80])
def test_deep_nesting_hides_nothing(mark, depth, width):
    assert "seen" in shown(mark * depth + "seen", width=width)


def test_entities_cannot_reintroduce_control_characters():
    text = shown("a&#x202e;b&#13;c&#12;d&zwj;e&#27;f")
    assert forbidden(text) == []
    assert "<U+202E>" in text


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize(
    "frame", ["{}", "# {}", "`{}`", "```python\n{}\n```", "| a |\n|---|\n| {} |", "[{}]({})", "![{}](<{}>)"]
)
def test_no_payload_survives_in_any_block(payload, frame):
    """S2-22, H-71."""
    text = frame.format(payload, payload) if frame.count("{}") == 2 else frame.format(payload)
    assert forbidden(shown(text)) == []
    assert forbidden(ANY_COLORS.sub("", shown(text, color=True))) == []


def test_rich_markup_and_emoji_codes_are_just_text():
    assert shown("[bold]x[/bold] :smile: [/]") == "[bold]x[/bold] :smile: [/]"


def test_without_color_there_is_no_escape_at_all():
    assert "\x1b" not in shown("# T\n\n**b** `c`\n\n```python\nx = 1\n```\n\n> q\n")
