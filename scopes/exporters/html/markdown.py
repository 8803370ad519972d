"""Render the Markdown of an answer as HTML that loads nothing, runs nothing and hides nothing.

HTML in it is text. Links lead to the web and to mail addresses only; others and images are shown as text.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML

from scopes.exporters.html.template import Html, escape
from scopes.sanitize import visible

MAX_LENGTH: Final = 100_000  # characters of a text that is parsed; longer ones are shown as they are
if TYPE_CHECKING:
    from markdown_it.token import Token

_SCHEMES: Final = ("https://", "http://", "mailto:")
_DEEPEST: Final = 16  # the parser drops text at its own limit of 20


class _Renderer(RendererHTML):
    """Writes links that are safe to follow, and no images."""

    def link_open(self, tokens: Sequence[Token], number: int, _options: Any, _env: MutableMapping[str, Any]) -> str:
        """Write the beginning of a link."""
        target = str(tokens[number].attrGet("href") or "")
        if target.lower().startswith(_SCHEMES):
            return f'<a href="{escape(target)}" rel="noopener noreferrer nofollow" target="_blank">'
        return f'<a class="dead" title="{escape(target)}">'

    def image(self, tokens: Sequence[Token], number: int, _options: Any, _env: MutableMapping[str, Any]) -> str:
        """Write an image as its text and its address."""
        token = tokens[number]
        return f'<span class="image">[image: {escape(token.content)} {escape(str(token.attrGet("src") or ""))}]</span>'


_PARSER: Final = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["strikethrough", "table"])
_PARSER.disable("reference")


def render_markdown(text: str) -> Html:
    """Return a text as HTML; one that is too long or too deep to be parsed is shown as it is."""
    shown = visible(text)
    if len(shown) > MAX_LENGTH:
        return render_plain(shown)
    tokens = _PARSER.parse(shown)
    if max((token.level for token in tokens), default=0) > _DEEPEST:
        return render_plain(shown)
    # Parsing decodes entities such as `&#x202e;`, so what is hidden is made visible again.
    return Html(f'<div class="md" dir="auto">{visible(_PARSER.renderer.render(tokens, _PARSER.options, {}))}</div>')


def render_plain(text: str) -> Html:
    """Return a text as it was written, with its line ends."""
    return Html(f'<div class="plain" dir="auto">{escape(text)}</div>')
