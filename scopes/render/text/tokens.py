"""Render token counts and the status of encodings; `~` marks an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import write_field, write_outcome
from scopes.render.view import Column, Span, View
from scopes.result import counted, format_size

if TYPE_CHECKING:
    from scopes.context.count import RanksFetched, TokenCount, TokenStatus

_FILES = (Column("Encoding"), Column("Counts"), Column("From"), Column("File", flexible=True))


def format_tokens(tokens: int, method: str) -> str:
    """Return a number of tokens: `1,234`, or `~1,234` for an estimate."""
    return f"{tokens:,}" if method == "exact" else f"~{tokens:,}"


@render_text.register
def render_token_count(result: TokenCount, view: View) -> None:
    """Write the count; in a pipe the number alone, an estimate with its mark."""
    if not view.terminal:
        view.line(f"{'' if result.method == 'exact' else '~'}{result.tokens}")
        return
    how = dict.fromkeys((result.encoding, result.method))
    view.line(f"{format_tokens(result.tokens, result.method)} tokens", Span(f"  {', '.join(how)}", "dim"))
    write_field(view, "Text", counted(result.characters, "character"))
    if result.messages is not None:
        write_field(view, "Messages", f"{result.messages:,}")
    for name, tokens in (result.parts or {}).items():
        write_field(view, name.replace("_", " ").capitalize(), format_tokens(tokens, result.method))


@render_text.register
def render_token_status(result: TokenStatus, view: View) -> None:
    """Write one row per rank file, and one for an encoding without a file."""
    rows = []
    for encoding in result.encodings:
        files = [(file.origin, file.path if file.right else f"{file.path} (wrong hash)") for file in encoding.files]
        counts = "exact" if encoding.exact else "estimate"
        rows += [(encoding.name, counts, origin, path) for origin, path in files or [("", "")]]
    view.rows(_FILES, rows, title="Encodings")


@render_text.register
def render_ranks_fetched(result: RanksFetched, view: View) -> None:
    """Write the path of the downloaded data."""
    write_outcome(view, result.path, f"Fetched {result.encoding} ({format_size(result.size)}) to {result.path}.")
